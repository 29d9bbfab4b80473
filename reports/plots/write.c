/* Plots as files. PNG is made from our own SVG by librsvg, so that both are one picture. */
#include "base/system/atomic_file.h"
#include "base/text/text.h"
#include "reports/plots/plots.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/device.h>

static enum yp_status write_file(const char *path, const void *bytes, size_t size)
{
    struct ypi_atomic_file file;
    enum yp_status status = ypi_atomic_create(&file, path);
    if (status == YP_OK)
        status = ypi_write_at(file.fd, path, 0, bytes, size);
    if (status == YP_OK)
        status = ypi_atomic_publish(&file, true);
    ypi_atomic_abandon(&file);
    return status;
}

#ifdef YPI_WITH_RSVG

#include <librsvg/rsvg.h>

#define PIXELS 2.0 /* a unit of the picture: sharp at the width of a page, and in print */

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
        g_error_free(error);
    return YP_IO;
}

static enum yp_status draw(RsvgHandle *handle, const char *path, struct ypi_text *out)
{
    GError *error = NULL;
    double width = 0;
    double height = 0;
    if (!rsvg_handle_get_intrinsic_size_in_pixels(handle, &width, &height))
        return refused(path, "it has no size", NULL);
    const RsvgRectangle whole = {0, 0, width * PIXELS, height * PIXELS};
    cairo_surface_t *surface =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)whole.width, (int)whole.height);
    cairo_t *cairo = cairo_create(surface);
    cairo_set_source_rgb(cairo, 1, 1, 1);
    cairo_paint(cairo);
    enum yp_status status = YP_OK;
    if (!rsvg_handle_render_document(handle, cairo, &whole, &error))
        status = refused(path, "", error);
    else if (cairo_surface_write_to_png_stream(surface, add_bytes, out) != CAIRO_STATUS_SUCCESS)
        status = refused(path, "no memory", NULL);
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
    return status;
}

static enum yp_status write_png(const char *path, const char *svg)
{
    GError *error = NULL;
    struct ypi_text png = {0};
    RsvgHandle *handle = rsvg_handle_new_from_data((const guint8 *)svg, (gsize)strlen(svg), &error);
    if (handle == NULL)
        return refused(path, "", error);
    enum yp_status status = draw(handle, path, &png);
    if (status == YP_OK)
        status = write_file(path, png.data, png.length);
    free(png.data);
    g_object_unref(handle);
    return status;
}

#else

static enum yp_status write_png(const char *path, const char *svg)
{
    static bool said;
    (void)path;
    (void)svg;
    if (!said)
        fprintf(stderr, "yieldpoint: plots are written as SVG alone: this build has no librsvg, "
                        "which makes PNG of them\n");
    said = true;
    return YP_OK;
}

#endif

enum yp_status ypi_plots_write(const struct ypi_plot_list *list, const char *directory)
{
    enum yp_status status = YP_OK;
    for (size_t i = 0; i < list->count && status == YP_OK; i++) {
        char *svg = ypi_format("%s/%s.svg", directory, list->list[i].name);
        char *png = ypi_format("%s/%s.png", directory, list->list[i].name);
        status = ypi_make_parents(svg);
        if (status == YP_OK)
            status = write_file(svg, list->list[i].svg, strlen(list->list[i].svg));
        if (status == YP_OK)
            status = write_png(png, list->list[i].svg);
        free(svg);
        free(png);
    }
    return status;
}
