/* A .npy file, as it stands: as a header of any number of axes, and as a cube. */
#include "base/system/npy.h"

#include "tests/fuzz/cube.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void check_header(const char *path)
{
    struct ypi_npy h;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    FUZZ_CHECK(fd >= 0);
    if (ypi_npy_read(fd, path, &h) == YP_OK) {
        FUZZ_CHECK(strchr("fiub", h.kind) != NULL && h.axes <= YPI_NPY_AXES);
        FUZZ_CHECK(h.size == 1 || h.size == 2 || h.size == 4 || h.size == 8);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_path("cube.npy");
    fuzz_write(path, data, size);
    check_header(path);
    fuzz_cube(path, path);
    return 0;
}
