#include "reports/report/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool ypi_chart_blocks(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value == NULL || *value == '\0')
            continue;
        const char *set = strchr(value, '.');
        return set != NULL &&
               (strncasecmp(set, ".utf-8", 6) == 0 || strncasecmp(set, ".utf8", 5) == 0);
    }
    return false;
}

void ypi_chart_bar(struct ypi_text *out, double part, int width, bool blocks)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int each = blocks ? 8 : 1;
    const double most = (double)width * each;
    int steps = part > 0 ? (int)fmin(most, round(part * most)) : 0;
    if (part > 0 && steps == 0)
        steps = 1;
    for (int i = 0; i < steps / each; i++)
        ypi_text_add(out, "%s", blocks ? "█" : "#");
    ypi_text_add(out, "%s%*s", eighths[steps % each], width - (steps + each - 1) / each, "");
}

void ypi_chart_line(struct ypi_text *out, const double *values, size_t count, bool blocks)
{
    static const char *const high[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const low[] = {"_", ".", "-", "^"};
    const int levels = blocks ? 8 : 4;
    double least = INFINITY;
    double most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    const bool flat = !(most - least >= 0.02 * fabs(most));
    for (size_t i = 0; i < count; i++) {
        double place = flat ? 0.5 : (values[i] - least) / (most - least);
        int level = (int)fmin(levels - 1, floor(place * levels));
        if (!isfinite(values[i]))
            ypi_text_add(out, " ");
        else
            ypi_text_add(out, "%s", blocks ? high[level] : low[level]);
    }
}
