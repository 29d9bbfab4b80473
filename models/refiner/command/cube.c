/* A cube in tiles that overlap, each through a pass, and what comes out of them as one image. */
#include "models/refiner/command/pass.h"

#include "base/text/figures.h"
#include "base/text/output.h"
#include "models/refiner/tiles.h"
#include "synth/cube/cube.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct image {
    struct ypi_refiner_pass *p;
    const struct ypi_refiner_cube *cube;
    struct synth_cube_file *file;
    struct refiner_tiling tiling;
    struct refiner_merge merge;
    size_t channels, missing; /* values that the cube does not have */
    float *window;            /* (tile, tile, 1) */
    double seconds;
    bool finite; /* all results are */
};

/* -- the cube ---------------------------------------------------------------------------------- */

static enum yp_status check_bands(const struct image *m, const struct ypi_refiner_model *model)
{
    const struct synth_cube_info *info = synth_cube_info(m->file);
    const size_t wanted = model->channels > 0 ? model->channels : m->p->work.real.channels;
    if (m->cube->bands.count != wanted)
        return yp_set_error(YP_INVALID, "--cube-bands are %zu: must be %zu, the model's channels",
                            m->cube->bands.count, wanted);
    for (size_t i = 0; i < wanted; i++)
        if (m->cube->bands.list[i] > info->channels)
            return yp_set_error(YP_INVALID, "--cube-bands has %zu: %s has bands 1 to %zu",
                                m->cube->bands.list[i], m->cube->path, info->channels);
    return YP_OK;
}

/* A tile is within the image, and patches leave nothing of it: what they leave would be stretched.
 */
static enum yp_status check_tile(const struct image *m, const struct ypi_refiner_model *model)
{
    const struct synth_cube_info *info = synth_cube_info(m->file);
    const size_t tile = m->p->work.tile, patch = model->channels > 0 ? 1 : m->p->work.real.patch;
    if (tile > info->height || tile > info->width)
        return yp_set_error(YP_INVALID, "%s: --tile-sizes is %zu: the image has %zu x %zu pixels",
                            m->cube->path, tile, info->height, info->width);
    return tile % patch == 0
               ? YP_OK
               : yp_set_error(YP_INVALID,
                              "--tile-sizes is %zu: of a cube must be a multiple of the patch, %zu",
                              tile, patch);
}

static enum yp_status open_image(struct image *m, const struct ypi_refiner_model *model)
{
    struct ypi_refiner_pass *p = m->p;
    struct ypi_refiner_plan plan;
    m->file = synth_cube_open(yp_device_cpu(), m->cube->path, SYNTH_SCALED);
    enum yp_status status = m->file != NULL ? check_bands(m, model) : yp_last_status();
    if (status == YP_OK)
        status = check_tile(m, model);
    if (status == YP_OK)
        status = model->plan(&p->work, &plan);
    if (status != YP_OK)
        return status;
    const struct state_tensor out = model->output(&p->work);
    const struct synth_cube_info *info = synth_cube_info(m->file);
    m->channels = out.shape[1];
    m->tiling = (struct refiner_tiling){.rows = info->height,
                                        .columns = info->width,
                                        .tile = p->work.tile,
                                        .overlap = m->cube->overlap,
                                        .shrink = p->work.tile / out.shape[2]};
    status = refiner_check_tiling(&m->tiling);
    return status == YP_OK ? status : ypi_refiner_blame(m->cube->path, status);
}

/* One band of tile i, to its place in an image of the batch. A value that is missing is 0. */
static enum yp_status read_band(struct image *m, size_t i, size_t band, double *to)
{
    const size_t side = m->tiling.tile, all = m->cube->bands.count;
    struct synth_window window = {
        .rows = side, .columns = side, .band = m->cube->bands.list[band] - 1, .bands = 1};
    size_t row, column;
    refiner_tile(&m->tiling, i, &window.row, &window.column);
    refiner_tile_new(&m->tiling, i, &row, &column);
    const enum yp_status status = synth_cube_read_window(m->file, 0, &window, m->window);
    for (size_t k = 0; k < side * side && status == YP_OK; k++) {
        const bool there = isfinite(m->window[k]);
        m->missing += !there && k / side >= row && k % side >= column ? 1 : 0;
        to[k * all + band] = there ? (double)m->window[k] : 0;
    }
    return status;
}

/* -- tiles ------------------------------------------------------------------------------------- */

