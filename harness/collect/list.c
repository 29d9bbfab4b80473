#include "harness/collect/list.h"

#include "harness/collect/axis.h"
#include "harness/judge/budget.h"

#include <stdio.h>
#include <stdlib.h>

static void list_parameters(const struct yp_case *c)
{
    bool any = false;
    for (int i = 0; i < c->setting_count; i++) {
        if (!c->settings[i].parameter)
            continue;
        char *value = ypi_setting_text(&c->settings[i]);
        printf("%s %s=%s", any ? "" : "    parameters:", c->settings[i].axis, value);
        any = true;
        free(value);
    }
    if (any)
        putchar('\n');
}

static void list_case(const struct yp_case *c)
{
    printf("    tags: %s; timeout: %g s%s%s\n", c->tags, c->timeout,
           c->skip != NULL ? "; skipped: " : "", c->skip != NULL ? c->skip : "");
    list_parameters(c);
    const struct yp_budget *b = NULL;
    for (int next = 0; (b = ypi_next_budget(c, &next)) != NULL;) {
        char text[256];
        ypi_budget_text(text, b, "");
        printf("    budget: %s\n", text);
    }
}

void ypi_list(const struct ypi_collection *c, int selected, const struct ypi_options *o)
{
    for (int i = 0; i < selected; i++) {
        puts(c->cases[i]->id);
        if (o->verbose > 0)
            list_case(c->cases[i]);
    }
    if (o->verbose < 0)
        return;
    if (selected < c->count)
        printf("\n%d/%d cases collected (%d deselected)\n", selected, c->count,
               c->count - selected);
    else
        printf("\n%d case%s collected\n", c->count, c->count == 1 ? "" : "s");
}
