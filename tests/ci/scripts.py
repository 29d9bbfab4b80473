#!/usr/bin/env python3
"""Tests of the scripts in ci/, reported as TAP.

usage: scripts.py Setup | Gpu | CountResults | Checks | Fuzz | Arrows | Sanitize | Chroot
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

import standin


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name
        self.maxDiff = None

    def machine(self, name="machine", **more):
        return standin.Machine(os.path.join(self.directory, name), **more)

    def project(self, tests):
        return standin.Project(os.path.join(self.directory, "project"), tests)


class Setup(Scratch):
    def test_what_is_said_and_nothing_is_installed(self):
        for name, user, without, arguments, environment, code, said in (
                ("complete", 0, (), "", {}, 0, "^setup: nothing is missing\n$"),
                ("--check", 0, ("meson", "libcjson"), "--check", {}, 1,
                 r"^setup: missing meson \(Debian package meson\)\n"
                 r"setup: missing libcjson \(Debian package libcjson-dev\)\n$"),
                ("no sudo", 1000, ("g++", "git"), "", {}, 1, r"apt-get install --no-install-recommends g\+\+ git\n"),
                ("no such option", 0, (), "--chekc", {}, 2, "'--chekc'"),
                ("no such purpose", 0, (), "--for x", {}, 2, "'x'"),
                ("no purpose", 0, (), "--for", {}, 2, "''"),
                ("beside a prefix", 0, ("ninja",), "", {"YP_PREFIX": self.directory}, 1,
                 "missing ninja(.|\n)*YP_PREFIX"),
                ("no such prefix", 0, (), "", {"YP_PREFIX": "/nowhere"}, 1, "YP_PREFIX")):
            machine = self.machine(name, user=user).complete(without=without)
            got, output, called = machine.setup(*arguments.split(), **environment)
            self.assertEqual((got, called), (code, []), (name, output))
            self.assertRegex(output, said, name)

    def test_empty_machine_misses_everything_once(self):
        code, output, _ = self.machine().setup("--check")
        lines = output.splitlines()
        self.assertEqual(code, 1)
        self.assertEqual(len(lines), len(set(lines)))
        on = standin.Machine
        for name in on.TOOLS + on.CHECKERS + on.MODULES + on.HEADERS:
            self.assertIn(f"setup: missing {name} (", output)

    def test_root_installs_what_is_missing_and_says_so_first(self):
        machine = self.machine().complete(without=("ninja",))
        machine.offer("ninja")
        code, output, called = machine.setup()
        self.assertEqual(code, 0, output)
        self.assertIn("setup: installing ninja-build\n", output)
        self.assertEqual(len(called), 2)
        self.assertRegex(called[0], r" update$")
        self.assertRegex(called[1], r" install -y --no-install-recommends ninja-build$")
        self.assertEqual(machine.setup(), (0, "setup: nothing is missing\n", called))

    def test_installed_and_still_not_found_is_an_error(self):
        code, output, _ = self.machine().complete(without=("hwloc",)).setup()
        self.assertEqual(code, 1)
        self.assertIn("still not found: hwloc", output)

    def test_user_with_sudo_installs(self):
        machine = self.machine(user=1000).complete(without=("ninja",))
        machine.offer("ninja")
        sudo = f'[ "$1" = -n ] || exit 9\necho sudo >>"{machine.called}"\nshift\n"$@"'
        machine.tool("sudo", sudo)
        machine.tool("true")
        code, output, called = machine.setup()
        self.assertEqual(code, 0, output)
        self.assertEqual([line.split()[0] for line in called], ["sudo"] + 2 * ["sudo", "apt-get"])

    def test_sudo_that_asks_for_a_password_is_no_sudo(self):
        machine = self.machine(user=1000).complete(without=("ninja",))
        machine.tool("sudo", "exit 1")
        code, output, called = machine.setup()
        self.assertEqual((code, called), (1, []))
        self.assertIn("neither root nor sudo", output)

    def test_openblas_with_threads_of_its_own_will_not_do(self):
        machine = self.machine().complete()
        machine.pkg_config(machine.MODULES, openblas="USE_OPENMP=0")
        code, output, _ = machine.setup("--check")
        self.assertEqual(code, 1)
        self.assertEqual(output, "setup: missing openblas (Debian package libopenblas-openmp-dev)\n")

    def test_purposes(self):
        machine = self.machine().complete(without=("clang-tidy", "dnnl.h"))
        self.assertEqual(machine.setup("--check", "--for", "build")[0], 0)
        output = machine.setup("--check", "--for", "stress")[1]
        self.assertIn("dnnl.h", output)
        self.assertNotIn("clang-tidy", output)
        output = machine.setup("--check", "--for", "test")[1]
        self.assertIn("dnnl.h", output)
        self.assertIn("clang-tidy", output)
        self.assertNotIn("chromium", output)
        self.assertNotIn("openmpi", output)
        output = machine.setup("--check", "--for", "all")[1]
        self.assertIn("clang-tidy", output)
        self.assertIn("setup: missing chromedriver (Debian package chromium-driver)\n", output)
        self.assertIn("setup: missing ompi-c (Debian package libopenmpi-dev)\n", output)
        output = machine.setup("--check", "--for", "ranks")[1]
        self.assertEqual(output, "setup: missing ompi-c (Debian package libopenmpi-dev)\n"
                                 "setup: missing mpirun.openmpi (Debian package openmpi-bin)\n")

    def test_slurm_starts_no_daemon(self):
        machine = self.machine().complete()
        for name in ("chmod", "rm"):
            os.symlink(shutil.which(name), os.path.join(machine.bin, name))
        policy = os.path.join(self.directory, "policy")
        asked = f'"{policy}"; echo "policy $?" >>"{machine.called}"'
        missing = machine.setup("--check", "--for", "slurm")[1]
        self.assertEqual(missing, "".join(f"setup: missing {what} (Debian package {package})\n" for what, package in (
            ("munged", "munge"), ("slurmctld", "slurmctld"), ("slurmd", "slurmd"), ("sbatch", "slurm-client"))))
        self.assertIn(missing, machine.setup("--check", "--for", "all")[1])
        machine.tool("apt-get", f'case "$*" in *" install "*) {asked} ;; esac')
        _, output, called = machine.setup("--for", "slurm", YP_POLICY=policy)
        self.assertIn("installing munge slurm-client slurmctld slurmd\n", output)
        self.assertEqual(called, ["policy 101"])
        self.assertFalse(os.path.exists(policy), "it is taken away again")
        standin.write(policy, "#!/bin/sh\nexit 104\n", executable=True)
        self.assertEqual(machine.setup("--for", "slurm", YP_POLICY=policy)[2], ["policy 101", "policy 104"])
        self.assertTrue(os.path.exists(policy), "one that is there stays")
        machine.tool("apt-get", f'case "$*" in *" install "*) [ ! -e "{policy}" ]; echo "none $?" >>"{machine.called}" ;; esac')
        os.unlink(policy)
        os.unlink(os.path.join(machine.bin, "jq"))
        self.assertEqual(machine.setup(YP_POLICY=policy)[2][-1], "none 0")

    def test_prefix_is_looked_into(self):
        machine = self.machine(user=1000).complete(without=("ninja", "hwloc"))
        prefix = os.path.join(self.directory, "prefix")
        machine.tool("ninja", where=prefix + "/usr/bin")
        machine.pkg_config(machine.MODULES, where=prefix + "/usr/bin")
        self.assertEqual(machine.setup("--check")[0], 1)
        self.assertEqual(machine.setup("--check", YP_PREFIX=prefix)[0], 0)


# Says what it was called with, and does what the selection it was given is to do here.
SUITE = """#!/bin/sh
echo "$(basename "$0") $*" >>"$CALLED"
case "$*" in
*--version*) exit 0 ;;
*machine*) echo 'read memory 1 GB/s' && exit 0 ;;
*history*) exit 0 ;;
*--help*) echo "$HELP" && exit 0 ;;
esac
case "$*" in
*--audit*) eval "$AUDIT" ;;
*"(not perf and not slow)"*) eval "$PARITY" ;;
*"(perf and not slow)"*) eval "$PERF" ;;
*"(slow and xl)"*) eval "$XL" ;;
*) exit 5 ;;
esac
"""
SKIPPED = "echo 1..1; echo 'ok 1 - a # SKIP no driver'"
GOOD = "echo 1..2; echo 'ok 1 - a'; echo 'ok 2 - b'"
BAD = "echo 1..2; echo 'not ok 1 - a'; echo 'ok 2 - b'; echo 'FAILED a - bits differ' >&2; exit 1"


class Gpu(Scratch):
    def gpu(self, *arguments, sanitizer=None, again=False, **does):
        """Runs ci/gpu with a bundle of stand-ins: (exit code, what it printed, lines of the summary)."""
        if again:
            shutil.rmtree(os.path.join(self.directory, "project"))
        project = self.project("")
        self.called = os.path.join(self.directory, "called")
        self.out = os.path.join(self.directory, "out of it")
        standin.write(self.called, "")
        tree = project.path("tree")
        standin.write(tree + "/about", "commit 1\n")
        for name in ("yieldpoint", "lang-cu", "plugin-scale", "yieldpoint-stress", "yieldpoint-perf"):
            standin.write(f"{tree}/bin/{name}", SUITE, executable=True)
        os.makedirs(project.path("build/bundle"))
        done = standin.call(["tar", "-C", tree, "-czf", project.path("build/bundle/bundle.tar.gz"), "."])
        self.assertEqual(done.returncode, 0, done.stdout)
        if sanitizer:
            standin.write(project.path("ci/sanitize"), f"#!/bin/sh\n{sanitizer}\n", executable=True)
        elif os.path.exists(project.path("ci/sanitize")):
            os.remove(project.path("ci/sanitize"))
        environment = dict(os.environ, CALLED=self.called, HELP="", PARITY=GOOD, PERF=GOOD, XL=GOOD, AUDIT=GOOD)
        done = standin.call(
            ["bash", project.path("ci/gpu"), "--out", self.out, *arguments],
            env=environment | does,
        )
        summary = os.path.join(self.out, "summary.txt")
        lines = standin.read(summary).splitlines() if os.path.exists(summary) else []
        return done.returncode, done.stdout, {line.split()[0]: line for line in lines}

    def test_all_pass(self):
        code, output, lines = self.gpu()
        self.assertEqual(code, 0, output)
        self.assertRegex(lines["parity"], "passed .* 4 passed, 0 failed, 0 skipped")
        self.assertRegex(lines["ceilings"], "passed")
        self.assertRegex(lines["large"], "absent .*no such case")
        self.assertRegex(lines["audit"], "absent .*no program has --audit")
        self.assertRegex(lines["sanitize"], "absent .*no ci/sanitize")
        self.assertRegex(lines["checkers"], "absent .*needs --build")
        self.assertRegex(lines["all"], "passed .* 12 passed, 0 failed, 0 skipped")
        self.assertIn("GB/s", standin.read(os.path.join(self.out, "ceilings.log")))

    def test_every_case_has_a_step_and_no_case_two(self):
        self.gpu(HELP="--audit")
        selections = {}
        for line in standin.read(self.called).splitlines():
            if "--tap" in line and "--audit" not in line:
                name = line.split()[0]
                found = re.search(r"-m (\(.*\)) ", line + " ").group(1)
                selections.setdefault(name, []).append(found)
        for name in ("yieldpoint-stress", "yieldpoint-perf"):
            for tags in range(16):
                known = {tag: bool(tags >> i & 1) for i, tag in enumerate(("gpu", "perf", "slow", "xl"))}
                chosen = [s for s in selections[name] if eval(s, {}, known)]
                self.assertEqual(len(chosen), int(known["gpu"]), (name, known, chosen))

    def test_skipped_everywhere(self):
        code, output, lines = self.gpu(PARITY=SKIPPED, PERF=SKIPPED, XL=SKIPPED)
        self.assertEqual(code, 3, output)
        self.assertRegex(lines["perf"], "skipped .* 0 passed, 0 failed, 2 skipped")
        self.assertRegex(lines["all"], "skipped .* 6 skipped; 6 times: no driver")

    def test_what_the_cpu_passes_is_no_gpu(self):
        beside = SKIPPED.replace("1..1", "1..2") + "; echo 'ok 2 - both[n=1-cpu]'"
        code, output, lines = self.gpu(PARITY=SKIPPED, PERF=beside, XL=SKIPPED)
        self.assertEqual(code, 3, output)
        self.assertRegex(lines["all"], "skipped .* 2 passed, 0 failed, 6 skipped")
        code, output, _ = self.gpu(PARITY=SKIPPED, PERF=beside.replace("-cpu", "-cuda"), XL=SKIPPED, again=True)
        self.assertEqual(code, 0, output)

    def test_a_failure_is_reported_and_does_not_stop_the_others(self):
        for step, does, said, printed in (
                ("parity", "echo 'error: no such option' >&2; echo '   ^' >&2; exit 4", "error: no such option", ""),
                ("parity", BAD, "2 passed, 2 failed, 0 skipped", "not ok 1 - a\nFAILED a - bits differ\n"),
                ("xl", "kill -SEGV $$", "ended with 139", "")):
            code, output, lines = self.gpu(again=os.path.exists(os.path.join(self.directory, "project")),
                                           **{step.upper(): does})
            self.assertEqual(code, 1, does)
            self.assertRegex(lines[step], f"failed .* {said}")
            self.assertRegex(lines["perf"], "passed")
            self.assertIn(printed, output)

    def test_a_step_that_hangs_is_ended_and_leaves_what_it_said(self):
        hang = "echo 1..2; echo 'ok 1 - a'; exec sleep 1000"
        begun = time.time()
        code, _, lines = self.gpu("--within", "15", PARITY=hang)
        self.assertLess(time.time() - begun, 40)
        self.assertEqual(code, 1)
        self.assertRegex(lines["parity"], "out of time .* 1 passed, 0 failed")
        self.assertRegex(lines["perf"], "not run .*no time left")

    def test_declared_work_is_counted_by_programs_that_can(self):
        audit = "echo 1..1; echo 'ok 1 - a'; echo '# a declares 2 flops an iteration, the device 3'"
        code, output, lines = self.gpu(HELP="  --audit  count", AUDIT=audit)
        self.assertEqual(code, 0, output)
        self.assertRegex(lines["audit"], "passed .* 4 passed, 0 failed")
        self.assertIn("a declares 2 flops an iteration", output)

    def test_cupti_of_python_packages_is_found(self):
        site = os.path.join(self.directory, "site")
        for name in ("nvidia/cuda_cupti/lib/libcupti.so.12", "nvidia/cu13/lib/libcupti.so.13"):
            standin.write(os.path.join(site, name), "")
        tools = os.path.join(self.directory, "tools")
        audit = "echo 1..1; echo \"ok 1 - a\"; echo \"# a declares 2 flops an iteration: $YIELDPOINT_CUPTI\""
        for driver, given, wanted in (
                ("12.4", "", "site/nvidia/cuda_cupti/lib/libcupti.so.12"),
                ("13.0", "", "site/nvidia/cu13/lib/libcupti.so.13"),
                ("14.1", "", "site/nvidia/cu13/lib/libcupti.so.13"),
                ("12.4", "/mine/libcupti.so", "/mine/libcupti.so")):
            standin.write(tools + "/nvidia-smi", f"#!/bin/sh\necho '| Driver  CUDA Version: {driver}  |'\n",
                          executable=True)
            code, printed, _ = self.gpu(
                "--steps", "audit", HELP="--audit", AUDIT=audit, PYTHONPATH=site, CUDA_HOME=self.directory,
                CUDA_PATH=self.directory, YIELDPOINT_CUPTI=given, PATH=f"{tools}:{os.environ['PATH']}",
                again=os.path.exists(os.path.join(self.directory, "project")))
            self.assertEqual(code, 0, printed)
            self.assertRegex(printed, f"an iteration: .*{re.escape(wanted)}\n")
            self.assertIn(wanted, standin.read(os.path.join(self.out, "environment.txt")))

    def test_toolkit_s_cupti_comes_first(self):
        site, toolkit = (os.path.join(self.directory, name) for name in ("site", "toolkit"))
        standin.write(site + "/nvidia/cu13/lib/libcupti.so.13", "")
        standin.write(toolkit + "/extras/CUPTI/lib64/libcupti.so.13", "")
        self.gpu("--steps", "xl", PYTHONPATH=site, CUDA_HOME=toolkit, CUDA_PATH=toolkit)
        self.assertIn("CUPTI: that of the toolkit", standin.read(os.path.join(self.out, "environment.txt")))

    def test_nccl_of_a_python_package_is_found(self):
        site = os.path.join(self.directory, "site")
        standin.write(site + "/nvidia/nccl/lib/libnccl.so.2", "")
        standin.write(self.directory + "/tools/ldconfig", "#!/bin/sh\n", executable=True)
        for given, wanted in (("", site + "/nvidia/nccl/lib/libnccl.so.2"), ("/mine/libnccl.so", "/mine/libnccl.so")):
            self.gpu("--steps", "xl", PYTHONPATH=site, CUDA_HOME=self.directory, CUDA_PATH=self.directory,
                     YIELDPOINT_NCCL=given, PATH=f"{self.directory}/tools:{os.environ['PATH']}",
                     again=os.path.exists(os.path.join(self.directory, "project")))
            self.assertIn(f"NCCL: {wanted}\n", standin.read(os.path.join(self.out, "environment.txt")))

    def test_neither_toolkit_nor_driver(self):
        code, output, lines = self.gpu("--steps", "xl", CUDA_HOME=self.directory, CUDA_PATH=self.directory,
                                       PATH=f"{self.directory}:/usr/bin:/bin")
        self.assertEqual((code, list(lines)), (0, ["programs", "xl", "all"]), output)

    def test_what_the_sanitizer_finds_is_a_failure(self):
        found = "echo 1..2; echo 'ok 1 - memcheck'; echo 'not ok 2 - racecheck'; exit 1"
        code, output, lines = self.gpu("--steps", "sanitize", sanitizer=found)
        self.assertEqual(code, 1)
        self.assertRegex(lines["sanitize"], "failed .* 1 passed, 1 failed")
        self.assertIn("not ok 2 - racecheck", output)

    def test_no_sanitizer_is_no_failure(self):
        code, _, lines = self.gpu("--steps", "sanitize,xl", sanitizer="echo '1..0 # SKIP no tool'")
        self.assertEqual(code, 0)
        self.assertRegex(lines["sanitize"], "absent .*no tool")

    def test_nothing_tried_is_not_passed(self):
        code, _, lines = self.gpu("--steps", "large,checkers")
        self.assertEqual(code, 3)
        self.assertRegex(lines["all"], "skipped")
        self.assertEqual(self.gpu("--steps", "ceilings", again=True)[0], 0)

    def test_steps_are_chosen(self):
        code, _, lines = self.gpu("--steps", "xl,ceilings")
        self.assertEqual((code, list(lines)), (0, ["programs", "ceilings", "xl", "all"]))

    def test_marks_and_options_reach_the_programs(self):
        self.gpu("--mark", "gpu and small", "--steps", "perf", "--seed", "7")
        self.assertRegex(
            standin.read(self.called),
            r"yieldpoint-perf --tap .*-m \(gpu and small\) and \(perf and not slow\) --confirm 1 --seed 7\n",
        )

    def test_packed_it_is_few_files_and_whole(self):
        code, output, _ = self.gpu("--pack", PARITY=BAD)  # these programs write no CSV
        self.assertEqual(code, 1, output)
        found = sorted(os.listdir(self.out))
        self.assertEqual(found, ["all.tar.gz", "environment.txt", "summary.txt"])
        listed = standin.call(["tar", "-tzf", os.path.join(self.out, "all.tar.gz")]).stdout
        for name in ("failures.txt", "summary.txt", "parity.yieldpoint-stress.tap", "ceilings.log"):
            self.assertIn(f"./{name}\n", listed)

    def test_wrong_arguments_are_named(self):
        for arguments, named in (("--steps all", "'all'"), ("--within 5m", "'5m'"), ("--out", "--out")):
            done = standin.call(["bash", os.path.join(standin.CI, "gpu"), *arguments.split()])
            self.assertEqual(done.returncode, 2)
            self.assertIn(named, done.stdout)


class CountResults(Scratch):
    """Runs one declared test and compares what is counted and printed."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.project = standin.Project(
            os.path.join(scratch.name, "project"),
            "test('tap', program, protocol: 'tap', suite: 'unit')\n"
            "test('plain', program, suite: 'unit')\n"
            "test('tap-short', program, protocol: 'tap', timeout: 1, suite: 'unit')\n"
            "test('plain-short', program, timeout: 1, suite: 'unit')\n",
        )
        cls.build = cls.project.path("build")
        done = standin.call(["meson", "setup", cls.build, cls.project.root])
        assert done.returncode == 0, done.stdout

    def counted(self, arguments, name="tap", expected=1):
        code = standin.call(
            ["meson", "test", "-C", self.build, "--test-args", shlex.join(arguments), name]
        ).returncode
        log = os.path.join(self.build, "meson-logs", "testlog")
        done = standin.call(
            ["python3", self.project.path("ci/count_results.py"), "x", log, str(expected), str(code)]
        )
        self.assertEqual(done.returncode, 0, done.stdout)
        counts, _, output = done.stdout.partition("\n")
        return counts, output

    def test_each_subtest_counts(self):
        counts, output = self.counted(
            ["1..3", "ok 1 - a", "not ok 2 - b[n=3-cpu]", "ok 3 - c # SKIP why"]
        )
        self.assertEqual(counts, "1 1 1")
        self.assertIn("FAILED x: tap: b[n=3-cpu]\n", output)
        self.assertIn("SKIPPED x: tap: c (why)\n", output)

    def test_how_a_test_ends(self):
        for name, arguments, test, wanted, said in (
                ("an expected failure", ["1..1", "not ok 1 - a # TODO known"], "tap", "1 0 0", ""),
                ("death after passed subtests", ["1..2", "ok 1 - a", "die"], "tap", "1 1 0", ""),
                ("an exit code after passed subtests", ["1..1", "ok 1 - a", "return", "3"], "tap", "1 1 0", ""),
                ("a failed subtest and an exit code", ["1..1", "not ok 1 - a", "return", "1"], "tap", "0 1 0", ""),
                ("a hang", ["1..2", "ok 1 - a", "hang"], "tap-short", "1 1 0", "timeout"),
                ("a hang without TAP", ["hang"], "plain-short", "0 1 0", ""),
                ("fewer than planned", ["1..2", "ok 1 - a"], "tap", "1 1 0", ""),
                ("a bail out", ["1..2", "Bail out! disk full"], "tap", "0 1 0", ""),
                ("no subtest", ["1..0"], "tap", "0 1 0", ""),
                ("output that XML cannot hold", ["1..2", "not ok 1 - a", "garbage", "ok 2 - b"], "tap", "1 1 0",
                 "| red?"),
                ("exit code 0", ["exit", "0"], "plain", "1 0 0", ""),
                ("exit code 1", ["exit", "1"], "plain", "0 1 0", ""),
                ("exit code 77", ["exit", "77"], "plain", "0 0 1", ""),
                ("exit code 99", ["exit", "99"], "plain", "0 1 0", "")):
            counts, output = self.counted(arguments, test)
            self.assertEqual(counts, wanted, name)
            self.assertIn(said, output, name)

    def test_no_subtest_with_a_reason_is_a_skip(self):
        counts, output = self.counted(["1..0 # SKIP no GPU here"])
        self.assertEqual(counts, "0 0 1")
        self.assertIn("SKIPPED x: tap (no GPU here)", output)

    def test_fewer_tests_than_selected(self):
        counts, output = self.counted(["1..1", "ok 1 - a"], expected=2)
        self.assertEqual(counts, "1 1 0")
        self.assertIn("2 tests were selected, 1 ran", output)

    def test_no_log(self):
        script = os.path.join(standin.CI, "count_results.py")
        done = standin.call(["python3", script, "x", self.directory + "/no", "1", "0"])
        self.assertTrue(done.stdout.startswith("0 1 0\n"), done.stdout)


