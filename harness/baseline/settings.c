/* [baseline] of yieldpoint.ini. */
#include "harness/baseline/baseline.h"

#include "base/options/ini.h"
#include "base/text/text.h"
#include "harness/collect/expression.h"
#include "harness/collect/tags.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLD 0.25

struct reading {
    struct ypi_baseline_settings *s;
    const char *root;
    const struct ypi_options *o;
    char *unknown; /* owned: a word that is no tag */
};

static bool is_known(void *arg, const char *word, size_t length)
{
    struct reading *r = arg;
    if (r->o != NULL && !ypi_is_tag(r->o, word, length)) {
        free(r->unknown);
        r->unknown =
            ypi_format("'%.*s' is no registered tag (--markers lists them)", (int)length, word);
    }
    return false;
}

/* The caller frees; NULL: nothing is wrong with it. */
static char *problem_of(struct reading *r, const char *tags)
{
    struct ypi_expression_error error;
    bool valid = true;
    char *problem = NULL;
    r->unknown = NULL;
    (void)ypi_expression(tags, is_known, r, &valid, &error);
    if (!valid)
        problem = ypi_format("'%s': %s", tags, error.message);
    else
        problem = r->unknown != NULL ? ypi_strdup(r->unknown) : NULL;
    free(r->unknown);
    return problem;
}

static char *take_threshold(struct reading *r, const char *tags, const char *value)
{
    struct ypi_baseline_settings *s = r->s;
    double threshold = 0;
    char *problem = NULL;
    if (!ypi_parse_part(value, &threshold) || !(threshold > 0 && threshold <= 100))
        return ypi_strdup("a threshold is a part above 0, such as 25% or 0.25");
    if (*tags == '\0') {
        s->threshold = threshold;
        return NULL;
    }
    if ((problem = problem_of(r, tags)) != NULL)
        return problem;
    s->by_tag = ypi_realloc(s->by_tag, (size_t)s->by_tag_count + 1, sizeof *s->by_tag);
    s->by_tag[s->by_tag_count++] =
        (struct ypi_tag_threshold){.expression = ypi_strdup(tags), .threshold = threshold};
    return NULL;
}

/* Which of two words it is. */
static char *take_word(bool *to, const char *value, const char *no, const char *yes)
{
    *to = strcmp(value, yes) == 0;
    return *to || strcmp(value, no) == 0 ? NULL : ypi_format("allowed are %s and %s", no, yes);
}

static char *take(void *arg, const char *section, const char *name, const char *value)
{
    static const char threshold[] = "threshold";
    const size_t length = sizeof threshold - 1;
    struct reading *r = arg;
    struct ypi_baseline_settings *s = r->s;
    if (strcmp(section, "baseline") != 0)
        return NULL; /* others read those */
    if (strncmp(name, threshold, length) == 0 && (name[length] == '\0' || name[length] == ' '))
        return take_threshold(r, name + length + strspn(name + length, " "), value);
    if (strcmp(name, "exact") == 0)
        return take_word(&s->exact_fails, value, "report", "judge");
    if (strcmp(name, "update") == 0)
        return take_word(&s->rolling, value, "deliberate", "rolling");
    if (strcmp(name, "file") != 0)
        return ypi_format("'%s' is not known in [baseline]: file, threshold, threshold TAGS, exact "
                          "and update are",
                          name);
    if (*value == '\0')
        return ypi_strdup("file is empty: allowed is the path of a file");
    free(s->file);
    s->file = *value == '/' ? ypi_strdup(value) : ypi_format("%s/%s", r->root, value);
    return NULL;
}

bool ypi_baseline_settings_read(struct ypi_baseline_settings *out, const char *path,
                                const char *root, const struct ypi_options *o)
{
    struct reading r = {.s = out, .root = root, .o = o};
    *out = (struct ypi_baseline_settings){.threshold = THRESHOLD};
    return path == NULL || ypi_ini_read(path, take, &r) == YPI_INI_OK;
}

void ypi_baseline_settings_clear(struct ypi_baseline_settings *s)
{
    free(s->file);
    for (int i = 0; i < s->by_tag_count; i++)
        free(s->by_tag[i].expression);
    free(s->by_tag);
    *s = (struct ypi_baseline_settings){0};
}
