/* A program with options of its own: one that sets an axis, two that bodies read. */
#include <yieldpoint/yieldpoint.h>

YP_OPTION(some_file, .value = "FILE", .help = "the file to look at", .axis = "file", .path = true);
YP_OPTION(word, .value = "WORD", .help = "what to say");
YP_OPTION(loud, .help = "say it loud");

YP_TEST(own, looks, .parallel = true, .axes = YP_AXES(yp_axis_string("file", "none")))
{
    yp_fail(t, "looks at %s", yp_string(t, "file"));
}

YP_TEST(own, says, .parallel = true)
{
    const char *said = yp_option(word);
    yp_fail(t, "says %s%s", said != NULL ? said : "nothing", yp_option(loud) != NULL ? "!" : "");
}

YP_COMMAND(own, prints, .parallel = true,
           .command = "echo \"{{\\\"fail\\\": \\\"prints $YIELDPOINT_OPTION_WORD\\\"}\"");
