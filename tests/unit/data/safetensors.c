/* models/data/safetensors.h: what is written is read again, files of others are, and what is no
 * such file is refused with the reason. */
#include "models/data/safetensors.h"
#include "tests/unit/status.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static char path[64];

static void begin(void)
{
    snprintf(path, sizeof path, "/tmp/safetensors-%d", (int)getpid());
}

static void end(void)
{
    cr_expect_eq(memory().allocated, 0);
    unlink(path);
}

TestSuite(safetensors, .init = begin, .fini = end, .timeout = 60);

/* A file of this header, with the right length unless `length` is another, and `bytes` zeros. */
static void write_file(const char *header, long long length, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    uint64_t said = length >= 0 ? (uint64_t)length : strlen(header);
    for (int i = 0; i < 8; i++)
        fputc((int)(said >> (8 * i) & 255), file);
    fputs(header, file);
    for (size_t i = 0; i < bytes; i++)
        fputc((int)(i % 251), file);
    fclose(file);
}

Test(safetensors, what_is_written_is_read_again)
{
    struct safetensors_tensor tensors[] = {
        {"a.weight", SAFETENSORS_F32, 2, {3, 5}, 0, 0},
        {"one", SAFETENSORS_F64, 0, {0}, 0, 0},
        {"none", SAFETENSORS_U8, 2, {0, 7}, 0, 0},
        {"a \"name\" \\ with / \n marks", SAFETENSORS_I64, 1, {2}, 0, 0},
    };
    float a[15], got[15];
    double one = 1.0 / 3, one_got;
    int64_t pair[] = {-1, INT64_MAX}, pair_got[2];
    for (int i = 0; i < 15; i++)
        a[i] = (float)i / 7;
    struct safetensors_writer *w = safetensors_create(path, tensors, 4);
    cr_assert_not_null(w, "%s", yp_last_error());
    OK(safetensors_write(w, 0, 4, 11, a + 4)); /* in any order, in pieces */
    OK(safetensors_write(w, 3, 0, 2, pair));
    OK(safetensors_write(w, 0, 0, 4, a));
    cr_expect_neq(access(path, F_OK), 0, "no name before it is whole");
    OK(safetensors_write(w, 1, 0, 1, &one));
    OK(safetensors_finish(w));

    struct safetensors *file = safetensors_open(path);
    cr_assert_not_null(file, "%s", yp_last_error());
    const struct safetensors_tensor *tensor = safetensors_find(file, "a.weight");
    cr_assert_not_null(tensor);
    cr_expect(tensor->dims == 2 && tensor->shape[0] == 3 && tensor->shape[1] == 5);
    OK(safetensors_read_floats(file, tensor, 0, 15, got));
    cr_expect_eq(memcmp(a, got, sizeof a), 0);
    OK(safetensors_read(file, tensor, 13, 2, got));
    cr_expect_eq(got[1], a[14]);
    OK(safetensors_read_doubles(file, safetensors_find(file, "one"), 0, 1, &one_got));
    cr_expect_eq(one_got, one);
    OK(safetensors_read(file, safetensors_find(file, tensors[3].name), 0, 2, pair_got));
    cr_expect_eq(memcmp(pair, pair_got, sizeof pair), 0);
    cr_expect_eq(safetensors_elements(safetensors_find(file, "none")), 0);
    cr_expect_null(safetensors_find(file, "b"));
    cr_expect_null(safetensors_at(file, 4));

    cr_expect_eq(safetensors_read(file, tensor, 14, 2, got), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "elements 14 to 16 of 'a.weight', which has 15"));
    cr_expect_eq(safetensors_read(file, tensor, UINT64_MAX, 2, got), YP_INVALID);
    cr_expect_eq(safetensors_read_floats(file, safetensors_find(file, tensors[3].name), 0, 2, got),
                 YP_UNSUPPORTED);
    safetensors_close(file);
}

