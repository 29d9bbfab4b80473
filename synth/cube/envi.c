/* Opens ENVI cubes: finds and parses the header, checks and opens the raw file. */
#include "synth/cube/envi_text.h"
#include "synth/cube/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ENVI's numbers of the types; 0: none. */
static const unsigned char numbers[SYNTH_TYPES] = {
    [SYNTH_U8] = 1,   [SYNTH_I16] = 2,  [SYNTH_I32] = 3,  [SYNTH_F32] = 4,  [SYNTH_F64] = 5,
    [SYNTH_U16] = 12, [SYNTH_U32] = 13, [SYNTH_I64] = 14, [SYNTH_U64] = 15,
};
static const char *const interleaves[] = {"bip", "bil", "bsq"};

static enum yp_status parse_type(const struct ypi_envi_text *text, struct synth_cube_info *info)
{
    const char *allowed =
        "1 (uint8), 2 (int16), 3 (int32), 4 (float32), 5 (float64), 12 (uint16), 13 (uint32), 14 "
        "(int64) or 15 (uint64)";
    uint64_t number = 0;
    if (ypi_envi_integer(text, YPI_DATA_TYPE, 0, &number) != YP_OK)
        return ypi_envi_value_error(text, YPI_DATA_TYPE, allowed);
    for (int i = 0; i < SYNTH_TYPES; i++)
        if (numbers[i] == number && number != 0) {
            info->type = (enum synth_type)i;
            return YP_OK;
        }
    return ypi_envi_value_error(text, YPI_DATA_TYPE, allowed);
}

static enum yp_status parse_order(const struct ypi_envi_text *text, struct synth_cube_info *info)
{
    const char *interleave = text->keys[YPI_INTERLEAVE].value;
    info->interleave = SYNTH_BSQ;
    if (interleave != NULL) {
        int i = 0;
        size_t length = strcspn(interleave, " \t;");
        while (i < 3 && (length != 3 || strncasecmp(interleave, interleaves[i], 3) != 0))
            i++;
        if (i == 3)
            return ypi_envi_value_error(text, YPI_INTERLEAVE, "bip, bil or bsq");
        info->interleave = (enum synth_interleave)i;
    }
    uint64_t order = 0;
    if (text->keys[YPI_BYTE_ORDER].value != NULL &&
        (ypi_envi_integer(text, YPI_BYTE_ORDER, 0, &order) != YP_OK || order > 1))
        return ypi_envi_value_error(text, YPI_BYTE_ORDER, "0 (little) or 1 (big end first)");
    info->big_endian = order == 1;
    return YP_OK;
}

/* Features that are not supported and would displace every value are errors. */
static enum yp_status check_plain(const struct ypi_envi_text *text)
{
    uint64_t compressed = 0;
    if (text->keys[YPI_COMPRESSION].value != NULL &&
        (ypi_envi_integer(text, YPI_COMPRESSION, 0, &compressed) != YP_OK || compressed != 0))
        return ypi_envi_value_error(text, YPI_COMPRESSION, "0: compressed files are not read");
    for (int key = YPI_MAJOR_FRAME; key <= YPI_MINOR_FRAME; key++) {
        const char *value = text->keys[key].value;
        if (value != NULL && value[strspn(value, "0, \t\r\n")] != '\0')
            return ypi_envi_value_error(text, (enum ypi_envi_key)key,
                                        "0: frames with offsets are not read");
    }
    return YP_OK;
}

static enum yp_status parse_sizes(const struct ypi_envi_text *text, struct synth_cube_info *info)
{
    const struct {
        enum ypi_envi_key key;
        size_t *size;
    } sizes[] = {
        {YPI_SAMPLES, &info->width}, {YPI_LINES, &info->height}, {YPI_BANDS, &info->channels}};
    for (size_t i = 0; i < 3; i++) {
        uint64_t value = 0;
        enum yp_status status = ypi_envi_integer(text, sizes[i].key, 1, &value);
        if (status != YP_OK)
            return status;
        *sizes[i].size = (size_t)value;
    }
    uint64_t offset = 0;
    if (text->keys[YPI_HEADER_OFFSET].value != NULL &&
        ypi_envi_integer(text, YPI_HEADER_OFFSET, 0, &offset) != YP_OK)
        return ypi_envi_value_error(text, YPI_HEADER_OFFSET, "a whole number");
    info->offset = offset;
    info->cubes = 1;
    return YP_OK;
}

