/* The ini file of a pipeline and its training: a table of names, values by kind. */
#include "models/rx/config.h"

#include "base/options/ini.h"
#include "base/system/atomic_file.h"
#include "base/text/text.h"
#include "models/data/order.h"
#include "models/train/options.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)64 << 10)

/* -- the table -------------------------------------------------------------------------------- */

static_assert(sizeof(enum rx_detector) == sizeof(unsigned), "choices are stored as unsigned");

static const char *const starts[] = {"variance", "uniform", NULL};
static const char *const ways[] = {"soft", "weights", "ones", NULL};
static const char *const detectors[] = {"global", "image", "lad", "autoencoder", NULL};
static const char *const inverses[] = {"cholesky", "pinv", NULL};
static const char *const operands[] = {"fp32", "bf16", "fp16", NULL};
static const char *const flags[] = {"false", "true", NULL};

#define LARGE 1e30
#define OF(member) offsetof(struct rx_config, options.member)
#define OR(member) offsetof(struct rx_config, training.member)

/* In struct rx_config; the trainer's own follow. */
static const struct train_option own[] = {
    {"minmax", "by_sample", TRAIN_OPTION_FLAG, OF(by_sample), 0, 0, false, flags},
    {"selector", "keep", TRAIN_OPTION_REAL, OF(keep), 0, 1e6, false, NULL},
    {"selector", "temperature", TRAIN_OPTION_REAL, OF(temperature), 0, 1e6, true, NULL},
    {"selector", "train_temperature", TRAIN_OPTION_FLAG, OF(train_temperature), 0, 0, false, flags},
    {"selector", "start", TRAIN_OPTION_FLAG, OF(uniform), 0, 0, false, starts},
    {"selector", "hard", TRAIN_OPTION_CHOICE, OF(hard), 0, 0, false, ways},
    {"selector", "temperature_decay", TRAIN_OPTION_REAL, OF(temperature_decay), 0, 1, false, NULL},
    {"selector", "temperature_min", TRAIN_OPTION_REAL, OF(temperature_min), 0, 1e6, false, NULL},
    {"selector", "entropy", TRAIN_OPTION_REAL, OF(entropy), -LARGE, LARGE, false, NULL},
    {"selector", "diversity", TRAIN_OPTION_REAL, OF(diversity), -LARGE, LARGE, false, NULL},
    {"pca", "components", TRAIN_OPTION_SIZE, OF(components), 1, RX_MAX_CHANNELS, false, NULL},
    {"pca", "orthogonality", TRAIN_OPTION_REAL, OF(orthogonality), 0, LARGE, false, NULL},
    {"pca", "whiten", TRAIN_OPTION_FLAG, OF(whiten), 0, 0, false, flags},
    {"pca", "residual", TRAIN_OPTION_FLAG, OF(residual), 0, 0, false, flags},
    {"detector", "kind", TRAIN_OPTION_CHOICE, OF(detector), 0, 0, false, detectors},
    {"detector", "eps", TRAIN_OPTION_REAL, OF(eps), 0, LARGE, false, NULL},
    {"detector", "shrink", TRAIN_OPTION_REAL, OF(shrink), 0, 1, false, NULL},
    {"detector", "mask_dead", TRAIN_OPTION_FLAG, OF(mask_dead), 0, 0, false, flags},
    {"detector", "max_error", TRAIN_OPTION_REAL, OF(max_error), 0, LARGE, false, NULL},
    {"detector", "inverse", TRAIN_OPTION_CHOICE, OF(inverse), 0, 0, false, inverses},
    {"detector", "hidden", TRAIN_OPTION_SIZE, OF(hidden), 0, RX_MAX_CHANNELS, false, NULL},
    {"detector", "seed", TRAIN_OPTION_WHOLE64, OF(seed), 0, 0, false, NULL},
    {"logit", "scale", TRAIN_OPTION_SINGLE, OF(scale), -LARGE, LARGE, false, NULL},
    {"loss", "positive_weight", TRAIN_OPTION_REAL, OF(positive_weight), 0, 1e6, true, NULL},
    {"train", "precision", TRAIN_OPTION_CHOICE, OF(precision), 0, 0, false, operands},
};
enum { OWN = sizeof own / sizeof *own, ROWS = OWN + TRAIN_OPTIONS };

static const struct train_option *row(size_t i)
{
    return i < OWN ? &own[i] : &train_options[i - OWN];
}

/* Where its value is in struct rx_config. */
static size_t place(size_t i)
{
    return row(i)->at + (i < OWN ? 0 : offsetof(struct rx_config, training));
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
        if (section != NULL ? strcmp(row(i)->section, section) != 0
                            : strcmp(row(i)->section, last) == 0)
            continue;
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n > 0 ? ", " : "",
                              section != NULL ? row(i)->name : row(i)->section);
        last = row(i)->section;
    }
    return ypi_strdup(list);
}

static char *begin(struct reading *r, int line, const char *section)
{
    bool known = false;
    for (size_t i = 0; i < ROWS; i++)
        known = known || strcmp(row(i)->section, section) == 0;
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
        known = known || strcmp(row(i)->section, section) == 0;
        if (strcmp(row(i)->section, section) != 0 || strcmp(row(i)->name, name) != 0)
            continue;
        if (r->given[i])
            return ypi_format("%s of [%s] is given twice", name, section);
        r->given[i] = true;
        char *allowed = train_option_set(row(i), value, (char *)r->config + place(i));
        char *message =
            allowed != NULL ? ypi_format("%s is '%s', allowed are %s", name, value, allowed) : NULL;
        free(allowed);
        return message;
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
    for (size_t i = OWN; i < ROWS && r->first[0] == '\0'; i++) {
        const char *needs = train_option_needs(row(i), &r->config->training);
        if (r->given[i] && needs != NULL && strcmp(row(i)->section, "scaling") != 0)
            snprintf(r->first, sizeof r->first,
                     "%s: %s of [%s] is given, and %s of [train] is another", r->path, row(i)->name,
                     row(i)->section, needs);
    }
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
            if (parts[k].at == place(i) && (parts[k].takers >> kind & 1) == 0)
                snprintf(r->first, sizeof r->first,
                         "%s: %s of [%s] is given, and a detector of kind %s does not take it",
                         r->path, row(i)->name, row(i)->section, detectors[kind]);
}

/* The scale of the loss is PyTorch's where fp16 needs one and the file says nothing else; without
 * one its settings would have no effect. */
static void check_scaling(struct reading *r)
{
    struct train_scaling *scaling = &r->config->training.scaling;
    bool chosen = false;
    for (size_t i = 0; i < ROWS; i++)
        chosen = chosen || (r->given[i] && place(i) == OR(scaling.initial));
    if (!chosen && r->config->options.precision == RX_OPERANDS_FP16)
        scaling->initial = train_scaling_defaults().initial;
    for (size_t i = 0; i < ROWS && scaling->initial == 0 && r->first[0] == '\0'; i++)
        if (r->given[i] && strcmp(row(i)->section, "scaling") == 0 &&
            place(i) != OR(scaling.initial))
            snprintf(r->first, sizeof r->first,
                     "%s: %s of [scaling] is given, and there is no scale: initial is 0, allowed "
                     "with it are numbers above 0",
                     r->path, row(i)->name);
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
        bool refuses = place(i) == OF(max_error); /* what is taken, and not what is computed */
        if (place(i) >= offsetof(struct rx_config, training) || refuses)
            continue;
        uint64_t value = 0;
        memcpy(&value, (const char *)config + place(i), train_option_bytes(row(i)));
        identity = data_order_key(identity, i, value);
    }
    return identity;
}