GREEN = """test('plain', program, args: ['exit', '0'], suite: 'unit')
test('subtests', program, args: ['1..2', 'ok 1 - a', 'ok 2 - b'], protocol: 'tap', suite: 'unit')
test('small', program, suite: ['stress', 'small'],
  args: ['options', get_option('sanitize') == 'true' ? '--speed=off --no-fork' :
    '--speed=record --max-seconds=0.2 --jobs=' + run_command('nproc', check: true).stdout().strip()])
test('medium', program, args: ['exit', '1'], suite: ['stress', 'medium'])
test('slow', program, args: ['exit', '1'], suite: ['stress', 'slow'])
"""
# What the first tier leaves to --all, and what is the same for all builds.
MORE = """test('perf', program, args: ['exit', '0'], suite: ['perf', 'small'])
test('long', program, args: ['exit', '0'], suite: ['usage', 'long'])
test('once', program, args: ['exit', '0'], suite: ['unit', 'once'])
"""
# format, arrows, a build and fuzzing; 4 in the build
PASSED = 4 + 4
# lint and two builds more; 4 in the one with sanitizers, 3 in the one by clang
PASSED_ALL = PASSED + 3 + 4 + 3


class Checks(Scratch):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        project = standin.Project(os.path.join(cls.place.name, "project"), GREEN)
        cls.first = project.check("--all")
        shutil.copytree(project.root, os.path.join(cls.place.name, "green"))

    def green(self):
        """A project that has passed all checks, in the place for which it was built."""
        project = standin.Project(os.path.join(self.directory, "project"), GREEN)
        project.root = os.path.join(os.path.realpath(self.place.name), "project")
        shutil.rmtree(project.root, ignore_errors=True)
        shutil.copytree(os.path.join(self.place.name, "green"), project.root)
        return project

    def test_green_and_the_second_run_does_nothing(self):
        code, output, last = self.first
        self.assertEqual((code, last), (0, f"{PASSED_ALL} passed, 0 failed, 0 skipped"), output)
        project = self.green()
        begun = time.time()
        code, output, last = project.check("--all")
        self.assertEqual((code, last), (0, f"{PASSED_ALL} passed, 0 failed, 0 skipped"), output)
        self.assertIn("setup: nothing is missing", output)
        for directory, _, names in os.walk(project.path("build")):
            for name in names:
                made = os.path.join(directory, name)
                if name.endswith((".o", "build.ninja")) or name == "program":
                    self.assertLess(os.stat(made).st_mtime, begun, made)

    def test_two_tiers(self):
        project = self.project(GREEN + MORE)
        code, output, last = project.check()
        self.assertEqual((code, last), (0, f"{PASSED + 1} passed, 0 failed, 0 skipped"), output)
        self.assertEqual(sorted(os.listdir(project.path("build"))), ["fuzz", "fuzzed", "log", "test"])
        code, output, last = project.check("--all")
        # three more by gcc's release, one of them with sanitizers, none by clang
        self.assertEqual((code, last), (0, f"{PASSED_ALL + 3 + 1} passed, 0 failed, 0 skipped"), output)

    def test_wrong_arguments_are_named(self):
        project = self.project(GREEN)
        for arguments in (["--al"], ["--all", "unit"]):
            code, output, last = project.check(*arguments)
            self.assertEqual((code, last), (2, "usage: ci/test [--all | --lint]"))
            self.assertIn(f"unknown argument '{arguments[-1]}'", output)

    def test_every_kind_of_failure_is_counted_and_does_not_stop_the_others(self):
        project = self.green()
        project.declare(GREEN + "test('red', program, args: ['exit', '3'], suite: 'unit')\n")
        # A warning of clang alone, and a line clang-format would break.
        source = standin.read(project.path("program.c"))
        standin.write(
            project.path("program.c"),
            source + "#ifdef __clang__\nint broken( void ) { int x; return x; }\n#endif\n",
        )
        # A room that may include no other.
        standin.write(project.path("harness/a.h"), "")
        standin.write(project.path("base/a.h"), '#include "harness/a.h"\n')
        code, output, last = project.check("--all")
        self.assertEqual(code, 1)
        # red in two builds, format, arrows, build with clang; the tests and lint of that build do not run
        self.assertEqual(last, f"{3 + 4 + 4} passed, 5 failed, 0 skipped", output)
        summary = output[output.index("\nFAILED ") :]
        for name in ("format", "arrows", "build with clang", "test build: red", "asan build: red"):
            self.assertIn(f"FAILED {name}", summary)
        self.assertIn("uninitialized", summary)

    def test_lint(self):
        project = self.green()
        source = standin.read(project.path("program.c"))
        standin.write(
            project.path("program.c"),
            source + "\nint sign(int n);\nint sign(int n)\n{\n    if (n < 0)\n        return -1;\n"
            "    else\n        return 1;\n}\n",
        )
        code, output, last = project.check("--all")
        self.assertEqual((code, last), (1, f"{PASSED_ALL - 1} passed, 1 failed, 0 skipped"), output)
        self.assertIn("FAILED lint", output)
        self.assertIn("readability-else-after-return", output)

    def test_lint_of_what_has_changed(self):
        project = self.green()
        standin.write(project.path("one.h"), "int sign(int n);\n")
        standin.write(project.path("program.c"), '#include "one.h"\n' + standin.read(project.path("program.c")) +
                      "\nint sign(int n)\n{\n    if (n < 0)\n        return -1;\n    else\n        return 1;\n}\n")

        def commit(name, **more):
            for words in (["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a", "commit", "-qm", name]):
                done = standin.call(["git", *words], cwd=project.root, env={**os.environ, **more})
                self.assertEqual(done.returncode, 0, done.stdout)

        standin.write(project.path(".gitignore"), "build\n")
        standin.call(["git", "init", "-q"], cwd=project.root)
        commit("old", GIT_COMMITTER_DATE="2000-01-01T00:00:00Z")
        standin.write(project.path("new.txt"), "")
        commit("new")
        code, output, last = project.check("--all")
        self.assertEqual((code, last), (0, f"{PASSED_ALL} passed, 0 failed, 0 skipped"), output)
        code, output, last = project.check("--lint")
        self.assertEqual((code, last), (1, "1 passed, 1 failed, 0 skipped"), output)
        # Of a header, a file that includes it is linted.
        standin.write(project.path("one.h"), "int sign(int m);\n")
        code, output, last = project.check("--all")
        self.assertEqual((code, last), (1, f"{PASSED_ALL - 1} passed, 1 failed, 0 skipped"), output)

    def test_no_tests_is_a_failure(self):
        project = self.green()
        project.declare("")
        code, output, last = project.check("--all")
        self.assertEqual((code, last), (1, "7 passed, 3 failed, 0 skipped"), output)

    def test_skips_are_reported(self):
        gone = "test('gone', program, args: ['exit', '77'], suite: 'zoo')\n"
        project = self.green()
        project.declare(GREEN + gone)
        code, output, last = project.check()
        self.assertEqual((code, last), (0, f"{PASSED} passed, 0 failed, 1 skipped"), output)
        self.assertIn("SKIPPED test build: gone", output)

    def test_moved_tree_is_built_anew(self):
        project = self.green()
        moved = project.root + " moved"
        os.rename(project.root, moved)
        project.root = moved
        project.declare(GREEN + "test('new', program, args: ['exit', '0'], suite: 'unit')\n")
        code, output, last = project.check()
        self.assertEqual((code, last), (0, f"{PASSED + 1} passed, 0 failed, 0 skipped"), output)


