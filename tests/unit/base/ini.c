/* Ini files: values that go on, places of errors, sections that belong to other programs. */
#include "base/options/ini.h"

#include "base/text/text.h"
#include "tests/unit/harness/capture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void make_name(void)
{
    snprintf(path, sizeof path, "/tmp/yp-ini-%d.ini", (int)getpid());
}

static void remove_file(void)
{
    unlink(path);
}

TestSuite(ini, .init = make_name, .fini = remove_file, .timeout = 60);

/* Writes all entries as "section.name=value|"; refuses the value "bad". */
static char *note(void *arg, const char *section, const char *name, const char *value)
{
    ypi_text_add(arg, "%s.%s=%s|", section, name, value);
    return strcmp(value, "bad") == 0 ? ypi_format("%s is bad", name) : NULL;
}

static void expect_read(const char *text, enum ypi_ini result, const char *entries,
                        const char *errors)
{
    struct ypi_text noted = {0};
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    capture_begin(STDERR_FILENO);
    enum ypi_ini got = ypi_ini_read(path, note, &noted);
    const char *output = capture_end();
    char *all = ypi_text_take(&noted);
    cr_expect_eq(got, result, "%s", text);
    cr_expect_str_eq(all, entries, "%s", text);
    struct ypi_text wanted = {0};
    const char *error = NULL;
    size_t length = 0;
    for (; *errors != '\0'; errors += length + (errors[length] != '\0')) {
        error = errors;
        length = strcspn(errors, "|");
        ypi_text_add(&wanted, "error: %s:%.*s\n", path, (int)length, error);
    }
    char *lines = ypi_text_take(&wanted);
    cr_expect_str_eq(output, lines, "%s", text);
    free(lines);
    free(all);
}

Test(ini, entries)
{
    expect_read("", YPI_INI_OK, "", "");
    expect_read("x = y\n[s]\n; no\na=b # c\n", YPI_INI_OK, ".x=y|s.a=b # c|", "");
    expect_read("[s]\na = 1\n  2\n\n\t3\nb =\n  4\na = 5\n", YPI_INI_OK, "s.a=1 2 3|s.b=4|s.a=5|",
                "");
    expect_read("[s]\na = 1\n[t]\n  b = 2\n", YPI_INI_OK, "s.a=1|t.b=2|", "");
}

Test(ini, all_errors_have_their_lines)
{
    expect_read("[s]\na = bad\nb = 1\n c\nd = bad\n", YPI_INI_WRONG, "s.a=bad|s.b=1 c|s.d=bad|",
                "2: a is bad|5: d is bad");
    expect_read("[s]\nnothing\na = bad\n", YPI_INI_WRONG, "s.a=bad|",
                "2: not a [section], a name = value or a comment|3: a is bad");
    expect_read("[s]\na = bad\nnothing\n", YPI_INI_WRONG, "s.a=bad|",
                "2: a is bad|3: not a [section], a name = value or a comment");
    expect_read("nothing\n[s]\nnone\n[open\na : 1\n", YPI_INI_WRONG, "s.a=1|",
                "1: not a [section], a name = value or a comment|"
                "3: not a [section], a name = value or a comment|"
                "4: not a [section], a name = value or a comment");
}

Test(ini, comments_and_blanks)
{
    expect_read("[s]\r\na=b;c ;d\r\n; x\n#y\n ;z\n  e ; f\ng = ; h\ni:j\n", YPI_INI_OK,
                "s.a=b;c e|s.g=|s.i=j|", "");
    expect_read("[s]\na = 1", YPI_INI_OK, "s.a=1|", "");
    expect_read("[s]\na ; b = c\n", YPI_INI_WRONG, "",
                "2: not a [section], a name = value or a comment");
}

