/* The drawing library: scales, ticks, texts, labels, and figures of nothing and of anything. */
#include "reports/plots/draw/draw.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 64 };

static struct ypi_scale rounded(bool log, double low, double high, bool zero, int quantity)
{
    struct ypi_scale scale = {.log = log, .from = 100, .to = 500};
    ypi_scale_round(&scale, low, high, zero, (enum ypi_quantity)quantity);
    return scale;
}

Test(scale, places)
{
    struct ypi_scale linear = {false, 0, 10, 100, 500};
    cr_expect_float_eq(ypi_scale_place(&linear, 0), 100, 1e-12);
    cr_expect_float_eq(ypi_scale_place(&linear, 2.5), 200, 1e-12);
    cr_expect_float_eq(ypi_scale_place(&linear, 10), 500, 1e-12);
    struct ypi_scale log = {true, 1, 10000, 500, 100};
    cr_expect_float_eq(ypi_scale_place(&log, 1), 500, 1e-12);
    cr_expect_float_eq(ypi_scale_place(&log, 100), 300, 1e-9);
}

Test(scale, takes_what_it_can_place)
{
    cr_expect(ypi_scale_takes(false, 0) && ypi_scale_takes(false, -3) && ypi_scale_takes(true, 3));
    cr_expect(!ypi_scale_takes(true, 0) && !ypi_scale_takes(true, -3));
    cr_expect(!ypi_scale_takes(false, NAN) && !ypi_scale_takes(false, INFINITY));
    cr_expect(!ypi_scale_takes(true, NAN) && !ypi_scale_takes(true, INFINITY));
}

/* Whatever the ends: a scale that is one, with all data on it and ticks that ascend inside. */
static void expect_sound(bool log, double low, double high, bool zero, int quantity)
{
    double ticks[ROOM];
    struct ypi_scale s = rounded(log, low, high, zero, quantity);
    cr_expect(s.low < s.high && isfinite(s.low) && isfinite(s.high) && (!log || s.low > 0),
              "%g to %g: from %g to %g", low, high, s.low, s.high);
    cr_expect(!(low < s.low) && !(high > s.high), "%g to %g: from %g to %g", low, high, s.low,
              s.high);
    for (size_t most = 2; most <= 12; most++) {
        size_t count = ypi_scale_ticks(&s, (enum ypi_quantity)quantity, most, ticks);
        cr_expect(count >= 2 && count <= (most < 2 ? 2 : most), "%g to %g: %zu ticks of %zu", low,
                  high, count, most);
        for (size_t i = 0; i < count; i++) {
            cr_expect(ticks[i] >= s.low * (1 - 1e-9) - 1e-300 || s.low < 0);
            cr_expect(ticks[i] <= s.high * (1 + 1e-9) || s.high < 0, "%g of %g to %g", ticks[i],
                      s.low, s.high);
            cr_expect(i == 0 || ticks[i] > ticks[i - 1], "%g after %g", ticks[i], ticks[i - 1]);
        }
    }
}

Test(scale, any_ends)
{
    static const double ends[] = {-DBL_MAX, -1e9, -3, -1e-9,  0,    DBL_MIN, 1e-12, 3e-9,   0.1,
                                  0.999,    1,    7,  1023.5, 1024, 5e6,     1e300, DBL_MAX};
    const size_t count = sizeof ends / sizeof *ends;
    for (int quantity = YPI_PLAIN; quantity <= YPI_BYTES; quantity++)
        for (size_t i = 0; i < count; i++)
            for (size_t k = i; k < count; k++)
                for (int zero = 0; zero < 2; zero++) {
                    if (fabs(ends[i]) < 1e308 && fabs(ends[k]) < 1e308)
                        expect_sound(false, ends[i], ends[k], zero, quantity);
                    if (ends[i] > 0 && ends[k] < 1e308)
                        expect_sound(true, ends[i], ends[k], zero, quantity);
                }
    struct ypi_scale none = rounded(false, NAN, NAN, true, YPI_PLAIN);
    cr_expect(none.low == 0 && none.high == 1);
    none = rounded(true, NAN, NAN, true, YPI_PLAIN);
    cr_expect(none.low == 1 && none.high == 10);
}

Test(scale, begins_at_zero_where_asked)
{
    cr_expect(rounded(false, 90, 110, true, YPI_PLAIN).low == 0);
    cr_expect(rounded(false, 90, 110, false, YPI_PLAIN).low >= 80);
    cr_expect(rounded(false, -5, 110, true, YPI_PLAIN).low <= -5);
}

