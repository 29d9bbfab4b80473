/* An ENVI cube: its header, then behind a NUL bytes of the raw file. */
#include "tests/fuzz/cube.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
    size_t header = end != NULL ? (size_t)(end - data) : size;
    size_t raw = end != NULL ? size - header - 1 : 0;
    const char *path = fuzz_path("cube.hdr"), *values = fuzz_path("cube");
    fuzz_write(path, data, header);
    fuzz_write(values, end != NULL ? end + 1 : data, raw);
    fuzz_cube(path, values);
    return 0;
}
