#include "gate/report.h"

#include "base/text/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_SECONDS 30.0 /* between two lines in a log */

void ypi_report_json(FILE *out, cJSON *document)
{
    char *text = ypi_json_text(document, true);
    fprintf(out, "%s\n", text != NULL ? text : "null");
    free(text);
    cJSON_Delete(document);
}

static void put_json(FILE *out, const void *all)
{
    ypi_report_json(out, ypi_summary_document(all));
}

static void put_markdown(FILE *out, const void *all)
{
    ypi_summary_markdown(out, all);
}

int ypi_gate_error(enum yp_status status, const volatile bool *stop)
{
    if (stop != NULL && (status == YP_UNSUPPORTED || *stop))
        return YPI_GATE_INTERRUPTED;
    fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
    return status == YP_INVALID ? YPI_GATE_USAGE : YPI_GATE_INTERNAL;
}

bool ypi_report_is_due(double *told, double now, bool terminal)
{
    bool due = terminal || now - *told >= PROGRESS_SECONDS;
    if (due)
        *told = now;
    return due;
}

bool ypi_report_file(const char *path, void (*put)(FILE *out, const void *what), const void *what)
{
    if (path == NULL)
        return true;
    if (strcmp(path, "-") == 0) {
        put(stdout, what);
        return true;
    }
    FILE *file = fopen(path, "w");
    if (file != NULL)
        put(file, what);
    bool right = file != NULL && ferror(file) == 0;
    if (file != NULL && fclose(file) != 0)
        right = false;
    if (!right)
        fprintf(stderr, "yieldpoint: %s: cannot be written: %s\n", path, strerror(errno));
    return right;
}

static bool is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

bool ypi_report_is_stdout(const struct ypi_report *report)
{
    return is_stdout(report->json) || is_stdout(report->markdown);
}

int ypi_report_put(const struct ypi_report *report, const struct ypi_comparisons *all)
{
    if (!ypi_report_is_stdout(report))
        ypi_summary_text(stdout, all, report->verbose);
    bool right = ypi_report_file(report->json, put_json, all);
    right = ypi_report_file(report->markdown, put_markdown, all) && right;
    return ypi_flush() == YPI_COMMAND_OK && right ? YPI_GATE_FINE : YPI_GATE_INTERNAL;
}
