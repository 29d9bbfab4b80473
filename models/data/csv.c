/* Tables in text, read once from front to back. */
#include "models/data/csv.h"

#include "base/text/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK = 64, NAME_MOST = 64 };

/* -- where fields end -------------------------------------------------------------------------- */

static uint64_t equal(const char *bytes, char which)
{
    uint64_t bits = 0;
#ifdef __SSE2__
    for (int i = 0; i < BLOCK / 16; i++) {
        const __m128i part = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i));
        const int is = _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(which)));
        bits |= (uint64_t)(unsigned)is << 16 * i;
    }
#else
    for (int i = 0; i < BLOCK; i++)
        bits |= (uint64_t)(bytes[i] == which) << i;
#endif
    return bits;
}

static void look_at(struct data_csv *c, size_t block)
{
    char last[BLOCK] = {0};
    const char *bytes = c->data + block;
    if (c->size - block < BLOCK)
        bytes = memcpy(last, bytes, c->size - block);
    c->block = block;
    c->lines = equal(bytes, '\n');
    c->quotes = equal(bytes, '"');
    c->marks = equal(bytes, ',') | c->lines | c->quotes;
}

/* Goes on with the block behind; false where there is none. */
static bool look_on(struct data_csv *c)
{
    if (c->size - c->block <= BLOCK)
        return false;
    look_at(c, c->block + BLOCK);
    return true;
}

/* Sets `end` and `fields` of the row that begins at `begin`; more fields than columns may be count
 * as one more. False: a quote has no end. */
static bool find_ends(struct data_csv *c)
{
    bool quoted = false, ended = false;
    size_t fields = 0, at = 0;
    c->line = c->next_line;
    do {
        const uint64_t special = c->lines | c->quotes;
        const size_t block = c->block - c->begin;
        uint64_t marks = c->marks;
        while (marks != 0 && !ended) {
            const uint64_t mark = marks & -marks;
            at = block + (size_t)__builtin_ctzll(marks);
            marks &= marks - 1;
            if ((mark & special) != 0) {
                c->next_line += (c->lines & mark) != 0;
                quoted ^= (c->quotes & mark) != 0;
                ended = (c->lines & mark) != 0 && !quoted;
                if (!ended)
                    continue;
            }
            c->end[fields] = (uint32_t)at;
            fields += !quoted && fields <= DATA_CSV_COLUMNS;
        }
        c->marks = marks;
    } while (!ended && look_on(c));
    if (!ended) { /* the last row may have no line end */
        at = c->size - c->begin;
        c->end[fields++] = (uint32_t)at;
    }
    c->fields = fields;
    c->next = c->begin + at + ended;
    return !quoted;
}

static inline struct data_csv_text field(const struct data_csv *c, size_t place)
{
    const char *from = c->data + c->begin + (place > 0 ? c->end[place - 1] + 1 : 0);
    const char *to = c->data + c->begin + c->end[place];
    if (to > from && to[-1] == '\r' && place + 1 == c->fields)
        to--;
    if (to - from >= 2 && *from == '"' && to[-1] == '"') {
        from++;
        to--;
    }
    return (struct data_csv_text){from, (size_t)(to - from)};
}

enum data_csv_step data_csv_next(struct data_csv *c)
{
    bool whole;
    do {
        if (c->next >= c->size)
            return DATA_CSV_END;
        c->begin = c->next;
        whole = find_ends(c);
    } while (whole && c->fields == 1 && field(c, 0).length == 0);
    if (!whole)
        yp_set_error(YP_INVALID, "%s:%zu: a quote has no end", c->path, c->line);
    else if (c->fields != c->columns)
        yp_set_error(YP_INVALID, "%s:%zu: the row has %zu fields: must be %zu, as the first row",
                     c->path, c->line, c->fields, c->columns);
    return whole && c->fields == c->columns ? DATA_CSV_ROW : DATA_CSV_BAD;
}

/* -- the first row ----------------------------------------------------------------------------- */

/* In lower case, '_' before each capital but the first, and in the place of '-' and ' '. */
static void standard_name(char out[NAME_MOST], struct data_csv_text name)
{
    size_t length = 0;
    for (size_t i = 0; i < name.length && length + 2 < NAME_MOST; i++) {
        const char c = name.text[i];
        const bool capital = c >= 'A' && c <= 'Z';
        if (capital && i > 0 && out[length - 1] != '_')
            out[length++] = '_';
        out[length++] = capital ? (char)(c - 'A' + 'a') : c == '-' || c == ' ' ? '_' : c;
    }
    out[length] = '\0';
}

