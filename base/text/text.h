/* Growing text and memory that is there or ends the process: a runner without memory for its own
 * lists cannot tell anything any more. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *ypi_calloc(size_t count, size_t size) __attribute__((returns_nonnull));
void *ypi_realloc(void *block, size_t count, size_t size) __attribute__((returns_nonnull));
char *ypi_strdup(const char *text) __attribute__((returns_nonnull));
char *ypi_format(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
char *ypi_vformat(const char *format, va_list arguments) __attribute__((returns_nonnull));

/* A list of `count` owned texts with one more, which is taken over; NULL has none. */
char **ypi_list_add(char **list, int count, char *text) __attribute__((returns_nonnull));
bool ypi_list_has(const char *const *list, int count, const char *text);
void ypi_list_free(char **list, int count);

struct ypi_text {
    char *data; /* NUL-terminated once anything was added; owned */
    size_t length;
    size_t capacity;
};

void ypi_text_add(struct ypi_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void ypi_text_vadd(struct ypi_text *text, const char *format, va_list arguments);
void ypi_text_bytes(struct ypi_text *text, const char *bytes, size_t count);
/* One argument, between quotes where a shell would not take it as it stands, or `always`. */
void ypi_text_quoted(struct ypi_text *text, const char *argument, bool always);
/* A field of CSV (RFC 4180), in UTF-8: quoted where a comma, a quote or a line end stands in it. */
void ypi_text_csv(struct ypi_text *text, const char *field);
char *ypi_shell_quote(const char *argument); /* the caller frees */
char *ypi_text_take(struct ypi_text *text);  /* never NULL; the caller frees; text is empty after */

/* The next blank-separated word at *cursor; false at the end. The word is not terminated. */
bool ypi_next_word(const char **cursor, const char **word, size_t *length);
/* "cpu, cuda or all" of "cpu cuda all". The caller frees. */
char *ypi_join_words(const char *words, const char *last);
bool ypi_has_word(const char *words, const char *word, size_t length);

/* The length of the well-formed character of UTF-8 at `text` (RFC 3629, section 4), 0 when there is
 * none. */
size_t ypi_character(const char *text);
/* The text with U+FFFD in the place of each byte that is no UTF-8. The caller frees. */
char *ypi_utf8(const char *text) __attribute__((returns_nonnull));
/* Puts '?' for each control character, which would take hold of a terminal. */
void ypi_make_printable(char *text);
/* The columns that `length` bytes of UTF-8 take on a terminal, one a character. */
size_t ypi_columns(const char *text, size_t length);
/* Tells stderr "   ^~~~": `length` columns from `column`, one at least. */
void ypi_underline(size_t column, size_t length);

/* Levenshtein's; SIZE_MAX where b has 256 bytes or more. */
size_t ypi_distance(const char *a, const char *b);
/* The nearest of `names` to a mistyped `word`, or NULL when none is near enough. */
const char *ypi_nearest(const char *word, const char *const *names, int count);
/* ", did you mean 'NEAREST'?", or "" when none is near enough. The caller frees. */
char *ypi_did_you_mean(const char *word, const char *const *names, int count);

/* Whole-string numbers; false when anything but the number is there or it does not fit. */
bool ypi_parse_u64(const char *text, uint64_t *out);
bool ypi_parse_i64(const char *text, long long *out);
bool ypi_parse_double(const char *text, double *out);
/* Bytes: 1500, 1500B; 64K, 64KiB, 2M, 1.5G, 1T: powers of 1024; 64KB, 80GB: of 1000. */
bool ypi_parse_size(const char *text, uint64_t *out);
/* "3%", "3 %" or 0.03. */
bool ypi_parse_part(const char *text, double *out);
/* Seconds: 90, 90s, 5m, 1.5h. */
bool ypi_parse_duration(const char *text, double *out);

/* The shortest text that reads back as the same double: 100, 0.1, 1e+06. */
void ypi_print_double(char out[32], double value);