class Fuzz(Scratch):
    """ci/fuzz with one small target."""

    def found(self, *arguments):
        """Runs it, to be red; the inputs that it kept, of which each is red again by the command it prints."""
        code, output, last = self.stand_in.fuzz(*arguments)
        self.assertEqual((code, last), (1, "0 passed, 1 failed"), output)
        again = re.findall("reproduce: (.*)", output)
        for command in again:
            done = standin.call(["bash", "-c", command], cwd=self.stand_in.root)
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn("one.c:", done.stdout)
        return output, [command.split()[-1] for command in again]

    def setUp(self):
        super().setUp()
        self.stand_in = self.project("")

    def test_green_with_figures(self):
        code, output, last = self.stand_in.fuzz("--seconds", "2", "one")
        self.assertEqual((code, last), (0, "1 passed, 0 failed"), output)
        self.assertRegex(output, r"\none +[1-9]\d* +[1-9]\d* +[1-9]\d* +\d+  passed\n")
        self.assertEqual(os.listdir(self.stand_in.path("build/fuzzed/found/one")), [])

    def test_an_overrun_is_found_and_kept(self):
        self.stand_in.plant(1)
        output, inputs = self.found("--seconds", "60")
        self.assertIn("AddressSanitizer", output)
        self.assertEqual(len(inputs), 1, output)

    def test_a_leak_of_an_input_that_is_there(self):
        self.stand_in.plant(1)
        standin.write(self.stand_in.path("tests/fuzz/corpus/one/leak"), "xl")
        output, _ = self.found("--seconds", "0")
        self.assertIn("LeakSanitizer", output)

    def there(self):
        """How many processes have the project as their working directory."""
        count = 0
        for number in filter(str.isdigit, os.listdir("/proc")):
            try:
                count += os.readlink(f"/proc/{number}/cwd") == self.stand_in.root
            except OSError:
                pass  # it is over, or another user's
        return count

    def test_it_ends_with_all_that_it_runs(self):
        script = subprocess.Popen(["bash", self.stand_in.path("ci/fuzz"), "--seconds", "300"], stdout=subprocess.DEVNULL)
        log = self.stand_in.path("build/fuzzed/log/one.txt")
        begun = time.time()
        while not (os.path.exists(log) and os.path.getsize(log)) and time.time() < begun + 120:
            time.sleep(0.1)
        self.assertGreater(self.there(), 1)
        script.terminate()
        self.assertEqual(script.wait(60), 143)
        while self.there() and time.time() < begun + 180:
            time.sleep(0.1)
        self.assertEqual(self.there(), 0)

    def test_what_does_not_compile_is_told(self):
        standin.write(self.stand_in.path("tests/fuzz/one.c"), "int broken")
        code, output, last = self.stand_in.fuzz("--seconds", "0")
        self.assertEqual((code, last), (1, "ci/fuzz: the targets could not be built"), output)
        self.assertIn("one.c:1", output)

    def test_wrong_arguments_are_named(self):
        for arguments, said in ((["two"], "no target 'two'; there are one"), (["--seconds", "-1"], "--seconds '-1'"),
                                (["--seconds"], "--seconds ''")):
            code, output, _ = self.stand_in.fuzz(*arguments)
            self.assertEqual(code, 2, output)
            self.assertIn(said, output)
            self.assertIn("usage: ci/fuzz", output)


