/* The ini file of a pipeline and its training: a table of names, values by kind. */
#include "models/rx/config.h"

#include "base/options/ini.h"
#include "base/system/atomic_file.h"
#include "base/text/text.h"
#include "models/data/order.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)64 << 10)

/* -- the table -------------------------------------------------------------------------------- */

enum kind { REAL, SINGLE, SIZE, WHOLE64, WHOLE32, FLAG, CHOICE };

struct row {
    const char *section, *name;
    enum kind kind;
    size_t at;                /* in struct rx_config */
    double low, high;         /* of numbers */
    bool open;                /* low is not allowed itself */
    const char *const *words; /* of a choice, by its number; ends with NULL */
};

static_assert(sizeof(enum rx_detector) == sizeof(unsigned), "choices are stored as unsigned");

static const char *const starts[] = {"variance", "uniform", NULL};
static const char *const ways[] = {"soft", "weights", "ones", NULL};
static const char *const detectors[] = {"global", "image", "lad", "autoencoder", NULL};
static const char *const inverses[] = {"cholesky", "pinv", NULL};
static const char *const operands[] = {"fp32", "bf16", "fp16", NULL};
static const char *const optimisers[] = {"adamw", "sgd", NULL};
static const char *const schedules[] = {"plateau", "constant", "cosine", NULL};
static const char *const flags[] = {"false", "true", NULL};

#define MANY 1e9
#define LARGE 1e30
#define OF(member) offsetof(struct rx_config, options.member)
#define OR(member) offsetof(struct rx_config, training.member)

