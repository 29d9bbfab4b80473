#include "device/kind.h"

#include "base/text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDINALS = 1024 };

const struct ypi_device_kind ypi_device_kinds[YPI_DEVICE_KINDS] = {
    {.name = "cuda",
     .label = "CUDA",
     .plugin = "cuda",
     .tag = "gpu",
     .tag_help = "needs a GPU; every case of a cuda device carries it",
     .visible = "CUDA_VISIBLE_DEVICES",
     .visible_key = "env.cuda_visible_devices",
     .order = "CUDA_DEVICE_ORDER",
     .order_value = "PCI_BUS_ID",
     .nodes = "/dev/nvidia",
     .counts_work = true},
};

const struct ypi_device_kind *ypi_device_kind(const char *device)
{
    for (int i = 0; i < YPI_DEVICE_KINDS; i++) {
        size_t length = strlen(ypi_device_kinds[i].name);
        if (strncmp(device, ypi_device_kinds[i].name, length) == 0 &&
            (device[length] == '\0' || device[length] == ':'))
            return &ypi_device_kinds[i];
    }
    return NULL;
}

int ypi_device_ordinal(const char *device)
{
    const char *colon = strchr(device, ':');
    return colon != NULL ? atoi(colon + 1) : 0;
}

char *ypi_device_names(bool numbered)
{
    struct ypi_text names = {0};
    ypi_text_add(&names, "cpu");
    for (int i = 0; i < YPI_DEVICE_KINDS; i++) {
        const char *name = ypi_device_kinds[i].name;
        ypi_text_add(&names, " %s", name);
        if (numbered)
            ypi_text_add(&names, " %s:N", name);
    }
    return ypi_text_take(&names);
}

bool ypi_device_is_name(const char *device)
{
    const struct ypi_device_kind *kind = ypi_device_kind(device);
    char canonical[32];
    uint64_t ordinal = 0;
    if (kind == NULL || strcmp(device, kind->name) == 0)
        return kind != NULL || strcmp(device, "cpu") == 0;
    if (!ypi_parse_u64(device + strlen(kind->name) + 1, &ordinal) || ordinal >= ORDINALS)
        return false;
    snprintf(canonical, sizeof canonical, "%s:%d", kind->name, (int)ordinal);
    return strcmp(device, canonical) == 0;
}