static void expect_ticks(const struct ypi_scale *s, int quantity, size_t most, const double *wanted,
                         size_t wanted_count)
{
    double ticks[ROOM];
    size_t count = ypi_scale_ticks(s, (enum ypi_quantity)quantity, most, ticks);
    cr_assert(count == wanted_count, "%zu ticks, %zu wanted; from %g", count, wanted_count,
              ticks[0]);
    for (size_t i = 0; i < count; i++)
        cr_expect_float_eq(ticks[i], wanted[i], 1e-9 * fabs(wanted[i]), "%g", ticks[i]);
}
#define EXPECT_TICKS(scale, quantity, most, ...) \
    expect_ticks(scale, quantity, most, (const double[]){__VA_ARGS__}, \
                 sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

Test(scale, ticks_are_round)
{
    const double mebi = 1048576;
    EXPECT_TICKS(&((struct ypi_scale){false, 0, 100, 0, 1}), YPI_PLAIN, 6, 0, 20, 40, 60, 80, 100);
    EXPECT_TICKS(&((struct ypi_scale){false, 3, 7.5, 0, 1}), YPI_PLAIN, 6, 3, 4, 5, 6, 7);
    EXPECT_TICKS(&((struct ypi_scale){false, -1, 1, 0, 1}), YPI_PLAIN, 5, -1, -0.5, 0, 0.5, 1);
    /* Round in the unit in which they are written, though the step is below 1 MiB. */
    EXPECT_TICKS(&((struct ypi_scale){false, 0, 2 * mebi, 0, 1}), YPI_BYTES, 5, 0, 0.5 * mebi, mebi,
                 1.5 * mebi, 2 * mebi);
    EXPECT_TICKS(&((struct ypi_scale){true, 0.5, 2e4, 0, 1}), YPI_PLAIN, 8, 1, 10, 100, 1000, 1e4);
    EXPECT_TICKS(&((struct ypi_scale){true, 15, 600, 0, 1}), YPI_PLAIN, 8, 20, 50, 100, 200, 500);
    EXPECT_TICKS(&((struct ypi_scale){true, 1500, 9000, 0, 1}), YPI_BYTES, 8, 2048, 4096, 8192);
    EXPECT_TICKS(&((struct ypi_scale){true, 900, 3 * mebi, 0, 1}), YPI_BYTES, 4, 4096, 32768,
                 mebi / 4, 2 * mebi);
    EXPECT_TICKS(&((struct ypi_scale){true, 900, 3e9, 0, 1}), YPI_BYTES, 4, 1024, mebi,
                 1024 * mebi);
}

static void expect_quantity(double value, int quantity, const char *unit, const char *wanted)
{
    char text[YPI_QUANTITY_MAX];
    ypi_axis_quantity_text(text, value, (enum ypi_quantity)quantity, unit);
    cr_expect_str_eq(text, wanted);
}

Test(quantity, texts)
{
    expect_quantity(0.0015, YPI_SECONDS, "", "1.5 ms");
    expect_quantity(2.5e-8, YPI_SECONDS, "", "25 ns");
    expect_quantity(90, YPI_SECONDS, "", "90 s");
    expect_quantity(1536, YPI_BYTES, "", "1.5 KiB");
    expect_quantity(64.0 * 1048576, YPI_BYTES, "", "64 MiB");
    expect_quantity(0, YPI_BYTES, "", "0 B");
    expect_quantity(2500, YPI_PLAIN, "tokens/s", "2.5 k tokens/s");
    expect_quantity(999.99, YPI_PLAIN, "images/s", "1 k images/s");
    expect_quantity(0.02, YPI_PLAIN, "samples/s", "0.02 samples/s");
    expect_quantity(-3000, YPI_PLAIN, "", "-3 k");
    expect_quantity(1.6e11, YPI_PLAIN, "FLOP/s", "160 GFLOP/s");
    expect_quantity(NAN, YPI_SECONDS, "", "n/a");
    expect_quantity(-INFINITY, YPI_BYTES, "", "-inf");
}

static void expect_escaped(const char *text, const char *wanted)
{
    struct ypi_text out = {0};
    ypi_svg_escape(&out, text);
    cr_expect_str_eq(out.data != NULL ? out.data : "", wanted);
    free(out.data);
}

Test(text, is_escaped)
{
    expect_escaped("</script><b a=\"1\" c='2'>&amp;",
                   "&lt;/script&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;");
    expect_escaped("", "");
    expect_escaped("a\tb\nc", "a\tb\nc");
    expect_escaped("\x01\x1b[31m\x7f", "\xEF\xBF\xBD\xEF\xBF\xBD[31m\x7f");
    expect_escaped("\xff\xc3(", "\xEF\xBF\xBD\xEF\xBF\xBD(");
    expect_escaped("\xc3\xa9 \xf0\x9f\x98\x80", "\xc3\xa9 \xf0\x9f\x98\x80");
    expect_escaped("\xEF\xBF\xBF\xEF\xBF\xBE", "\xEF\xBF\xBD\xEF\xBF\xBD"); /* U+FFFF, U+FFFE */
    expect_escaped("\xed\xa0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"); /* a surrogate */
}

Test(text, is_shortened_in_the_middle)
{
    char *same = ypi_svg_shortened("short", 10, 100);
    cr_expect_str_eq(same, "short");
    free(same);
    char whole[4097];
    memset(whole, 'a', 4096);
    whole[0] = 'b';
    whole[4095] = 'c';
    whole[4096] = '\0';
    char *cut = ypi_svg_shortened(whole, 10, 100);
    cr_expect(ypi_svg_width(cut, 10) <= 100 && strlen(cut) > 10, "%s", cut);
    cr_expect(cut[0] == 'b' && cut[strlen(cut) - 1] == 'c' && strstr(cut, "…") != NULL, "%s", cut);
    free(cut);
    char *wide = ypi_svg_shortened("ééééééééééééééééééééé\xff", 10, 60);
    cr_expect(strstr(wide, "é…") != NULL && ypi_svg_width(wide, 10) <= 60, "%s", wide);
    free(wide);
}

static bool overlap(struct ypi_box a, struct ypi_box b)
{
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height &&
           b.y < a.y + a.height;
}

/* As many labels as find a place at one point and around it: none on another, none outside. */
Test(labels, do_not_collide)
{
    struct ypi_box placed[200];
    size_t count = 0;
    size_t refused = 0;
    struct ypi_boxes boxes = {.frame = {0, 0, 300, 200}};
    for (int i = 0; i < 200; i++) {
        double x = (i * 37) % 300;
        double y = (i * 91) % 200;
        if (ypi_boxes_place(&boxes, x, y, 4, 60, 13, &placed[count]))
            count++;
        else
            refused++;
    }
    cr_expect(count > 20 && refused > 0, "%zu, %zu", count, refused);
    for (size_t i = 0; i < count; i++) {
        const struct ypi_box b = placed[i];
        cr_expect(b.x >= 0 && b.y >= 0 && b.x + b.width <= 300 && b.y + b.height <= 200);
        for (size_t k = 0; k < i; k++)
            cr_expect(!overlap(placed[i], placed[k]), "%zu and %zu", i, k);
    }
    free(boxes.list);
}

Test(labels, keep_off_what_is_taken)
{
    struct ypi_box at;
    struct ypi_boxes boxes = {.frame = {0, 0, 300, 200}};
    cr_assert(ypi_boxes_place(&boxes, 150, 100, 4, 60, 12, &at));
    cr_expect(at.x == 156 && at.y == 94); /* right of the mark where that is free */
    ypi_boxes_take(&boxes, (struct ypi_box){100, 0, 200, 200});
    cr_assert(ypi_boxes_place(&boxes, 98, 100, 4, 60, 12, &at));
    cr_expect(at.x + at.width <= 100);
    cr_expect(!ypi_boxes_place(&boxes, 98, 100, 4, 120, 12, &at)); /* no place for one so wide */
    free(boxes.list);
}

/* -- figures ------------------------------------------------------------------------------- */

static struct ypi_drawing figure_of(bool log)
{
    return (struct ypi_drawing){.name = ypi_strdup("name"),
                                .title = ypi_strdup("A <title> & \"more\""),
                                .description = ypi_strdup("words"),
                                .x = {.title = ypi_strdup("x"), .log = log},
                                .y = {.title = ypi_strdup("y"), .log = log}};
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what))
        count++;
    return count;
}

