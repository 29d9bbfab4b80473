#include "harness/record/environment.h"

#include "base/system/cgroup_path.h"
#include "base/system/file.h"
#include "base/system/git.h"
#include "base/system/section.h"
#include "base/text/text.h"
#include "device/cpu/topology.h"
#include "device/kind.h"
#include "device/registry.h"

#include <ctype.h>
#include <gnu/libc-version.h>
#include <hwloc.h>
#include <limits.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <yieldpoint/isa.h>

/* A fact without a value, or without memory to keep it, is left out. */
static void add(struct ypi_environment *e, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(struct ypi_environment *e, const char *key, const char *format, ...)
{
    char *value = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = e->count < YPI_FACTS_MAX ? vasprintf(&value, format, arguments) : -1;
    va_end(arguments);
    if (length > 0)
        e->facts[e->count++] = (struct ypi_fact){.key = key, .value = value};
    else if (length == 0)
        free(value);
}

/* The first `size` - 1 bytes of a file without the blanks at its end; false when there are none. */
static bool read_text(const char *path, char *out, size_t size)
{
    size_t length = ypi_read_file(path, out, size);
    while (length > 0 && isspace((unsigned char)out[length - 1]))
        length--;
    out[length] = '\0';
    return length > 0;
}

/* -- machine ------------------------------------------------------------------------------- */

static void add_processors(struct ypi_environment *e)
{
    const struct ypi_topology *t = ypi_topology();
    cpu_set_t allowed;
    if (t != NULL) {
        memcpy(e->fingerprint, t->fingerprint, sizeof e->fingerprint);
        add(e, "machine.fingerprint", "%s", t->fingerprint);
        add(e, "cpu.model", "%s", t->model);
        add(e, "cpu.packages", "%d", t->packages);
        add(e, "cpu.cores", "%d", t->cores);
        add(e, "cpu.threads", "%d", t->threads);
        add(e, "memory.total", "%llu", (unsigned long long)t->memory);
        add(e, "memory.nodes", "%d", t->numa_nodes);
        add(e, "topology", "%s", t->synthetic);
    }
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        add(e, "cpu.allowed", "%d", CPU_COUNT(&allowed));
}

/* The line of /proc/cpuinfo that begins with `key`, up to its value; NULL: there is none. */
static const char *cpuinfo_of(const char *text, const char *key)
{
    const size_t length = strlen(key);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *value = line + length + strspn(line + length, " \t");
        if (strncmp(line, key, length) == 0 && *value == ':')
            return value + 1 + strspn(value + 1, " \t");
    }
    return NULL;
}

/* Vendor, family and model, which tell processors apart that a hypervisor gives one name; where
 * there are none, the name. And the instructions that may be used. */
static void add_kind(struct ypi_environment *e)
{
    char text[4096];
    const char *name = ypi_environment_get(e, "cpu.model");
    const bool read = read_text("/proc/cpuinfo", text, sizeof text);
    const char *vendor = read ? cpuinfo_of(text, "vendor_id") : NULL;
    const char *family = read ? cpuinfo_of(text, "cpu family") : NULL;
    const char *model = read ? cpuinfo_of(text, "model") : NULL;
    if (vendor != NULL && family != NULL && model != NULL)
        add(e, "cpu.signature", "%.*s %d-%d", (int)strcspn(vendor, "\n"), vendor, atoi(family),
            atoi(model));
    else if (name != NULL)
        add(e, "cpu.signature", "%s", name);
    add(e, "cpu.isa", "%s", yp_isa_name(yp_isa()));
}

static void add_governor(struct ypi_environment *e)
{
    char text[64];
    if (read_text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof text))
        add(e, "cpu.governor", "%s", text);
    if (read_text("/sys/devices/system/cpu/intel_pstate/no_turbo", text, sizeof text))
        add(e, "cpu.boost", "%s", *text == '0' ? "on" : "off");
    else if (read_text("/sys/devices/system/cpu/cpufreq/boost", text, sizeof text))
        add(e, "cpu.boost", "%s", *text == '1' ? "on" : "off");
}