/* Of a name, of a value, and of one that goes on. */
Test(ini, lines_of_any_length)
{
    char *digits = ypi_format("%0100000d", 7);
    char *text = ypi_format("[s]\n%s = %s ; no\n  %s\nb = 1\n", digits, digits, digits);
    char *entries = ypi_format("s.%s=%s %s|s.b=1|", digits, digits, digits);
    expect_read(text, YPI_INI_OK, entries, "");
    free(entries);
    free(text);
    free(digits);
}

Test(ini, a_section_ends_at_the_last_bracket)
{
    expect_read("[a.c::b[n=1]]\nx = 1\n  [k]\n[c[d]] ; one ]\ny = 2\n\t[e] # two ]\n", YPI_INI_OK,
                "a.c::b[n=1].x=1 [k]|c[d].y=2 [e] # two ]|", "");
    expect_read("[s]\na = 1\n[s\nb = 2\n[t]\nc = 3\n", YPI_INI_WRONG, "s.a=1|s.b=2|t.c=3|",
                "3: not a [section], a name = value or a comment");
    char *name = ypi_format("%0300d", 7);
    char *text = ypi_format("\xef\xbb\xbf[%s]\na = 1\n", name);
    char *entry = ypi_format("%s.a=1|", name);
    expect_read(text, YPI_INI_OK, entry, "");
    free(entry);
    free(text);
    free(name);
}

/* The same with lines, and with sections; refuses the section "bad". */
static char *note_line(void *arg, int line, const char *section, const char *name,
                       const char *value)
{
    if (name == NULL)
        ypi_text_add(arg, "%d [%s]|", line, section);
    else
        ypi_text_add(arg, "%d %s=%s|", line, name, value);
    return name == NULL && strcmp(section, "bad") == 0 ? ypi_strdup("bad it is") : NULL;
}

Test(ini, lines)
{
    struct ypi_text noted = {0};
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs("# none\n[a]\n\nb = 1\n 2\n[empty]\n[bad]\nc = 3\n", file);
    fclose(file);
    capture_begin(STDERR_FILENO);
    enum ypi_ini got = ypi_ini_read_lines(path, note_line, &noted);
    char *wanted = ypi_format("error: %s:7: bad it is\n", path);
    cr_expect_str_eq(capture_end(), wanted);
    cr_expect_eq(got, YPI_INI_WRONG);
    char *all = ypi_text_take(&noted);
    cr_expect_str_eq(all, "2 [a]|4 b=1 2|6 [empty]|7 [bad]|8 c=3|");
    free(all);
    free(wanted);
}

Test(ini, a_byte_of_0)
{
    static const char text[] = "[s]\na = 1\0 2\n";
    struct ypi_text noted = {0};
    capture_begin(STDERR_FILENO);
    enum ypi_ini got = ypi_ini_read_text("x.ini", text, sizeof text - 1, note_line, &noted);
    cr_expect_str_eq(capture_end(), "error: x.ini:2: a byte of it is 0: not a text\n");
    cr_expect_eq(got, YPI_INI_WRONG);
    free(ypi_text_take(&noted));
}

Test(ini, no_file)
{
    struct ypi_text noted = {0};
    capture_begin(STDERR_FILENO);
    enum ypi_ini got = ypi_ini_read("/no/such.ini", note, &noted);
    cr_expect_str_eq(capture_end(), "error: /no/such.ini: No such file or directory\n");
    cr_expect_eq(got, YPI_INI_UNREADABLE);
}

Test(ini, whose_a_section_is)
{
    static const char *const own[] = {"yieldpoint", "tags"};
    const char *const others[] = {"synth", "tool", "pages"}, *const mine[] = {"", "yieldpoint",
                                                                              "tags", "tag",
                                                                              "yeldpoint"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_expect(ypi_ini_section_is_anothers(others[i], own, 2), "%s", others[i]);
    for (size_t i = 0; i < sizeof mine / sizeof *mine; i++)
        cr_expect_not(ypi_ini_section_is_anothers(mine[i], own, 2), "%s", mine[i]);
}
