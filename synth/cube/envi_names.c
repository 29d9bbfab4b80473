/* The two files of an ENVI cube, from the name of either. */
#include "synth/cube/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const raw_endings[] = {
    "",     ".img", ".dat", ".raw", ".bsq", ".bil", ".bip", ".bin",
    ".IMG", ".DAT", ".RAW", ".BSQ", ".BIL", ".BIP", ".BIN",
};
#define RAW_ENDINGS (sizeof raw_endings / sizeof *raw_endings)

static bool ends_with(const char *path, size_t length, const char *ending)
{
    size_t size = strlen(ending);
    return length > size && strncasecmp(path + length - size, ending, size) == 0;
}

size_t ypi_envi_stem(const char *path)
{
    size_t length = strlen(path);
    if (ends_with(path, length, ".hdr"))
        return length - 4;
    for (size_t i = 1; i < RAW_ENDINGS; i++)
        if (ends_with(path, length, raw_endings[i]))
            return length - strlen(raw_endings[i]);
    return length;
}

static bool is_file(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* The first stem + ending that is a regular file. */
static bool find(char out[YPI_PATH_MAX], const char *stem, size_t length,
                 const char *const *endings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int size = snprintf(out, YPI_PATH_MAX, "%.*s%s", (int)length, stem, endings[i]);
        if (size > 0 && size < YPI_PATH_MAX && is_file(out))
            return true;
    }
    return false;
}

enum yp_status ypi_envi_find(const char *path, char header[YPI_PATH_MAX], char raw[YPI_PATH_MAX])
{
    static const char *const header_endings[] = {".hdr", ".HDR", ".Hdr"};
    size_t length = strlen(path);
    if (length + 8 > YPI_PATH_MAX)
        return yp_set_error(YP_INVALID, "a path of %zu bytes: must be below %d", length,
                            YPI_PATH_MAX - 8);
    if (ends_with(path, length, ".hdr")) {
        memcpy(header, path, length + 1);
        if (!is_file(header))
            return yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
        if (find(raw, path, length - 4, raw_endings, RAW_ENDINGS))
            return YP_OK;
        return yp_set_error(YP_IO,
                            "%s: no raw file beside it: looked for %.*s and the same with .img, "
                            ".dat, .raw, .bsq, .bil, .bip, .bin",
                            path, (int)(length - 4), path);
    }
    if (!find(raw, path, length, raw_endings, RAW_ENDINGS)) {
        if (access(path, F_OK) == 0)
            return yp_set_error(YP_IO, "%s: is there and is no file", path);
        return yp_set_error(YP_IO, "%s: %s", path, strerror(ENOENT));
    }
    if (find(header, raw, strlen(raw), header_endings, 3) ||
        find(header, raw, ypi_envi_stem(raw), header_endings, 3))
        return YP_OK;
    size_t stem = ypi_envi_stem(raw);
    const char *dot = strrchr(raw, '.');
    if (dot != NULL && strchr(dot, '/') == NULL &&
        find(header, raw, (size_t)(dot - raw), header_endings, 3))
        return YP_OK;
    return yp_set_error(YP_IO,
                        "%s: is no .npy, and for an ENVI cube there is no header beside it: looked "
                        "for %s.hdr and %.*s.hdr",
                        raw, raw, (int)stem, raw);
}
