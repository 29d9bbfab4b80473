/* A .safetensors file: as it stands, or from a { on, with the length of the header put before it.
 */
#include "models/data/safetensors.h"

#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { PREFIX = 8, READ_MAX = 4096 };

/* The header goes up to the last brace. */
static void write_with_length(const char *path, const uint8_t *data, size_t size)
{
    size_t header = size;
    while (header > 0 && data[header - 1] != '}')
        header--;
    uint8_t *file = calloc(size + PREFIX, 1);
    FUZZ_CHECK(file != NULL);
    for (int i = 0; i < PREFIX; i++)
        file[i] = (uint8_t)(header >> (8 * i));
    memcpy(file + PREFIX, data, size);
    fuzz_write(path, file, size + PREFIX);
    free(file);
}

static void read_tensor(const struct safetensors *file, const struct safetensors_tensor *t)
{
    float floats[READ_MAX];
    double doubles[READ_MAX];
    uint64_t all = safetensors_elements(t);
    size_t count = all < READ_MAX ? (size_t)all : READ_MAX;
    bool real = t->type <= SAFETENSORS_BF16, known = t->type < SAFETENSORS_TYPES;
    FUZZ_CHECK(strlen(t->name) < SAFETENSORS_NAME && t->dims <= SAFETENSORS_DIMS);
    FUZZ_CHECK(!known || t->bytes == all * safetensors_type_bytes(t->type));
    FUZZ_CHECK(safetensors_find(file, t->name) == t);
    FUZZ_CHECK((safetensors_read(file, t, all - count, count, doubles) == YP_OK) == known);
    FUZZ_CHECK((safetensors_read_floats(file, t, 0, count, floats) == YP_OK) == real);
    FUZZ_CHECK((safetensors_read_doubles(file, t, 0, count, doubles) == YP_OK) == real);
    FUZZ_CHECK(safetensors_read(file, t, all, 1, doubles) == (known ? YP_INVALID : YP_UNSUPPORTED));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("tensors.safetensors");
    const struct safetensors_tensor *t = NULL;
    if (size > 0 && data[0] == '{')
        write_with_length(path, data, size);
    else
        fuzz_write(path, data, size);
    struct safetensors *file = safetensors_open(path);
    for (size_t i = 0; file != NULL && (t = safetensors_at(file, i)) != NULL; i++)
        read_tensor(file, t);
    safetensors_close(file);
    return 0;
}
