#include "reports/exports/sink.h"

#include "base/text/output.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRITTEN_AT_ONCE ((size_t)1 << 20)

static void write_out(struct ypi_sink *s)
{
    size_t length = s->text.length;
    if (s->status == YP_OK && length > 0 && s->file.fd >= 0)
        s->status = ypi_write_at(s->file.fd, s->file.path, s->written, s->text.data, length);
    else if (s->status == YP_OK && length > 0 && fwrite(s->text.data, 1, length, stdout) < length)
        s->status = yp_set_error(YP_IO, "the output cannot be written: %s", strerror(errno));
    s->written += length;
    free(ypi_text_take(&s->text));
}

enum yp_status ypi_sink_open(struct ypi_sink *s, const char *path)
{
    *s = (struct ypi_sink){.file = {.fd = -1}};
    if (strcmp(path, "-") != 0)
        s->status = ypi_atomic_create(&s->file, path);
    return s->status;
}

enum yp_status ypi_sink_step(struct ypi_sink *s)
{
    if (s->text.length >= WRITTEN_AT_ONCE)
        write_out(s);
    return s->status;
}

enum yp_status ypi_sink_close(struct ypi_sink *s)
{
    bool to_file = s->file.fd >= 0;
    write_out(s);
    if (to_file && s->status == YP_OK && !s->one_of_many)
        s->status = ypi_atomic_sync(&s->file);
    if (to_file && s->status == YP_OK)
        s->status = ypi_atomic_publish(&s->file, true);
    if (!to_file && s->status == YP_OK && (fflush(stdout) != 0 || ferror(stdout)))
        s->status = yp_set_error(YP_IO, "the output cannot be written: %s", strerror(errno));
    ypi_sink_drop(s);
    return s->status;
}

void ypi_sink_drop(struct ypi_sink *s)
{
    ypi_atomic_abandon(&s->file);
    free(ypi_text_take(&s->text));
}

void ypi_sink_json_text(struct ypi_sink *s, const char *text)
{
    cJSON *item = text != NULL ? cJSON_CreateStringReference(text) : cJSON_CreateNull();
    char *printed = ypi_json_text(item, false);
    ypi_text_add(&s->text, "%s", printed != NULL ? printed : "null");
    free(printed);
    cJSON_Delete(item);
}

void ypi_sink_json_number(struct ypi_sink *s, double value)
{
    char digits[32] = "null";
    if (isfinite(value))
        ypi_print_double(digits, value);
    ypi_text_add(&s->text, "%s", digits);
}
