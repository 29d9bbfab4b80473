/* What is recorded of the machine and of the sources. */
#include "harness/record/environment.h"
#include "base/numbers/fnv1a.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/system/git.h"
#include "device/cpu/topology.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(environment, .timeout = 60);

static const char *fact(const struct ypi_environment *e, const char *key)
{
    const char *value = ypi_environment_get(e, key);
    return value ? value : "(none)";
}

static void shell(const char *format, const char *directory)
{
    char command[1024];
    snprintf(command, sizeof command, format, directory);
    cr_assert_eq(system(command), 0, "%s", command);
}

/* -- the machine --------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

/* The reference values: http://www.isthe.com/chongo/tech/comp/fnv/, and the 128-bit product that
 * the compiler makes. */
Test(environment, fnv_is_fnv)
{
    static const char text[] = "Package:1;Core:2;PU:4;L3:33554432";
    char got[33];
    char wanted[33];
    ypi_fnv128("", got);
    cr_expect_str_eq(got, "6c62272e07bb014262b821756295c58d");
    ypi_fnv128("a", got);
    cr_expect_str_eq(got, "d228cb696f1a8caf78912b704e4a8964");
    wide hash = ((wide)0x6c62272e07bb0142U << 64) | 0x62b821756295c58dU;
    for (const char *p = text; *p; p++)
        hash = (hash ^ (unsigned char)*p) * (((wide)1 << 88) + 0x13b);
    snprintf(wanted, sizeof wanted, "%016llx%016llx", (unsigned long long)(hash >> 64),
             (unsigned long long)hash);
    ypi_fnv128(text, got);
    cr_expect_str_eq(got, wanted);
}

Test(environment, names_the_machine_by_lower_case_keys_used_once)
{
    struct ypi_environment e;
    ypi_environment_read(&e);
    cr_expect_eq(strlen(e.fingerprint), 32);
    cr_expect_eq(strspn(e.fingerprint, "0123456789abcdef"), 32);
    cr_expect_str_eq(fact(&e, "machine.fingerprint"), e.fingerprint);
    cr_expect_eq(strtol(fact(&e, "cpu.threads"), NULL, 10), sysconf(_SC_NPROCESSORS_ONLN));
    cr_expect_geq(strtol(fact(&e, "cpu.cores"), NULL, 10), 1);
    cr_expect_geq(strtoull(fact(&e, "memory.total"), NULL, 10), 1U << 26);
    cr_expect_str_eq(fact(&e, "os"), "Linux");
    static const char *const present[] = {"topology",      "kernel",           "architecture",
                                          "hostname",      "library.compiler", "library.glibc",
                                          "library.hwloc", "library.sqlite",   "cpu.allowed"};
    for (size_t i = 0; i < sizeof present / sizeof *present; i++)
        cr_expect_not_null(ypi_environment_get(&e, present[i]), "%s", present[i]);
    cr_expect_null(ypi_environment_get(&e, "git.commit"));
    cr_expect_null(ypi_environment_get(&e, "no.such.key"));
    for (int i = 0; i < e.count; i++) {
        cr_expect_gt(strlen(e.facts[i].value), 0, "%s", e.facts[i].key);
        for (const char *p = e.facts[i].key; *p; p++)
            cr_expect(islower(*p) || isdigit(*p) || *p == '.' || *p == '_', "%s", e.facts[i].key);
        for (int j = 0; j < i; j++)
            cr_expect_str_neq(e.facts[i].key, e.facts[j].key);
    }
    ypi_environment_clear(&e);
    cr_expect_eq(e.count, 0);
}

static void fingerprint_of(const char *machine, char out[33])
{
    struct ypi_topology t;
    cr_assert_eq(setenv("HWLOC_SYNTHETIC", machine, 1), 0);
    cr_assert(ypi_topology_read(&t));
    memcpy(out, t.fingerprint, sizeof t.fingerprint);
    ypi_topology_clear(&t);
}

/* Machines that hwloc makes up: what makes another machine gives another fingerprint; what a
 * hypervisor may change while it runs, its memory, does not. */