/* Nanometres per `unit`; 0 when it is no unit of length. */
static double unit_factor(const char *unit)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {
        {"nanometer", 1},    {"nanometre", 1},    {"nm", 1},         {"micrometer", 1e3},
        {"micrometre", 1e3}, {"micron", 1e3},     {"um", 1e3},       {"\xc2\xb5m", 1e3},
        {"\xce\xbcm", 1e3},  {"\xb5m", 1e3},      {"angstrom", 0.1}, {"millimeter", 1e6},
        {"mm", 1e6},         {"centimeter", 1e7}, {"cm", 1e7},       {"meter", 1e9},
        {"m", 1e9},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t length = strlen(units[i].name);
        if (strncasecmp(unit, units[i].name, length) == 0 &&
            (unit[length] == '\0' || strcasecmp(unit + length, "s") == 0))
            return units[i].factor;
    }
    return 0;
}

/* Lists of the header, in the file's block. */
struct lists {
    double *gains, *offsets;
    float *wavelengths, *fwhm, *flags, *colours;
    uint8_t *good, *lookup;
    const char **names, **class_names;
};

/* How many classes there are; 0: none, or no number of them. */
static size_t class_count(const struct ypi_envi_text *text)
{
    uint64_t count = 0;
    if (text->keys[YPI_CLASSES].value == NULL ||
        ypi_envi_integer(text, YPI_CLASSES, 0, &count) != YP_OK)
        return 0;
    return (size_t)count;
}

/* Other software's lists of classes may be of any kind; those that fit are taken. */
static void parse_classes(const struct ypi_envi_text *text, struct synth_cube_info *info,
                          const struct lists *lists)
{
    size_t count = info->classes = class_count(text);
    if (lists->class_names != NULL &&
        ypi_envi_names(text, YPI_CLASS_NAMES, count, lists->class_names) == YP_OK)
        info->class_names = lists->class_names;
    if (lists->lookup == NULL ||
        ypi_envi_numbers(text, YPI_CLASS_LOOKUP, 3 * count, 1, lists->colours) != YP_OK)
        return;
    for (size_t i = 0; i < 3 * count; i++) {
        if (!(lists->colours[i] >= 0 && lists->colours[i] <= 255))
            return;
        lists->lookup[i] = (uint8_t)lists->colours[i];
    }
    info->class_lookup = lists->lookup;
}

static enum yp_status parse_wavelengths(const struct ypi_envi_text *text,
                                        struct synth_cube_info *info, const struct lists *lists)
{
    const char *unit = text->keys[YPI_WAVELENGTH_UNITS].value;
    size_t count = info->channels;
    double factor = unit != NULL ? unit_factor(unit) : 1;
    if (lists->wavelengths != NULL) {
        enum yp_status status =
            ypi_envi_numbers(text, YPI_WAVELENGTH, count, 1, lists->wavelengths);
        if (status != YP_OK)
            return status;
        float largest = 0;
        for (size_t i = 0; i < count; i++)
            largest = lists->wavelengths[i] > largest ? lists->wavelengths[i] : largest;
        if (unit == NULL)
            factor = largest < 100 ? 1e3 : 1;
        if (factor != 0) {
            status = ypi_envi_numbers(text, YPI_WAVELENGTH, count, factor, lists->wavelengths);
            info->wavelengths = lists->wavelengths;
        }
        if (status != YP_OK)
            return status;
    }
    if (lists->fwhm != NULL) {
        enum yp_status status = ypi_envi_numbers(text, YPI_FWHM, count, factor, lists->fwhm);
        if (status != YP_OK)
            return status;
        info->fwhm = factor != 0 ? lists->fwhm : NULL;
    }
    return YP_OK;
}

/* One or three bands of the cube; anything else is ignored, since other software writes it. */
static void parse_default_bands(const struct ypi_envi_text *text, struct synth_cube_info *info)
{
    const char *value = text->keys[YPI_DEFAULT_BANDS].value;
    size_t count = value != NULL ? ypi_envi_count(value) : 0;
    float bands[3];
    if ((count != 1 && count != 3) ||
        ypi_envi_numbers(text, YPI_DEFAULT_BANDS, count, 1, bands) != YP_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        if (!(bands[i] >= 1) || !((double)bands[i] <= (double)info->channels))
            return;
        info->default_bands[i] = (size_t)bands[i] - 1;
    }
    info->default_band_count = count;
}