/* As the format's own library writes one: metadata, keys in any order, blanks behind. */
Test(safetensors, files_of_others_are_read)
{
    write_file("{\"__metadata__\":{\"format\":\"pt\"},"
               "\"b\":{\"data_offsets\":[20,26],\"shape\":[3],\"dtype\":\"BF16\"},"
               "\"h\":{\"dtype\":\"F16\",\"shape\":[2,5],\"data_offsets\":[0,20]}}      ",
               -1, 0);
    static const uint16_t numbers[] = {0x0001, 0x0400, 0x7bff, 0xfbff, 0x3555, 0x7c00, 0xfc00,
                                       0x7c01, 0x3c00, 0x8001, 0x3f80, 0xc000, 0x7fc0};
    static const double halves[] = {0x1p-24,  0x1p-14,   65504, -65504, 1365.0 / 4096,
                                    INFINITY, -INFINITY, NAN,   1,      -0x1p-24};
    FILE *out = fopen(path, "ab");
    fwrite(numbers, sizeof numbers, 1, out);
    fclose(out);
    struct safetensors *file = safetensors_open(path);
    cr_assert_not_null(file, "%s", yp_last_error());
    double h[10];
    float b[3];
    OK(safetensors_read_doubles(file, safetensors_find(file, "h"), 0, 10, h));
    for (int i = 0; i < 10; i++)
        cr_expect(h[i] == halves[i] || (isnan(h[i]) && isnan(halves[i])), "%d: %g", i, h[i]);
    OK(safetensors_read_floats(file, safetensors_find(file, "b"), 0, 3, b));
    cr_expect(b[0] == 1 && b[1] == -2 && isnan(b[2]));
    cr_expect_str_eq(safetensors_at(file, 0)->name, "h", "in the order of their bytes");
    safetensors_close(file);
}

/* Of a type that is not known it is not known how long it is: what the file says counts. */
Test(safetensors, a_tensor_of_another_type_has_a_place)
{
    write_file("{\"m\":{\"dtype\":\"BOOL\",\"shape\":[2,2],\"data_offsets\":[0,4]},"
               "\"n\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[4,6]},"
               "\"u\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[6,8]}}",
               -1, 8);
    struct safetensors *file = safetensors_open(path);
    cr_assert_not_null(file, "%s", yp_last_error());
    const struct safetensors_tensor *n = safetensors_find(file, "n");
    unsigned char u[2];
    float floats[3];
    cr_expect(n->type == SAFETENSORS_OTHER && n->bytes == 2 && safetensors_elements(n) == 3);
    cr_expect_eq(safetensors_read(file, n, 0, 3, floats), YP_UNSUPPORTED);
    cr_expect_not_null(strstr(yp_last_error(), "tensor 'n' is of a type that is not known"));
    cr_expect_eq(safetensors_read_floats(file, n, 0, 3, floats), YP_UNSUPPORTED);
    OK(safetensors_read(file, safetensors_find(file, "u"), 0, 2, u));
    cr_expect(u[0] == 6 && u[1] == 7);
    struct safetensors_tensor other[] = {{"a", SAFETENSORS_OTHER, 1, {2}, 0, 0}};
    cr_expect_null(safetensors_create(path, other, 1));
    safetensors_close(file);
}

