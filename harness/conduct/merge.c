#include "harness/conduct/merge.h"

#include "base/system/file.h"
#include "base/text/figures.h"
#include "base/text/text.h"
#include "device/kind.h"
#include "harness/body/child.h"
#include "harness/conduct/launch.h"
#include "harness/conduct/roll.h"
#include "harness/vocabulary/budget.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the runner shows of an output at most, with some room for the headings. */
enum { OUTPUT_MAX = 8192 - 512 };
/* With more ranks than these, values do not say where each is. */
enum { NAMED_MAX = 16 };

static void send_text(const struct yp_case *t, enum ypi_message kind, const char *text)
{
    ypi_child_send(t, kind, text, strlen(text) + 1, NULL, 0);
}

static void send_failures(const struct yp_case *t, const struct ypi_result *all)
{
    for (int i = 0; i < all->failure_count; i++) {
        const struct ypi_failure *f = &all->failures[i];
        ypi_child_fail(t, f->cause, f->file, f->line, "%s", f->message);
        if (f->stack != NULL)
            send_text(t, YPI_MESSAGE_TRACE, f->stack);
    }
}

/* -- skips and notes ----------------------------------------------------------------------------
 */

/* A text that ranks give: by rank where they do not all give the same one. */
static void send_texts(const struct yp_case *t, const struct ypi_members *members,
                       enum ypi_message kind, const char *(*text_of)(const struct ypi_member *m))
{
    bool *in = ypi_calloc((size_t)members->count, sizeof *in);
    for (int i = 0; i < members->count; i++) {
        const char *text = text_of(&members->of[i]);
        bool sent = text == NULL;
        int count = 0;
        for (int k = 0; k < members->count && !sent; k++) {
            const char *other = text_of(&members->of[k]);
            in[k] = other != NULL && strcmp(other, text) == 0;
            sent = in[k] && k < i;
            count += in[k];
        }
        if (sent)
            continue;
        char *names = ypi_rank_names(in, members->count);
        char *named = ypi_format("%s: %s", names, text);
        send_text(t, kind, count == members->count ? text : named);
        free(named);
        free(names);
    }
    free(in);
}

static const char *note_of(const struct ypi_member *m)
{
    return m->result.note;
}

static const char *skip_of(const struct ypi_member *m)
{
    return m->report.skipped ? m->result.reason : NULL;
}

/* Those that skip and those that do not have not done the same case. */
static void send_skip(const struct yp_case *t, const struct ypi_members *members)
{
    bool *in = ypi_calloc((size_t)members->count, sizeof *in);
    int count = 0;
    const char *reason = NULL;
    for (int i = 0; i < members->count; i++) {
        in[i] = members->of[i].report.skipped;
        count += in[i];
        reason = in[i] && reason == NULL ? members->of[i].result.reason : reason;
    }
    if (count == members->count) {
        send_texts(t, members, YPI_MESSAGE_SKIP, skip_of);
    } else if (count > 0) {
        char *names = ypi_rank_names(in, members->count);
        ypi_child_fail(t, YPI_CAUSE_RANKS, NULL, 0, "%s skipped, and the others did not: %s", names,
                       reason);
        free(names);
    }
    free(in);
}

/* -- stages -------------------------------------------------------------------------------------
 */

/* Each as long as in the rank that took the longest for it. */
static void send_stages(const struct yp_case *t, const struct ypi_members *members)
{
    double began = INFINITY;
    double spent[YPI_STAGE_DONE] = {0};
    for (int i = 0; i < members->count; i++) {
        const struct ypi_member *m = &members->of[i];
        if (!m->report.staged)
            continue;
        began = fmin(began, m->report.began);
        spent[YPI_STAGE_SETUP] = fmax(spent[YPI_STAGE_SETUP], m->result.setup);
        spent[YPI_STAGE_BODY] = fmax(spent[YPI_STAGE_BODY], m->result.body);
        spent[YPI_STAGE_TEARDOWN] = fmax(spent[YPI_STAGE_TEARDOWN], m->result.teardown);
    }
    for (int i = 0; i <= YPI_STAGE_DONE && isfinite(began); i++) {
        struct ypi_stage stage;
        memset(&stage, 0, sizeof stage);
        stage.stage = (enum ypi_stage_name)i;
        stage.at = began;
        ypi_child_send(t, YPI_MESSAGE_STAGE, &stage, sizeof stage, NULL, 0);
        began += i < YPI_STAGE_DONE ? spent[i] : 0;
    }
}