Test(environment, tells_machines_apart)
{
    static const char *const others[] = {
        "node:1(memory=34359738368) pack:1 l3:1(size=33554432) core:8 pu:2",
        "node:1(memory=34359738368) pack:2 l3:1(size=33554432) core:4 pu:2",
        "node:1(memory=34359738368) pack:1 l3:1(size=33554432) core:4 pu:1",
        "node:1(memory=34359738368) pack:1 l3:1(size=16777216) core:4 pu:2",
        "node:2(memory=17179869184) pack:1 l3:1(size=33554432) core:2 pu:2",
    };
    char one[33];
    char other[33];
    fingerprint_of("node:1(memory=34359738368) pack:1 l3:1(size=33554432) core:4 pu:2", one);
    fingerprint_of("node:1(memory=17179869184) pack:1 l3:1(size=33554432) core:4 pu:2", other);
    cr_expect_str_eq(one, other);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        fingerprint_of(others[i], other);
        cr_expect_str_neq(one, other, "%s", others[i]);
    }
}

Test(environment, keeps_the_variables_that_matter)
{
    struct ypi_environment e;
    cr_assert_eq(setenv("OMP_NUM_THREADS", "3", 1), 0);
    cr_assert_eq(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
    cr_assert_eq(unsetenv("OPENBLAS_NUM_THREADS"), 0);
    ypi_environment_read(&e);
    cr_expect_str_eq(fact(&e, "env.omp_num_threads"), "3");
    cr_expect_str_eq(fact(&e, "env.cuda_visible_devices"), "(empty)");
    cr_expect_null(ypi_environment_get(&e, "env.openblas_num_threads"));
    ypi_environment_clear(&e);
}

/* -- git ----------------------------------------------------------------------------------- */

static char tree[64];

static void make_tree(void)
{
    snprintf(tree, sizeof tree, "/tmp/yp-environment-XXXXXX");
    cr_assert_not_null(mkdtemp(tree));
    /* Whatever the user's own configuration says must not matter here. */
    cr_assert_eq(setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1), 0);
    shell("cd '%s' && mkdir inner && git init -q && git config user.email a@b.c"
          " && git config user.name n && git checkout -q -b topic && echo 1 >file"
          " && git add file && git commit -q -m one && git rev-parse HEAD >inner/commit",
          tree);
}

static void remove_tree(void)
{
    shell("PATH=/usr/bin:/bin; rm -rf '%s'", tree); /* a test may have changed PATH */
}

TestSuite(git, .init = make_tree, .fini = remove_tree, .timeout = 60);

static void read_commit(char out[65])
{
    char name[96];
    snprintf(name, sizeof name, "%s/inner/commit", tree);
    ypi_read_file(name, out, 65);
    out[strcspn(out, "\n")] = '\0';
}

Test(git, tells_commit_branch_and_changes)
{
    struct ypi_environment e;
    char commit[65];
    char inner[96];
    read_commit(commit);
    snprintf(inner, sizeof inner, "%s/inner", tree);
    ypi_environment_read(&e);
    ypi_environment_add_sources(&e, &(struct ypi_sources){.repository = inner});
    cr_expect_str_eq(fact(&e, "git.commit"), commit);
    cr_expect_str_eq(fact(&e, "git.branch"), "topic");
    cr_expect_str_eq(fact(&e, "git.dirty"), "no", "files that git does not follow do not count");
    ypi_environment_clear(&e);
    shell("echo 2 >'%s/file'", tree);
    ypi_environment_read(&e);
    ypi_environment_add_sources(&e, &(struct ypi_sources){.repository = inner});
    cr_expect_str_eq(fact(&e, "git.commit"), commit);
    cr_expect_str_eq(fact(&e, "git.dirty"), "yes");
    ypi_environment_clear(&e);
}

Test(git, knows_staged_changes_and_no_branch)
{
    struct ypi_git git;
    shell("cd '%s' && git checkout -q --detach && echo 3 >new && git add new", tree);
    cr_assert(ypi_git_read(tree, &git));
    cr_expect_str_eq(git.branch, "(detached)");
    cr_expect(git.dirty);
}