static const struct row rows[] = {
    {"minmax", "by_sample", FLAG, OF(by_sample), 0, 0, false, flags},
    {"selector", "keep", REAL, OF(keep), 0, 1e6, false, NULL},
    {"selector", "temperature", REAL, OF(temperature), 0, 1e6, true, NULL},
    {"selector", "train_temperature", FLAG, OF(train_temperature), 0, 0, false, flags},
    {"selector", "start", FLAG, OF(uniform), 0, 0, false, starts},
    {"selector", "hard", CHOICE, OF(hard), 0, 0, false, ways},
    {"selector", "temperature_decay", REAL, OF(temperature_decay), 0, 1, false, NULL},
    {"selector", "temperature_min", REAL, OF(temperature_min), 0, 1e6, false, NULL},
    {"selector", "entropy", REAL, OF(entropy), -LARGE, LARGE, false, NULL},
    {"selector", "diversity", REAL, OF(diversity), -LARGE, LARGE, false, NULL},
    {"pca", "components", SIZE, OF(components), 1, RX_MAX_CHANNELS, false, NULL},
    {"pca", "orthogonality", REAL, OF(orthogonality), 0, LARGE, false, NULL},
    {"pca", "whiten", FLAG, OF(whiten), 0, 0, false, flags},
    {"pca", "residual", FLAG, OF(residual), 0, 0, false, flags},
    {"detector", "kind", CHOICE, OF(detector), 0, 0, false, detectors},
    {"detector", "eps", REAL, OF(eps), 0, LARGE, false, NULL},
    {"detector", "shrink", REAL, OF(shrink), 0, 1, false, NULL},
    {"detector", "mask_dead", FLAG, OF(mask_dead), 0, 0, false, flags},
    {"detector", "max_error", REAL, OF(max_error), 0, LARGE, false, NULL},
    {"detector", "inverse", CHOICE, OF(inverse), 0, 0, false, inverses},
    {"detector", "hidden", SIZE, OF(hidden), 0, RX_MAX_CHANNELS, false, NULL},
    {"detector", "seed", WHOLE64, OF(seed), 0, 0, false, NULL},
    {"logit", "scale", SINGLE, OF(scale), -LARGE, LARGE, false, NULL},
    {"loss", "positive_weight", REAL, OF(positive_weight), 0, 1e6, true, NULL},
    {"train", "seed", WHOLE64, OR(seed), 0, 0, false, NULL},
    {"train", "validation", REAL, OR(validation), 0, 1, false, NULL},
    {"train", "epochs", WHOLE64, OR(epochs), 0, 0, false, NULL},
    {"train", "batch", SIZE, OR(batch), 1, MANY, false, NULL},
    {"train", "accumulate", SIZE, OR(accumulate), 1, MANY, false, NULL},
    {"train", "optimiser", CHOICE, OR(optimiser), 0, 0, false, optimisers},
    {"train", "precision", CHOICE, OF(precision), 0, 0, false, operands},
    {"train", "clip", REAL, OR(clip), 0, LARGE, false, NULL},
    {"train", "average", REAL, OR(average), 0, 1, false, NULL},
    {"train", "schedule", CHOICE, OR(schedule), 0, 0, false, schedules},
    {"train", "patience", WHOLE64, OR(patience), 0, 0, false, NULL},
    {"train", "max_skipped", WHOLE64, OR(max_skipped), 0, 0, false, NULL},
    {"train", "keep_best", FLAG, OR(keep_best), 0, 0, false, flags},
    {"train", "checkpoint_every", WHOLE64, OR(checkpoint_every), 0, 0, false, NULL},
    {"adamw", "lr", REAL, OR(adamw.lr), 0, LARGE, true, NULL},
    {"adamw", "beta1", REAL, OR(adamw.beta1), 0, 1, false, NULL},
    {"adamw", "beta2", REAL, OR(adamw.beta2), 0, 1, false, NULL},
    {"adamw", "eps", REAL, OR(adamw.eps), 0, LARGE, false, NULL},
    {"adamw", "weight_decay", REAL, OR(adamw.weight_decay), 0, LARGE, false, NULL},
    {"sgd", "lr", REAL, OR(sgd.lr), 0, LARGE, true, NULL},
    {"sgd", "momentum", REAL, OR(sgd.momentum), 0, 1, false, NULL},
    {"sgd", "dampening", REAL, OR(sgd.dampening), 0, 1, false, NULL},
    {"sgd", "weight_decay", REAL, OR(sgd.weight_decay), 0, LARGE, false, NULL},
    {"sgd", "nesterov", FLAG, OR(sgd.nesterov), 0, 0, false, flags},
    {"plateau", "factor", REAL, OR(plateau.factor), 0, 1, true, NULL},
    {"plateau", "patience", WHOLE32, OR(plateau.patience), 0, MANY, false, NULL},
    {"plateau", "threshold", REAL, OR(plateau.threshold), 0, LARGE, false, NULL},
    {"plateau", "absolute", FLAG, OR(plateau.absolute), 0, 0, false, flags},
    {"plateau", "cooldown", WHOLE32, OR(plateau.cooldown), 0, MANY, false, NULL},
    {"plateau", "min_lr", REAL, OR(plateau.min_lr), 0, LARGE, false, NULL},
    {"plateau", "eps", REAL, OR(plateau.eps), 0, LARGE, false, NULL},
    {"cosine", "warmup", WHOLE64, OR(cosine.warmup), 0, 0, false, NULL},
    {"cosine", "steps", WHOLE64, OR(cosine.steps), 0, 0, false, NULL},
    {"cosine", "min_lr", REAL, OR(cosine.min_lr), 0, LARGE, false, NULL},
    {"scaling", "initial", REAL, OR(scaling.initial), 0, LARGE, false, NULL},
    {"scaling", "growth", REAL, OR(scaling.growth), 1, LARGE, true, NULL},
    {"scaling", "backoff", REAL, OR(scaling.backoff), 0, 1, true, NULL},
    {"scaling", "interval", WHOLE32, OR(scaling.interval), 1, MANY, false, NULL},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* -- a value ---------------------------------------------------------------------------------- */

static char *take_word(const struct row *row, const char *value, void *to)
{
    unsigned chosen = 0;
    while (row->words[chosen] != NULL && strcmp(row->words[chosen], value) != 0)
        chosen++;
    if (row->words[chosen] == NULL) {
        char allowed[128] = "";
        for (size_t i = 0, n = 0; row->words[i] != NULL; i++)
            n += (size_t)snprintf(allowed + n, sizeof allowed - n, "%s%s", i > 0 ? ", " : "",
                                  row->words[i]);
        return ypi_format("%s is '%s', allowed are %s", row->name, value, allowed);
    }
    if (row->kind == FLAG)
        *(bool *)to = chosen != 0;
    else
        *(unsigned *)to = chosen;
    return NULL;
}

/* 64 bits, which a double does not hold. */
static char *take_long(const struct row *row, const char *value, void *to)
{
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno != 0)
        return ypi_format("%s is '%s', allowed are whole numbers of 0 to 2^64 - 1", row->name,
                          value);
    *(uint64_t *)to = number;
    return NULL;
}