/* -- values -------------------------------------------------------------------------------------
 */

static const struct ypi_value *value_of(const struct ypi_member *m, const char *name)
{
    for (int i = 0; i < m->result.value_count; i++)
        if (strcmp(m->result.values[i].name, name) == 0)
            return &m->result.values[i];
    return NULL;
}

static void send_value(const struct yp_case *t, const struct ypi_value *value)
{
    ypi_child_send(t, YPI_MESSAGE_VALUE, value, sizeof *value, NULL, 0);
}

static bool same_value(const struct ypi_value *a, const struct ypi_value *b)
{
    return memcmp(&a->value, &b->value, sizeof a->value) == 0 && strcmp(a->unit, b->unit) == 0;
}

static bool misses_budget(const struct ypi_job *job, const struct ypi_value *value)
{
    for (const struct yp_budget *b = job->budgets; b->kind != YP_BUDGET_NONE; b++) {
        if (b->name == NULL || strcmp(b->name, value->name) != 0)
            continue;
        if ((b->kind == YP_BUDGET_MIN_VALUE && !(value->value >= b->limit)) ||
            (b->kind == YP_BUDGET_MAX_VALUE && !(value->value <= b->limit)))
            return true;
    }
    return false;
}

/* One value of all ranks that have it. */
static void merge_value(const struct yp_case *t, const struct ypi_members *members, int first,
                        const char *name)
{
    const struct ypi_value *judged = value_of(&members->of[first], name);
    const struct ypi_value *one = judged;
    bool differs = false;
    int missed = -1; /* the first rank whose value does not meet a budget */
    for (int i = first; i < members->count; i++) {
        const struct ypi_value *value = value_of(&members->of[i], name);
        if (value == NULL)
            continue;
        differs = differs || !same_value(value, one);
        if (missed < 0 && misses_budget(ypi_child_job(t), value)) {
            missed = i;
            judged = value;
        }
    }
    send_value(t, judged);
    if (differs && missed >= 0) {
        char *note = ypi_format("'%s' is another in each rank, and rank %d's is judged: %g", name,
                                missed, judged->value);
        send_text(t, YPI_MESSAGE_NOTE, note);
        free(note);
    }
    for (int i = first; i < members->count && differs; i++) {
        const struct ypi_value *value = value_of(&members->of[i], name);
        if (value == NULL)
            continue;
        struct ypi_value named = *value;
        char *text = ypi_format("%.*s rank %d", YPI_NAME_MAX - 12, name, i);
        memset(named.name, 0, sizeof named.name);
        memcpy(named.name, text, strlen(text));
        free(text);
        send_value(t, &named);
    }
}

static void send_values(const struct yp_case *t, const struct ypi_members *members)
{
    for (int i = 0; i < members->count; i++)
        for (int v = 0; v < members->of[i].result.value_count; v++) {
            const char *name = members->of[i].result.values[v].name;
            bool sent = false;
            for (int k = 0; k < i && !sent; k++)
                sent = value_of(&members->of[k], name) != NULL;
            if (!sent)
                merge_value(t, members, i, name);
        }
}

/* -- what a rank's result has beside -------------------------------------------------------------
 */

static const struct ypi_measured *measured_of(const struct ypi_member *m, const char *name)
{
    for (int i = 0; i < m->result.measured_count; i++)
        if (strcmp(m->result.measured[i].name, name) == 0)
            return &m->result.measured[i];
    return NULL;
}