/* Names whose words nothing parts. */
static bool is_same(const char *name, const char *wanted)
{
    while (*wanted != '\0' && (*name == *wanted || *wanted == '_')) {
        name += *name == *wanted;
        wanted++;
    }
    return *name == *wanted;
}

static enum yp_status find_columns(struct data_csv *c, const struct data_csv_column *columns)
{
    char name[NAME_MOST];
    for (size_t k = 0; k < c->wanted; k++) {
        c->place[k] = -1;
        for (size_t i = 0; i < c->columns; i++) {
            standard_name(name, field(c, i));
            if (!is_same(name, columns[k].name))
                continue;
            if (c->place[k] >= 0)
                return yp_set_error(YP_INVALID, "%s:%zu: column %s is there twice", c->path,
                                    c->line, columns[k].name);
            c->place[k] = (int)i;
        }
        if (c->place[k] < 0 && !columns[k].optional)
            return yp_set_error(YP_INVALID, "%s:%zu: there is no column %s", c->path, c->line,
                                columns[k].name);
    }
    return YP_OK;
}

static enum yp_status map(struct data_csv *c)
{
    struct stat found;
    const int fd = open(c->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* waits for no writer */
    if (fd < 0 || fstat(fd, &found) != 0) {
        const enum yp_status status =
            yp_set_error(YP_IO, "%s: cannot be read: %s", c->path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (!S_ISREG(found.st_mode)) {
        close(fd);
        return yp_set_error(YP_IO, "%s: is no file", c->path);
    }
    c->size = (size_t)found.st_size;
    void *mapped = c->size > 0 ? mmap(NULL, c->size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    const int reason = errno;
    close(fd);
    if (mapped == MAP_FAILED)
        return yp_set_error(YP_IO, "%s: %s", c->path,
                            c->size == 0 ? "is empty: must begin with the names of its columns"
                                         : strerror(reason));
    madvise(mapped, c->size, MADV_SEQUENTIAL);
    c->data = mapped;
    return YP_OK;
}

enum yp_status data_csv_open(struct data_csv *c, const char *path,
                             const struct data_csv_column *columns, size_t count)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, as some programs begin a file */
    memset(c, 0, sizeof *c);
    if (strlen(path) >= sizeof c->path)
        return yp_set_error(YP_INVALID, "a path of %zu bytes: must be below %zu", strlen(path),
                            sizeof c->path);
    memcpy(c->path, path, strlen(path) + 1);
    enum yp_status status = map(c);
    if (status != YP_OK)
        return status;
    c->wanted = count;
    c->line = c->next_line = 1;
    c->begin = c->size >= 3 && memcmp(c->data, mark, 3) == 0 ? 3 : 0;
    look_at(c, 0);
    if (!find_ends(c) || c->fields > DATA_CSV_COLUMNS)
        status = yp_set_error(YP_INVALID, "%s:1: must be the names of at most %d columns", path,
                              DATA_CSV_COLUMNS);
    c->columns = c->fields;
    if (status == YP_OK)
        status = find_columns(c, columns);
    if (status != YP_OK)
        data_csv_close(c);
    return status;
}

void data_csv_close(struct data_csv *c)
{
    if (c->data != NULL)
        munmap((void *)(uintptr_t)c->data, c->size);
    c->data = NULL;
}

/* -- fields ------------------------------------------------------------------------------------ */

static inline struct data_csv_text text_of(const struct data_csv *c, size_t column)
{
    return c->place[column] < 0 ? (struct data_csv_text){"", 0}
                                : field(c, (size_t)c->place[column]);
}

struct data_csv_text data_csv_text(const struct data_csv *c, size_t column)
{
    return text_of(c, column);
}

bool data_csv_is(const struct data_csv *c, size_t column, const char *text)
{
    const struct data_csv_text is = text_of(c, column);
    return strlen(text) == is.length && memcmp(is.text, text, is.length) == 0;
}

static bool is_missing(struct data_csv_text t)
{
    return t.length == 0 || (t.length == 2 && t.text[0] == 'N' && t.text[1] == 'A');
}

/* Digits up to the first byte that is none; 18 of them fit. */
static inline const char *read_digits(const char *at, const char *end, uint64_t *value)
{
    uint64_t read = *value;
    for (unsigned digit; at < end && (digit = (unsigned char)*at - (unsigned)'0') <= 9; at++)
        read = read * 10 + digit;
    *value = read;
    return at;
}

#define BYTES(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Up to eight bytes, digits and at most one point, as a number and how many digits stand behind the
 * point: all of them at a time, in the bytes of one word. False: they are something else. */
static inline bool read_word(const char *from, const char *end, uint64_t *value, size_t *behind)
{
    uint64_t word;
    memcpy(&word, end - 8, 8);
    const uint64_t mine = ~UINT64_C(0) << (64 - 8 * (end - from));
    word = (word & mine) | (BYTES('0') & ~mine);
    const uint64_t x = word ^ BYTES('.');
    const uint64_t point = (x - BYTES(1)) & ~x & BYTES(0x80);
    *behind = 0;
    if (point != 0) { /* the digits before it move on */
        const int below = __builtin_ctzll(point) / 8 * 8;
        const uint64_t before = word & ~(~UINT64_C(0) << below);
        word = (word & (~UINT64_C(0) << below << 8)) | before << 8 | '0';
        *behind = (size_t)(56 - below) / 8;
    }
    if (((word & BYTES(0xf0)) | ((word + BYTES(6)) & BYTES(0xf0)) >> 4) != BYTES(0x33))
        return false;
    word -= BYTES('0');
    word = word * 10 + (word >> 8); /* pairs, then all four of them */
    const uint64_t pairs = UINT64_C(0x000000ff000000ff);
    *value = ((word & pairs) * UINT64_C(0x000f424000000064) +
              (word >> 16 & pairs) * UINT64_C(0x0000271000000001)) >>
             32;
    return point == 0 || end - from > 1;
}

/* Whether read_word() may: there are eight bytes before the field's end. */
static inline bool is_short(const struct data_csv *c, const char *from, const char *end)
{
    return end - from >= 1 && end - from <= 8 && end - c->data >= 8;
}

enum data_csv_value data_csv_whole(const struct data_csv *c, size_t column, int64_t *out)
{
    enum { DIGITS = 18 };
    const struct data_csv_text t = text_of(c, column);
    const char *end = t.text + t.length, *from = t.text + (t.length > 0 && *t.text == '-');
    uint64_t value = 0;
    size_t behind;
    if (is_short(c, from, end)
            ? !read_word(from, end, &value, &behind) || behind > 0 || end[-1] == '.'
            : read_digits(from, end, &value) != end || from == end || end - from > DIGITS)
        return is_missing(t) ? DATA_CSV_MISSING : DATA_CSV_WRONG;
    *out = from > t.text ? -(int64_t)value : (int64_t)value;
    return DATA_CSV_NUMBER;
}

/* All that strtod() reads. */
static enum data_csv_value read_any(struct data_csv_text t, double *out)
{
    char text[64], *end;
    if (is_missing(t))
        return DATA_CSV_MISSING;
    if (t.length >= sizeof text || isspace((unsigned char)*t.text))
        return DATA_CSV_WRONG;
    memcpy(text, t.text, t.length);
    text[t.length] = '\0';
    *out = strtod(text, &end);
    return *end == '\0' ? DATA_CSV_NUMBER : DATA_CSV_WRONG;
}

enum data_csv_value data_csv_real(const struct data_csv *c, size_t column, double *out)
{
    enum { DIGITS = 15 }; /* a double has them all */
    static const double tens[DIGITS + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const struct data_csv_text t = text_of(c, column);
    const char *end = t.text + t.length, *from = t.text + (t.length > 0 && *t.text == '-');
    uint64_t value = 0;
    size_t behind = 0;
    if (is_short(c, from, end)) {
        if (!read_word(from, end, &value, &behind))
            return read_any(t, out);
    } else {
        const char *point = read_digits(from, end, &value), *at = point;
        if (at < end && *at == '.')
            at = read_digits(point + 1, end, &value);
        if (at != end || end - from > DIGITS || from == end)
            return read_any(t, out);
        behind = at > point ? (size_t)(at - point) - 1 : 0;
    }
    /* Both are exact, so that the quotient is rounded once. */
    const double size = (double)(int64_t)value / tens[behind];
    *out = from > t.text ? -size : size;
    return DATA_CSV_NUMBER;
}