static const double odd[] = {NAN, INFINITY, -INFINITY, 0, -1, 5, 1e300, 1e-300, 5};

Test(figure, of_any_numbers)
{
    for (int log = 0; log < 2; log++) {
        struct ypi_drawing f = figure_of(log);
        struct ypi_drawing_series *s = ypi_drawing_add_series(&f, "<s>", YPI_LINE, 0);
        for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
            for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
                struct ypi_drawing_point *p =
                    ypi_drawing_add_point(s, odd[i], odd[k], "<h>", "l&", "\"id\"");
                p->low = odd[k];
                p->high = odd[i];
            }
        char *svg = ypi_drawing_svg(&f);
        /* Of 9 values 6 are finite, 4 of them above 0. */
        cr_expect_eq(count_of(svg, "class=\"m c0\" d=\"M"), (log ? 16 : 36) + 1); /* the legend's */
        cr_expect_eq(count_of(svg, "data-case=\"&quot;id&quot;\""), log ? 16 : 36);
        cr_expect_eq(count_of(svg, "<title>&lt;h&gt;</title>"), log ? 16 : 36);
        cr_expect(count_of(svg, "nan") == 0 && count_of(svg, "inf") == 0);
        free(svg);
        ypi_drawing_clear(&f);
    }
}

Test(figure, of_nothing_and_of_one_point)
{
    for (int log = 0; log < 2; log++)
        for (int points = 0; points < 2; points++) {
            struct ypi_drawing f = figure_of(log);
            struct ypi_drawing_series *s = ypi_drawing_add_series(&f, "", YPI_POINTS, 0);
            if (points > 0)
                ypi_drawing_add_point(s, 3, 4, NULL, NULL, NULL);
            char *svg = ypi_drawing_svg(&f);
            cr_expect_eq(count_of(svg, "<path class=\"m"), (size_t)points);
            cr_expect(count_of(svg, "nan") == 0 && count_of(svg, "inf") == 0);
            cr_expect_eq(count_of(svg, "role=\"img\""), 1);
            cr_expect_eq(count_of(svg, "<title id=\"name-title\">A &lt;title&gt; &amp; "
                                       "&quot;more&quot;</title>"),
                         1);
            cr_expect_eq(count_of(svg, "<desc id=\"name-about\">words</desc>"), 1);
            free(svg);
            ypi_drawing_clear(&f);
        }
}