/* A pass over tiles `first` on, and their part of the result. */
static enum yp_status pass_tiles(struct image *m, const struct ypi_refiner_model *model,
                                 size_t first, size_t count)
{
    struct ypi_refiner_pass *p = m->p;
    const size_t pixels = m->tiling.tile * m->tiling.tile, bands = m->cube->bands.count;
    enum yp_status status = YP_OK;
    p->work.batch = count;
    p->count = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t band = 0; band < bands && status == YP_OK; band++)
            status = read_band(m, first + i, band, p->image + i * pixels * bands);
    if (status == YP_OK)
        status = model->pass(p);
    if (status != YP_OK)
        return status;
    const size_t side = m->tiling.tile / m->tiling.shrink, each = side * side * m->channels;
    for (size_t i = 0; i < count; i++)
        refiner_merge_add(&m->merge, first + i, (const float *)p->results[0].values + i * each);
    m->seconds += p->forward;
    ypi_refiner_give_back(p);
    return YP_OK;
}

static enum yp_status take_memory(struct image *m, size_t pixels, size_t at_once)
{
    struct yp_device *cpu = yp_device_cpu();
    const size_t side = m->tiling.tile;
    m->merge = (struct refiner_merge){
        .tiling = &m->tiling,
        .channels = m->channels,
        .sum = yp_device_alloc(cpu, pixels * m->channels * sizeof *m->merge.sum),
        .weight = yp_device_alloc(cpu, pixels * sizeof *m->merge.weight)};
    m->window = yp_device_alloc(cpu, side * side * sizeof *m->window);
    m->p->image =
        yp_device_alloc(cpu, at_once * side * side * m->cube->bands.count * sizeof *m->p->image);
    if (m->merge.sum == NULL || m->merge.weight == NULL || m->window == NULL || m->p->image == NULL)
        return yp_last_status();
    memset(m->merge.sum, 0, pixels * m->channels * sizeof *m->merge.sum);
    memset(m->merge.weight, 0, pixels * sizeof *m->merge.weight);
    return YP_OK;
}

static enum yp_status refine(struct image *m, const struct ypi_refiner_model *model)
{
    const size_t rows = m->tiling.rows / m->tiling.shrink,
                 columns = m->tiling.columns / m->tiling.shrink, tiles = refiner_tiles(&m->tiling);
    const size_t at_once = tiles < m->cube->at_once ? tiles : m->cube->at_once;
    enum yp_status status = take_memory(m, rows * columns, at_once);
    for (size_t first = 0; first < tiles && status == YP_OK; first += at_once)
        status = pass_tiles(m, model, first, tiles - first < at_once ? tiles - first : at_once);
    if (status != YP_OK)
        return status;
    refiner_merge_end(&m->merge);
    for (size_t i = 0; i < rows * columns * m->channels && m->finite; i++)
        m->finite = isfinite(m->merge.sum[i]);
    if (!m->finite)
        return yp_set_error(YP_INVALID,
                            "%s: the result is not finite, of finite weights and images",
                            m->p->load != NULL ? m->p->load : "weights to start from");
    const struct state_values out = {
        .tensor = refiner_images("output", 1, m->channels, rows, columns), .values = m->merge.sum};
    if (m->p->dump != NULL)
        status = state_save(m->p->dump, &out, 1);
    char seconds[YPI_FIGURE_MAX];
    ypi_format_seconds(seconds, m->seconds);
    if (status == YP_OK)
        printf("%zu x %zu pixels in %zu tile%s of %zu x %zu, refined to %zu x %zu in %s\n",
               m->tiling.rows, m->tiling.columns, tiles, tiles == 1 ? "" : "s", m->tiling.tile,
               m->tiling.tile, rows, columns, seconds);
    if (status == YP_OK && m->missing > 0)
        printf("%zu values that the cube does not have were 0\n", m->missing);
    return status;
}

int ypi_refiner_cube(struct ypi_refiner_pass *p, const struct ypi_refiner_model *model,
                     const struct ypi_refiner_cube *cube)
{
    struct yp_device *cpu = yp_device_cpu();
    struct image m = {.p = p, .cube = cube, .finite = true};
    enum yp_status status = open_image(&m, model);
    if (status == YP_OK)
        status = refine(&m, model);
    const int code = status == YP_OK ? ypi_flush() : ypi_file_error();
    ypi_refiner_give_back(p);
    void *const taken[] = {p->image, m.window, m.merge.sum, m.merge.weight};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        yp_device_free(cpu, taken[i]);
    synth_cube_close(m.file);
    if (!m.finite)
        return YPI_COMMAND_NOTHING;
    return status == YP_INVALID || status == YP_UNSUPPORTED ? YPI_COMMAND_USAGE : code;
}