class Arrows(Scratch):
    """ci/arrows.py over small trees."""

    def arrows(self, **planted):
        """The lines that it prints for a tree in order with what is planted in it: {path: an include}."""
        tree = {"include/yieldpoint/a.h": "", "base/a.h": "", "harness/a.h": '"harness/driver/program.h"',
                "harness/driver/program.h": '"harness/record/a.h"',
                "harness/vocabulary/a.h": '"base/a.h"', "harness/judge/a.h": '"harness/vocabulary/a.h"',
                "harness/record/a.h": '"harness/collect/collect.h"', "harness/collect/collect.h": "",
                "models/train/a.h": '"base/a.h"', "models/rx/a.h": '"models/train/a.h"',
                "models/mlp/a.h": '"base/a.h"', "tests/unit/a.c": '"harness/a.h"',
                "cli/a.c": "<yieldpoint/a.h>", **planted}
        for path, include in tree.items():
            standin.write(os.path.join(self.directory, path), f"#include {include}\n" if include else "")
        done = standin.call(["python3", os.path.join(standin.CI, "arrows.py"), self.directory])
        self.assertEqual(done.returncode, 1 if done.stdout else 0, done.stdout)
        return done.stdout.splitlines()

    def test_a_tree_in_order(self):
        self.assertEqual(self.arrows(), [])

    def test_planted_includes_are_found(self):
        for path, include, wanted in (
                ("base/b.c", '"harness/a.h"', 'base/b.c:1: "harness/a.h": base may include no other room'),
                ("harness/b.c", '"models/rx/a.h"', "harness may include harness/driver/program.h"),
                ("harness/vocabulary/b.c", '"harness/a.h"', "harness/vocabulary may include device, base"),
                ("harness/collect/b.c", '"harness/judge/a.h"', '"harness/judge/a.h": harness/collect may include'),
                ("models/rx/b.cu", '"models/mlp/a.h"', "models/rx may include models/nn, models/data"),
                ("harness/b.c", '"a.h"', '"a.h": is not written from the root'),
                ("harness/b.c", '"../base/a.h"', '"../base/a.h": is not written from the root'),
                ("harness/b.c", "<base/a.h>", "<base/a.h>: the project's own headers stand in quotes"),
                ("tests/usage/bisect.py", "", "tests/usage/bisect.py:1: programs beside it import it in place"),
                ("attic/b.c", "", "attic/b.c:1: is in no room that ci/arrows.py knows")):
            lines = self.arrows(**{path: include})
            os.remove(os.path.join(self.directory, path))
            self.assertEqual(len(lines), 1, (path, include, lines))
            self.assertIn(wanted, lines[0])


