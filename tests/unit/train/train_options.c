/* models/train/options: every setting of the trainer by its name, from a text and as an option. */
#include "models/train/options.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const struct ypi_option options[] = {TRAIN_OPTION_ROWS(0, 0), YPI_OPTIONS_END};

/* A value that is not the default. */
static const char *another(const struct train_option *o)
{
    const struct train_config usual = train_defaults();
    unsigned now = 0;
    if (o->words != NULL)
        memcpy(&now, (const char *)&usual + o->at, o->kind == TRAIN_OPTION_FLAG ? 1 : sizeof now);
    return o->words != NULL ? o->words[now == 0] : o->high == 1 ? "0.25" : "7";
}

Test(train_options, an_entry_sets_its_member_alone)
{
    for (size_t i = 0; i < TRAIN_OPTIONS; i++) {
        const struct train_option *o = &train_options[i];
        struct train_config usual, set;
        memset(&usual, 0, sizeof usual);
        memset(&set, 0, sizeof set);
        usual = train_defaults();
        memcpy(&set, &usual, sizeof set);
        cr_assert_null(train_option_set(o, another(o), (char *)&set + o->at), "%s", o->name);
        const size_t end = o->at + train_option_bytes(o);
        const char *a = (const char *)&usual, *b = (const char *)&set;
        cr_expect(memcmp(a, b, o->at) == 0 && memcmp(a + end, b + end, sizeof set - end) == 0,
                  "%s of [%s] changes another", o->name, o->section);
        cr_expect(memcmp(a + o->at, b + o->at, end - o->at) != 0, "%s of [%s] changes nothing",
                  o->name, o->section);
        for (size_t k = 0; k < i; k++)
            cr_expect(train_options[k].at != o->at, "%s and %s are one", train_options[k].name,
                      o->name);
    }
}

/* Rows of a command's table, by the entries that they set. */
Test(train_options, a_command_has_all_but_those_it_names_itself)
{
    struct train_words words = {.config = train_defaults()};
    static const char *const own[] = {"seed", "batch", "checkpoint-every", "adamw-lr", "sgd-lr"};
    size_t rows = 0, given = 0;
    for (const struct ypi_option *row = options; !ypi_option_is_end(row); row++, rows++) {
        char name[TRAIN_OPTION_NAME];
        size_t i = 0;
        while (i < TRAIN_OPTIONS &&
               strcmp(train_option_word(&train_options[i], name), row->name) != 0)
            i++;
        cr_assert(i < TRAIN_OPTIONS, "%s is no setting", row->name);
        cr_expect(ypi_option_takes_value(row) && row->help != NULL);
        cr_assert_null(ypi_option_set(&words, row, another(&train_options[i])), "%s", row->name);
        cr_expect(words.given[i], "--%s is not noted", row->name);
    }
    for (size_t i = 0; i < TRAIN_OPTIONS; i++) {
        char name[TRAIN_OPTION_NAME];
        bool is_own = false;
        train_option_word(&train_options[i], name);
        for (size_t k = 0; k < sizeof own / sizeof *own; k++)
            is_own = is_own || strcmp(own[k], name) == 0;
        cr_expect_neq(words.given[i], is_own, "--%s", name);
        given += words.given[i];
    }
    cr_expect_eq(given, rows);
}

/* What a text of --NAME is refused with; the caller frees. */
static char *refused(struct train_words *words, const char *name, const char *text)
{
    const struct ypi_option *row = ypi_option_find(options, name, strlen(name));
    cr_assert_not_null(row, "%s", name);
    return ypi_option_set(words, row, text);
}

Test(train_options, refused_values_say_what_is_allowed)
{
    static const struct {
        const char *name, *text, *allowed;
    } table[] = {{"average", "1.5", "one of the numbers from 0 up to 1"},
                 {"average", "nan", "one of the numbers from 0 up to 1"},
                 {"clip", "-1", "one of the numbers from 0 up to 1e+30"},
                 {"clip", "", "one of the numbers from 0 up to 1e+30"},
                 {"plateau-factor", "0", "one of the numbers above 0 up to 1"},
                 {"accumulate", "0", "one of the whole numbers from 1 up to 1e+09"},
                 {"accumulate", "1.5", "one of the whole numbers from 1 up to 1e+09"},
                 {"epochs", "-1", "one of the whole numbers of 0 to 2^64 - 1"},
                 {"schedule", "cosines", "one of plateau, constant, cosine"},
                 {"keep-best", "yes", "one of false, true"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct train_words words = {.config = train_defaults()};
        const struct train_config before = words.config;
        char *allowed = refused(&words, table[i].name, table[i].text);
        cr_assert_not_null(allowed, "--%s %s is taken", table[i].name, table[i].text);
        cr_expect_str_eq(allowed, table[i].allowed);
        cr_expect(memcmp(&before, &words.config, sizeof before) == 0, "%s", table[i].name);
        free(allowed);
    }
}

Test(train_options, fp16_has_a_scale_unless_one_is_given)
{
    struct train_words words = {.config = train_defaults()};
    cr_assert_null(refused(&words, "scaling-growth", "3"));
    cr_expect_eq(train_words_check(&words), YP_INVALID);
    train_words_scale(&words);
    cr_expect_eq(words.config.scaling.initial, 65536);
    cr_expect_eq(train_words_check(&words), YP_OK);
    for (int i = 0; i < 2; i++) {
        cr_assert_null(refused(&words, "scaling-initial", i == 0 ? "8" : "0"));
        train_words_scale(&words);
        cr_expect_eq(words.config.scaling.initial, i == 0 ? 8 : 0);
    }
}

Test(train_options, what_has_no_effect_is_refused)
{
    static const struct {
        const char *words[4]; /* names and values */
        const char *error;    /* NULL: it is right */
    } table[] = {{{"cosine-warmup", "4"},
                  "--cosine-warmup has no effect: must be without it, or --schedule"},
                 {{"cosine-warmup", "4", "schedule", "cosine"}, NULL},
                 {{"plateau-factor", "0.5", "schedule", "cosine"}, "--schedule plateau"},
                 {{"plateau-factor", "0.5"}, NULL},
                 {{"adamw-eps", "0.5", "optimiser", "sgd"}, "--optimiser adamw"},
                 {{"sgd-momentum", "0.5"}, "--optimiser sgd"},
                 {{"scaling-growth", "3"}, "--scaling-initial above 0"},
                 {{"scaling-growth", "3", "scaling-initial", "8"}, NULL},
                 {{"scaling-initial", "0"}, NULL}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct train_words words = {.config = train_defaults()};
        for (size_t k = 0; k < 4 && table[i].words[k] != NULL; k += 2)
            cr_assert_null(refused(&words, table[i].words[k], table[i].words[k + 1]));
        const enum yp_status status = train_words_check(&words);
        cr_expect_eq(status, table[i].error == NULL ? YP_OK : YP_INVALID, "%zu", i);
        cr_expect(table[i].error == NULL || strstr(yp_last_error(), table[i].error) != NULL,
                  "%zu: %s", i, yp_last_error());
    }
}
