/* The trainer's settings by name, and their values as texts. */
#include "models/train/options.h"

#include "base/text/text.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the table -------------------------------------------------------------------------------- */

static_assert(sizeof(enum train_optimiser) == sizeof(unsigned), "choices are stored as unsigned");

static const char *const optimisers[] = {"adamw", "sgd", NULL};
static const char *const schedules[] = {"plateau", "constant", "cosine", NULL};
static const char *const flags[] = {"false", "true", NULL};

#define MANY 1e9
#define LARGE 1e30
#define AT(member) offsetof(struct train_config, member)

const struct train_option train_options[] = {
    {"train", "seed", TRAIN_OPTION_WHOLE64, AT(seed), 0, 0, false, NULL},
    {"train", "validation", TRAIN_OPTION_REAL, AT(validation), 0, 1, false, NULL},
    {"train", "epochs", TRAIN_OPTION_WHOLE64, AT(epochs), 0, 0, false, NULL},
    {"train", "batch", TRAIN_OPTION_SIZE, AT(batch), 1, MANY, false, NULL},
    {"train", "accumulate", TRAIN_OPTION_SIZE, AT(accumulate), 1, MANY, false, NULL},
    {"train", "optimiser", TRAIN_OPTION_CHOICE, AT(optimiser), 0, 0, false, optimisers},
    {"train", "clip", TRAIN_OPTION_REAL, AT(clip), 0, LARGE, false, NULL},
    {"train", "average", TRAIN_OPTION_REAL, AT(average), 0, 1, false, NULL},
    {"train", "schedule", TRAIN_OPTION_CHOICE, AT(schedule), 0, 0, false, schedules},
    {"train", "patience", TRAIN_OPTION_WHOLE64, AT(patience), 0, 0, false, NULL},
    {"train", "max_skipped", TRAIN_OPTION_WHOLE64, AT(max_skipped), 0, 0, false, NULL},
    {"train", "keep_best", TRAIN_OPTION_FLAG, AT(keep_best), 0, 0, false, flags},
    {"train", "checkpoint_every", TRAIN_OPTION_WHOLE64, AT(checkpoint_every), 0, 0, false, NULL},
    {"adamw", "lr", TRAIN_OPTION_REAL, AT(adamw.lr), 0, LARGE, true, NULL},
    {"adamw", "beta1", TRAIN_OPTION_REAL, AT(adamw.beta1), 0, 1, false, NULL},
    {"adamw", "beta2", TRAIN_OPTION_REAL, AT(adamw.beta2), 0, 1, false, NULL},
    {"adamw", "eps", TRAIN_OPTION_REAL, AT(adamw.eps), 0, LARGE, false, NULL},
    {"adamw", "weight_decay", TRAIN_OPTION_REAL, AT(adamw.weight_decay), 0, LARGE, false, NULL},
    {"sgd", "lr", TRAIN_OPTION_REAL, AT(sgd.lr), 0, LARGE, true, NULL},
    {"sgd", "momentum", TRAIN_OPTION_REAL, AT(sgd.momentum), 0, 1, false, NULL},
    {"sgd", "dampening", TRAIN_OPTION_REAL, AT(sgd.dampening), 0, 1, false, NULL},
    {"sgd", "weight_decay", TRAIN_OPTION_REAL, AT(sgd.weight_decay), 0, LARGE, false, NULL},
    {"sgd", "nesterov", TRAIN_OPTION_FLAG, AT(sgd.nesterov), 0, 0, false, flags},
    {"plateau", "factor", TRAIN_OPTION_REAL, AT(plateau.factor), 0, 1, true, NULL},
    {"plateau", "patience", TRAIN_OPTION_WHOLE32, AT(plateau.patience), 0, MANY, false, NULL},
    {"plateau", "threshold", TRAIN_OPTION_REAL, AT(plateau.threshold), 0, LARGE, false, NULL},
    {"plateau", "absolute", TRAIN_OPTION_FLAG, AT(plateau.absolute), 0, 0, false, flags},
    {"plateau", "cooldown", TRAIN_OPTION_WHOLE32, AT(plateau.cooldown), 0, MANY, false, NULL},
    {"plateau", "min_lr", TRAIN_OPTION_REAL, AT(plateau.min_lr), 0, LARGE, false, NULL},
    {"plateau", "eps", TRAIN_OPTION_REAL, AT(plateau.eps), 0, LARGE, false, NULL},
    {"cosine", "warmup", TRAIN_OPTION_WHOLE64, AT(cosine.warmup), 0, 0, false, NULL},
    {"cosine", "steps", TRAIN_OPTION_WHOLE64, AT(cosine.steps), 0, 0, false, NULL},
    {"cosine", "min_lr", TRAIN_OPTION_REAL, AT(cosine.min_lr), 0, LARGE, false, NULL},
    {"scaling", "initial", TRAIN_OPTION_REAL, AT(scaling.initial), 0, LARGE, false, NULL},
    {"scaling", "growth", TRAIN_OPTION_REAL, AT(scaling.growth), 1, LARGE, true, NULL},
    {"scaling", "backoff", TRAIN_OPTION_REAL, AT(scaling.backoff), 0, 1, true, NULL},
    {"scaling", "interval", TRAIN_OPTION_WHOLE32, AT(scaling.interval), 1, MANY, false, NULL},
};
static_assert(sizeof train_options / sizeof *train_options == TRAIN_OPTIONS, "all of them");

