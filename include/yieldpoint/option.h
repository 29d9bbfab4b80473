/*
 * Options that a program declares, in addition to those of every program.
 *
 *     YP_OPTION(cube, .value = "FILE", .help = "a cube of your own", .axis = "cube", .path = true);
 *
 * `--cube scene.hdr` then means `--set cube=/home/you/scene.hdr`: the value is in the id. Bodies
 * read an option without an axis:
 *
 *     YP_OPTION(limit, .value = "N", .help = "scenes to fit at most");
 *     ...
 *     const char *limit = yp_option(limit);      NULL if it was not given
 *
 * Users give these options like all others (command line, YIELDPOINT_OPTIONS, yieldpoint.ini).
 * --help lists them, and the `reproduce:` line has them. A _ in the name becomes a -.
 */
#ifndef YIELDPOINT_OPTION_H
#define YIELDPOINT_OPTION_H

#include <stdbool.h>
#include <yieldpoint/test.h>

YPI_BEGIN_C

struct yp_option {
    /* set by YP_OPTION */
    const char *name;
    const char *file;
    int line;
    /* the declaration's own */
    const char *value; /* name of the value in --help: "FILE"; NULL: no value */
    const char *help;
    const char *axis; /* the axis that the option sets to its value; NULL: none */
    bool path;        /* the value is a path, and is made absolute */
    int end_;
};

/* The value of an option that this file declares without an axis; filters may call it too. NULL if
 * it was not given, "yes" if it takes no value. A command finds it in the environment variable
 * YIELDPOINT_OPTION_ with the name in capitals. */
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

YPI_END_C

#endif