/* Products that only hypervisors call a machine by, or the flag that they set in the processor. */
static void add_virtualisation(struct ypi_environment *e)
{
    char text[4096];
    char vendor[128] = "";
    if (!read_text("/proc/cpuinfo", text, sizeof text))
        return;
    char *flags = strstr(text, "\nflags");
    if (flags)
        flags[1 + strcspn(flags + 1, "\n")] = '\0';
    if (!flags || !strstr(flags, " hypervisor"))
        return;
    if (!read_text("/sys/class/dmi/id/sys_vendor", vendor, sizeof vendor))
        (void)read_text("/sys/hypervisor/type", vendor, sizeof vendor);
    add(e, "machine.virtual", "%s", *vendor ? vendor : "yes");
}

/* -- control group ------------------------------------------------------------------------- */

/* Processors' worth of time that one group may use; 0: as much as there is. */
static double quota_of(const char *group, bool version_2)
{
    char path[PATH_MAX];
    char text[64];
    double quota = 0;
    double period = 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s%.3000s/%s", version_2 ? "" : "/cpu", group,
             version_2 ? "cpu.max" : "cpu.cfs_quota_us");
    if (!read_text(path, text, sizeof text))
        return 0;
    if (version_2)
        return sscanf(text, "%lf %lf", &quota, &period) == 2 && period > 0 ? quota / period : 0;
    quota = strtod(text, NULL);
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%.3000s/cpu.cfs_period_us", group);
    if (read_text(path, text, sizeof text))
        period = strtod(text, NULL);
    return quota > 0 && period > 0 ? quota / period : 0;
}

/* The tightest of the group and all above it holds. */
static void add_quota(struct ypi_environment *e)
{
    char group[2048];
    double least = 0;
    for (int version = 1; version <= 2; version++) {
        if (!ypi_cgroup_path("", version == 2 ? "" : "cpu", group, sizeof group))
            continue;
        do {
            double quota = quota_of(group, version == 2);
            if (quota > 0 && (least <= 0 || quota < least))
                least = quota;
        } while (ypi_cgroup_above(group));
    }
    if (least > 0)
        add(e, "cgroup.cpu.quota", "%g", least);
}

/* -- software ------------------------------------------------------------------------------ */

static void add_system(struct ypi_environment *e)
{
    struct utsname u;
    char text[4096];
    if (uname(&u) == 0) {
        add(e, "os", "%s", u.sysname);
        add(e, "kernel", "%s", u.release);
        add(e, "architecture", "%s", u.machine);
        add(e, "hostname", "%s", u.nodename);
    }
    if (!read_text("/etc/os-release", text, sizeof text))
        return;
    char *name = strstr(text, "PRETTY_NAME=");
    if (name) {
        name += strlen("PRETTY_NAME=");
        name += *name == '"';
        add(e, "distribution", "%.*s", (int)strcspn(name, "\"\n"), name);
    }
}

static void add_build(struct ypi_environment *e)
{
    unsigned hwloc = hwloc_get_api_version();
#ifdef __clang__
    add(e, "library.compiler", "%s", __VERSION__);
#else
    add(e, "library.compiler", "gcc %s", __VERSION__);
#endif
#ifdef YPI_CFLAGS
    add(e, "library.flags", "%s", YPI_CFLAGS);
#endif
#ifdef YPI_CRITERION_VERSION /* its headers have none */
    add(e, "library.criterion", "%s", YPI_CRITERION_VERSION);
#endif
    add(e, "library.glibc", "%s", gnu_get_libc_version());
    add(e, "library.hwloc", "API %u.%u.%u", hwloc >> 16, hwloc >> 8 & 255, hwloc & 255);
    add(e, "library.sqlite", "%s", sqlite3_libversion());
}

/* Texts that differ, "; " between them, in the order in which they come. */
static void add_different(struct ypi_text *all, const char *text)
{
    size_t length = strlen(text);
    for (const char *at = all->data; at != NULL && (at = strstr(at, text)) != NULL; at++)
        if ((at == all->data || at[-1] == ' ') && (at[length] == ';' || at[length] == '\0'))
            return;
    ypi_text_add(all, "%s%s", all->length > 0 ? "; " : "", text);
}

static void add_texts(struct ypi_environment *e, const char *key, struct ypi_text *all)
{
    char *texts = all->length > 0 ? ypi_text_take(all) : NULL;
    if (texts != NULL)
        add(e, key, "%s", texts);
    free(texts);
}