static char *take_number(const struct row *row, const char *value, void *to)
{
    char *end = NULL;
    double number = strtod(value, &end);
    bool whole = row->kind == SIZE || row->kind == WHOLE32;
    bool right = value[0] != '\0' && *end == '\0' && number <= row->high &&
                 (row->open ? number > row->low : number >= row->low) &&
                 (!whole || number == floor(number));
    if (!right)
        return ypi_format("%s is '%s', allowed are %s %s %g up to %g", row->name, value,
                          whole ? "whole numbers" : "numbers", row->open ? "above" : "from",
                          row->low, row->high);
    switch (row->kind) {
    case SINGLE:
        *(float *)to = (float)number;
        break;
    case SIZE:
        *(size_t *)to = (size_t)number;
        break;
    case WHOLE32:
        *(uint32_t *)to = (uint32_t)number;
        break;
    default:
        *(double *)to = number;
    }
    return NULL;
}

static char *take_value(const struct row *row, const char *value, struct rx_config *config)
{
    void *to = (char *)config + row->at;
    if (row->words != NULL)
        return take_word(row, value, to);
    return (row->kind == WHOLE64 ? take_long : take_number)(row, value, to);
}

/* -- a file ----------------------------------------------------------------------------------- */

struct reading {
    const char *path;
    struct rx_config *config;
    bool given[ROWS];
    int pca;          /* the line of its section; 0: none */
    char first[1024]; /* the first error with its place */
};

static char *keep(struct reading *r, int line, char *message)
{
    if (message != NULL && r->first[0] == '\0')
        snprintf(r->first, sizeof r->first, "%s:%d: %s", r->path, line, message);
    return message;
}

/* What a section has, or, NULL, which sections there are. */
static char *allowed_in(const char *section)
{
    char list[512] = "";
    const char *last = "";
    for (size_t i = 0, n = 0; i < ROWS; i++) {
        if (section != NULL ? strcmp(rows[i].section, section) != 0
                            : strcmp(rows[i].section, last) == 0)
            continue;
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "",
                              section != NULL ? rows[i].name : rows[i].section);
        last = rows[i].section;
    }
    return ypi_strdup(list);
}

static char *begin(struct reading *r, int line, const char *section)
{
    bool known = false;
    for (size_t i = 0; i < ROWS; i++)
        known = known || strcmp(rows[i].section, section) == 0;
    if (!known) {
        char *allowed = allowed_in(NULL);
        char *message = ypi_format("section '%s' is not known, allowed are %s", section, allowed);
        free(allowed);
        return message;
    }
    if (strcmp(section, "minmax") == 0)
        r->config->options.normalise = true;
    if (strcmp(section, "selector") == 0)
        r->config->options.select = true;
    if (strcmp(section, "pca") == 0)
        r->pca = line;
    return NULL;
}

static char *entry(struct reading *r, const char *section, const char *name, const char *value)
{
    bool known = false;
    for (size_t i = 0; i < ROWS; i++) {
        known = known || strcmp(rows[i].section, section) == 0;
        if (strcmp(rows[i].section, section) != 0 || strcmp(rows[i].name, name) != 0)
            continue;
        if (r->given[i])
            return ypi_format("%s of [%s] is given twice", name, section);
        r->given[i] = true;
        return take_value(&rows[i], value, r->config);
    }
    if (!known && section[0] != '\0')
        return NULL; /* the section was refused */
    char *allowed = allowed_in(section[0] != '\0' ? section : NULL);
    char *message =
        section[0] != '\0'
            ? ypi_format("'%s' is not known in [%s], allowed are %s", name, section, allowed)
            : ypi_format("'%s' stands before the first section, allowed are %s", name, allowed);
    free(allowed);
    return message;
}