class Sanitize(Scratch):
    """ci/sanitize with a tool and programs that are shell scripts."""

    def setUp(self):
        super().setUp()
        self.out = os.path.join(self.directory, "out")

    def program(self, name, body):
        path = os.path.join(self.directory, "programs", name)
        standin.write(path, f"#!/bin/bash\n{body}\n", executable=True)
        return path

    def sanitize(self, tool, *programs):
        """The tool is told which tool it is, and runs the program; `tool` says what it finds."""
        path = os.path.join(self.directory, "compute-sanitizer")
        if tool is not None:
            standin.write(path, '#!/bin/bash\n[ "$1" = --version ] && exit 0\necho "$@" >>' +
                          shlex.quote(self.directory) + '/called\nwhich=$2\n'
                          'while [ "${1#--}" != "$1" ]; do [ "$1" = --log-file ] && log=$2; shift 2; done\n'
                          'echo "========= something" >"$log"\n"$@" || exit 1\n' + tool + "\n",
                          executable=True)
        done = standin.call([os.path.join(standin.CI, "sanitize"), "--out", self.out, *programs],
                            env={**os.environ, "YP_SANITIZER": path, "CUDA_HOME": self.directory,
                                 "PATH": "/usr/bin:/bin"})
        return done.returncode, done.stdout

    PASSES = 'case "$*" in --help) echo "--speed judge|record";; *) echo "TAP version 13"; ' \
             'echo "ok 1 - case"; echo "1..1";; esac'

    def test_no_tool_skips_all(self):
        if os.path.exists("/usr/bin/compute-sanitizer"):
            self.skipTest("there is one")
        code, output = self.sanitize(None, self.program("yieldpoint-x", self.PASSES))
        self.assertEqual(code, 0)
        self.assertRegex(output, r"^TAP version 13\n1\.\.0 # SKIP no compute-sanitizer: ")

    def test_no_device_skips_with_the_programs_reason(self):
        body = self.PASSES.replace("ok 1 - case", "ok 1 - case # SKIP no CUDA device: none")
        code, output = self.sanitize("exit 86", self.program("yieldpoint-x", body))
        self.assertEqual(code, 0)
        self.assertIn("ok 1 - yieldpoint-x # SKIP no CUDA device: none\n1..1\n", output)
        self.assertIn("# nothing ran", output)

    def test_every_tool_over_every_program(self):
        code, output = self.sanitize("exit 0", self.program("yieldpoint-stress", self.PASSES),
                                   self.program("plugin-scale", self.PASSES))
        self.assertEqual((code, output), (0, "TAP version 13\n" + "".join(
            f"ok {i + 1} - {name}: {tool}\n" for i, (name, tool) in enumerate(
                (n, t) for n in ("yieldpoint-stress", "plugin-scale")
                for t in ("memcheck", "racecheck", "synccheck", "initcheck"))) + "1..8\n"))
        called = standin.read(os.path.join(self.directory, "called"))
        self.assertIn("--error-exitcode 86", called)
        self.assertIn("--target-processes all", called)
        padded = [line.split()[1] for line in called.splitlines() if "--padding 4096 " in line]
        self.assertEqual(padded, 2 * ["memcheck"])
        self.assertIn("plugin-scale -m gpu --set n=1000 --speed=record --tap --history", called)
        self.assertIn("yieldpoint-stress -m gpu and small and not slow --speed=record", called)
        self.assertTrue(os.path.exists(os.path.join(self.out, "plugin-scale-racecheck.txt")))

    def test_arrays_are_apart(self):
        self.sanitize('echo "$YIELDPOINT_SEPARATE_ARRAYS" >>' + shlex.quote(self.directory) + "/arrays",
                      self.program("yieldpoint-x", self.PASSES))
        self.assertEqual(standin.read(os.path.join(self.directory, "arrays")), 4 * "1\n")

    def test_bodies_are_not_timed_where_a_program_can_do_without(self):
        body = self.PASSES.replace("judge|record", "judge|record|off")
        self.sanitize("exit 0", self.program("yieldpoint-x", body))
        self.assertIn("--speed=off", standin.read(os.path.join(self.directory, "called")))

    def test_what_a_tool_finds_is_reported(self):
        code, output = self.sanitize('[ "$which" = racecheck ] && exit 86; exit 0',
                                   self.program("yieldpoint-x", self.PASSES))
        self.assertEqual(code, 1)
        self.assertIn("not ok 2 - yieldpoint-x: racecheck ended with 86\n# ========= something\n", output)
        self.assertIn("ok 3 - yieldpoint-x: synccheck\n", output)

    def test_what_is_planted_has_to_be_found(self):
        known = self.program("cuda-known", self.PASSES)
        finds = '[[ "$*" = *defect=$which* ]] && exit 86; exit 0'
        code, output = self.sanitize(finds, known)
        self.assertEqual(code, 0)
        self.assertIn("ok 1 - memcheck finds what is planted\nok 2 - cuda-known: memcheck\n", output)
        code, output = self.sanitize("exit 0", known)
        self.assertEqual(code, 1)
        self.assertIn("not ok 1 - memcheck does not find what is planted (0)", output)

    def test_a_program_that_fails_without_the_tool(self):
        body = self.PASSES.replace("ok 1", "not ok 1").replace("esac", "esac; exit 1")
        code, output = self.sanitize("exit 0", self.program("yieldpoint-x", body))
        self.assertEqual(code, 1)
        self.assertIn("not ok 1 - yieldpoint-x: fails without the tool\n", output)

    def test_a_program_that_crashes_and_one_without_gpu_cases(self):
        code, output = self.sanitize("exit 0", self.program("yieldpoint-x", "exit 5"),
                                   self.program("yieldpoint-y", "exit 3"))
        self.assertEqual(code, 1)
        self.assertIn("not ok 1 - yieldpoint-y: ended with 3 before a case\n1..1\n", output)