static enum yp_status parse_lists(const struct ypi_envi_text *text, struct synth_cube_info *info,
                                  const struct lists *lists)
{
    enum yp_status status = parse_wavelengths(text, info, lists);
    if (status == YP_OK && lists->good != NULL) {
        status = ypi_envi_numbers(text, YPI_BBL, info->channels, 1, lists->flags);
        for (size_t i = 0; status == YP_OK && i < info->channels; i++)
            lists->good[i] = lists->flags[i] != 0;
        info->good_bands = lists->good;
    }
    if (status != YP_OK)
        return status;
    /* A wrong count is no error: a name may contain a comma, which looks like a separator. */
    if (lists->names != NULL &&
        ypi_envi_names(text, YPI_BAND_NAMES, info->channels, lists->names) == YP_OK)
        info->band_names = lists->names;
    info->description = text->keys[YPI_DESCRIPTION].value;
    info->units = text->keys[YPI_UNITS].value;
    parse_classes(text, info, lists);
    parse_default_bands(text, info);
    return YP_OK;
}

/* How long the raw file must be. */
static enum yp_status count_bytes(const struct synth_cube_info *info, const char *header,
                                  uint64_t *bytes)
{
    if (ypi_cube_bytes(info, bytes) && !__builtin_add_overflow(*bytes, info->offset, bytes) &&
        *bytes <= INT64_MAX)
        return YP_OK;
    return yp_set_error(YP_IO,
                        "%s: %zu lines x %zu samples x %zu bands of %s after %" PRIu64
                        " bytes: more than a file can hold",
                        header, info->height, info->width, info->channels,
                        ypi_type_name(info->type), info->offset);
}

static enum yp_status check_length(const struct synth_cube_info *info, uint64_t bytes,
                                   const char *header, const char *raw, int fd)
{
    struct stat file;
    if (fstat(fd, &file) != 0)
        return yp_set_error(YP_IO, "%s: %s", raw, strerror(errno));
    if ((uint64_t)file.st_size == bytes)
        return YP_OK;
    return yp_set_error(
        YP_IO,
        "%s: has %lld bytes, %s than the %" PRIu64
        " that %s tells: %zu lines x %zu samples x %zu bands of %s after %" PRIu64 " bytes",
        raw, (long long)file.st_size, (uint64_t)file.st_size < bytes ? "less" : "more", bytes,
        header, info->height, info->width, info->channels, ypi_type_name(info->type), info->offset);
}

static void set_strides(struct synth_cube_file *file)
{
    const struct synth_cube_info *info = &file->info;
    switch (info->interleave) {
    case SYNTH_BIP:
        file->strides = (struct ypi_strides){
            .row = info->width * info->channels, .column = info->channels, .band = 1};
        break;
    case SYNTH_BIL:
        file->strides = (struct ypi_strides){
            .row = info->width * info->channels, .column = 1, .band = info->width};
        break;
    default:
        file->strides = (struct ypi_strides){
            .row = info->width, .column = 1, .band = info->height * info->width};
        break;
    }
}

/* Allocates one block for the file, its lists, the path and the text, and points the keys to the
 * copied text. */
