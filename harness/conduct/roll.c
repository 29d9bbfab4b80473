#include "harness/conduct/roll.h"

#include "base/text/text.h"
#include "harness/stack/symbols.h"

#include <stdlib.h>
#include <string.h>

char *ypi_rank_names(const bool *in, int count)
{
    struct ypi_text text = {0};
    int named = 0;
    for (int i = 0; i < count; i++)
        named += in[i];
    ypi_text_add(&text, named == 1 ? "rank " : "ranks ");
    bool first = true;
    for (int i = 0; i < count; i++) {
        if (!in[i])
            continue;
        int last = i;
        while (last + 1 < count && in[last + 1])
            last++;
        if (last - i < 2) /* "0, 1" and not "0-1" */
            last = i;
        ypi_text_add(&text, "%s%d", first ? "" : ", ", i);
        if (last > i)
            ypi_text_add(&text, "-%d", last);
        first = false;
        i = last;
    }
    return ypi_text_take(&text);
}

/* Those from `from` on that stand where that one does; it is the first of them, or there are none.
 */
static bool stand_together(const struct ypi_members *members, int from,
                           char (*at)[YPI_STANDING_MAX], bool *in)
{
    for (int i = 0; i < from; i++)
        if (at[i][0] != '\0' && strcmp(at[i], at[from]) == 0)
            return false;
    for (int i = 0; i < members->count; i++)
        in[i] = at[from][0] != '\0' && strcmp(at[i], at[from]) == 0;
    return at[from][0] != '\0';
}

char *ypi_roll_call(const struct ypi_members *members)
{
    const size_t count = (size_t)members->count;
    char(*at)[YPI_STANDING_MAX] = ypi_calloc(count, sizeof *at);
    bool *in = ypi_calloc(count, sizeof *in);
    struct ypi_text text = {0};
    bool any = false;
    for (int i = 0; i < members->count; i++)
        if (!ypi_member_is_over(&members->of[i]))
            ypi_standing_text(members->of[i].standing, at[i]);
    for (int i = 0; i < members->count; i++) {
        if (!stand_together(members, i, at, in))
            continue;
        char *names = ypi_rank_names(in, members->count);
        ypi_text_add(&text, "%s%s %s", text.length > 0 ? ", " : "", names, at[i]);
        free(names);
    }
    for (int i = 0; i < members->count; i++) {
        in[i] = ypi_member_is_over(&members->of[i]);
        any = any || in[i];
    }
    if (any) {
        char *names = ypi_rank_names(in, members->count);
        ypi_text_add(&text, "%s%s over", text.length > 0 ? "; " : "", names);
        free(names);
    }
    free(in);
    free(at);
    return ypi_text_take(&text);
}

/* The stack of the thread that runs the body; NULL: none was taken. */
static const struct ypi_stack *stack_of(const struct ypi_member *m)
{
    for (int i = 0; i < m->result.stack_count; i++)
        if (m->result.stacks[i].kind == YPI_STACK_STUCK && m->result.stacks[i].of_case)
            return &m->result.stacks[i];
    return NULL;
}

static bool same_stack(const struct ypi_stack *a, const struct ypi_stack *b)
{
    bool same = a->count == b->count;
    for (int i = 0; same && i < a->count; i++)
        same = a->frames[i].offset == b->frames[i].offset &&
               strcmp(a->frames[i].module, b->frames[i].module) == 0;
    return same;
}

char *ypi_roll_stacks(const struct ypi_members *members)
{
    struct ypi_text text = {0};
    bool *done = ypi_calloc((size_t)members->count, sizeof *done);
    bool *in = ypi_calloc((size_t)members->count, sizeof *in);
    for (int i = 0; i < members->count; i++) {
        const struct ypi_stack *stack = stack_of(&members->of[i]);
        if (stack == NULL || done[i])
            continue;
        for (int k = 0; k < members->count; k++) {
            const struct ypi_stack *other = stack_of(&members->of[k]);
            in[k] = other != NULL && same_stack(stack, other);
            done[k] = done[k] || in[k];
        }
        char *names = ypi_rank_names(in, members->count);
        char *frames = ypi_stack_text(stack, "  ");
        if (frames != NULL)
            ypi_text_add(&text, "%s%s:\n%s", text.length > 0 ? "\n" : "", names, frames);
        free(frames);
        free(names);
    }
    free(in);
    free(done);
    if (text.length > 0)
        return ypi_text_take(&text);
    free(ypi_text_take(&text));
    return NULL;
}