Test(git, has_no_commit_before_the_first)
{
    struct ypi_git git;
    shell("cd '%s' && rm -rf .git && git init -q", tree);
    cr_assert(ypi_git_read(tree, &git));
    cr_expect_str_eq(git.commit, "");
}

/* As in a hook that git runs: its variables name another repository. */
Test(git, asks_the_tree_not_the_variables)
{
    struct ypi_git git;
    char commit[65];
    char other[96];
    read_commit(commit);
    shell("cd '%s' && mkdir other && cd other && git init -q", tree);
    snprintf(other, sizeof other, "%s/other/.git", tree);
    cr_assert_eq(setenv("GIT_DIR", other, 1), 0);
    cr_assert_eq(setenv("GIT_WORK_TREE", "/", 1), 0);
    cr_assert_eq(setenv("GIT_INDEX_FILE", "/nonexistent", 1), 0);
    cr_assert(ypi_git_read(tree, &git));
    cr_expect_str_eq(git.commit, commit);
    cr_expect_not(git.dirty);
}

Test(git, is_silent_without_a_repository)
{
    struct ypi_git git;
    struct ypi_environment e;
    shell("rm -rf '%s/.git'", tree);
    cr_expect_not(ypi_git_read(tree, &git));
    cr_expect_not(ypi_git_read("/nonexistent/directory", &git));
    ypi_environment_read(&e);
    ypi_environment_add_sources(&e, &(struct ypi_sources){.repository = tree});
    cr_expect_null(ypi_environment_get(&e, "git.commit"));
    cr_expect_null(ypi_environment_get(&e, "git.dirty"));
    cr_expect_not_null(strstr(fact(&e, "git.note"), tree));
    cr_expect_not_null(ypi_environment_get(&e, "kernel"));
    ypi_environment_clear(&e);
}

Test(git, is_silent_without_git)
{
    struct ypi_git git;
    cr_assert_eq(setenv("PATH", "/nonexistent", 1), 0);
    cr_expect_not(ypi_git_read(tree, &git));
}

/* A git that behaves as `script` says; asking it must end in time and leave no child. */
static bool ask_another_git(const char *script, struct ypi_git *git)
{
    char name[96];
    char value[96];
    snprintf(name, sizeof name, "%s/git", tree);
    FILE *file = fopen(name, "w");
    cr_assert_not_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(name, 0755), 0);
    snprintf(value, sizeof value, "%s:/usr/bin:/bin", tree);
    cr_assert_eq(setenv("PATH", value, 1), 0);
    double begin = ypi_now();
    bool ok = ypi_git_read(tree, git);
    cr_expect_lt(ypi_now() - begin, 4.0, "'%s' took %.1f s", script, ypi_now() - begin);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    cr_expect_eq(errno, ECHILD, "'%s' left a child", script);
    return ok;
}

Test(git, waits_two_seconds_and_no_more)
{
    struct ypi_git git;
    cr_expect_not(ask_another_git("sleep 30", &git));
    cr_expect_not(ask_another_git("sleep 30 & exit 0", &git), "the pipe stays open");
    cr_expect_not(ask_another_git("exec >&-; sleep 30", &git), "the pipe is closed");
    cr_expect_not(ask_another_git("trap '' TERM; while :; do echo '# x'; done", &git));
}

Test(git, takes_long_answers_and_none)
{
    struct ypi_git git;
    cr_expect(ask_another_git("echo '# branch.oid abc'; yes '1 .M file' | head -100000", &git));
    cr_expect_str_eq(git.commit, "abc");
    cr_expect(git.dirty);
    cr_expect(ask_another_git("printf '# branch.head '; printf '%0300d' 0", &git));
    cr_expect_eq(strlen(git.branch), sizeof git.branch - 1);
    cr_expect_not(git.dirty);
    cr_expect_not(ask_another_git("echo '# branch.oid abc'; exit 1", &git));
}
