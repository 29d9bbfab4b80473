/* What the process of a case sends to the runner: its figures, under names that are used once. */
#include "base/heap/heap.h"
#include "base/text/text.h"
#include "harness/body/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct ypi_job *ypi_child_job(const struct yp_case *t)
{
    return t->child->job;
}

struct yp_measurement **ypi_child_measurement(struct yp_case *t)
{
    return &t->child->measurement;
}

void ypi_child_captures(const struct yp_case *t, bool captures)
{
    t->child->captured = captures;
}

/* In a process that the body forked: of it only failures are taken, figures are the case's own. */
static bool refused_to_forked(const struct yp_case *t, enum ypi_message kind)
{
    static pid_t told;
    if (kind == YPI_MESSAGE_FAILURE || kind == YPI_MESSAGE_RETURNED || getpid() == t->child->pid)
        return false;
    if (kind != YPI_MESSAGE_SKIP && told != getpid()) {
        told = getpid();
        ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0,
                       "a forked child gave a value, a measurement, a check or a hash: only the "
                       "case's own process may");
    }
    return true;
}

void ypi_child_send(const struct yp_case *t, enum ypi_message kind, const void *first,
                    size_t first_size, const void *second, size_t second_size)
{
    YPI_HEAP_OWN;
    const char *path = t->child->job->channel;
    if (refused_to_forked(t, kind))
        return;
    if (!ypi_channel_send(path, kind, first, first_size, second, second_size))
        fprintf(stderr, "yieldpoint: cannot write to %s\n", path);
}

void ypi_child_send_measured(const struct yp_case *t, const struct ypi_measured *m)
{
    YPI_HEAP_OWN;
    size_t cpu = m->cpu != NULL ? m->count : 0;
    size_t total = m->count + cpu + m->share_count + m->slowed_count;
    double *all = ypi_calloc(total + 1, sizeof *all);
    if (m->count > 0)
        memcpy(all, m->samples, m->count * sizeof *all);
    if (cpu > 0)
        memcpy(all + m->count, m->cpu, cpu * sizeof *all);
    if (m->share_count > 0)
        memcpy(all + m->count + cpu, m->shares, m->share_count * sizeof *all);
    if (m->slowed_count > 0)
        memcpy(all + m->count + cpu + m->share_count, m->slowed, m->slowed_count * sizeof *all);
    ypi_child_send(t, YPI_MESSAGE_MEASURED, m, sizeof *m, all, total * sizeof *all);
    free(all);
}

char *ypi_child_name_problem(struct yp_case *t, const char *what, const char *name)
{
    YPI_HEAP_OWN;
    struct ypi_text *names = &t->child->names;
    if (name == NULL || name[0] == '\0' || strlen(name) >= YPI_NAME_MAX ||
        strchr(name, '\n') != NULL)
        return ypi_format("the name of a %s is '%s': allowed are 1 to %d characters in one line",
                          what, name != NULL ? name : "(null)", YPI_NAME_MAX - 1);
    char *entry = ypi_format("\n%s %s\n", what, name);
    bool used = names->data != NULL && strstr(names->data, entry) != NULL;
    if (!used)
        ypi_text_add(names, "%s", entry);
    free(entry);
    return used ? ypi_format("the %s '%s' is there already: a name is used once a case", what, name)
                : NULL;
}

void ypi_child_name(struct yp_case *t, const char *what, const char *name)
{
    char *problem = ypi_child_name_problem(t, what, name);
    if (problem == NULL)
        return;
    ypi_child_fail(t, YPI_CAUSE_USAGE, NULL, 0, "%s", problem);
    free(problem);
    ypi_child_leave(t);
}

void ypi_child_send_value(const struct yp_case *t, const char *name, double value, const char *unit)
{
    struct ypi_value message;
    memset(&message, 0, sizeof message);
    message.value = message.low = message.high = value;
    snprintf(message.name, sizeof message.name, "%s", name);
    snprintf(message.unit, sizeof message.unit, "%s", unit);
    ypi_child_send(t, YPI_MESSAGE_VALUE, &message, sizeof message, NULL, 0);
}

void yp_value_unit(struct yp_case *t, const char *name, double value, const char *unit)
{
    ypi_child_name(t, "value", name);
    ypi_child_send_value(t, name, value, unit);
}

void yp_value(struct yp_case *t, const char *name, double value)
{
    yp_value_unit(t, name, value, "");
}

void yp_data_hash(struct yp_case *t, uint64_t hash)
{
    ypi_child_send(t, YPI_MESSAGE_HASH, &hash, sizeof hash, NULL, 0);
}
