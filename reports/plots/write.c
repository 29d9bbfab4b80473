/* Plots as files. PNG is made from our own SVG by librsvg, so that both are one picture. The
 * library is loaded when a picture is written: linked, it would cost every command 15 ms at its
 * start. */
#include "base/system/file.h"
#include "base/text/output.h"
#include "base/text/text.h"
#include "reports/plots/plots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/device.h>

static enum yp_status no_png(const char *why)
{
    static bool said;
    if (!said)
        fprintf(stderr, "yieldpoint: plots are written as SVG alone: %s\n", why);
    said = true;
    return YP_OK;
}

#ifdef YPI_WITH_RSVG

#include <dlfcn.h>
#include <librsvg/rsvg.h>

#define PIXELS 2.0 /* a unit of the picture: sharp at the width of a page, and in print */

#define EACH_FUNCTION(X) \
    X(rsvg_handle_new_from_data) \
    X(rsvg_handle_get_intrinsic_size_in_pixels) \
    X(rsvg_handle_render_document) \
    X(cairo_image_surface_create) \
    X(cairo_create) \
    X(cairo_set_source_rgb) \
    X(cairo_paint) \
    X(cairo_surface_write_to_png_stream) \
    X(cairo_destroy) \
    X(cairo_surface_destroy) \
    X(g_error_free) \
    X(g_object_unref)

#define MEMBER(name) __typeof__(&name) name;
static struct {
    EACH_FUNCTION(MEMBER)
    bool tried, there;
} lib; /* what was found of librsvg and the libraries it brings */

/* ISO C knows no conversion from an object's pointer to a function's; POSIX has it. */
#define FIND(name) \
    *(void **)&lib.name = dlsym(handle, #name); \
    lib.there = lib.there && lib.name != NULL;

/* A lookup in librsvg finds what it depends on, too. It stays loaded. */
static bool is_loaded(void)
{
    if (lib.tried)
        return lib.there;
    lib.tried = true;
    void *handle = dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL);
    lib.there = handle != NULL;
    if (lib.there) {
        EACH_FUNCTION(FIND)
    }
    return lib.there;
}

static cairo_status_t add_bytes(void *text, const unsigned char *bytes, unsigned count)
{
    ypi_text_bytes(text, (const char *)bytes, count);
    return CAIRO_STATUS_SUCCESS;
}

static enum yp_status refused(const char *path, const char *why, GError *error)
{
    yp_set_error(YP_IO, "%s: the picture cannot be drawn: %s", path,
                 error != NULL ? error->message : why);
    if (error != NULL)
        lib.g_error_free(error);
    return YP_IO;
}

static enum yp_status draw(RsvgHandle *handle, const char *path, struct ypi_text *out)
{
    GError *error = NULL;
    double width = 0;
    double height = 0;
    if (!lib.rsvg_handle_get_intrinsic_size_in_pixels(handle, &width, &height))
        return refused(path, "it has no size", NULL);
    const RsvgRectangle whole = {0, 0, width * PIXELS, height * PIXELS};
    cairo_surface_t *surface =
        lib.cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)whole.width, (int)whole.height);
    cairo_t *cairo = lib.cairo_create(surface);
    lib.cairo_set_source_rgb(cairo, 1, 1, 1);
    lib.cairo_paint(cairo);
    enum yp_status status = YP_OK;
    if (!lib.rsvg_handle_render_document(handle, cairo, &whole, &error))
        status = refused(path, "", error);
    else if (lib.cairo_surface_write_to_png_stream(surface, add_bytes, out) != CAIRO_STATUS_SUCCESS)
        status = refused(path, "no memory", NULL);
    lib.cairo_destroy(cairo);
    lib.cairo_surface_destroy(surface);
    return status;
}

static enum yp_status write_drawn(const char *path, const char *svg)
{
    GError *error = NULL;
    struct ypi_text png = {0};
    RsvgHandle *handle =
        lib.rsvg_handle_new_from_data((const guint8 *)svg, (gsize)strlen(svg), &error);
    if (handle == NULL)
        return refused(path, "", error);
    enum yp_status status = draw(handle, path, &png);
    if (status == YP_OK)
        status = ypi_put_file(path, png.data, png.length);
    free(png.data);
    lib.g_object_unref(handle);
    return status;
}

static enum yp_status write_png(const char *path, const char *svg)
{
    if (!is_loaded())
        return no_png("librsvg-2.so.2 cannot be loaded; Debian has it in librsvg2-2");
    return write_drawn(path, svg);
}

/* Asked by LeakSanitizer: fontconfig keeps its fonts until the process ends. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_options(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\n";
}
const char *__lsan_default_options(void)
{
    return "print_suppressions=0";
}

#else

static enum yp_status write_png(const char *path, const char *svg)
{
    (void)path;
    (void)svg;
    return no_png("this build has no librsvg, which makes PNG of them");
}

#endif

enum yp_status ypi_plots_write(const struct ypi_plot_list *list, const char *directory)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < list->count && status == YP_OK; i++) {
        char *svg = ypi_format("%s/%s.svg", directory, list->list[i].name);
        char *png = ypi_format("%s/%s.png", directory, list->list[i].name);
        const char *picture = ypi_plot_svg(&list->list[i]);
        status = ypi_make_parents(svg);
        if (status == YP_OK)
            status = ypi_put_file(svg, picture, strlen(picture));
        if (status == YP_OK)
            status = write_png(png, picture);
        free(svg);
        free(png);
    }
    return status;
}
