/* How a body fails, skips and leaves. */
#include "base/heap/heap.h"
#include "base/text/text.h"
#include "harness/body/stack.h"
#include "harness/body/state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of exception.h, for C++. */
#pragma GCC visibility push(default)
void ypi_unwind_by(struct yp_case *t, void (*unwind)(void), const void *frame);
void ypi_unwound(struct yp_case *t, int left);
#pragma GCC visibility pop

/* Threads of the body fail side by side. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void send_failure(const struct yp_case *t, enum ypi_cause cause, const char *file, int line,
                         const char *message)
{
    struct ypi_failure_message head;
    memset(&head, 0, sizeof head);
    head.cause = cause;
    head.line = line;
    head.has_file = file != NULL;
    struct ypi_text body = {0};
    ypi_text_bytes(&body, (const char *)&head, sizeof head);
    ypi_text_bytes(&body, file != NULL ? file : "", file != NULL ? strlen(file) + 1 : 1);
    pthread_mutex_lock(&one_at_a_time);
    ypi_child_send(t, YPI_MESSAGE_FAILURE, body.data, body.length, message, strlen(message) + 1);
    pthread_mutex_unlock(&one_at_a_time);
    free(ypi_text_take(&body));
    t->child->failed = true;
}

/* "condition: message", or the message alone. */
static void fail_with(const struct yp_case *t, enum ypi_cause cause, const char *file, int line,
                      const char *condition, const char *format, va_list arguments)
{
    YPI_HEAP_OWN;
    struct ypi_text message = {0};
    const struct ypi_own_fixture *making = t->child->making;
    if (making != NULL) {
        ypi_text_add(&message, "fixture '%s' failed: ", making->id);
        cause = cause != YPI_CAUSE_RANKS ? YPI_CAUSE_FIXTURE : cause;
    }
    if (condition != NULL)
        ypi_text_add(&message, "%s: ", condition);
    ypi_text_vadd(&message, format, arguments);
    char *text = ypi_text_take(&message);
    send_failure(t, cause, file, line, text);
    free(text);
}

void ypi_child_fail(const struct yp_case *t, enum ypi_cause cause, const char *file, int line,
                    const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_with(t, cause, file, line, NULL, format, arguments);
    va_end(arguments);
}

void ypi_child_leave(const struct yp_case *t)
{
    if (!pthread_equal(pthread_self(), t->child->thread) || !t->child->leaving_allowed) {
        fputs("yieldpoint: a case can only be ended by the thread that runs its body\n", stderr);
        abort();
    }
    t->child->left_early = true;
    if (t->child->unwind != NULL) {
        t->child->unwound++;
        ypi_child_heap_is(t, true); /* destructors are the case's own */
        t->child->unwind();
    }
    longjmp(t->child->leave, 1);
}

void ypi_unwind_by(struct yp_case *t, void (*unwind)(void), const void *frame)
{
    ypi_stack_below(frame);
    t->child->unwind = unwind;
    t->child->unwound = 0;
}

/* One that was thrown and did not come out was caught on its way. */
void ypi_unwound(struct yp_case *t, int left)
{
    static const char *const names[] = {"setup", "the body", "teardown"};
    struct ypi_child *child = t->child;
    const bool swallowed = child->unwound > left;
    child->unwind = NULL;
    if (swallowed && getpid() == child->pid)
        ypi_child_fail(t, YPI_CAUSE_USAGE, t->test->file, t->test->line,
                       "%s caught what ends it (yp_require, yp_fail, yp_skip, ...) and went on: "
                       "what a catch (...) catches has to be thrown again",
                       names[child->stage]);
    if (left)
        longjmp(child->leave, 1);
}

void ypi_child_quit(const struct yp_case *t, enum ypi_cause cause, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_with(t, cause, NULL, 0, NULL, format, arguments);
    va_end(arguments);
    ypi_child_leave(t);
}

void ypi_fail(struct yp_case *t, const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_with(t, YPI_CAUSE_EXPECTATION, file, line, NULL, format, arguments);
    va_end(arguments);
    ypi_child_leave(t);
}

void ypi_expect(struct yp_case *t, const char *file, int line, const char *condition,
                const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_with(t, YPI_CAUSE_EXPECTATION, file, line, condition, format, arguments);
    va_end(arguments);
}

void ypi_require(struct yp_case *t, const char *file, int line, const char *condition,
                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_with(t, YPI_CAUSE_EXPECTATION, file, line, condition, format, arguments);
    va_end(arguments);
    ypi_child_leave(t);
}

void ypi_ok(struct yp_case *t, const char *file, int line, const char *call, enum yp_status status)
{
    if (status == YP_OK)
        return;
    enum ypi_cause cause = status == YP_OUT_OF_MEMORY  ? YPI_CAUSE_OUT_OF_MEMORY
                           : status == YP_DEVICE_FAULT ? YPI_CAUSE_DEVICE
                           : t->child->captured        ? YPI_CAUSE_USAGE
                                                       : YPI_CAUSE_EXPECTATION;
    ypi_child_fail(t, cause, file, line, "%s: %s", call, yp_last_error());
    ypi_child_leave(t);
}

/* Whoever returns NULL and says nothing has failed all the same. */
void ypi_got(struct yp_case *t, const char *file, int line, const char *call, const void *pointer)
{
    enum yp_status status = yp_last_status();
    if (pointer == NULL)
        ypi_ok(t, file, line, call, status == YP_OK ? YP_INVALID : status);
}

static void send_skip(const struct yp_case *t, const char *format, va_list arguments)
{
    YPI_HEAP_OWN;
    char *text = ypi_vformat(format, arguments);
    ypi_child_send(t, YPI_MESSAGE_SKIP, text, strlen(text) + 1, NULL, 0);
    free(text);
}

void yp_skip(struct yp_case *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    send_skip(t, format, arguments);
    va_end(arguments);
    ypi_child_leave(t);
}
