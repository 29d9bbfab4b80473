#include "harness/stack/symbols.h"

#include "base/system/self.h"
#include "base/text/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The program itself has no name in the list of what is loaded. */
static const char *path_of(const struct ypi_frame *frame)
{
    return frame->module[0] == '\0' ? ypi_self_path() : frame->module;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool in_module(const struct ypi_frame *frame, const char *beginning)
{
    return strncmp(base_name(frame->module), beginning, strlen(beginning)) == 0;
}

bool ypi_is_pool(const char *path)
{
    static const char *const pools[] = {"libgomp", "libomp",  "libiomp",  "libopenblas",
                                        "libtbb",  "libcuda", "libcupti", "libnvidia"};
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
        if (strncmp(base_name(path), pools[i], strlen(pools[i])) == 0)
            return true;
    return false;
}

bool ypi_stack_of_pool(const struct ypi_stack *stack)
{
    for (int i = 0; i < stack->count; i++)
        if (ypi_is_pool(stack->frames[i].module))
            return true;
    return false;
}

/* What addr2line says of one frame: the innermost function and, beside it, its line. */
struct symbol {
    char function[256];
    char place[512]; /* "" when it is not known */
};

static void chomp(char *line)
{
    line[strcspn(line, "\n")] = '\0';
}

static void clean(struct symbol *symbol)
{
    chomp(symbol->function);
    chomp(symbol->place);
    char *discriminator = strstr(symbol->place, " (discriminator");
    if (discriminator != NULL)
        *discriminator = '\0';
    const char *colon = strrchr(symbol->place, ':');
    if (symbol->place[0] == '?' || colon == NULL || colon[1] == '?' || colon[1] == '0')
        symbol->place[0] = '\0';
    if (symbol->function[0] == '?')
        symbol->function[0] = '\0';
}

/* Of `count` frames of one module; those that addr2line does not know are left as they are. */
static void ask(const struct ypi_frame *frames, int count, struct symbol *out)
{
    struct ypi_text command = {0};
    char self[YPI_SELF_FILE];
    ypi_self_file(getpid(), self);
    const char *path = frames[0].module[0] == '\0' ? self : frames[0].module;
    ypi_text_add(&command, "DEBUGINFOD_URLS= addr2line -f -C -e ");
    ypi_text_quoted(&command, path, true);
    for (int i = 0; i < count; i++)
        ypi_text_add(&command, " 0x%" PRIx64, frames[i].offset);
    ypi_text_add(&command, " 2>/dev/null </dev/null");
    char *text = ypi_text_take(&command);
    FILE *answer = popen(text, "re");
    free(text);
    for (int i = 0; i < count && answer != NULL; i++) {
        if (fgets(out[i].function, sizeof out[i].function, answer) == NULL ||
            fgets(out[i].place, sizeof out[i].place, answer) == NULL)
            break;
        clean(&out[i]);
    }
    if (answer != NULL)
        pclose(answer);
}

static char *frame_text(const struct ypi_frame *frame, const char *path,
                        const struct symbol *symbol)
{
    if (symbol->function[0] == '\0')
        return ypi_format("%s+0x%" PRIx64, base_name(path), frame->offset);
    return ypi_format("%s (%s)", symbol->function,
                      symbol->place[0] != '\0' ? symbol->place : base_name(path));
}

/* Lines, of which equal ones that follow each other are one with their number. */
struct lines {
    struct ypi_text text;
    const char *before, *between;
    char *last; /* owned */
    int times;
};

static void flush(struct lines *lines)
{
    if (lines->last != NULL)
        ypi_text_add(&lines->text, "%s%s%s", lines->text.length > 0 ? lines->between : "",
                     lines->before, lines->last);
    if (lines->times > 1)
        ypi_text_add(&lines->text, ", %d times", lines->times);
    free(lines->last);
    lines->last = NULL;
    lines->times = 0;
}

static void add_line(struct lines *lines, char *line)
{
    if (lines->last != NULL && strcmp(lines->last, line) == 0) {
        free(line);
    } else {
        flush(lines);
        lines->last = line;
    }
    lines->times++;
}

/* What is above them on the stack is how a program ends that does not catch an exception. */
static bool ends_program(const struct symbol *symbol)
{
    static const char *const names[] = {"__cxa_throw", "__cxa_rethrow", "std::terminate()"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(symbol->function, names[i]) == 0)
            return true;
    return false;
}

/* The C library's frames that begin a thread, and those in which abort() raises its signal. */
static void trim(const struct ypi_stack *stack, int *begin, int *end)
{
    *begin = 0;
    *end = stack->count;
    while (*end > 1 && in_module(&stack->frames[*end - 1], "libc.so"))
        (*end)--;
    while (*begin + 1 < *end && in_module(&stack->frames[*begin], "libc.so") &&
           in_module(&stack->frames[*begin + 1], "libc.so"))
        (*begin)++;
}

static char *text_of(const struct ypi_stack *stack, const char *before, const char *between)
{
    struct lines lines = {.before = before, .between = between};
    struct symbol *symbols = ypi_calloc(YPI_FRAMES_MAX, sizeof *symbols);
    int begin = 0;
    int end = 0;
    trim(stack, &begin, &end);
    for (int i = begin, next = begin; i < end; i = next) {
        const struct ypi_frame *frames = stack->frames;
        const char *path = path_of(&frames[i]);
        while (next < end && strcmp(frames[next].module, frames[i].module) == 0)
            next++;
        ask(&frames[i], next - i, &symbols[i]);
        for (int k = i; k < next; k++) {
            if (ends_program(&symbols[k])) {
                flush(&lines);
                lines.text.length = 0;
            } else {
                add_line(&lines, frame_text(&frames[k], path, &symbols[k]));
            }
        }
    }
    flush(&lines);
    free(symbols);
    if (lines.text.length > 0)
        return ypi_text_take(&lines.text);
    free(ypi_text_take(&lines.text));
    return NULL;
}

char *ypi_stack_text(const struct ypi_stack *stack, const char *indent)
{
    char *before = ypi_format("%sat ", indent);
    char *text = text_of(stack, before, "\n");
    free(before);
    return text;
}

char *ypi_stack_line(const struct ypi_stack *stack)
{
    return text_of(stack, "", " < ");
}
