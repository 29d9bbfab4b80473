/* Plugins: found, checked and loaded; what is wrong with one is reported. */
#include "device/plugin.h"
#include "tests/plugin/opened.h"
#include "tests/plugin/scale.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REFUSED(call, what) \
    do { \
        yp_set_error(YP_OK, "%s", ""); \
        cr_expect_null(call); \
        cr_expect_not_null(strstr(yp_last_error(), what), "%s", yp_last_error()); \
    } while (0)

TestSuite(plugin, .timeout = 60);

Test(plugin, one_that_is_there_gives_its_table)
{
    unsetenv("YIELDPOINT_PLUGINS");
    const struct scale_cuda *cuda = yp_plugin_table("scale-cuda", sizeof *cuda);
    cr_assert_not_null(cuda, "%s", yp_last_error());
    cr_expect_not_null(cuda->scale);
    cr_expect_eq(yp_plugin_table("scale-cuda", sizeof *cuda), cuda, "it is loaded once");
    REFUSED(yp_plugin_table("scale-cuda", sizeof *cuda + 8), "has a table of 8 bytes, this program "
                                                             "expects 16");
}

/* On a machine without a driver the launch is refused; where there is one, there is no context. */
Test(plugin, its_functions_tell_what_went_wrong)
{
    unsetenv("YIELDPOINT_PLUGINS");
    const struct scale_cuda *cuda = yp_plugin_table("scale-cuda", sizeof *cuda);
    cr_assert_not_null(cuda, "%s", yp_last_error());
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    yp_set_error(YP_OK, "%s", "");
    enum yp_status status = cuda->scale(yp_device_cpu(), 10, 2, NULL);
    cr_expect_neq(status, YP_OK);
    cr_expect_eq(strncmp(yp_last_error(), "scale: ", 7), 0, "%s", yp_last_error());
}

Test(plugin, names_that_cannot_be)
{
    char name[65];
    memset(name, 'a', 64);
    name[64] = '\0';
    REFUSED(yp_plugin_table(NULL, 8), "name is '(null)'");
    REFUSED(yp_plugin_table("", 8), "name is ''");
    REFUSED(yp_plugin_table("../cuda", 8), "name is '../cuda'");
    REFUSED(yp_plugin_table(name, 8), "1 to 63 characters");
}

Test(plugin, what_is_not_there_is_told_with_where)
{
    unsetenv("YIELDPOINT_PLUGINS");
    REFUSED(yp_plugin_table("nobody-has-this", 8),
            "no plugin libyieldpoint-nobody-has-this.so near");
    setenv("YIELDPOINT_PLUGINS", "", 1);
    REFUSED(yp_plugin_table("scale-cuda", 8), "in the directories of YIELDPOINT_PLUGINS");
    setenv("YIELDPOINT_PLUGINS", "::/nowhere:", 1);
    REFUSED(yp_plugin_table("scale-cuda", 8), "in the directories of YIELDPOINT_PLUGINS");
}

static void put(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    cr_assert_eq(chmod(path, mode), 0);
}

Test(plugin, a_file_that_others_may_write_is_passed_over)
{
    char folder[] = "/tmp/yieldpoint-plugin-XXXXXX";
    char path[128];
    char found[PATH_MAX];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libyieldpoint-x.so", folder);
    setenv("YIELDPOINT_PLUGINS", folder, 1);
    put(path, "text", 0600);
    cr_expect(ypi_plugin_find("x", found));
    cr_expect_str_eq(found, path);
    REFUSED(yp_plugin_table("x", 8), "cannot be loaded");
    put(path, "text", 0602);
    cr_expect(!ypi_plugin_find("x", found), "others may write it");
    cr_assert_eq(unlink(path), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_expect(!ypi_plugin_find("x", found), "it is a directory");
    rmdir(path);
    rmdir(folder);
}

Test(plugin, a_shared_object_that_is_none_is_refused)
{
    char folder[] = "/tmp/yieldpoint-plugin-XXXXXX";
    char path[128];
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libyieldpoint-m.so", folder);
    setenv("YIELDPOINT_PLUGINS", folder, 1);
    cr_assert_eq(symlink("/lib/x86_64-linux-gnu/libm.so.6", path), 0);
    REFUSED(yp_plugin_table("m", 8), "exports no yp_plugin_open()");
    cr_assert_eq(unlink(path), 0);
    /* Another one's file under this name. */
    const char *scale = getenv("SCALE_PLUGIN");
    cr_assert_eq(scale != NULL ? symlink(scale, path) : -1, 0, "SCALE_PLUGIN names the plugin");
    REFUSED(yp_plugin_table("m", 8), "is of another version than this program");
    unlink(path);
    rmdir(folder);
}

/* -- opened with the device, closed with it ------------------------------------------------------
 */

static uint64_t allocated(void)
{
    struct yp_memory m;
    yp_device_memory(yp_device_cpu(), &m);
    return m.allocated;
}

Test(plugin, it_is_opened_once_there_is_a_device_and_closed)
{
    unsetenv("YIELDPOINT_PLUGINS");
    const struct opened *plugin = yp_plugin_table("opened", sizeof *plugin);
    cr_assert_not_null(plugin, "%s", yp_last_error());
    cr_expect_eq(*plugin->opened, 0, "there is no device yet");
    cr_expect_eq(ypi_plugins_open(yp_device_cpu()), YP_OK);
    cr_expect_eq(yp_plugin_table("opened", sizeof *plugin), plugin);
    cr_expect_eq(*plugin->opened, 1, "once: %d", *plugin->opened);
    cr_expect_eq(allocated(), 16);
    const float from[4] = {1, 2, 3, 4};
    float to[4] = {0};
    cr_expect_eq(plugin->carry(from, to), YP_OK, "%s", yp_last_error());
    cr_expect_arr_eq(to, from, sizeof from);
    ypi_plugins_close();
    ypi_plugins_close();
    cr_expect_eq(*plugin->closed, 1, "once: %d", *plugin->closed);
    cr_expect_eq(allocated(), 0, "nothing is left");
}

Test(plugin, one_that_cannot_be_opened_has_no_table)
{
    unsetenv("YIELDPOINT_PLUGINS");
    setenv("OPENED_REFUSES", "yes", 1);
    cr_assert_eq(ypi_plugins_open(yp_device_cpu()), YP_OK);
    REFUSED(yp_plugin_table("opened", sizeof(struct opened)), "no handle");
    cr_expect_eq(yp_last_status(), YP_OUT_OF_MEMORY);
    cr_expect_eq(ypi_plugins_open(yp_device_cpu()), YP_OUT_OF_MEMORY, "nor has the device");
    unsetenv("OPENED_REFUSES");
    const struct opened *plugin = yp_plugin_table("opened", sizeof *plugin);
    cr_assert_not_null(plugin, "it can later: %s", yp_last_error());
    cr_expect_eq(*plugin->opened, 1);
    ypi_plugins_close();
    cr_expect_eq(*plugin->closed, 1);
}