/* Widths of parts are in proportion, and each begins where the one before ends. */
Test(figure, stacks_bars)
{
    struct ypi_drawing f = figure_of(false);
    f.x.quantity = YPI_SECONDS;
    ypi_drawing_add_part(&f, "forward");
    ypi_drawing_add_part(&f, "backward");
    ypi_drawing_add_part(&f, "rest");
    ypi_drawing_add_bar(&f, "a", "id", "4 ms", (const double[]){1e-3, 3e-3, NAN});
    ypi_drawing_add_bar(&f, "b", NULL, NULL, (const double[]){0, -1, 2e-3});
    char *svg = ypi_drawing_svg(&f);
    double x[3];
    double width[3];
    size_t count = 0;
    for (const char *at = svg; (at = strstr(at, "<rect class=\"b")) != NULL; at++) {
        if (strncmp(strchr(at, '>') - 1, "/>", 2) == 0)
            continue; /* of the legend */
        cr_assert(count < 3);
        cr_assert(sscanf(strstr(at, "x=\""), "x=\"%lf", &x[count]) == 1);
        cr_assert(sscanf(strstr(at, "width=\""), "width=\"%lf", &width[count]) == 1);
        count++;
    }
    cr_assert_eq(count, 3);
    cr_expect_float_eq(width[1], 3 * width[0], 0.5);
    cr_expect_float_eq(x[1], x[0] + width[0], 0.11);
    cr_expect_float_eq(x[2], x[0], 0.11);
    cr_expect_float_eq(width[2], 2 * width[0], 0.5);
    cr_expect_eq(count_of(svg, "<title>a, backward: 3 ms</title>"), 1);
    free(svg);
    ypi_drawing_clear(&f);
}

/* Neighbours in the legend differ by more than colour, and no look comes again for 49. */
Test(figure, looks_differ)
{
    struct ypi_drawing f = figure_of(false);
    for (int i = 0; i < 49; i++)
        ypi_drawing_add_point(ypi_drawing_add_series(&f, "", YPI_POINTS, i), 0, 0, NULL, NULL,
                              NULL);
    char *svg = ypi_drawing_svg(&f);
    char *marks[49];
    int count = 0;
    for (char *at = strstr(svg, "<path class=\"m"); at != NULL;
         at = strstr(at + 1, "<path class=\"m"))
        marks[count++] = ypi_format("%.*s", (int)strcspn(at + 1, ">"), at + 1);
    cr_assert_eq(count, 49);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < i; k++)
            cr_expect_str_neq(marks[i], marks[k], "%d and %d", i, k);
        if (i > 0)
            cr_expect_str_neq(strstr(marks[i], " d="), strstr(marks[i - 1], " d="));
    }
    for (int i = 0; i < count; i++)
        free(marks[i]);
    free(svg);
    ypi_drawing_clear(&f);
}
