#include "harness/measure/noise.h"

#include "base/system/cgroup_path.h"
#include "base/system/clock.h"
#include "base/text/figures.h"
#include "device/cpu/binding.h"
#include "device/cpu/task.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PROCESSORS_LOOKED_AT 32
#define TASKS_LOOKED_AT 64

/* So many processors more than there are may be wanted; so much of what was wanted be stolen, or
 * held back by a quota. */
#define CROWDED_PROCESSORS 0.25
#define CROWDED_STOLEN 0.1
#define CROWDED_THROTTLED 0.01

struct sources {
    const char *root;
    const unsigned char *cpus; /* YPI_CPUS_MAX bytes, 1: may be used */
};

/* -- files, line by line, without the heap ------------------------------------------------- */

struct lines {
    int file;
    size_t begin, end;
    char text[4096];
};

static bool lines_open(struct lines *in, const char *path)
{
    in->file = open(path, O_RDONLY | O_CLOEXEC);
    in->begin = in->end = 0;
    return in->file >= 0;
}

static bool lines_fill(struct lines *in)
{
    memmove(in->text, in->text + in->begin, in->end - in->begin);
    in->end -= in->begin;
    in->begin = 0;
    ssize_t got = read(in->file, in->text + in->end, sizeof in->text - 1 - in->end);
    in->end += got > 0 ? (size_t)got : 0;
    return got > 0;
}

/* NULL at the end. A line that is longer than the buffer comes in parts. */
static const char *lines_next(struct lines *in)
{
    for (;;) {
        char *line = in->text + in->begin;
        char *stop = memchr(line, '\n', in->end - in->begin);
        if (!stop && lines_fill(in))
            continue;
        if (!stop && in->begin == in->end)
            return NULL;
        if (!stop) {
            line = in->text + in->begin;
            stop = in->text + in->end;
        }
        *stop = '\0';
        in->begin = (size_t)(stop - in->text) + (stop < in->text + in->end);
        return line;
    }
}

static void lines_close(struct lines *in)
{
    close(in->file);
}

/* The figure behind blanks and a colon; NaN for a word such as <unknown>. */
static double figure_in(const char *text)
{
    text += strspn(text, " \t:");
    return isdigit((unsigned char)*text) ? strtod(text, NULL) : NAN;
}

/* The figure of the first line that begins with `key`; NaN. */
static double figure_of(const char *path, const char *key)
{
    struct lines in;
    double figure = NAN;
    if (!lines_open(&in, path))
        return NAN;
    for (const char *line; isnan(figure) && (line = lines_next(&in));)
        if (strncmp(line, key, strlen(key)) == 0)
            figure = figure_in(line + strlen(key));
    lines_close(&in);
    return figure;
}

static double processor_figure(const struct sources *s, int cpu, const char *file)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/%s", s->root, cpu, file);
    return figure_of(path, "");
}

/* NaN is nothing yet. */
static void add(double *sum, double figure)
{
    if (!isnan(figure))
        *sum = (isnan(*sum) ? 0 : *sum) + figure;
}

static bool may_use(const struct sources *s, long cpu)
{
    return cpu >= 0 && cpu < YPI_CPUS_MAX && s->cpus[cpu];
}

/* -- what is read -------------------------------------------------------------------------- */

/* "cpu3 user nice system idle iowait irq softirq steal ..." in ticks; kernels before 2.6.11 have no
 * steal. */
static void read_ticks(const char *fields, struct ypi_noise_mark *mark)
{
    enum { IDLE = 3, IOWAIT = 4, STEAL = 7, FIELDS = 8 };
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    for (int i = 0; i < FIELDS; i++) {
        char *end;
        double seconds = strtod(fields, &end) * tick;
        if (end == fields)
            return;
        fields = end;
        if (i == STEAL)
            add(&mark->stolen, seconds);
        else if (i != IDLE && i != IOWAIT)
            add(&mark->busy, seconds);
    }
}

