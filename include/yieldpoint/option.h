/*
 * Options of a program's own, beside those that every program has.
 *
 *     YP_OPTION(cube, .value = "FILE", .help = "a cube of your own", .axis = "cube", .path = true);
 *
 * `--cube scene.hdr` is then `--set cube=/home/you/scene.hdr`: the value is in the id. One without
 * an axis is for bodies to read:
 *
 *     YP_OPTION(limit, .value = "N", .help = "scenes to fit at most");
 *     ...
 *     const char *limit = yp_option(limit);      NULL where it was not given
 *
 * They are given where other options are (the command line, YIELDPOINT_OPTIONS, yieldpoint.ini),
 * listed by --help and part of the line that reproduces a case. A _ in the name is a - there.
 */
#ifndef YIELDPOINT_OPTION_H
#define YIELDPOINT_OPTION_H

#include <stdbool.h>
#include <yieldpoint/test.h>

#ifdef __cplusplus
extern "C" {
#endif

struct yp_option {
    /* set by YP_OPTION */
    const char *name;
    const char *file;
    int line;
    /* the rest is as declared */
    const char *value; /* what --help calls its value: "FILE"; NULL: it takes none */
    const char *help;
    const char *axis; /* it sets this axis, and takes a value; NULL: none */
    bool path;        /* the value is a path, which is made absolute */
    int end_;
};

/* The value of an option that is declared in this file and sets no axis, from filters too: NULL
 * where it was not given, "yes" where it takes no value. A command finds it in the environment:
 * YIELDPOINT_OPTION_ and the name in capitals. */
#define yp_option(name_) ypi_option_value(&ypi_option_##name_)

const char *ypi_option_value(const struct yp_option *option);

/* clang-format off */
#define YP_OPTION(...) YPI_OPTION(__VA_ARGS__, .end_ = 0)
#define YPI_OPTION(name_, ...)                                                                  \
    _Pragma("GCC diagnostic push")                                                              \
    _Pragma("GCC diagnostic ignored \"-Wmissing-field-initializers\"")                          \
    static const struct yp_option ypi_option_##name_ = {                                        \
        .name = #name_, .file = __FILE__, .line = __LINE__, __VA_ARGS__ };                      \
    _Pragma("GCC diagnostic pop")                                                               \
    __attribute__((YPI_KEEP, section("yp_options")))                                            \
    static const struct yp_option *const ypi_option_pointer_##name_ = &ypi_option_##name_
/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
