/* The fields of a scene look alike at every pixel: nothing tells where the nodes of their lattice
 * are. */
#include "suites/scene_tiles.h"
#include "suites/worst.h"

#include <math.h>

enum { SIDE = 128, CUBES = 128, MAX_PITCH = 64, AXES = 2 };

/* Sums of squares over the pixels of one place modulo the pitch. */
struct place {
    double gradients, gradient, curvatures, curvature;
};

/* g_k - g_0 of a pixel, from its abundances, which are softmax(sharpness g): a field of variance 2
 * for each k > 0. */
static void fields_of(const float *abundances, const struct synth_spec *spec, double *field)
{
    size_t count = spec->endmembers;
    for (size_t i = 0; i < spec->height * spec->width; i++)
        for (size_t k = 1; k < count; k++)
            field[i * (count - 1) + k - 1] =
                log((double)abundances[i * count + k] / (double)abundances[i * count]) /
                spec->sharpness;
}

/* First and second differences along one axis, by where the pixel lies along it. */
static void add_differences(const double *field, const struct synth_spec *spec, int axis,
                            struct place *places)
{
    size_t fields = spec->endmembers - 1, step = axis == 0 ? fields : fields * spec->width;
    for (size_t y = 1; y + 1 < spec->height; y++)
        for (size_t x = 1; x + 1 < spec->width; x++) {
            struct place *place = &places[(axis == 0 ? x : y) % spec->correlation_px];
            const double *at = field + (y * spec->width + x) * fields;
            for (size_t k = 0; k < fields; k++) {
                double before = at[k - step], after = at[k + step],
                       bend = before - 2 * at[k] + after;
                place->gradient += (after - at[k]) * (after - at[k]) / 2;
                place->curvature += bend * bend / 2;
            }
            place->gradients += (double)fields;
            place->curvatures += (double)fields;
        }
}

/* Within a cell a field is three cosines a third of a turn apart, so a step of the angle s = 2 pi /
 * (3 pitch) changes it by a variance of 2/3 (1 - cos s), and the second difference is one of
 * 4/3 (1 - cos s)^2; across a border, where the second derivative jumps, it is 2/3 of that. Each
 * place has about 20,000 independent gradients, which gives its variance to 1 %; the largest of 32
 * deviations was 0.9 to 2.1 % for eight seeds. */
YP_TEST(synth, stationary, .tags = "stress small", .timeout = 120, .parallel = true,
        .budgets = YP_BUDGETS(yp_max_value("gradient off", 0.035),
                              yp_max_value("gradient, largest over smallest", 1.05),
                              yp_max_value("curvature off", 0.035)))
{
    struct synth_spec asked = {.height = SIDE, .width = SIDE, .channels = 1, .seed = yp_seed(t)};
    asked.target_fraction = SYNTH_OFF;
    struct synth_scene *scene = open_scene(t, yp_device(t), &asked);
    const struct synth_spec *spec = synth_scene_spec(scene);
    size_t pixels = SIDE * SIDE, pitch = spec->correlation_px;
    yp_require(t, pitch <= MAX_PITCH, "the pitch is %zu", pitch);
    float *values = yp_alloc(t, pixels * sizeof *values);
    float *abundances = yp_alloc(t, pixels * spec->endmembers * sizeof *abundances);
    double *field = yp_alloc(t, pixels * (spec->endmembers - 1) * sizeof *field);
    struct place places[AXES][MAX_PITCH] = {{{0}}};
    for (uint64_t cube = 0; cube < CUBES; cube++) {
        struct synth_truth truth = {.abundances = abundances};
        yp_ok(t, synth_scene_tile(scene, cube, 0, pixels, values, &truth));
        fields_of(abundances, spec, field);
        for (int axis = 0; axis < AXES; axis++)
            add_differences(field, spec, axis, places[axis]);
    }
    yp_data_hash(t, yp_hash_f32(0, abundances, pixels * spec->endmembers));

    double turn = 1 - cos(2 * acos(-1.0) / 3 / (double)pitch), off = 0, bent = 0;
    double low = INFINITY, high = 0;
    for (int axis = 0; axis < AXES; axis++)
        for (size_t i = 0; i < pitch; i++) {
            const struct place *place = &places[axis][i];
            double gradient = place->gradient / place->gradients / (2.0 / 3 * turn);
            double bend = place->curvature / place->curvatures / (4.0 / 3 * turn * turn);
            low = fmin(low, gradient);
            high = fmax(high, gradient);
            off = worse(off, fabs(gradient - 1));
            bent = worse(bent, fabs(bend * (i == 0 ? 1.5 : 1) - 1));
        }
    yp_value(t, "gradient off", off);
    yp_value(t, "gradient, largest over smallest", high / low);
    yp_value(t, "curvature off", bent);
    synth_scene_destroy(scene);
}
