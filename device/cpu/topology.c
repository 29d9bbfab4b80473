#include "device/cpu/topology.h"

#include "base/numbers/fnv1a.h"
#include "base/text/text.h"

#include <hwloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DESCRIPTION_MAX 1024

static int count_of(hwloc_topology_t t, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(t, type);
    return n > 0 ? n : 0;
}

static const char *model_of(hwloc_topology_t t)
{
    hwloc_obj_t package = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0);
    const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
    if (!model)
        model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(t), "CPUModel");
    return model ? model : "";
}

/* What makes it this machine and no other, and stays over a reboot: no frequency, nothing that a
 * control group takes away, and no size of memory, which a hypervisor changes while the machine
 * runs, by a fifth and more. */
static void describe(hwloc_topology_t t, const struct ypi_topology *out, char *text)
{
    int length = snprintf(text, DESCRIPTION_MAX, "%s;numa:%d", out->model, out->numa_nodes);
    for (int depth = 0; depth < hwloc_topology_get_depth(t) && length < DESCRIPTION_MAX; depth++) {
        hwloc_obj_t object = hwloc_get_obj_by_depth(t, depth, 0);
        unsigned long long size =
            hwloc_obj_type_is_cache(object->type) ? object->attr->cache.size : 0;
        length += snprintf(text + length, (size_t)(DESCRIPTION_MAX - length), ";%s:%u:%llu",
                           hwloc_obj_type_string(object->type), hwloc_get_nbobjs_by_depth(t, depth),
                           size);
    }
}

/* The number of the object of a kind that holds the processor. */
static int number_of(hwloc_topology_t t, hwloc_obj_type_t type, unsigned cpu)
{
    hwloc_obj_t object = NULL;
    while ((object = hwloc_get_next_obj_by_type(t, type, object)) != NULL)
        if (hwloc_bitmap_isset(object->cpuset, cpu))
            return (int)object->logical_index;
    return -1;
}

struct ypi_places ypi_places_of(struct hwloc_topology *t)
{
    struct ypi_places places = {
        .list = ypi_calloc((size_t)count_of(t, HWLOC_OBJ_PU), sizeof *places.list)};
    hwloc_obj_t unit = NULL;
    while ((unit = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, unit)) != NULL) {
        hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(t, HWLOC_OBJ_CORE, unit);
        places.list[places.count++] = (struct ypi_place){
            .cpu = (int)unit->os_index,
            .core = core != NULL ? (int)core->logical_index : -1,
            .node = number_of(t, HWLOC_OBJ_NUMANODE, unit->os_index),
            .package = number_of(t, HWLOC_OBJ_PACKAGE, unit->os_index),
        };
    }
    return places;
}

static void fill(hwloc_topology_t t, struct ypi_topology *out)
{
    char text[DESCRIPTION_MAX];
    snprintf(out->model, sizeof out->model, "%s", model_of(t));
    if (hwloc_topology_export_synthetic(t, out->synthetic, sizeof out->synthetic, 0) < 0)
        out->synthetic[0] = '\0'; /* an irregular machine has no such notation */
    out->packages = count_of(t, HWLOC_OBJ_PACKAGE);
    out->cores = count_of(t, HWLOC_OBJ_CORE);
    out->threads = count_of(t, HWLOC_OBJ_PU);
    out->numa_nodes = count_of(t, HWLOC_OBJ_NUMANODE);
    out->memory = hwloc_get_root_obj(t)->total_memory;
    out->places = ypi_places_of(t);
    describe(t, out, text);
    ypi_fnv128(text, out->fingerprint);
}

/* Plugins would bring the libraries of X11, OpenCL and XML with them, where these are installed,
 * and know of nothing that is read here. The environment is put back: what the process starts may
 * want them. */
static int init_without_plugins(hwloc_topology_t *t)
{
    static const char name[] = "HWLOC_PLUGINS_PATH";
    const char *value = getenv(name);
    char *before = value != NULL ? ypi_strdup(value) : NULL;
    setenv(name, "/nonexistent", 1);
    int code = hwloc_topology_init(t);
    if (before != NULL)
        setenv(name, before, 1);
    else
        unsetenv(name);
    free(before);
    return code;
}

struct hwloc_topology *ypi_topology_load(void)
{
    hwloc_topology_t t;
    if (init_without_plugins(&t) != 0)
        return NULL;
    hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_io_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE);
#if HWLOC_API_VERSION >= 0x00020100
    /* It would move to every processor in turn; the kernel's files tell the same. */
    hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#endif
    if (hwloc_topology_load(t) == 0)
        return t;
    hwloc_topology_destroy(t);
    return NULL;
}

bool ypi_topology_read(struct ypi_topology *out)
{
    hwloc_topology_t t = ypi_topology_load();
    *out = (struct ypi_topology){0};
    if (t == NULL)
        return false;
    fill(t, out);
    hwloc_topology_destroy(t);
    return true;
}

void ypi_topology_clear(struct ypi_topology *topology)
{
    free(topology->places.list);
    *topology = (struct ypi_topology){0};
}

static struct {
    pthread_once_t once;
    bool read;
    struct ypi_topology topology;
} machine = {.once = PTHREAD_ONCE_INIT};

static void read_machine(void)
{
    machine.read = ypi_topology_read(&machine.topology);
}

const struct ypi_topology *ypi_topology(void)
{
    pthread_once(&machine.once, read_machine);
    return machine.read ? &machine.topology : NULL;
}
