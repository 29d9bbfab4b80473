/* Cube files beside NumPy's and Spectral Python's: one image in the same formats, one thread.
 *
 * Written files are synced to the disk; files are read from the page cache into float32 with a
 * pixel's channels side by side. Opening and closing are timed. */
#include "suites/perf/peers.h"

#include "suites/file_tiles.h"

#include <string.h>

#define SIZE yp_axis_int("side", 512), yp_axis_int("channels", 100)
#define LAYOUT yp_axis_string("layout", "npy", "bip", "bil", "bsq")
#define TYPE yp_axis_string("type", "float32", "uint16")

static bool is(const struct yp_case *t, const char *axis, const char *value)
{
    return strcmp(yp_string(t, axis), value) == 0;
}

/* Integers have a scale, which a .npy cannot store. */
static bool is_ours(const struct yp_case *t)
{
    return !is(t, "layout", "npy") || is(t, "type", "float32");
}

static bool is_theirs(const struct yp_case *t)
{
    if (is(t, "by", "spectral"))
        return !is(t, "layout", "npy");
    return is(t, "type", "float32") && is(t, "layout", is(t, "by", "raw") ? "bip" : "npy");
}

YP_COMMAND(peers, other_files, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .filter = is_theirs,
           .axes = YP_AXES(SIZE, yp_axis_string("by", "numpy", "mapped", "raw", "spectral"), LAYOUT,
                           TYPE),
           .command = PEER("files", "{side} {channels} {seed} {by} {layout} {type}"),
           .environment = "OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1");

static struct synth_cube_info info_of(const struct yp_case *t, const struct peers_image *image)
{
    bool whole = is(t, "type", "uint16");
    return (struct synth_cube_info){.format = is(t, "layout", "npy") ? SYNTH_NPY : SYNTH_ENVI,
                                    .type = whole ? SYNTH_U16 : SYNTH_F32,
                                    .scale = whole ? 65536 : 0, /* its values stay as they are */
                                    .interleave = is(t, "layout", "bil")   ? SYNTH_BIL
                                                  : is(t, "layout", "bsq") ? SYNTH_BSQ
                                                                           : SYNTH_BIP,
                                    .cubes = 1,
                                    .height = image->side,
                                    .width = image->side,
                                    .channels = image->source.channels};
}

static enum yp_status write_image(struct yp_device *device, const char *path,
                                  const struct synth_cube_info *info,
                                  const struct peers_image *image)
{
    struct synth_cube_writer *writer = synth_cube_create(device, path, info, SYNTH_REPLACE);
    if (writer == NULL)
        return YP_IO;
    enum yp_status status = synth_cube_write(writer, 0, 0, image->pixels, image->values);
    if (status == YP_OK)
        return synth_cube_commit(writer);
    synth_cube_abandon(writer);
    return status;
}

static enum yp_status read_image(struct yp_device *device, const char *path, size_t pixels,
                                 float *values)
{
    struct synth_cube_file *file = synth_cube_open(device, path, SYNTH_SCALED);
    if (file == NULL)
        return YP_IO;
    enum yp_status status = synth_cube_read(file, 0, 0, pixels, values);
    synth_cube_close(file);
    return status;
}

/* Of reading from the page cache. Writing waits for the disk, and bsq is transposed. */
static void read_floor(const struct yp_case *c, struct yp_budgets *out)
{
    if (!is(c, "layout", "bsq"))
        yp_budget_add(out, yp_min_share("read", is(c, "layout", "bil") ? 0.11 : 0.2));
}

YP_TEST(peers, files, .tags = PEERS_TAGS, .timeout = PEERS_TIMEOUT, .filter = is_ours,
        .axes = YP_AXES(SIZE, LAYOUT, TYPE), .budgets_of = read_floor)
{
    struct peers_image image;
    char path[512];
    peers_image_open(&image, t);
    struct synth_cube_info info = info_of(t, &image);
    size_t count = image.pixels * info.channels;
    float *found = yp_alloc(t, count * sizeof *found);
    double stored = (double)count * (info.type == SYNTH_U16 ? 2 : 4);
    enum yp_status status = YP_OK;
    tmp_file(t, info.format == SYNTH_NPY ? "image.npy" : "image.img", path);
    yp_measure (t, "write", .items = (double)count, .unit = "values",
                .bytes = stored + 4 * (double)count, .footprint = stored + 4 * (double)count,
                .threads = 1)
        status = write_image(yp_device(t), path, &info, &image);
    yp_measure (t, "read", .items = (double)count, .unit = "values",
                .bytes = stored + 4 * (double)count, .footprint = stored + 4 * (double)count,
                .threads = 1) {
        status = status == YP_OK ? read_image(yp_device(t), path, image.pixels, found) : status;
        yp_keep(found);
    }
    yp_ok(t, status);
    yp_require(t, memcmp(found, image.values, count * sizeof *found) == 0,
               "what was read is not what was written");
}

/* -- ours against theirs ------------------------------------------------------------------- */

#define OURS(layout_, type_) \
    "perf/peers_files.c::files[side=512-channels=100-layout=" layout_ "-type=" type_ "]"
#define THEIRS(by_, layout_, type_) \
    "perf/peers_files.c::other_files[side=512-channels=100-by=" by_ "-layout=" layout_ \
    "-type=" type_ "]"

/* NumPy and Yieldpoint copy from the page cache once, Spectral Python more than once. Writing waits
 * for the disk with either. */
#define FILES(label_, by_, layout_, type_, least_) \
    PEERS_SAME_IMAGE(label_##_image, OURS(layout_, type_), THEIRS(by_, layout_, type_)); \
    PEERS_FASTER(read_##label_, "read", OURS(layout_, type_), THEIRS(by_, layout_, type_), \
                 least_); \
    PEERS_FASTER(write_##label_, "write", OURS(layout_, type_), THEIRS(by_, layout_, type_), 0.5)

FILES(numpy_npy, "numpy", "npy", "float32", 0.8);
FILES(mapped_npy, "mapped", "npy", "float32", 0.8);
FILES(raw_bip, "raw", "bip", "float32", 0.8);
FILES(spectral_bip, "spectral", "bip", "float32", 8);
FILES(spectral_bil, "spectral", "bil", "float32", 4);
FILES(spectral_bsq, "spectral", "bsq", "float32", 3);
FILES(spectral_bip_integers, "spectral", "bip", "uint16", 4);
FILES(spectral_bil_integers, "spectral", "bil", "uint16", 4);
FILES(spectral_bsq_integers, "spectral", "bsq", "uint16", 2);