void ypi_environment_add_program(struct ypi_environment *e, struct ypi_tests tests,
                                 const char *hash)
{
    struct ypi_text compilers = {0}, flags = {0};
    for (const struct yp_test *const *t = tests.begin; t < tests.end; t++)
        if ((*t)->compiled != NULL)
            add_different(&compilers, (*t)->compiled);
    size_t size = 0;
    char *recorded = ypi_program_section(".GCC.command.line", &size);
    for (size_t at = 0; at < size; at += strlen(recorded + at) + 1)
        add_different(&flags, recorded + at);
    free(recorded);
    if (hash != NULL)
        add(e, "program.hash", "%s", hash);
    add_texts(e, "program.compiler", &compilers);
    add_texts(e, "program.flags", &flags);
}

static void add_variable(struct ypi_environment *e, const char *name, const char *key)
{
    const char *value = getenv(name);
    if (value) /* set to nothing is not the same as not set */
        add(e, key, "%s", *value ? value : "(empty)");
}

static void add_variables(struct ypi_environment *e)
{
    static const struct {
        const char *name, *key;
    } variables[] = {
        {"OMP_NUM_THREADS", "env.omp_num_threads"},
        {"OMP_PROC_BIND", "env.omp_proc_bind"},
        {"OMP_PLACES", "env.omp_places"},
        {"OMP_SCHEDULE", "env.omp_schedule"},
        {"OMP_WAIT_POLICY", "env.omp_wait_policy"},
        {"GOMP_CPU_AFFINITY", "env.gomp_cpu_affinity"},
        {"OPENBLAS_NUM_THREADS", "env.openblas_num_threads"},
        {"OPENBLAS_CORETYPE", "env.openblas_coretype"},
        {"MALLOC_ARENA_MAX", "env.malloc_arena_max"},
        {"MALLOC_MMAP_THRESHOLD_", "env.malloc_mmap_threshold_"},
        {"MALLOC_PERTURB_", "env.malloc_perturb_"},
        {"MALLOC_TOP_PAD_", "env.malloc_top_pad_"},
        {"MALLOC_TRIM_THRESHOLD_", "env.malloc_trim_threshold_"},
        {"MALLOC_CONF", "env.malloc_conf"},
        {"GLIBC_TUNABLES", "env.glibc_tunables"},
        {"LD_PRELOAD", "env.ld_preload"},
        {"LD_LIBRARY_PATH", "env.ld_library_path"},
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        add_variable(e, variables[i].name, variables[i].key);
    for (int i = 0; i < YPI_DEVICE_KINDS; i++)
        add_variable(e, ypi_device_kinds[i].visible, ypi_device_kinds[i].visible_key);
}

void ypi_environment_add_sources(struct ypi_environment *e, const struct ypi_sources *s)
{
    struct ypi_git git;
    if (s->repository != NULL && ypi_git_read(s->repository, &git)) {
        add(e, "git.commit", "%s", git.commit);
        add(e, "git.branch", "%s", git.branch);
        add(e, "git.dirty", "%s", git.dirty || s->changed ? "yes" : "no");
    } else if (s->repository != NULL) {
        add(e, "git.note", "git tells nothing of %s", s->repository);
        return;
    }
    if (s->note != NULL)
        add(e, "git.note", "%s", s->note);
}

/* -- all of it ----------------------------------------------------------------------------- */

void ypi_environment_read(struct ypi_environment *e)
{
    *e = (struct ypi_environment){0};
    add_processors(e);
    add_kind(e);
    add_governor(e);
    add_virtualisation(e);
    add_quota(e);
    add_system(e);
    add_build(e);
    add_variables(e);
}

static void add_fact(void *environment, const char *key, const char *value)
{
    add(environment, key, "%s", value);
}

void ypi_environment_add_devices(struct ypi_environment *e)
{
    ypi_device_facts(add_fact, e);
}

const char *ypi_environment_get(const struct ypi_environment *e, const char *key)
{
    for (int i = 0; i < e->count; i++)
        if (strcmp(e->facts[i].key, key) == 0)
            return e->facts[i].value;
    return NULL;
}

void ypi_environment_clear(struct ypi_environment *e)
{
    for (int i = 0; i < e->count; i++)
        free(e->facts[i].value);
    *e = (struct ypi_environment){0};
}
