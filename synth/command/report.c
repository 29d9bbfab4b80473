/* Errors, progress, and the report at the end. */
#include "synth/command/internal.h"

#include "base/system/clock.h"
#include "base/text/figures.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define LINE_SECONDS 5.0
#define BAR_SECONDS 0.1
#define BAR_WIDTH 24

/* Prints an error of a field as one of the command line: "synth_spec.snr_db is" becomes
 * "--snr-db is", and the remark that 0 means the default is dropped. */
static void print_field_error(const char *text)
{
    fputs("--", stderr);
    for (; *text != '\0' && *text != ' '; text++)
        fputc(*text == '_' ? '-' : *text, stderr);
    const char *zero = strstr(text, ", or 0 for");
    fprintf(stderr, "%.*s%s\n", (int)(zero != NULL ? (size_t)(zero - text) : strlen(text)), text,
            strstr(text, "SYNTH_OFF") != NULL ? ", or off" : "");
}

int ypi_report_error(enum yp_status status)
{
    static const char *const structures[] = {"synth_spec.", "synth_plays."};
    const char *text = yp_last_error(), *field = NULL;
    for (size_t i = 0; i < sizeof structures / sizeof *structures; i++)
        if (strncmp(text, structures[i], strlen(structures[i])) == 0)
            field = text + strlen(structures[i]);
    fputs("yieldpoint: ", stderr);
    if (field != NULL)
        print_field_error(field);
    else
        fprintf(stderr, "%s\n", text);
    return status == YP_IO || status == YP_OUT_OF_MEMORY ? YPI_SYNTH_FILE : YPI_SYNTH_USAGE;
}

void ypi_progress_begin(struct ypi_progress *p, const char *command, const char *unit, bool quiet)
{
    double now = ypi_now();
    *p = (struct ypi_progress){command, unit, quiet, isatty(STDERR_FILENO) == 1, now, now};
}

void ypi_progress_show(struct ypi_progress *p, double share, double values, double bytes)
{
    char value_rate[YPI_FIGURE_MAX], byte_rate[YPI_FIGURE_MAX], left[YPI_FIGURE_MAX];
    double now = ypi_now(), seconds = now - p->started;
    if (p->quiet || now - p->shown < (p->terminal ? BAR_SECONDS : LINE_SECONDS) || share <= 0)
        return;
    p->shown = now;
    ypi_format_rate(value_rate, values / seconds, p->unit);
    ypi_format_rate(byte_rate, bytes / seconds, "B");
    ypi_format_seconds(left, seconds * (1 - share) / share);
    if (p->terminal) {
        char bar[BAR_WIDTH + 1];
        size_t full = (size_t)(share * BAR_WIDTH);
        memset(bar, '.', BAR_WIDTH);
        memset(bar, '#', full < BAR_WIDTH ? full : BAR_WIDTH);
        bar[BAR_WIDTH] = '\0';
        fprintf(stderr, "\r[%s] %3.0f %%  %s, %s, %s left\033[K", bar, share * 100, value_rate,
                byte_rate, left);
    } else {
        fprintf(stderr, "%s: %.0f %%, %s, %s, %s left\n", p->command, share * 100, value_rate,
                byte_rate, left);
    }
    fflush(stderr);
}

void ypi_progress_end(struct ypi_progress *p)
{
    if (!p->quiet && p->terminal)
        fputs("\r\033[K", stderr);
}

void ypi_report_made(const struct ypi_outputs *o, const struct ypi_made *made)
{
    static const char *const formats[] = {"ENVI", ".npy"}, *const orders[] = {"bip", "bil", "bsq"};
    char value_rate[YPI_FIGURE_MAX], byte_rate[YPI_FIGURE_MAX];
    char seconds[YPI_FIGURE_MAX];
    const struct ypi_job *job = o->job;
    if (job->quiet)
        return;
    ypi_format_rate(value_rate, (double)made->values / made->seconds, "values");
    ypi_format_rate(byte_rate, (double)made->bytes / made->seconds, "B");
    ypi_format_seconds(seconds, made->seconds);
    printf("%zu cube%s of %zu x %zu x %zu (%s %s, %s) and the truth: %" PRIu64 " values, %" PRIu64
           " bytes in %s: %s, %s\n",
           made->cubes, made->cubes == 1 ? "" : "s", o->spec->height, o->spec->width,
           o->spec->channels, formats[job->format], orders[job->interleave],
           ypi_type_name((enum synth_type)job->type), made->values, made->bytes, seconds,
           value_rate, byte_rate);
    size_t empty = 0;
    for (size_t i = 0; i < o->spec->channels; i++)
        empty += ypi_band_is_empty(o, i);
    if (empty > 0)
        printf("%zu band%s 0 throughout: blank, or too dark to be inverted\n", empty,
               empty == 1 ? " is" : "s are");
    if (made->clipped > 0)
        printf("%" PRIu64 " values beyond the range of %s were clipped to it\n", made->clipped,
               ypi_type_name((enum synth_type)job->type));
    printf("described in %s.json\n", job->base);
}
