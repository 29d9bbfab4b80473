/* What a case's process has in memory, apart from what the framework itself takes there.
 *
 * In: the kernel's counters (/proc/self/status). Out: the growth of the case's own memory, which is
 * anonymous and shared memory, and of pages of files.
 *
 * The kernel keeps a peak of all resident memory only. Within a stretch of the case's own time the
 * peak's own part is at least the peak less the pages of files that are there at its begin or its
 * end, whichever are more: a program's code stays once it was read, so that this is the peak itself
 * unless the body mapped files after it. */
#include "base/system/process.h"
#include "base/system/thread.h"
#include "harness/body/state.h"

static struct ypi_process_memory look(const struct ypi_resident *r)
{
    struct ypi_process_memory now;
    struct rusage usage;
    if (ypi_self_memory(&now))
        return now;
    /* No descriptor is left: what is known of the whole. */
    now = (struct ypi_process_memory){.own = r->own, .files = r->files};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        now.peak = (uint64_t)usage.ru_maxrss * 1024;
    return now;
}

/* The case's own time begins. The kernel starts the new peak from sums that it keeps roughly (from
 * 6.2 on a part for each processor, from 6.17 on exact only where they are read), so that the peak
 * may stand above what is there: only one that rises counts. */
static void begin_stretch(struct ypi_resident *r)
{
    ypi_reset_resident_peak();
    struct ypi_process_memory now = look(r);
    r->framework += (int64_t)now.own - (int64_t)r->own;
    r->own = now.own;
    r->files = now.files;
    r->stretch_peak = now.peak;
    ypi_tree_enter(r->tree, r->framework);
}

static void end_stretch(struct ypi_resident *r)
{
    ypi_tree_leave(r->tree);
    struct ypi_process_memory now = look(r);
    uint64_t files = now.files > r->files ? now.files : r->files;
    uint64_t own = now.peak > r->stretch_peak && now.peak > files ? now.peak - files : 0;
    own = own > now.own ? own : now.own;
    int64_t growth = (int64_t)own - r->framework - (int64_t)r->before;
    if (growth > (int64_t)r->peak) {
        r->peak = (uint64_t)growth;
        r->huge = ypi_self_unasked_huge();
    }
    if (files > r->files_peak)
        r->files_peak = files;
    r->own = now.own;
    r->files = now.files;
}

void ypi_resident_begin(struct ypi_resident *r)
{
    ypi_touch_stack(); /* or calls of the framework would add pages to the body's */
    *r = (struct ypi_resident){.depth = 1, .tree = r->tree};
    struct ypi_process_memory now = look(r);
    r->before = r->own = now.own;
    r->files_before = r->files_peak = r->files = now.files;
    ypi_tree_begin(r->tree, now.own);
}

void ypi_child_framework_returns(struct yp_case *t)
{
    struct ypi_resident *r = &t->child->resident;
    ypi_child_heap_is(t, false);
    ypi_child_heap_pauses(t, false); /* a measurement that was left */
    if (r->depth == 0)
        end_stretch(r);
    r->depth = 1;
}

void ypi_child_framework_begins(struct yp_case *t)
{
    if (t->child->resident.depth++ != 0)
        return;
    ypi_child_heap_is(t, false);
    end_stretch(&t->child->resident);
}

void ypi_child_framework_ends(struct yp_case *t)
{
    if (--t->child->resident.depth != 0)
        return;
    begin_stretch(&t->child->resident);
    ypi_child_heap_is(t, true);
}

uint64_t ypi_child_resident(const struct yp_case *t)
{
    const struct ypi_resident *r = &t->child->resident;
    struct ypi_process_memory now = look(r);
    int64_t own = (int64_t)now.own - r->framework;
    return own > 0 ? (uint64_t)own : 0;
}
