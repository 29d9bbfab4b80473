#include "ranks/mpi/node.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    SPINS = 2000,       /* before a rank that has a processor to itself gives it away */
    SPINS_BUSY = 20,    /* where ranks share processors: spinning keeps the others from working */
    YIELDS = 256,       /* between looks at the clock and at the others' state */
    FRAME_TAG = 0x5950, /* of the leaders' messages */
};

#define GRACE_SECONDS 1.0 /* who knows which rank is missing says so first */

/* The kernel's clock: a program may have its own clock_gettime(). */
static double now(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

enum yp_status ypk_mpi_failed(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return yp_set_error(YP_IO, "ranks: %s: %.300s", what, text);
}

enum yp_status ypk_break(struct ypk_node *node, enum yp_status status)
{
    if (!node->broken && node->segments != NULL) {
        struct ypk_segment *mine = node->segments[node->me];
        snprintf(mine->text, sizeof mine->text, "%s", yp_last_error());
        atomic_store(&mine->state.value, YPK_BROKEN);
    }
    node->broken = true;
    return status;
}

struct wait {
    struct ypk_node *node;
    const struct ypk_call *call;
    bool (*test)(struct ypk_node *node, const void *argument);
    bool (*late)(struct ypk_node *node, int rank, const void *argument);
    const void *argument;
};

/* Where the launcher lets the others live. */
static bool has_ended(const struct ypk_node *node, int rank)
{
    const struct ypk_segment *mine = node->segments[node->me];
    const struct ypk_segment *other = node->segments[rank];
    return other->process_space == mine->process_space && kill((pid_t)other->process, 0) != 0 &&
           errno == ESRCH;
}

/* A rank of the node that is broken, or that left or ended and is waited for, is an error of all;
 * what it did before counts. */
static enum yp_status look_at_others(const struct wait *wait)
{
    struct ypk_node *node = wait->node;
    for (int i = 0; i < node->ranks; i++) {
        const struct ypk_segment *other = node->segments[i];
        const uint64_t state = atomic_load(&other->state.value);
        if (i == node->me || (state == YPK_WORKS && !has_ended(node, i)) ||
            wait->test(node, wait->argument))
            continue;
        if (state == YPK_BROKEN)
            return ypk_break(node, yp_set_error(YP_IO, "%s", other->text));
        if (wait->late != NULL && wait->late(node, i, wait->argument)) /* with a call, then */
            return ypk_break(node, yp_set_error(YP_IO, "ranks: rank %d of %d %s; rank %d is in %s",
                                                node->world[i], node->place.size,
                                                state == YPK_WORKS ? "has ended" : "has left",
                                                node->place.rank, ypk_call_text(wait->call)));
    }
    return YP_OK;
}

static enum yp_status too_late(const struct wait *wait)
{
    struct ypk_node *node = wait->node;
    enum { NAMED = 8 };
    char who[256] = "the ranks of another node";
    size_t used = 0;
    int count = 0;
    node->late = true;
    if (wait->call == NULL)
        return YP_IO;
    for (int i = 0; wait->late != NULL && i < node->ranks; i++) {
        if (!wait->late(node, i, wait->argument))
            continue;
        if (count < NAMED)
            used += (size_t)snprintf(who + used, sizeof who - used, "%s%d",
                                     count == 0 ? "rank " : ", ", node->world[i]);
        count++;
    }
    if (count > NAMED)
        snprintf(who + used, sizeof who - used, " and %d more", count - NAMED);
    return ypk_break(node,
                     yp_set_error(YP_IO, "ranks: %s of %d did not arrive in %s within %g s", who,
                                  node->place.size, ypk_call_text(wait->call), node->limit));
}

enum yp_status ypk_wait(struct ypk_node *node, const struct ypk_call *call,
                        bool (*test)(struct ypk_node *node, const void *argument),
                        bool (*late)(struct ypk_node *node, int rank, const void *argument),
                        const void *argument)
{
    const struct wait wait = {node, call, test, late, argument};
    const int spins = node->busy ? SPINS_BUSY : SPINS;
    for (int i = 0; i < spins; i++) {
        if (test(node, argument))
            return YP_OK;
        relax();
    }
    const double end = now() + node->limit;
    for (int i = 1;; i++) {
        if (test(node, argument))
            return YP_OK;
        if (i % YIELDS == 0) {
            const enum yp_status status = look_at_others(&wait);
            if (status != YP_OK)
                return status;
            if (now() >= end)
                return too_late(&wait);
        }
        sched_yield();
    }
}

struct flags {
    size_t offset;
    uint64_t value;
};

static uint64_t flag_of(const struct ypk_node *node, int rank, size_t offset)
{
    const char *segment = (const char *)node->segments[rank];
    const struct ypk_flag *flag = (const void *)(segment + offset);
    return atomic_load_explicit(&flag->value, memory_order_acquire);
}

static bool flag_late(struct ypk_node *node, int rank, const void *argument)
{
    const struct flags *flags = argument;
    return flag_of(node, rank, flags->offset) < flags->value;
}

static bool flags_there(struct ypk_node *node, const void *argument)
{
    for (int i = 0; i < node->ranks; i++)
        if (flag_late(node, i, argument))
            return false;
    return true;
}

enum yp_status ypk_wait_flags(struct ypk_node *node, const struct ypk_call *call, size_t offset,
                              uint64_t value)
{
    const struct flags flags = {.offset = offset, .value = value};
    return flags_there(node, &flags) ? YP_OK : ypk_wait(node, call, flags_there, flag_late, &flags);
}

const struct ypk_word *ypk_word_of(const struct ypk_node *node, int rank)
{
    return &node->segments[rank]->words[node->exchanges & 1];
}

static struct ypk_said said_of(const struct ypk_call *call)
{
    return (struct ypk_said){.number = call->number,
                             .bytes = call->bytes,
                             .root = call->root,
                             .kind = (uint8_t)call->kind,
                             .type = (uint8_t)call->type,
                             .op = (uint8_t)call->op};
}

static enum yp_status exchange(struct ypk_node *node, const struct ypk_call *call, const void *data,
                               size_t bytes, uint32_t window, uint64_t offset)
{
    const uint64_t count = ++node->exchanges;
    struct ypk_word *mine = &node->segments[node->me]->words[count & 1];
    mine->said = said_of(call);
    mine->window = window;
    mine->offset = offset;
    if (bytes > 0)
        memcpy(mine->data, data, bytes);
    atomic_store_explicit(&mine->count, count, memory_order_release);
    return ypk_wait_flags(node, call,
                          offsetof(struct ypk_segment, words) + (count & 1) * sizeof *mine, count);
}

static enum yp_status disagree(struct ypk_node *node, const struct ypk_said *other, int rank,
                               const struct ypk_said *first, int first_rank)
{
    char text[2][128];
    const struct ypk_said *both[2] = {other, first};
    for (int i = 0; i < 2; i++) {
        const struct ypk_call call = {.kind = (enum ypk_kind)both[i]->kind,
                                      .number = both[i]->number,
                                      .bytes = both[i]->bytes,
                                      .root = both[i]->root,
                                      .type = (enum ypk_type)both[i]->type,
                                      .op = (enum ypk_op)both[i]->op};
        snprintf(text[i], sizeof text[i], "%s", ypk_call_text(&call));
    }
    return yp_set_error(YP_IO, "ranks: rank %d of %d is in %s; rank %d is in %s", rank,
                        node->place.size, text[0], first_rank, text[1]);
}

static enum yp_status check_node(struct ypk_node *node)
{
    const struct ypk_said *first = &ypk_word_of(node, 0)->said;
    for (int i = 1; i < node->ranks; i++) {
        const struct ypk_said *other = &ypk_word_of(node, i)->said;
        if (memcmp(first, other, sizeof *first) != 0)
            return ypk_break(node, disagree(node, other, node->world[i], first, node->world[0]));
    }
    return YP_OK;
}

struct requests {
    MPI_Request *requests;
    MPI_Status *statuses;
    int count;
    int *code; /* of MPI */
};

static bool requests_done(struct ypk_node *node, const void *argument)
{
    const struct requests *wanted = argument;
    int done = 0;
    (void)node;
    if (*wanted->code == MPI_SUCCESS)
        *wanted->code = MPI_Testall(wanted->count, wanted->requests, &done, wanted->statuses);
    return done != 0 || *wanted->code != MPI_SUCCESS;
}

enum yp_status ypk_wait_mpi(struct ypk_node *node, const struct ypk_call *call,
                            MPI_Request *requests, int count, MPI_Status *statuses)
{
    int code = MPI_SUCCESS;
    const struct requests wanted = {.requests = requests,
                                    .statuses = statuses != NULL ? statuses : MPI_STATUSES_IGNORE,
                                    .count = count,
                                    .code = &code};
    enum yp_status status = ypk_wait(node, call, requests_done, NULL, &wanted);
    if (status == YP_OK && code != MPI_SUCCESS)
        status = ypk_mpi_failed("a request", code);
    if (status != YP_OK && call != NULL)
        ypk_break(node, status);
    for (int i = 0; i < count && status != YP_OK; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        MPI_Cancel(&requests[i]);
        MPI_Request_free(&requests[i]);
    }
    return status;
}

/* Gives MPI the time to bring another node bad news, whatever the ranks of this one do meanwhile: a
 * synchronous send, which is done when it is received. `answer`, which may be NULL, makes it
 * needless. Given up at `end`. */
static void deliver(MPI_Request *news, MPI_Request *answer, double end)
{
    int done = 0;
    while (done == 0 && now() < end && MPI_Test(news, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS) {
        if (done == 0 && answer != NULL)
            MPI_Test(answer, &done, MPI_STATUS_IGNORE);
        sched_yield();
    }
    if (*news != MPI_REQUEST_NULL)
        MPI_Request_free(news);
}

/* The first node's first rank hears each node's word and tells all what comes of them. */
static enum yp_status judge(struct ypk_node *node, const struct ypk_call *call,
                            struct ypk_verdict *mine)
{
    MPI_Status status;
    enum yp_status result = YP_OK;
    for (int i = 1; i < node->nodes && mine->wrong == 0; i++) {
        struct ypk_verdict *other = &node->heard;
        MPI_Request request;
        MPI_Irecv(other, (int)sizeof *other, MPI_BYTE, i, FRAME_TAG, node->leaders, &request);
        result = ypk_wait_mpi(node, NULL, &request, 1, &status);
        if (result != YP_OK) {
            if (node->late && !node->broken)
                yp_set_error(result,
                             "ranks: rank %d of %d or another of its node did not arrive in %s "
                             "within %g s",
                             node->leader_ranks[i], node->place.size, ypk_call_text(call),
                             node->limit);
            mine->wrong = 1;
            snprintf(mine->text, sizeof mine->text, "%s", yp_last_error());
        } else if (other->wrong != 0) {
            *mine = *other;
        } else if (memcmp(&mine->said, &other->said, sizeof mine->said) != 0) {
            mine->wrong = 1;
            disagree(node, &other->said, other->rank, &mine->said, node->place.rank);
            snprintf(mine->text, sizeof mine->text, "%s", yp_last_error());
        }
    }
    const double end = now() + GRACE_SECONDS;
    for (int i = 1; i < node->nodes; i++) {
        MPI_Request request;
        if (mine->wrong != 0) {
            MPI_Issend(mine, (int)sizeof *mine, MPI_BYTE, i, FRAME_TAG, node->leaders, &request);
            deliver(&request, NULL, end);
            continue;
        }
        MPI_Isend(mine, (int)sizeof *mine, MPI_BYTE, i, FRAME_TAG, node->leaders, &request);
        if (ypk_wait_mpi(node, call, &request, 1, &status) != YP_OK)
            return yp_last_status();
    }
    return mine->wrong == 0 ? YP_OK : YP_IO;
}

static enum yp_status lead(struct ypk_node *node, const struct ypk_call *call, enum yp_status local)
{
    struct ypk_verdict *mine = &node->told;
    *mine = (struct ypk_verdict){
        .said = said_of(call), .rank = node->place.rank, .wrong = local != YP_OK};
    if (local != YP_OK)
        snprintf(mine->text, sizeof mine->text, "%s", yp_last_error());
    enum yp_status result = YP_OK;
    int first;
    MPI_Comm_rank(node->leaders, &first);
    if (first == 0) {
        result = judge(node, call, mine);
    } else {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        MPI_Irecv(&node->heard, (int)sizeof node->heard, MPI_BYTE, 0, FRAME_TAG, node->leaders,
                  &requests[1]);
        (local == YP_OK ? MPI_Isend : MPI_Issend)(mine, (int)sizeof *mine, MPI_BYTE, 0, FRAME_TAG,
                                                  node->leaders, &requests[0]);
        if (local != YP_OK)
            deliver(&requests[0], &requests[1], now() + GRACE_SECONDS);
        node->limit += GRACE_SECONDS;
        result = ypk_wait_mpi(node, call, requests, 2, statuses);
        node->limit -= GRACE_SECONDS;
        mine = &node->heard;
    }
    if (result != YP_OK)
        return ypk_break(
            node, mine->wrong != 0 && first == 0 ? yp_set_error(YP_IO, "%s", mine->text) : result);
    return mine->wrong == 0 ? YP_OK : ypk_break(node, yp_set_error(YP_IO, "%s", mine->text));
}

static bool verdict_there(struct ypk_node *node, const void *argument)
{
    (void)argument;
    return atomic_load_explicit(&node->segments[0]->verdict.value, memory_order_acquire) >=
           node->verdicts;
}

/* All nodes are in the same call. */
static enum yp_status other_nodes(struct ypk_node *node, const struct ypk_call *call,
                                  enum yp_status local)
{
    node->verdicts++;
    if (node->me > 0 && local == YP_OK) {
        node->limit += 2 * GRACE_SECONDS;
        local = ypk_wait(node, call, verdict_there, NULL, NULL);
        node->limit -= 2 * GRACE_SECONDS;
    }
    if (node->me > 0)
        return local;
    local = lead(node, call, local);
    if (local == YP_OK)
        atomic_store_explicit(&node->segments[0]->verdict.value, node->verdicts,
                              memory_order_release);
    return local;
}

enum yp_status ypk_arrive(struct ypk_node *node, const struct ypk_call *call, const void *data,
                          size_t bytes, const void *shared, size_t shared_bytes)
{
    uint64_t offset = 0;
    const uint32_t window =
        shared != NULL ? ypk_window_find(node, shared, shared_bytes, &offset) : 0;
    enum yp_status status = exchange(node, call, data, bytes, window, offset);
    if (status == YP_OK)
        status = check_node(node);
    return node->nodes > 1 ? other_nodes(node, call, status) : status;
}

enum yp_status ypk_meet(struct ypk_node *node, const struct ypk_call *call)
{
    return exchange(node, call, NULL, 0, 0, 0);
}
