#include "harness/collect/config.h"

#include "base/project.h"
#include "base/text.h"

#include <string.h>

static void register_tag(struct ypi_options *o, const char *name, const char *help)
{
    if (ypi_is_tag(o, name, strlen(name)))
        return;
    size_t count = (size_t)o->tag_count + 1;
    o->tags = ypi_realloc(o->tags, count, sizeof *o->tags);
    o->tag_help = ypi_realloc(o->tag_help, count, sizeof *o->tag_help);
    o->tags[o->tag_count] = ypi_strdup(name);
    o->tag_help[o->tag_count++] = ypi_strdup(help);
}

static void register_built_in(struct ypi_options *o)
{
    static const char *const built_in[][2] = {
        {"stress", "stays right and inside its memory as the scale grows"},
        {"perf", "speed over sizes, batches, precisions"},
        {"small", "seconds: every build"},
        {"medium", "up to a minute: every merge"},
        {"large", "true sizes: nightly"},
        {"xl", "beyond memory: by hand"},
        {"slow", "left out of a gate by -m \"not slow\""},
        {"gpu", "needs a GPU; every case of a cuda device carries it"},
    };
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++)
        register_tag(o, built_in[i][0], built_in[i][1]);
}

bool ypi_config_read(struct ypi_options *o, char **options)
{
    struct ypi_project project;
    bool ok = ypi_project_read(&project);
    register_built_in(o);
    for (int i = 0; i < project.tag_count; i++)
        register_tag(o, project.tags[i], project.tag_help[i]);
    o->root = ypi_strdup(project.root);
    o->history = ypi_strdup(project.history);
    *options = project.options != NULL ? ypi_strdup(project.options) : NULL;
    ypi_project_clear(&project);
    return ok;
}
