/* The two files of an ENVI cube, from the name of either. */
#include "synth/cube/internal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const raw_endings[] = {
    "",     ".img", ".dat", ".raw", ".bsq", ".bil", ".bip", ".bin",    ".hyspex",
    ".IMG", ".DAT", ".RAW", ".BSQ", ".BIL", ".BIP", ".BIN", ".HYSPEX",
};
#define RAW_ENDINGS (sizeof raw_endings / sizeof *raw_endings)
static const char *const header_endings[] = {".hdr", ".HDR", ".Hdr"};

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

/* ---- the raw file of a header ---- */

/* The raw files that may belong to a header. */
struct choice {
    const char *stem; /* the header's path without .hdr */
    size_t length;
    uint64_t bytes;              /* the raw file's by the header */
    enum synth_interleave order; /* the header's */
    size_t count;                /* of different files that are so long */
    size_t named;                /* of these, the ones whose ending is the interleave */
    char found[2][YPI_PATH_MAX]; /* the first two of them; first that which is named so */
    dev_t device;                /* of the first: one file may have several names */
    ino_t inode;
};

static bool is_named_after(const char *path, enum synth_interleave order)
{
    static const char *const endings[] = {".bip", ".bil", ".bsq"};
    return ends_with(path, strlen(path), endings[order]);
}

static void consider(struct choice *c, const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) || (uint64_t)file.st_size != c->bytes ||
        ends_with(path, strlen(path), ".hdr"))
        return;
    if (c->count > 0 && file.st_dev == c->device && file.st_ino == c->inode)
        return;
    bool named = is_named_after(path, c->order);
    if (c->count == 0 || (named && c->named == 0)) {
        memcpy(c->found[1], c->found[0], sizeof c->found[1]);
        snprintf(c->found[0], sizeof c->found[0], "%s", path);
        c->device = file.st_dev;
        c->inode = file.st_ino;
    } else {
        snprintf(c->found[1], sizeof c->found[1], "%s", path);
    }
    c->count++;
    c->named += named;
}

static void consider_usual(struct choice *c)
{
    char path[YPI_PATH_MAX];
    for (size_t i = 0; i < RAW_ENDINGS; i++)
        if (snprintf(path, sizeof path, "%.*s%s", (int)c->length, c->stem, raw_endings[i]) <
            YPI_PATH_MAX)
            consider(c, path);
}

/* Files of the header's folder that have its name and one more ending. */
static void consider_all(struct choice *c)
{
    char path[YPI_PATH_MAX];
    snprintf(path, sizeof path, "%.*s", (int)c->length, c->stem);
    char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? c->stem + (slash + 1 - path) : c->stem;
    size_t size = c->length - (size_t)(name - c->stem);
    if (slash != NULL)
        slash[1] = '\0';
    DIR *folder = opendir(slash != NULL ? path : ".");
    if (folder == NULL)
        return;
    for (struct dirent *each; (each = readdir(folder)) != NULL;) {
        const char *ending = each->d_name + size;
        if (strncmp(each->d_name, name, size) == 0 && ending[0] == '.' &&
            strchr(ending + 1, '.') == NULL &&
            snprintf(path, sizeof path, "%.*s%s", (int)c->length, c->stem, ending) < YPI_PATH_MAX)
            consider(c, path);
    }
    closedir(folder);
}

enum yp_status ypi_envi_choose(const char *header, uint64_t bytes, enum synth_interleave interleave,
                               char raw[YPI_PATH_MAX])
{
    struct choice c = {
        .stem = header, .length = strlen(header) - 4, .bytes = bytes, .order = interleave};
    consider_usual(&c);
    if (c.count == 0)
        consider_all(&c);
    if (c.count > 1 && c.named != 1)
        return yp_set_error(YP_IO,
                            "%s: %zu files may be its raw file, %s and %s among them: name the raw "
                            "file instead of the header",
                            header, c.count, c.found[0], c.found[1]);
    if (c.count > 0) {
        memcpy(raw, c.found[0], sizeof c.found[0]);
        return YP_OK;
    }
    /* One of another length, which is then refused with both lengths. */
    if (find(raw, header, c.length, raw_endings, RAW_ENDINGS))
        return YP_OK;
    return yp_set_error(YP_IO,
                        "%s: no raw file beside it: looked for %.*s, the same with .img, .dat, "
                        ".raw, .bsq, .bil, .bip, .bin, .hyspex, and with any ending for one of "
                        "%" PRIu64 " bytes",
                        header, (int)c.length, header, bytes);
}

/* ---- both files ---- */

/* The header beside a raw file. */
static enum yp_status find_header(const char *raw, char header[YPI_PATH_MAX])
{
    size_t stem = ypi_envi_stem(raw);
    if (find(header, raw, strlen(raw), header_endings, 3) ||
        find(header, raw, stem, header_endings, 3))
        return YP_OK;
    const char *dot = strrchr(raw, '.');
    if (dot != NULL && strchr(dot, '/') == NULL &&
        find(header, raw, (size_t)(dot - raw), header_endings, 3))
        return YP_OK;
    return yp_set_error(YP_IO,
                        "%s: is no .npy, and for an ENVI cube there is no header beside it: looked "
                        "for %s.hdr and %.*s.hdr",
                        raw, raw, (int)stem, raw);
}

enum yp_status ypi_envi_find(const char *path, char header[YPI_PATH_MAX], char raw[YPI_PATH_MAX])
{
    size_t length = strlen(path);
    if (length + 8 > YPI_PATH_MAX)
        return yp_set_error(YP_INVALID, "a path of %zu bytes: must be below %d", length,
                            YPI_PATH_MAX - 8);
    raw[0] = '\0';
    if (ends_with(path, length, ".hdr")) {
        memcpy(header, path, length + 1);
        return is_file(header) ? YP_OK : yp_set_error(YP_IO, "%s: %s", path, strerror(errno));
    }
    if (is_file(path)) {
        memcpy(raw, path, length + 1);
        return find_header(raw, header);
    }
    if (access(path, F_OK) == 0)
        return yp_set_error(YP_IO, "%s: is there and is no file", path);
    if (find(header, path, length, header_endings, 3))
        return YP_OK;
    if (find(raw, path, length, raw_endings, RAW_ENDINGS))
        return find_header(raw, header);
    return yp_set_error(YP_IO, "%s: %s", path, strerror(ENOENT));
}