static char *take(void *arg, int line, const char *section, const char *name, const char *value)
{
    struct reading *r = arg;
    return keep(r, line, name == NULL ? begin(r, line, section) : entry(r, section, name, value));
}

/* What belongs to an optimiser or a schedule that is not the chosen one would have no effect. */
static void check_chosen(struct reading *r)
{
    const struct train_config *c = &r->config->training;
    const struct {
        const char *section, *choice;
        bool chosen;
    } parts[] = {{"adamw", "optimiser", c->optimiser == TRAIN_ADAMW},
                 {"sgd", "optimiser", c->optimiser == TRAIN_SGD},
                 {"plateau", "schedule", c->schedule == TRAIN_PLATEAU},
                 {"cosine", "schedule", c->schedule == TRAIN_COSINE}};
    for (size_t i = 0; i < ROWS && r->first[0] == '\0'; i++)
        for (size_t k = 0; k < sizeof parts / sizeof *parts && r->given[i]; k++)
            if (!parts[k].chosen && strcmp(parts[k].section, rows[i].section) == 0)
                snprintf(r->first, sizeof r->first,
                         "%s: %s of [%s] is given, and %s of [train] is another", r->path,
                         rows[i].name, rows[i].section, parts[k].choice);
}

/* Nor has what the chosen detector does not take. */
static void check_detector(struct reading *r)
{
    enum { STATISTICS = 1 << RX_GLOBAL | 1 << RX_IMAGE, LAYERS = 1 << RX_AUTOENCODER };
    static const struct {
        size_t at;
        unsigned takers;
    } parts[] = {{OF(eps), STATISTICS},
                 {OF(hidden), LAYERS},
                 {OF(seed), LAYERS},
                 {OF(scale), ~(unsigned)LAYERS}};
    enum rx_detector kind = r->config->options.detector;
    for (size_t i = 0; i < ROWS && r->first[0] == '\0'; i++)
        for (size_t k = 0; k < sizeof parts / sizeof *parts && r->given[i]; k++)
            if (parts[k].at == rows[i].at && (parts[k].takers >> kind & 1) == 0)
                snprintf(r->first, sizeof r->first,
                         "%s: %s of [%s] is given, and a detector of kind %s does not take it",
                         r->path, rows[i].name, rows[i].section, detectors[kind]);
}

/* The scale of the loss is PyTorch's where fp16 needs one and the file says nothing else; without
 * one its settings would have no effect. */
static void check_scaling(struct reading *r)
{
    struct train_scaling *scaling = &r->config->training.scaling;
    bool chosen = false;
    for (size_t i = 0; i < ROWS; i++)
        chosen = chosen || (r->given[i] && rows[i].at == OR(scaling.initial));
    if (!chosen && r->config->options.precision == RX_OPERANDS_FP16)
        scaling->initial = train_scaling_defaults().initial;
    for (size_t i = 0; i < ROWS && scaling->initial == 0 && r->first[0] == '\0'; i++)
        if (r->given[i] && strcmp(rows[i].section, "scaling") == 0 &&
            rows[i].at != OR(scaling.initial))
            snprintf(r->first, sizeof r->first,
                     "%s: %s of [scaling] is given, and there is no scale: initial is 0, allowed "
                     "with it are numbers above 0",
                     r->path, rows[i].name);
}

