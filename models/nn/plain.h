/* An operator's plain loops in double and in float, from one text. Its file begins
 *
 *     #ifndef REAL
 *     #define NN_FILE "models/nn/operators/NAME.c"
 *     #include "models/nn/plain.h"
 *     ...                          // fast versions and the entry
 *     #else
 *     static void NAME(forward)(const struct nn_call *call) ...  // plain loops over REAL
 *     #endif
 *
 * and is included here twice. <tgmath.h> gives exp() and its like by type. Nothing in plain loops
 * is fast; they are what fast code is compared with. */
#include "models/nn/operator.h"

#include <stdbool.h>
#include <string.h>
#include <tgmath.h>

#define REAL double
#define NAME(name) name##_f64
#include NN_FILE
#undef REAL
#undef NAME

#define REAL float
#define NAME(name) name##_f32
#include NN_FILE
#undef REAL
#undef NAME

/* For the entry; the shapes are those of an operator over n elements, with settings. */
#define NN_PLAIN \
    .oracle = forward_f64, .oracle_vjp = vjp_f64, .plain = forward_f32, .plain_vjp = vjp_f32
#define NN_LINE_SHAPES(...) \
    .shapes = {{"one", .size = {1}, .setting = {__VA_ARGS__}}, \
               {"odd", .size = {37}, .setting = {__VA_ARGS__}}, \
               {"small", .size = {4096}, .setting = {__VA_ARGS__}}, \
               {"medium", .size = {1 << 20}, .setting = {__VA_ARGS__}}}
