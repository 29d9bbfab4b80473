/* Checks the description of a cube that is to be written. */
#include "synth/cube/cube.h"
#include "synth/cube/internal.h"

#include <math.h>
#include <string.h>

static enum yp_status refuse(const char *field, const char *is, const char *allowed)
{
    return yp_set_error(YP_INVALID, "synth_cube_info.%s is %s: must be %s", field, is, allowed);
}

static enum yp_status check_text(const char *field, const char *text, const char *without)
{
    if (text == NULL || text[strcspn(text, without)] == '\0')
        return YP_OK;
    return yp_set_error(YP_INVALID, "synth_cube_info.%s is '%.60s': must be without any of %s",
                        field, text, without);
}

static enum yp_status check_classes(const struct synth_cube_info *info)
{
    enum yp_status status = YP_OK;
    if (info->classes == 0)
        return YP_OK;
    if (info->type != SYNTH_U8 || info->channels != 1 || info->classes > 256)
        return yp_set_error(YP_INVALID,
                            "synth_cube_info.classes is %zu in %zu channels of %s: must be at most "
                            "256, in one channel of uint8",
                            info->classes, info->channels, ypi_type_name(info->type));
    if (info->class_names == NULL || info->class_lookup == NULL)
        return refuse(info->class_names == NULL ? "class_names" : "class_lookup", "NULL",
                      "that of each class");
    for (size_t i = 0; status == YP_OK && i < info->classes; i++)
        status = check_text("class_names[]", info->class_names[i], "{},\r\n");
    return status;
}

static enum yp_status check_lists(const struct synth_cube_info *info)
{
    enum yp_status status = check_text("description", info->description, "{}");
    if (status == YP_OK)
        status = check_text("units", info->units, "{}\r\n");
    if (status == YP_OK)
        status = check_classes(info);
    for (size_t i = 0; status == YP_OK && info->band_names != NULL && i < info->channels; i++)
        status = check_text("band_names[]", info->band_names[i], "{},\r\n");
    if (status != YP_OK)
        return status;
    if (info->default_band_count != 0 && info->default_band_count != 1 &&
        info->default_band_count != 3)
        return refuse("default_band_count", "another", "0, 1 or 3");
    for (size_t i = 0; i < info->default_band_count; i++)
        if (info->default_bands[i] >= info->channels)
            return refuse("default_bands[]", "beyond the cube", "below channels");
    return YP_OK;
}

static enum yp_status check_no_data(const struct synth_cube_info *info)
{
    double low, high;
    if (!info->has_ignore || ypi_type_is_float(info->type))
        return YP_OK;
    ypi_type_range(info->type, &low, &high);
    if (info->ignore >= low && info->ignore <= high && info->ignore == trunc(info->ignore))
        return YP_OK;
    return yp_set_error(YP_INVALID,
                        "synth_cube_info.ignore is %g: must be a whole number of %s, %g to %g",
                        info->ignore, ypi_type_name(info->type), low, high);
}

static enum yp_status check_info(const struct synth_cube_info *info)
{
    uint64_t bytes = 0;
    if (info == NULL)
        return yp_set_error(YP_INVALID, "synth_cube_info is NULL: must not be");
    if ((unsigned)info->type > SYNTH_U8)
        return refuse("type", "none that is written", "SYNTH_F32, U16, I16 or U8");
    if ((unsigned)info->format > SYNTH_NPY || (unsigned)info->interleave > SYNTH_BSQ)
        return refuse("format or interleave", "unknown", "one of their enums");
    if (info->format == SYNTH_NPY && info->interleave != SYNTH_BIP)
        return refuse("interleave", "another", "SYNTH_BIP in a .npy");
    if (info->format == SYNTH_ENVI && info->cubes > 1)
        return refuse("cubes", "above 1", "1: ENVI has one cube a file");
    if (info->offset != 0)
        return refuse("offset", "above 0", "0");
    if (!ypi_cube_bytes(info, &bytes))
        return yp_set_error(YP_INVALID,
                            "synth_cube_info: %zu x %zu x %zu: each must be 1 at least and all "
                            "together fit a file",
                            info->height, info->width, info->channels);
    if (!(info->scale >= 0) || isinf((float)info->scale))
        return refuse("scale", "not allowed", "0 or a number above it");
    if (info->gains != NULL || info->offsets != NULL)
        return refuse("gains or offsets", "there", "NULL: one scale for all bands is written");
    enum yp_status status = check_no_data(info);
    return status == YP_OK ? check_lists(info) : status;
}

size_t ypi_cube_header_size(const struct synth_cube_info *info)
{
    return info->format == SYNTH_NPY ? ypi_npy_header(NULL, 0, info)
                                     : ypi_envi_header(NULL, 0, info);
}

uint64_t synth_cube_bytes(const struct synth_cube_info *info)
{
    uint64_t bytes = 0;
    if (check_info(info) != YP_OK)
        return 0;
    ypi_cube_bytes(info, &bytes);
    return bytes + ypi_cube_header_size(info);
}