/* The first rank's, whose samples are those of all; the items of all ranks together. */
static void send_measured(const struct yp_case *t, const struct ypi_members *members)
{
    for (int i = 0; i < members->count; i++)
        for (int k = 0; k < members->of[i].result.measured_count; k++) {
            struct ypi_measured measured = members->of[i].result.measured[k];
            bool sent = false;
            for (int other = 0; other < i && !sent; other++)
                sent = measured_of(&members->of[other], measured.name) != NULL;
            for (int other = i + 1; other < members->count && !sent; other++) {
                const struct ypi_measured *more = measured_of(&members->of[other], measured.name);
                measured.items += more != NULL ? more->items : 0;
            }
            if (!sent)
                ypi_child_send_measured(t, &measured);
        }
}

static bool same_gradient(const struct ypi_gradient *a, const struct ypi_gradient *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* Those that differ say whose they are. */
static void send_gradients(const struct yp_case *t, const struct ypi_members *members)
{
    for (int i = 0; i < members->count; i++)
        for (int k = 0; k < members->of[i].result.gradient_count; k++) {
            const struct ypi_gradient *own = &members->of[i].result.gradients[k];
            const struct ypi_result *first = &members->of[0].result;
            const bool same = k < first->gradient_count && same_gradient(own, &first->gradients[k]);
            if (i > 0 && same)
                continue;
            struct ypi_gradient named = *own;
            if (i > 0) {
                char *text = ypi_format("%.*s rank %d", YPI_NAME_MAX - 12, own->name, i);
                memset(named.name, 0, sizeof named.name);
                memcpy(named.name, text, strlen(text));
                free(text);
            }
            ypi_child_send(t, YPI_MESSAGE_GRADIENT, &named, sizeof named, NULL, 0);
        }
}

static void send_hash(const struct yp_case *t, const struct ypi_members *members)
{
    uint64_t sum = 0;
    bool any = false;
    for (int i = 0; i < members->count; i++) {
        any = any || members->of[i].result.has_hash;
        sum += members->of[i].result.has_hash ? members->of[i].result.hash : 0;
    }
    if (any)
        ypi_child_send(t, YPI_MESSAGE_HASH, &sum, sizeof sum, NULL, 0);
}

/* -- memory --------------------------------------------------------------------------------------
 */

static void take_larger(uint64_t *to, uint64_t from)
{
    *to = from > *to ? from : *to;
}

static void take_account(struct yp_memory *to, const struct yp_memory *from)
{
    take_larger(&to->allocated, from->allocated);
    take_larger(&to->allocated_peak, from->allocated_peak);
    take_larger(&to->reserved, from->reserved);
    take_larger(&to->reserved_peak, from->reserved_peak);
    take_larger(&to->total, from->total);
    take_larger(&to->allocations, from->allocations);
    take_larger(&to->refused, from->refused);
    take_larger(&to->limit, from->limit);
    take_larger(&to->system, from->system);
    take_larger(&to->granule, from->granule);
    /* So that what leaked most stays what it is. */
    const uint64_t left = from->allocations - from->frees;
    const uint64_t before = to->allocations - to->frees;
    to->frees = to->allocations - (left > before ? left : before);
}

/* Of each figure the largest rank's. */
static void take_memory(struct ypi_memory *to, const struct ypi_memory *from)
{
    take_account(&to->host, &from->host);
    if (from->has_device)
        take_account(&to->device, &from->device);
    if (from->has_heap)
        take_account(&to->heap, &from->heap);
    to->has_device = to->has_device || from->has_device;
    to->has_heap = to->has_heap || from->has_heap;
    if (from->heap_leaked_bytes > to->heap_leaked_bytes) {
        to->heap_leak_number = from->heap_leak_number;
        to->heap_leak_bytes = from->heap_leak_bytes;
    }
    take_larger(&to->leaked_bytes, from->leaked_bytes);
    take_larger(&to->leaked_blocks, from->leaked_blocks);
    take_larger(&to->heap_leaked_bytes, from->heap_leaked_bytes);
    take_larger(&to->heap_leaked_blocks, from->heap_leaked_blocks);
    take_larger(&to->resident_before, from->resident_before);
    take_larger(&to->resident_peak, from->resident_peak);
    take_larger(&to->resident_huge, from->resident_huge);
    take_larger(&to->resident_files, from->resident_files);
    to->has_tree = to->has_tree || from->has_tree;
    take_larger(&to->resident_tree, from->resident_tree);
}

static bool may_leak(const struct ypi_job *job)
{
    for (const struct yp_budget *b = job->budgets; b->kind != YP_BUDGET_NONE; b++)
        if (b->kind == YP_BUDGET_MAX_LEAK && b->memory == YP_HOST)
            return true;
    return false;
}

/* A rank that failed or skipped may have left before it freed. Where that is what is tried out, one
 * may have done so that missed another. */
static bool is_to_have_freed(const struct ypi_job *job, const struct ypi_member *m)
{
    bool missed = false;
    for (int i = 0; i < m->result.failure_count; i++)
        missed = missed || m->result.failures[i].cause == YPI_CAUSE_RANKS;
    return !m->report.skipped && (m->result.failure_count == 0 ||
                                  (job->fail_allocation > 0 && !missed && ypi_member_is_whole(m)));
}

/* Where no budget is on it, each rank that leaked is named, and the runner has nothing to judge. */
static void name_leaks(const struct yp_case *t, const struct ypi_members *members,
                       struct ypi_memory *all)
{
    if (may_leak(ypi_child_job(t)))
        return;
    for (int i = 0; i < members->count; i++) {
        const struct ypi_member *m = &members->of[i];
        const struct ypi_memory *memory = &m->result.memory;
        char bytes[YPI_FIGURE_MAX];
        if (!m->result.has_memory || memory->leaked_bytes == 0 ||
            !is_to_have_freed(ypi_child_job(t), m))
            continue;
        ypi_format_bytes(bytes, (double)memory->leaked_bytes);
        ypi_child_fail(t, YPI_CAUSE_LEAK, NULL, 0,
                       "rank %d: leaked %s of accounted memory in %llu allocation%s (yp_max_leak "
                       "allows some)",
                       i, bytes, (unsigned long long)memory->leaked_blocks,
                       memory->leaked_blocks > 1 ? "s" : "");
    }
    all->leaked_bytes = all->leaked_blocks = 0;
}

static void send_own_value(const struct yp_case *t, const char *name, double value,
                           const char *unit)
{
    struct ypi_value message;
    memset(&message, 0, sizeof message);
    message.value = message.low = message.high = value;
    snprintf(message.name, sizeof message.name, "%s", name);
    snprintf(message.unit, sizeof message.unit, "%s", unit);
    send_value(t, &message);
}

static void send_memory(const struct yp_case *t, const struct ypi_members *members)
{
    struct ypi_memory all;
    double total = 0;
    double on_devices = NAN;
    bool any = false;
    memset(&all, 0, sizeof all);
    for (int i = 0; i < members->count; i++) {
        const struct ypi_result *r = &members->of[i].result;
        if (!r->has_memory)
            continue;
        take_memory(&all, &r->memory);
        total += (double)r->memory.host.allocated_peak;
        if (r->memory.has_device)
            on_devices =
                (isnan(on_devices) ? 0 : on_devices) + (double)r->memory.device.allocated_peak;
        any = true;
    }
    if (!any)
        return;
    name_leaks(t, members, &all);
    ypi_child_send(t, YPI_MESSAGE_MEMORY, &all, sizeof all, NULL, 0);
    ypi_child_send_peaks(t, total, on_devices);
}

static bool any_measured(const struct ypi_members *members)
{
    for (int i = 0; i < members->count; i++)
        if (members->of[i].result.measured_count > 0)
            return true;
    return false;
}

/* "": the rank has not begun. */
static const char *node_of(const struct ypi_member *m)
{
    const struct ypi_rank_place *place = &m->report.place;
    return place->queue[0] != '\0' ? place->queue : place->node;
}

static void send_number(const struct yp_case *t, const char *what, int rank, int number)
{
    char name[48];
    snprintf(name, sizeof name, "%s of rank %d", what, rank);
    if (number >= 0)
        send_own_value(t, name, number, "");
}

/* The number of the rank's node, among all in the order of their first ranks. */
static int node_number(const struct ypi_members *members, int rank)
{
    int number = 0;
    for (int i = 0; i <= rank; i++) {
        bool seen = node_of(&members->of[i])[0] == '\0';
        for (int k = 0; k < i && !seen; k++)
            seen = strcmp(node_of(&members->of[k]), node_of(&members->of[i])) == 0;
        if (!seen && strcmp(node_of(&members->of[i]), node_of(&members->of[rank])) == 0)
            return number;
        number += !seen;
    }
    return -1;
}

/* Where each rank was, as values. */
static void send_numbers(const struct yp_case *t, const struct ypi_members *members)
{
    for (int i = 0; i < members->count && members->count <= NAMED_MAX; i++) {
        const struct ypi_rank_stays *stays = &members->of[i].report.stays;
        if (stays->count < 1)
            continue;
        send_number(t, "node", i, node_number(members, i));
        send_number(t, "package", i, stays->package);
        send_number(t, "NUMA node", i, stays->numa);
        send_number(t, "core", i, stays->core);
        send_number(t, "processor", i, stays->processor);
        send_number(t, "processors", i, stays->count);
    }
}

/* The names of the nodes, where there are several, in a note. */
static void send_nodes(const struct yp_case *t, const struct ypi_members *members)
{
    struct ypi_text nodes = {0};
    bool *in = ypi_calloc((size_t)members->count, sizeof *in);
    int count = 0;
    for (int i = 0; i < members->count; i++) {
        bool seen = node_of(&members->of[i])[0] == '\0';
        for (int k = 0; k < members->count; k++) {
            in[k] = strcmp(node_of(&members->of[k]), node_of(&members->of[i])) == 0;
            seen = seen || (in[k] && k < i);
        }
        if (seen)
            continue;
        char *names = ypi_rank_names(in, members->count);
        ypi_text_add(&nodes, "%s%s on %s", count++ > 0 ? ", " : "", names,
                     node_of(&members->of[i]));
        free(names);
    }
    char *note = ypi_text_take(&nodes);
    if (count > 1 || (count == 1 && ypi_on_several_nodes()))
        send_text(t, YPI_MESSAGE_NOTE, note);
    free(note);
    free(in);
}

/* The devices by rank, in a note and, as far as they are named, as values. */
static void send_devices(const struct yp_case *t, const struct ypi_members *members)
{
    struct ypi_text all = {0};
    int count = 0;
    for (int i = 0; i < members->count && i < NAMED_MAX; i++) {
        const struct ypi_rank_device *device = &members->of[i].report.device;
        char name[32];
        if (device->name[0] == '\0')
            continue;
        snprintf(name, sizeof name, "device of rank %d", i);
        send_own_value(t, name, ypi_device_ordinal(device->name), "");
        ypi_text_add(&all, "%srank %d on %s", count++ > 0 ? ", " : "", i, device->name);
        if (device->place[0] != '\0')
            ypi_text_add(&all, " (%s)", device->place);
    }
    char *note = ypi_text_take(&all);
    if (count > 0)
        send_text(t, YPI_MESSAGE_NOTE, note);
    free(note);
}

/* "ranks 0, 2 share a device", of the first one that is several ranks'; NULL: none is. */
static char *shared_device(const struct ypi_members *members)
{
    bool *in = ypi_calloc((size_t)members->count, sizeof *in);
    char *text = NULL;
    for (int i = 0; i < members->count && text == NULL; i++) {
        const struct ypi_report *mine = &members->of[i].report;
        int count = 0;
        for (int k = 0; k < members->count; k++) {
            const struct ypi_report *other = &members->of[k].report;
            in[k] =
                mine->device.name[0] != '\0' && strcmp(mine->place.node, other->place.node) == 0 &&
                strcmp(mine->device.place[0] != '\0' ? mine->device.place : mine->device.name,
                       mine->device.place[0] != '\0' ? other->device.place : other->device.name) ==
                    0;
            count += in[k];
        }
        if (count < 2)
            continue;
        char *names = ypi_rank_names(in, members->count);
        text = ypi_format("%s share a device", names);
        free(names);
    }
    free(in);
    return text;
}

/* What several ranks do on one device is right, and its times are anybody's. */
static void send_crowding(const struct yp_case *t, const struct ypi_members *members, bool crowded)
{
    char *shared = shared_device(members);
    if (crowded || shared != NULL)
        ypi_child_send(t, YPI_MESSAGE_CROWDED, NULL, 0, NULL, 0);
    if (crowded && any_measured(members))
        send_text(t, YPI_MESSAGE_NOTE,
                  "more ranks than processors: speed is recorded, and not judged");
    if (shared != NULL && any_measured(members)) {
        char *note = ypi_format("%s: speed is recorded, and not judged", shared);
        send_text(t, YPI_MESSAGE_NOTE, note);
        free(note);
    }
    free(shared);
}

void ypi_merge(struct yp_case *t, const struct ypi_members *members, const struct ypi_result *all,
               bool crowded)
{
    send_failures(t, all);
    send_skip(t, members);
    send_texts(t, members, YPI_MESSAGE_NOTE, note_of);
    send_crowding(t, members, crowded);
    send_stages(t, members);
    send_values(t, members);
    send_measured(t, members);
    send_gradients(t, members);
    send_hash(t, members);
    send_memory(t, members);
    send_numbers(t, members);
    send_nodes(t, members);
    send_devices(t, members);
}

/* -- outputs -------------------------------------------------------------------------------------
 */

/* The last bytes of a file below a heading; nothing of an empty one. */
static void add_section(FILE *out, const char *heading, const char *path, uint64_t most)
{
    const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct stat status;
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0) {
        const uint64_t size = (uint64_t)status.st_size;
        uint64_t at = size > most ? size - most : 0;
        char buffer[4096];
        ssize_t got = 0;
        char last = '\n';
        fprintf(out, "-- %s%s --\n", heading, at > 0 ? " (its end)" : "");
        while ((got = pread(fd, buffer, sizeof buffer, (off_t)at)) > 0) {
            fwrite(buffer, 1, (size_t)got, out);
            last = buffer[got - 1];
            at += (uint64_t)got;
        }
        if (last != '\n')
            fputc('\n', out);
    }
    if (fd >= 0)
        close(fd);
}

void ypi_merge_outputs(const struct ypi_job *job, const struct ypi_members *members,
                       const struct ypi_result *all, const char *launcher)
{
    int writing = 0;
    for (int i = 0; i < members->count && job->output != NULL; i++) {
        struct stat status;
        writing += stat(members->of[i].output, &status) == 0 && status.st_size > 0;
    }
    FILE *out = job->output != NULL ? fopen(job->output, "ae") : NULL;
    if (out == NULL)
        return;
    const bool whole = ypi_members_written(members) <= OUTPUT_MAX;
    const uint64_t most = whole ? UINT64_MAX : OUTPUT_MAX / (uint64_t)(writing > 0 ? writing : 1);
    for (int i = 0; i < members->count; i++) {
        char heading[32];
        snprintf(heading, sizeof heading, "rank %d", i);
        add_section(out, heading, members->of[i].output, most);
    }
    if (all->failure_count > 0)
        add_section(out, ypi_launcher_name(job), launcher, OUTPUT_MAX / 4);
    fclose(out);
}