/* All of the file. */
static enum yp_status take_text(const char *path, struct rx_config *config)
{
    FILE *file = fopen(path, "re");
    config->text = malloc(MAX_TEXT + 2);
    if (file == NULL || config->text == NULL) {
        int reason = errno;
        if (file != NULL)
            fclose(file);
        return yp_set_error(YP_IO, "rx_config_read: %s: %s", path, strerror(reason));
    }
    config->length = fread(config->text, 1, MAX_TEXT + 1, file);
    bool failed = ferror(file) != 0;
    int reason = errno;
    fclose(file);
    config->text[config->length] = '\0';
    if (failed)
        return yp_set_error(YP_IO, "rx_config_read: %s: %s", path, strerror(reason));
    if (config->length > MAX_TEXT)
        return yp_set_error(YP_INVALID, "rx_config_read: %s has more than the %zu bytes allowed",
                            path, MAX_TEXT);
    return YP_OK;
}

enum yp_status rx_config_read(const char *path, struct rx_config *config)
{
    if (path == NULL || config == NULL)
        return yp_set_error(YP_INVALID, "rx_config_read: %s is NULL",
                            path == NULL ? "path" : "config");
    *config = (struct rx_config){.training = train_defaults()};
    struct reading r = {.path = path, .config = config};
    enum yp_status status = take_text(path, config);
    enum ypi_ini read = status == YP_OK
                            ? ypi_ini_read_text(path, config->text, config->length, take, &r)
                            : YPI_INI_OK;
    if (r.pca > 0 && config->options.components == 0 && r.first[0] == '\0')
        snprintf(r.first, sizeof r.first,
                 "%s:%d: components of [pca] is missing, allowed are 1 to the channels", path,
                 r.pca);
    check_chosen(&r);
    check_detector(&r);
    check_scaling(&r);
    if (read == YPI_INI_UNREADABLE)
        status = yp_set_error(YP_IO, "rx_config_read: %s cannot be read", path);
    else if (r.first[0] != '\0')
        status = yp_set_error(YP_INVALID, "rx_config_read: %s", r.first);
    else if (read == YPI_INI_WRONG)
        status = yp_set_error(YP_INVALID,
                              "rx_config_read: %s has a line that is no [section], name = value "
                              "or comment; stderr has its number",
                              path);
    if (status != YP_OK)
        rx_config_clear(config);
    return status;
}

void rx_config_clear(struct rx_config *config)
{
    if (config == NULL)
        return;
    free(config->text);
    config->text = NULL;
    config->length = 0;
}

enum yp_status rx_config_save(const struct rx_config *config, const char *path)
{
    struct ypi_atomic_file file;
    if (config == NULL || config->text == NULL || path == NULL)
        return yp_set_error(YP_INVALID, "rx_config_save: %s is NULL",
                            config == NULL         ? "config"
                            : config->text == NULL ? "config->text"
                                                   : "path");
    enum yp_status status = ypi_atomic_create(&file, path);
    if (status != YP_OK)
        return status;
    status = ypi_write_at(file.fd, path, 0, config->text, config->length);
    if (status == YP_OK)
        status = ypi_atomic_sync(&file);
    if (status == YP_OK)
        status = ypi_atomic_publish(&file, true);
    ypi_atomic_abandon(&file);
    return status == YP_OK ? ypi_sync_directory(path) : status;
}

uint64_t rx_config_identity(const struct rx_config *config)
{
    uint64_t identity = data_order_key(ROWS, config->options.normalise, config->options.select);
    for (size_t i = 0; i < ROWS; i++) {
        bool refuses = rows[i].at == OF(max_error); /* what is taken, and not what is computed */
        if (rows[i].at >= offsetof(struct rx_config, training) || refuses)
            continue;
        static const size_t bytes[] = {
            [REAL] = sizeof(double),      [SINGLE] = sizeof(float),     [SIZE] = sizeof(size_t),
            [WHOLE64] = sizeof(uint64_t), [WHOLE32] = sizeof(uint32_t), [FLAG] = sizeof(bool),
            [CHOICE] = sizeof(unsigned)};
        uint64_t value = 0;
        memcpy(&value, (const char *)config + rows[i].at, bytes[rows[i].kind]);
        identity = data_order_key(identity, i, value);
    }
    return identity;
}