# What ci/chroot calls to make a system: this one's shell and what it is linked to.
MMDEBSTRAP = r"""echo "$*" >>"$CALLED"
while [ $# -gt 3 ]; do shift; done
[ "$1" != broken ] || exit 1
for file in /bin/sh /bin/bash /bin/cat /bin/sleep /usr/bin/env $(ldd /bin/bash /bin/cat | grep -o '/[^ :)]*'); do
    mkdir -p "$2/$(dirname "$file")"
    cp -L "$file" "$2/$file"
done
mkdir -p "$2/etc" "$2/proc" "$2/sys" "$2/dev" "$2/tmp" "$2/root"
"""


class Chroot(Scratch):
    def setUp(self):
        super().setUp()
        self.tools = os.path.join(self.directory, "bin")
        self.temporary = os.path.join(self.directory, "tmp")
        self.called = os.path.join(self.directory, "called")
        os.makedirs(self.temporary)
        self.tool("mmdebstrap", MMDEBSTRAP)
        self.tool("apt-get", 'echo "http://mirror/debian/ $(. /etc/os-release && echo "$VERSION_CODENAME") main"')
        self.tool("apt-config", "echo 'Acquire::Check-Date \"0\";'; echo 'Acquire::http \"\";'")
        checkout = self.project("").root
        for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
            done = standin.call(["git", "-C", checkout, "-c", "user.name=a", "-c", "user.email=a@b", *words])
            self.assertEqual(done.returncode, 0, done.stdout)
        standin.write(os.path.join(checkout, "later"), "")
        self.command = ["bash", os.path.join(checkout, "ci", "chroot")]
        self.environment = {**os.environ, "PATH": self.tools + os.pathsep + os.environ["PATH"], "CALLED": self.called,
                            "TMPDIR": self.temporary, "YIELDPOINT_LOCK": os.path.join(self.directory, "lock")}

    def tool(self, name, body):
        standin.write(os.path.join(self.tools, name), f"#!/bin/bash\n{body}\n", executable=True)

    def chroot(self, *arguments):
        done = standin.call([*self.command, *arguments], env=self.environment)
        self.assertEqual(os.listdir(self.temporary), [], "something is left behind")
        return done.returncode, done.stdout

    def there(self):
        """Skips where no such system can be made; the reason is the script's."""
        code, output = self.chroot("bookworm", "cat", "/dev/null")
        if code == 125:
            self.skipTest(output.strip())
        self.assertEqual((code, output), (0, ""))

    def test_wrong_arguments_are_named(self):
        for arguments in ([], ["bookworm"], ["../x", "true"], ["--help x", "true"]):
            code, output = self.chroot(*arguments)
            self.assertEqual(code, 2)
            self.assertRegex(output, "ci/chroot: (a release and a command|no release '.*')\nusage:")

    def test_user_that_is_not_root(self):
        self.tool("id", "echo 1000")
        self.assertEqual(self.chroot("trixie", "true"),
                         (125, "ci/chroot: needs root, to mount and to change the root\n"))

    def test_nothing_to_make_it_with(self):
        self.tool("id", "echo 0")
        self.environment["PATH"] = self.tools
        os.remove(os.path.join(self.tools, "mmdebstrap"))
        for name in ("bash", "dirname", "git", "unshare"):
            os.symlink(shutil.which(name), os.path.join(self.tools, name))
        self.assertEqual(self.chroot("trixie", "true"),
                         (125, "ci/chroot: no mmdebstrap here (Debian package mmdebstrap; ci/setup --for chroot)\n"))

    def test_another_distribution(self):
        self.there()
        self.tool("apt-get", "echo http://mirror/other other main")
        code, output = self.chroot("trixie", "true")
        self.assertEqual(code, 125)
        self.assertIn("apt here has no source of a Debian", output)

    def test_the_release_is_asked_of_the_same_mirror(self):
        self.there()
        self.chroot("trixie", "cat", "/yieldpoint/meson.build")
        self.assertRegex(standin.read(self.called).splitlines()[-1], r" trixie \S+/root \S+/sources$")
        self.tool("mmdebstrap", f'cat "${{!#}}" "{self.temporary}"/*/apt.conf >"{self.called}"; exit 1')
        code, output = self.chroot("trixie", "true")
        self.assertEqual((code, output), (125, "ci/chroot: no Debian 'trixie' could be made: see above\n"))
        self.assertRegex(standin.read(self.called), r"^deb \[signed-by=\S+\] http://mirror/debian/ trixie main\n"
                                                    'Acquire::Check-Date "0";\n$')

    def test_command_runs_in_a_clone_and_its_exit_code_counts(self):
        self.there()
        code, output = self.chroot("bookworm", "bash", "-c",
                                   'echo "$PWD $HOME ${CALLED-nothing}"; echo *; [ -c /dev/null ] && '
                                   '[ -e /proc/self/exe ] && [ -w /dev/shm ] && exit 7')
        self.assertEqual(code, 7, output)
        self.assertEqual(output, "/yieldpoint /root nothing\nci meson.build meson_options.txt program.c tests\n")

    def test_interrupted_it_leaves_nothing(self):
        self.there()
        started = os.path.join(self.directory, "lock")
        for name in ("INT", "TERM"):
            standin.write(started, "")
            process = subprocess.Popen([*self.command, "bookworm", "bash", "-c",
                                        "(sleep 300 & sleep 300) & echo on >/tmp/yieldpoint.lock; wait"],
                                       env=self.environment, stdin=subprocess.DEVNULL)
            until = time.monotonic() + 60
            while not standin.read(started) and time.monotonic() < until:
                time.sleep(0.02)
            process.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(process.wait(60), 128 + getattr(signal, "SIG" + name))
            self.assertEqual(os.listdir(self.temporary), [])
            self.assertNotIn(self.temporary, standin.read("/proc/self/mountinfo"))
            done = standin.call(["bash", "-c", "readlink /proc/[0-9]*/root"])
            self.assertNotIn(self.temporary, done.stdout)


class Tap(unittest.TestResult):
    def tell(self, test, word, error=None, reason=None):
        for line in traceback.format_exception(*error) if error else ():
            sys.stderr.write(line)
        name = re.sub("^test_", "", test._testMethodName).replace("_", " ")
        skip = f" # SKIP {reason}" if reason else ""
        print(f"{word} {self.testsRun} - {name}{skip}", flush=True)

    def addSuccess(self, test):
        self.tell(test, "ok")

    def addFailure(self, test, error):
        self.tell(test, "not ok", error)

    addError = addFailure

    def addSkip(self, test, reason):
        self.tell(test, "ok", reason=reason)


if __name__ == "__main__":
    selected = unittest.defaultTestLoader.loadTestsFromTestCase(globals()[sys.argv[1]])
    print(f"1..{selected.countTestCases()}", flush=True)
    selected.run(Tap())