static struct synth_cube_file *lay_out(struct yp_device *device, struct ypi_envi_text *text,
                                       const char *old, size_t length, const char *raw,
                                       size_t channels, struct lists *lists)
{
    bool wavelengths = text->keys[YPI_WAVELENGTH].value != NULL;
    bool fwhm = text->keys[YPI_FWHM].value != NULL, good = text->keys[YPI_BBL].value != NULL;
    bool names = text->keys[YPI_BAND_NAMES].value != NULL;
    /* A list has at most as many entries as the header has bytes; a shorter one is refused later.
     */
    size_t entries = channels <= length ? channels : length, classes = class_count(text);
    bool class_names = text->keys[YPI_CLASS_NAMES].value != NULL && classes - 1 < length;
    bool lookup = text->keys[YPI_CLASS_LOOKUP].value != NULL && classes - 1 < length;
    bool gains = (text->keys[YPI_GAINS].value != NULL || text->keys[YPI_OFFSETS].value != NULL) &&
                 entries == channels;
    size_t size = sizeof(struct synth_cube_file) + 2 * entries * gains * sizeof(double) +
                  entries * names * sizeof(char *) + classes * class_names * sizeof(char *) +
                  entries * sizeof(float) * (size_t)(wavelengths + fwhm + good) + entries * good +
                  3 * classes * lookup * (sizeof(float) + 1) + strlen(raw) + 1 + length + 1;
    char *block = yp_device_alloc(device, size);
    if (block == NULL)
        return NULL;
    struct synth_cube_file *file = (struct synth_cube_file *)block;
    *file = (struct synth_cube_file){.device = device, .fd = -1};
    block += sizeof *file;
    *lists = (struct lists){0};
    if (gains)
        lists->gains = (double *)block, block += entries * sizeof(double);
    if (gains)
        lists->offsets = (double *)block, block += entries * sizeof(double);
    if (names)
        lists->names = (const char **)block, block += entries * sizeof(char *);
    if (class_names)
        lists->class_names = (const char **)block, block += classes * sizeof(char *);
    if (wavelengths)
        lists->wavelengths = (float *)block, block += entries * sizeof(float);
    if (fwhm)
        lists->fwhm = (float *)block, block += entries * sizeof(float);
    if (good)
        lists->flags = (float *)block, block += entries * sizeof(float);
    if (lookup)
        lists->colours = (float *)block, block += 3 * classes * sizeof(float);
    if (good)
        lists->good = (uint8_t *)block, block += entries;
    if (lookup)
        lists->lookup = (uint8_t *)block, block += 3 * classes;
    file->path = memcpy(block, raw, strlen(raw) + 1);
    block += strlen(raw) + 1;
    memcpy(block, old, length + 1);
    for (int key = 0; key < YPI_ENVI_KEYS; key++)
        if (text->keys[key].value != NULL)
            text->keys[key].value = block + (text->keys[key].value - old);
    return file;
}

static enum yp_status parse_head(const struct ypi_envi_text *text, struct synth_cube_info *info)
{
    enum yp_status status = parse_sizes(text, info);
    if (status == YP_OK)
        status = parse_type(text, info);
    if (status == YP_OK)
        status = parse_order(text, info);
    return status == YP_OK ? check_plain(text) : status;
}

/* Opens the raw file that a parsed header describes, `raw` or, where that is empty, the one beside
 * the header. */
static struct synth_cube_file *open_raw(struct yp_device *device, struct ypi_envi_text *text,
                                        const char *old, size_t length, char raw[YPI_PATH_MAX])
{
    struct synth_cube_info info = {.format = SYNTH_ENVI};
    struct lists lists;
    uint64_t bytes = 0;
    if (parse_head(text, &info) != YP_OK || count_bytes(&info, text->path, &bytes) != YP_OK ||
        (raw[0] == '\0' && ypi_envi_choose(text->path, bytes, info.interleave, raw) != YP_OK))
        return NULL;
    int fd = open(raw, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        yp_set_error(YP_IO, "%s: %s", raw, strerror(errno));
        return NULL;
    }
    struct synth_cube_file *file = NULL;
    if (check_length(&info, bytes, text->path, raw, fd) == YP_OK)
        file = lay_out(device, text, old, length, raw, info.channels, &lists);
    if (file != NULL) {
        file->info = info;
        if (ypi_envi_meaning(text, file, lists.gains, lists.offsets) == YP_OK &&
            parse_lists(text, &file->info, &lists) == YP_OK) {
            file->fd = fd;
            set_strides(file);
            return file;
        }
    }
    close(fd);
    if (file != NULL)
        yp_device_free(device, file);
    return NULL;
}

struct synth_cube_file *ypi_envi_open(struct yp_device *device, const char *path)
{
    char header[YPI_PATH_MAX], raw[YPI_PATH_MAX];
    struct ypi_envi_text text;
    size_t length = 0;
    if (ypi_envi_find(path, header, raw) != YP_OK)
        return NULL;
    char *old = ypi_read_text(device, header, &length);
    if (old == NULL)
        return NULL;
    struct synth_cube_file *file = NULL;
    if (ypi_envi_parse(&text, header, old, length) == YP_OK)
        file = open_raw(device, &text, old, length, raw);
    yp_device_free(device, old);
    return file;
}
