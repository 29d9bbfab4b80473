#include "base/text/time.h"

#include "base/text/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* How long ago: a number from 0 and a unit, which a date never ends with. */
static bool parse_ago(const char *text, double *seconds)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400.0}};
    size_t length = strlen(text);
    double unit = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (length > 0 && text[length - 1] == units[i].unit)
            unit = units[i].seconds;
    if (unit <= 0 || !isdigit((unsigned char)*text))
        return false;
    char *number = ypi_format("%.*s", (int)length - 1, text);
    bool right = ypi_parse_double(number, seconds) && isfinite(*seconds);
    free(number);
    *seconds *= unit;
    return right;
}

/* Takes as many characters as `form` has: a digit for each '0', else the very character. */
static bool take(const char **text, const char *form)
{
    for (; *form != '\0'; form++, ++*text)
        if (*form == '0' ? !isdigit((unsigned char)**text) : **text != *form)
            return false;
    return true;
}

static int number(const char *digits, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++)
        value = 10 * value + (digits[i] - '0');
    return value;
}

/* What timegm() had to put right, such as the 30th of February, is no date. */
static bool seconds_of(struct tm wanted, double *out)
{
    struct tm made = wanted;
    time_t seconds = timegm(&made);
    *out = (double)seconds;
    return made.tm_year == wanted.tm_year && made.tm_mon == wanted.tm_mon &&
           made.tm_mday == wanted.tm_mday && made.tm_hour == wanted.tm_hour &&
           made.tm_min == wanted.tm_min && made.tm_sec == wanted.tm_sec;
}

static bool parse_date(const char *text, struct ypi_span *out)
{
    const char *at = text;
    double extent = 86400;
    if (!take(&at, "0000-00-00"))
        return false;
    struct tm t = {.tm_year = number(text, 4) - 1900,
                   .tm_mon = number(text + 5, 2) - 1,
                   .tm_mday = number(text + 8, 2)};
    if (*at == 'T' || *at == ' ') {
        const char *clock = ++at;
        if (!take(&at, "00:00"))
            return false;
        t.tm_hour = number(clock, 2);
        t.tm_min = number(clock + 3, 2);
        extent = 60;
        if (*at == ':') {
            if (!take(&at, ":00"))
                return false;
            t.tm_sec = number(clock + 6, 2);
            extent = 1;
        }
        at += *at == 'Z';
    }
    if (*at != '\0' || !seconds_of(t, &out->first))
        return false;
    out->past = out->first + extent;
    return true;
}

bool ypi_parse_time(const char *text, double now, struct ypi_span *out)
{
    double ago = 0;
    if (!parse_ago(text, &ago))
        return parse_date(text, out);
    out->first = out->past = now - ago;
    return true;
}