static void read_stat(const struct sources *s, struct ypi_noise_mark *mark)
{
    struct lines in;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/stat", s->root);
    if (!lines_open(&in, path))
        return;
    for (const char *line; (line = lines_next(&in)) && strncmp(line, "cpu", 3) == 0;) {
        char *fields;
        long cpu = strtol(line + 3, &fields, 10);
        if (isdigit((unsigned char)line[3]) && may_use(s, cpu))
            read_ticks(fields, mark);
    }
    lines_close(&in);
}

/* A quota of any group above holds this process back too. */
static void read_throttled(const struct sources *s, struct ypi_noise_mark *mark)
{
    char group[2048];
    char path[PATH_MAX];
    for (int version = 1; version <= 2; version++) {
        bool second = version == 2;
        if (!ypi_cgroup_path(s->root, second ? "" : "cpu", group, sizeof group))
            continue;
        do {
            snprintf(path, sizeof path, "%s/sys/fs/cgroup%s%s/cpu.stat", s->root,
                     second ? "" : "/cpu", group);
            add(&mark->throttled, second ? 1e-6 * figure_of(path, "throttled_usec ")
                                         : 1e-9 * figure_of(path, "throttled_time "));
        } while (ypi_cgroup_above(group));
    }
}

static void read_migrations(const struct sources *s, struct ypi_noise_mark *mark)
{
    pid_t tasks[TASKS_LOOKED_AT];
    char path[PATH_MAX];
    int count = ypi_tasks(s->root, tasks, TASKS_LOOKED_AT);
    if (count > TASKS_LOOKED_AT)
        return;
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/proc/self/task/%d/sched", s->root, (int)tasks[i]);
        add(&mark->migrations, figure_of(path, "se.nr_migrations"));
    }
}

struct frequencies {
    double sum, least;
    int count;
};

static void add_frequency(struct frequencies *f, double hertz)
{
    if (isnan(hertz))
        return;
    f->sum += hertz;
    f->least = f->count == 0 || hertz < f->least ? hertz : f->least;
    f->count++;
}

/* "processor : 3" and some lines later "cpu MHz : 2596.122". */
static void read_cpuinfo(const struct sources *s, struct frequencies *f)
{
    struct lines in;
    char path[PATH_MAX];
    long cpu = -1;
    snprintf(path, sizeof path, "%s/proc/cpuinfo", s->root);
    if (!lines_open(&in, path))
        return;
    for (const char *line; f->count < PROCESSORS_LOOKED_AT && (line = lines_next(&in));) {
        const char *value = strchr(line, ':');
        if (value && strncmp(line, "processor", 9) == 0)
            cpu = strtol(value + 1, NULL, 10);
        else if (value && strncmp(line, "cpu MHz", 7) == 0 && may_use(s, cpu))
            add_frequency(f, 1e6 * figure_in(value));
    }
    lines_close(&in);
}

static void read_processors(const struct sources *s, struct ypi_noise_mark *mark)
{
    struct frequencies f = {0};
    for (int cpu = 0, looked_at = 0; cpu < YPI_CPUS_MAX; cpu++) {
        mark->processors += s->cpus[cpu] != 0;
        if (!s->cpus[cpu] || looked_at++ >= PROCESSORS_LOOKED_AT)
            continue;
        add_frequency(&f, 1e3 * processor_figure(s, cpu, "cpufreq/scaling_cur_freq"));
        add(&mark->hot, processor_figure(s, cpu, "thermal_throttle/core_throttle_count"));
    }
    if (f.count == 0)
        read_cpuinfo(s, &f);
    mark->frequency = f.count > 0 ? f.sum / f.count : NAN;
    mark->frequency_least = f.count > 0 ? f.least : NAN;
}

static void read_usage(struct ypi_noise_mark *mark)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    mark->minor_faults = (double)usage.ru_minflt;
    mark->major_faults = (double)usage.ru_majflt;
    mark->waits = (double)usage.ru_nvcsw;
    mark->preemptions = (double)usage.ru_nivcsw;
}

void ypi_noise_mark_from(const char *root, const unsigned char *cpus, struct ypi_noise_mark *mark)
{
    const struct sources s = {.root = root, .cpus = cpus};
    *mark = (struct ypi_noise_mark){
        .busy = NAN, .stolen = NAN, .throttled = NAN, .migrations = NAN, .hot = NAN};
    read_processors(&s, mark);
    read_throttled(&s, mark);
    read_migrations(&s, mark);
    read_usage(mark);
    /* Together, as they are taken from each other. */
    read_stat(&s, mark);
    mark->own = ypi_processor_seconds();
    mark->at = ypi_now();
}

