#include "harness/collect/tags.h"

#include "base/text/text.h"
#include "device/kind.h"

#include <string.h>

bool ypi_is_tag(const struct ypi_options *o, const char *word, size_t length)
{
    for (int i = 0; i < o->tag_count; i++)
        if (strlen(o->tags[i]) == length && memcmp(o->tags[i], word, length) == 0)
            return true;
    return false;
}

static void register_tag(struct ypi_options *o, const char *name, const char *help)
{
    if (ypi_is_tag(o, name, strlen(name)))
        return;
    o->tags = ypi_list_add(o->tags, o->tag_count, ypi_strdup(name));
    o->tag_help = ypi_list_add(o->tag_help, o->tag_count++, ypi_strdup(help));
}

void ypi_register_tags(struct ypi_options *o, char *const *names, char *const *help, int count)
{
    static const char *const built_in[][2] = {
        {"stress", "stays right and inside its memory as the scale grows"},
        {"perf", "speed over sizes, batches, precisions"},
        {"small", "seconds: every build"},
        {"medium", "up to a minute: every merge"},
        {"large", "true sizes: nightly"},
        {"xl", "beyond memory: by hand"},
        {"ranks", "several processes, by mpirun or srun"},
        {"slow", "left out of a gate by -m \"not slow\""},
    };
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++)
        register_tag(o, built_in[i][0], built_in[i][1]);
    for (int i = 0; i < YPI_DEVICE_KINDS; i++)
        register_tag(o, ypi_device_kinds[i].tag, ypi_device_kinds[i].tag_help);
    o->built_in_tags = o->tag_count;
    for (int i = 0; i < count; i++)
        register_tag(o, names[i], help[i]);
}