size_t train_option_bytes(const struct train_option *option)
{
    static const size_t bytes[] = {
        [TRAIN_OPTION_REAL] = sizeof(double),      [TRAIN_OPTION_SINGLE] = sizeof(float),
        [TRAIN_OPTION_SIZE] = sizeof(size_t),      [TRAIN_OPTION_WHOLE64] = sizeof(uint64_t),
        [TRAIN_OPTION_WHOLE32] = sizeof(uint32_t), [TRAIN_OPTION_FLAG] = sizeof(bool),
        [TRAIN_OPTION_CHOICE] = sizeof(unsigned)};
    return bytes[option->kind];
}

/* -- a value ---------------------------------------------------------------------------------- */

static char *set_word(const struct train_option *o, const char *value, void *to)
{
    unsigned chosen = 0;
    while (o->words[chosen] != NULL && strcmp(o->words[chosen], value) != 0)
        chosen++;
    if (o->words[chosen] == NULL) {
        char allowed[128] = "";
        for (size_t i = 0, n = 0; o->words[i] != NULL; i++)
            n += (size_t)snprintf(allowed + n, sizeof allowed - n, "%s%s", i > 0 ? ", " : "",
                                  o->words[i]);
        return ypi_strdup(allowed);
    }
    if (o->kind == TRAIN_OPTION_FLAG)
        *(bool *)to = chosen != 0;
    else
        *(unsigned *)to = chosen;
    return NULL;
}

/* 64 bits, which a double does not hold. */
static char *set_long(const char *value, void *to)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0)
        return ypi_strdup("whole numbers of 0 to 2^64 - 1");
    *(uint64_t *)to = number;
    return NULL;
}

static char *set_number(const struct train_option *o, const char *value, void *to)
{
    char *end = NULL;
    double number = strtod(value, &end);
    bool whole = o->kind == TRAIN_OPTION_SIZE || o->kind == TRAIN_OPTION_WHOLE32;
    bool right = value[0] != '\0' && *end == '\0' && number <= o->high &&
                 (o->open ? number > o->low : number >= o->low) &&
                 (!whole || number == floor(number));
    if (!right)
        return ypi_format("%s %s %g up to %g", whole ? "whole numbers" : "numbers",
                          o->open ? "above" : "from", o->low, o->high);
    switch (o->kind) {
    case TRAIN_OPTION_SINGLE:
        *(float *)to = (float)number;
        break;
    case TRAIN_OPTION_SIZE:
        *(size_t *)to = (size_t)number;
        break;
    case TRAIN_OPTION_WHOLE32:
        *(uint32_t *)to = (uint32_t)number;
        break;
    default:
        *(double *)to = number;
    }
    return NULL;
}

char *train_option_set(const struct train_option *option, const char *value, void *to)
{
    if (option->words != NULL)
        return set_word(option, value, to);
    return option->kind == TRAIN_OPTION_WHOLE64 ? set_long(value, to)
                                                : set_number(option, value, to);
}

/* -- what has an effect ----------------------------------------------------------------------- */

const char *train_option_needs(const struct train_option *option, const struct train_config *c)
{
    const struct {
        const char *section, *choice;
        bool chosen;
    } parts[] = {
        {"adamw", "optimiser", c->optimiser == TRAIN_ADAMW},
        {"sgd", "optimiser", c->optimiser == TRAIN_SGD},
        {"plateau", "schedule", c->schedule == TRAIN_PLATEAU},
        {"cosine", "schedule", c->schedule == TRAIN_COSINE},
        {"scaling", "scaling-initial", c->scaling.initial > 0 || option->at == AT(scaling.initial)},
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        if (!parts[k].chosen && strcmp(parts[k].section, option->section) == 0)
            return parts[k].choice;
    return NULL;
}

/* -- on a command line ------------------------------------------------------------------------ */

const char *train_option_word(const struct train_option *option, char text[TRAIN_OPTION_NAME])
{
    const bool alone = strcmp(option->section, "train") == 0;
    snprintf(text, TRAIN_OPTION_NAME, "%s%s%s", alone ? "" : option->section, alone ? "" : "-",
             option->name);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
    return text;
}

char *train_option_read(void *values, const struct ypi_option *option, const char *text)
{
    struct train_words *words = (void *)((char *)values + option->offset);
    char name[TRAIN_OPTION_NAME];
    size_t i = 0;
    while (i + 1 < TRAIN_OPTIONS &&
           strcmp(train_option_word(&train_options[i], name), option->name) != 0)
        i++;
    const struct train_option *o = &train_options[i];
    assert(strcmp(train_option_word(o, name), option->name) == 0);
    char *allowed = train_option_set(o, text, (char *)&words->config + o->at);
    char *message =
        allowed != NULL ? ypi_format("one of %s%s", o->words == NULL ? "the " : "", allowed) : NULL;
    words->given[i] = allowed == NULL;
    free(allowed);
    return message;
}

void train_words_scale(struct train_words *words)
{
    for (size_t i = 0; i < TRAIN_OPTIONS; i++)
        if (train_options[i].at == AT(scaling.initial) && !words->given[i])
            words->config.scaling.initial = train_scaling_defaults().initial;
}

enum yp_status train_words_check(const struct train_words *words)
{
    char name[TRAIN_OPTION_NAME];
    for (size_t i = 0; i < TRAIN_OPTIONS; i++) {
        const char *needs = train_option_needs(&train_options[i], &words->config);
        if (words->given[i] && needs != NULL)
            return yp_set_error(YP_INVALID, "--%s has no effect: must be without it, or --%s %s",
                                train_option_word(&train_options[i], name), needs,
                                strcmp(needs, "scaling-initial") == 0 ? "above 0"
                                                                      : train_options[i].section);
    }
    return YP_OK;
}