void ypi_noise_mark(struct ypi_noise_mark *mark)
{
    ypi_noise_mark_from("", ypi_cpus_allowed(), mark);
}

/* -- between two marks --------------------------------------------------------------------- */

/* Not below 0: a thread that ended took its count with it. */
static double since(double begin, double end)
{
    double more = end - begin;
    return more < 0 ? 0 : more;
}

static double lesser(double a, double b)
{
    return b < a || isnan(a) ? b : a;
}

struct ypi_noise ypi_noise_between(const struct ypi_noise_mark *begin,
                                   const struct ypi_noise_mark *end)
{
    double own = since(begin->own, end->own);
    return (struct ypi_noise){
        .wall = since(begin->at, end->at),
        .own = own,
        .others = since(own, since(begin->busy, end->busy)),
        .stolen = since(begin->stolen, end->stolen),
        .throttled = since(begin->throttled, end->throttled),
        .minor_faults = since(begin->minor_faults, end->minor_faults),
        .major_faults = since(begin->major_faults, end->major_faults),
        .waits = since(begin->waits, end->waits),
        .preemptions = since(begin->preemptions, end->preemptions),
        .migrations = since(begin->migrations, end->migrations),
        .frequency = begin->frequency,
        .frequency_least = lesser(begin->frequency_least, end->frequency_least),
        .hot = since(begin->hot, end->hot),
        .processors = end->processors,
        .began = ypi_wall_clock() - (ypi_now() - begin->at),
    };
}

/* -- the cause ----------------------------------------------------------------------------- */

#define STOLEN_SHARE 0.02    /* of the time that was asked for */
#define THROTTLED_SHARE 0.01 /* of the time that the work could use */
#define OTHERS_SHARE 0.1     /* of what the work left free */
#define OTHERS_FLOOR 0.01    /* of all */
#define BUSY_SHARE 0.75      /* of all: where processors idle, they are slow on purpose */
#define FREQUENCY_RATIO 0.9
#define PREEMPTIONS 50.0 /* a second */
#define MIGRATIONS 20.0  /* a second and thread */
#define MAJOR_FAULTS 1.0 /* a second */

/* Seconds of all processors together. */
struct times {
    double all, wanted, free; /* there, wanted by the work, not wanted by it */
    double others, least;     /* others' time (0: unknown); what is more than rounding */
};

static struct times times_of(const struct ypi_noise *n, int threads)
{
    double processors = n->processors > 0 ? n->processors : 1;
    double used = threads > 1 ? fmin(threads, processors) : 1;
    struct times t = {.all = n->wall * processors, .wanted = n->wall * used};
    t.free = t.all - t.wanted;
    t.others = isnan(n->others) ? 0 : n->others;
    t.least = fmax(YPI_NOISE_GRAIN * processors, OTHERS_FLOOR * t.all);
    return t;
}

static double asked_for(const struct ypi_noise *n, const struct times *t)
{
    return n->own + t->others + n->stolen;
}

/* What each took from the work, in seconds; 0: it does not stand out. */

static double cost_of_stolen(const struct ypi_noise *n, const struct times *t)
{
    return n->stolen > STOLEN_SHARE * asked_for(n, t) && n->stolen > YPI_NOISE_GRAIN ? n->stolen
                                                                                     : 0;
}

static double cost_of_throttled(const struct ypi_noise *n, const struct times *t)
{
    return n->throttled > THROTTLED_SHARE * t->wanted ? n->throttled : 0;
}

/* What finds a free processor costs caches and memory's rate only. */
static double cost_of_others(const struct times *t)
{
    if (!(t->others > OTHERS_SHARE * t->free && t->others > t->least))
        return 0;
    return fmax(t->others - t->free, OTHERS_SHARE * t->others);
}

static double cost_of_frequency(const struct ypi_noise *n, const struct times *t)
{
    double ratio = n->frequency_least / n->frequency;
    bool busy = n->own + t->others > BUSY_SHARE * t->all;
    return busy && ratio < FREQUENCY_RATIO ? (1 - ratio) * t->wanted : 0;
}