Test(safetensors, what_is_no_such_file_is_refused)
{
#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}"
    static const struct {
        const char *header;
        long long length;
        size_t bytes;
        const char *words;
    } wrong[] = {
        {"{" A "}", 1LL << 40, 8, "the header has 1099511627776 bytes"},
        {"{" A "}", 2000, 8, "the header has 2000 bytes: must be within the file"},
        {"{" A "}", 10, 100, "the header is no JSON object"},
        {"[1]", -1, 0, "the header is no JSON object"},
        {"{" A "} x", -1, 8, NULL}, /* what stands behind the object does not count */
        {"{\"a\":7}", -1, 0, "is described by no object"},
        {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", -1, 8, "dtype is no word"},
        {"{\"a\":{\"dtype\":4,\"shape\":[2],\"data_offsets\":[0,8]}}", -1, 8, "dtype is no word"},
        {"{\"a\":{\"dtype\":\"Q4\",\"shape\":[2],\"data_offsets\":[0,9]}}", -1, 8, "not a range"},
        {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", -1, 8, "shape is no list"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", -1, 8,
         "whole number"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,6]}}", -1, 6,
         "whole number"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,8]}}", -1,
         8, "too large"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", -1, 8,
         "more than 8 dimensions"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,12]}}", -1, 12,
         "not as long"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]}}", -1, 8, "not a range"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", -1, 8, "not a range"},
        {"{" A "}", -1, 7, "not a range within the file"},
        {"{" A "}", -1, 9, "1 bytes behind the last tensor"},
        {"{" A ",\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[4,12]}}", -1, 12,
         "overlap"},
        {"{" A ",\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[10,12]}}", -1, 12,
         "a gap"},
        {"{" A "," A "}", -1, 8, "is there twice"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file(wrong[i].header, wrong[i].length, wrong[i].bytes);
        struct safetensors *file = safetensors_open(path);
        cr_expect_eq(file != NULL, wrong[i].words == NULL, "%s", wrong[i].header);
        if (file == NULL) {
            cr_expect_eq(yp_last_status(), YP_IO);
            cr_expect(strstr(yp_last_error(), path) != NULL &&
                          strstr(yp_last_error(), wrong[i].words) != NULL,
                      "'%s' is not '%s'", yp_last_error(), wrong[i].words);
        }
        safetensors_close(file);
    }
    cr_expect_null(safetensors_open("/tmp"));
    cr_expect_null(safetensors_open("/no/such/file"));
    FILE *file = fopen(path, "wb");
    fputs("short", file);
    fclose(file);
    cr_expect_null(safetensors_open(path));
    cr_expect_not_null(strstr(yp_last_error(), "5 bytes are no .safetensors file"));
}

Test(safetensors, what_cannot_be_written_is_refused)
{
    struct safetensors_tensor twice[] = {{"a", SAFETENSORS_F32, 1, {2}, 0, 0},
                                         {"a", SAFETENSORS_F32, 1, {2}, 0, 0}};
    cr_expect_null(safetensors_create(path, twice, 2));
    cr_expect_not_null(strstr(yp_last_error(), "tensor 1, 'a': must have a name of its own"));
    cr_expect_null(safetensors_create("/no/such/directory/file", twice, 1));
    struct safetensors_tensor huge[] = {
        {"h", SAFETENSORS_F64, 2, {UINT64_C(1) << 31, UINT64_C(1) << 31}, 0, 0}};
    cr_expect_null(safetensors_create(path, huge, 1));
    cr_expect_not_null(strstr(yp_last_error(), "tensor 'h' ends beyond 2^53 bytes"));
    huge[0].shape[0] = UINT64_MAX;
    cr_expect_null(safetensors_create(path, huge, 1));
    struct safetensors_writer *w = safetensors_create(path, twice, 1);
    cr_assert_not_null(w);
    float values[3] = {0};
    cr_expect_eq(safetensors_write(w, 0, 0, 3, values), YP_INVALID);
    cr_expect_eq(safetensors_write(w, 1, 0, 1, values), YP_INVALID);
    OK(safetensors_write(w, 0, 0, 1, values));
    cr_expect_eq(safetensors_finish(w), YP_INVALID);
    cr_expect_not_null(strstr(yp_last_error(), "4 of 8 bytes were written"));
    cr_expect_neq(access(path, F_OK), 0, "what is not whole has no name");
    w = safetensors_create(path, twice, 1);
    safetensors_abandon(w);
    cr_expect_neq(access(path, F_OK), 0);
    safetensors_abandon(NULL);
    safetensors_close(NULL);
}