enum { STOLEN, THROTTLED, OTHERS, FREQUENCY, COSTS };

static bool say_cost(int heaviest, const struct ypi_noise *n, const struct times *t, char *out,
                     size_t size)
{
    char part[YPI_FIGURE_MAX];
    char whole[YPI_FIGURE_MAX];
    switch (heaviest) {
    case STOLEN:
        return snprintf(out, size, "the hypervisor took %.0f %% of the processor time asked for",
                        100 * n->stolen / asked_for(n, t)) > 0;
    case THROTTLED:
        ypi_format_seconds(part, n->throttled);
        ypi_format_seconds(whole, n->wall);
        return snprintf(out, size, "the control group's quota held it back for %s in %s", part,
                        whole) > 0;
    case OTHERS:
        return snprintf(out, size, "other processes used %.0f %% of the processors",
                        fmin(100 * t->others / t->all, 100)) > 0;
    default:
        return snprintf(out, size, "the frequency fell from %.3g to %.3g GHz", 1e-9 * n->frequency,
                        1e-9 * n->frequency_least) > 0;
    }
}

/* Events, which have no cost in seconds. */
static bool say_events(const struct ypi_noise *n, const struct times *t, int threads, char *out,
                       size_t size)
{
    double preempted = n->preemptions / n->wall;
    double migrated = n->migrations / n->wall;
    if (preempted > PREEMPTIONS && t->others > t->least)
        return snprintf(out, size, "it was preempted %.0f times, %.0f a second", n->preemptions,
                        preempted) > 0;
    if (migrated > MIGRATIONS * (threads > 1 ? threads : 1))
        return snprintf(out, size, "its threads moved between processors %.0f times, %.0f a second",
                        n->migrations, migrated) > 0;
    if (n->major_faults > MAJOR_FAULTS * n->wall)
        return snprintf(out, size, "%.0f of its pages had to be read from disk", n->major_faults) >
               0;
    if (n->hot > 0)
        return snprintf(out, size, "the processors' count of throttling for heat went up by %.0f",
                        n->hot) > 0;
    return false;
}

bool ypi_noise_cause(const struct ypi_noise *noise, int threads, char *out, size_t size)
{
    if (!(noise->wall > 0))
        return false;
    struct times t = times_of(noise, threads);
    const double costs[COSTS] = {
        [STOLEN] = cost_of_stolen(noise, &t),
        [THROTTLED] = cost_of_throttled(noise, &t),
        [OTHERS] = cost_of_others(&t),
        [FREQUENCY] = cost_of_frequency(noise, &t),
    };
    int heaviest = 0;
    for (int i = 1; i < COSTS; i++)
        if (costs[i] > costs[heaviest])
            heaviest = i;
    if (costs[heaviest] > 0)
        return say_cost(heaviest, noise, &t, out, size);
    return say_events(noise, &t, threads, out, size);
}

bool ypi_noise_crowded(const struct ypi_noise *noise, int threads)
{
    if (!(noise->wall > 0) || noise->processors == 0)
        return false;
    /* Beside others it still had half of what it wanted; one that naps wanted little. */
    const double wanted = fmin(fmin(threads, noise->processors), 2 * noise->own / noise->wall);
    return wanted + noise->others / noise->wall > noise->processors + CROWDED_PROCESSORS ||
           noise->stolen > CROWDED_STOLEN * fmax(noise->own + noise->stolen, noise->wall) ||
           noise->throttled > CROWDED_THROTTLED * fmax(noise->own + noise->throttled, noise->wall);
}

double ypi_noise_stretch(const struct ypi_noise *noise)
{
    /* NaN: not known, as a command's own time. Both are sums over all processors, so neither bound
     * alone is close: threads are held back side by side, and work that sleeps has little time of
     * its own. */
    const double held = fmax(noise->stolen, 0) + fmax(noise->throttled, 0);
    const double of_wall = held < noise->wall ? noise->wall / (noise->wall - held) : INFINITY;
    return held > 0 ? fmin(of_wall, 1 + held / noise->own) : 1;
}
