"""Cases of several ranks: one result each, whatever a rank, the launcher or the runner does; nothing is left running."""

import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, gone, wait_until  # noqa: E402
from program import listed, results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

LIST = """ranks.c::sums[ranks=1]
ranks.c::sums[ranks=2]
ranks.c::sums[ranks=4]"""


def stored(program, *options, env=None, timeout=120):
    """The results of a run by the case's name and ranks, its values, and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        done = run(program, "--history", history, "--speed=record", *options, env=env, timeout=timeout)
        values = rows(history, "SELECT case_id, name, value.value FROM value JOIN result ON result.id = result_id")
        left = [name for name in os.listdir(folder) if name.startswith("run-")]
        return {key.split("::", 1)[1]: value for key, value in results(history).items()}, values, done, left


def check_list(tap, program):
    done = run(program, "--co", "-q", "-k", "sums")
    tap.equal("\n".join(listed(done)), LIST, "the number of ranks is an axis, and in the id")
    tap.equal(listed(run(program, "--co", "-q", "-k", "sums", "-m", "ranks")), LIST.split("\n")[1:],
              "cases of more than one rank have the tag ranks")
    tap.equal(listed(run(program, "--co", "-q", "-k", "sums", "--set", "ranks=7")), ["ranks.c::sums[ranks=7]"],
              "--set gives another number")
    for wrong in ("0", "5000", "two"):
        done = run(program, "--co", "--set", f"ranks={wrong}")
        tap.check(done.code == 4 and "takes numbers of processes, 1 to 4096" in done.err, f"--set ranks={wrong} is refused",
                  done)


def check_without_launcher(tap, program):
    with tempfile.TemporaryDirectory() as folder:
        for options, env, reason in (([], {"PATH": folder}, "no program 'mpirun' in PATH"),
                                     (["--launcher", "nowhere"], {}, "there is no program 'nowhere' (--launcher)"),
                                     (["--no-fork"], {}, "several ranks need processes of their own")):
            cases, _, done, _ = stored(program, "-k", "sums", *options, env=env)
            tap.equal((done.code, [c["outcome"] for c in cases.values()]), (0, ["passed", "skipped", "skipped"]),
                      f"skipped, and one rank runs: {reason}")
            tap.check(reason in (cases["sums[ranks=2]"]["reason"] or ""), "with the reason", cases)


def check_options(tap, program, sanitized):
    """What is done to one process alone is not done to several, and they say so."""
    for option, reason in (("--audit", "--audit counts the work of one process, not of several ranks"),
                           ("--instructions", "Callgrind counts the instructions of one process, not of several ranks"),
                           ("--turns=/nowhere", "several ranks take no turns (--turns)")):
        if sanitized and option == "--instructions":
            continue  # skipped for another reason
        cases, _, done, _ = stored(program, "-k", "sums and ranks=2", option)
        tap.equal((done.code, cases["sums[ranks=2]"]["outcome"], cases["sums[ranks=2]"]["reason"]), (0, "skipped", reason),
                  f"{option} skips them")
    done = run(program, "--gdb", "-k", "sums and ranks=2")
    tap.check(done.code == 4 and "--gdb takes a case of one process, and ranks.c::sums[ranks=2] has 2" in done.err,
              "--gdb refuses them", done)


def fake(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)
    return path


def check_wrong_launcher(tap, program):
    """One of another kind starts every rank as the only one."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text, message in (
                ("plain", 'shift 2; "$@" & "$@"; wait',
                 r"rank 0: .*/plain started it without telling it which rank it is, and of how many"),
                ("alone", 'shift 2; export PMI_RANK=0 PMI_SIZE=1; "$@" & "$@"; wait',
                 r"rank 0: .*/alone of hydra started it as rank 0 of 1, and the case has 2 ranks"),
                ("nothing", "echo no nodes; exit 3", r"nothing ended with status 3 before the ranks were over")):
            cases, _, _, _ = stored(program, "-k", "sums and ranks=2", "--launcher", fake(folder, name, text))
            case = cases["sums[ranks=2]"]
            tap.check(case["outcome"] == "failed" and re.match(message, case["failures"][0]["message"]),
                      f"a launcher that is none is told: {name}", case)
            tap.equal(len(case["failures"]), 1, "once")
        tap.check("no nodes" in case["tail"], "with what it printed", case["tail"])


# As srun does it: goes on where one is killed, and says so.
SRUN = """n=$2; shift 8; export SLURM_STEP_NUM_TASKS=$n SLURM_PROCID SLURM_LOCALID
for SLURM_PROCID in 0 2; do SLURM_LOCALID=$SLURM_PROCID; "$@" & done
echo "srun: error: n1: task 1: Killed" >&2; wait"""


def check_unannounced(tap, program):
    """A process is killed before its first message: only what srun prints tells of it."""
    with tempfile.TemporaryDirectory() as folder:
        cases, _, done, left = stored(program, "-k", "stays", "--launcher", fake(folder, "srun", SRUN))
        case = cases["stays[ranks=3]"]
        tap.check(done.code == 1 and case["failures"][0]["message"].startswith("srun started too few ranks; then: "),
                  "a rank that never began is told", case)
        tap.check("task 1: Killed" in case["tail"] and case["duration"] < 20, "with srun's words, before its time-out", case)
        tap.equal(left, [], "and no file is left")


def check_good(tap, cases, values, sanitized):
    def of(case, name):
        return [v["value"] for v in values if v["case_id"] == f"ranks.c::{case}" and v["name"] == name]

    for ranks in (2, 4):
        case = f"sums[ranks={ranks}]"
        tap.equal(cases[case]["outcome"], "passed", f"{ranks} ranks are one case")
        tap.equal(of(case, "ranks"), [ranks], "what all ranks say is said once")
        tap.equal([of(case, "rank")] + [of(case, f"rank rank {i}") for i in range(ranks)],
                  [[0]] + [[i] for i in range(ranks)], "what differs is there by rank")
        tap.equal((of(case, "seed"), len(set(of(case, f"own seed rank {i}")[0] for i in range(ranks)))), ([0], ranks),
                  "the run's seed is everybody's, and each has one of its own")
        tap.equal([re.findall(r"-- rank (\d) --\nrank (\d) writes", cases[case]["tail"])],
                  [[(str(i), str(i)) for i in range(ranks)]], "outputs are sections")
    tap.equal([of(f"sums[ranks={n}]", name)[0] for n in (2, 4) for name in ("own seed rank 1",)],
              [of("sums[ranks=2]", "own seed rank 1")[0]] * 2, "a rank's seed is the same in any number of ranks")
    tap.equal(of("memory[ranks=2]", "peak of all ranks"), [(1 << 20) + 4096], "peaks are added up")
    tap.equal(cases["memory[ranks=2]"]["outcome"], "passed", "and the largest is judged")
    tap.equal((cases["skip[ranks=2]"]["outcome"], cases["skip[ranks=2]"]["reason"]), ("skipped", "nowhere"),
              "all ranks skip: the case does")
    tap.equal(cases["closes_launcher[ranks=2]"]["outcome"], "passed", "what MPICH's end closes was never the case's")
    tap.equal((cases["memory_of_all[ranks=1]"]["outcome"], of("memory_of_all[ranks=1]", "peak of all ranks")),
              ("passed", [4096]), "one rank is all of them")
    tap.equal((cases["memory_of_all[ranks=2]"]["outcome"], [v["met"] for v in cases["memory_of_all[ranks=2]"]["verdicts"]]),
              ("passed", ["met", "met", "not judged" if sanitized else "met"]), "budgets of a rank, of all, and with children")
    tap.equal([cases[f"fixture_of_{name}"]["outcome"] for name in ("each[ranks=1]", "each[ranks=2]", "each[ranks=3]", "run[ranks=2]")],
              ["passed"] * 4, "each rank has a fixture of its own, or all have that of the run")
    tap.check("part[count=600]" not in cases, "one that each rank makes is no case of the run", cases.keys())
    waits = [of("measures[ranks=2]", f"work wait of rank {i}")[0] for i in range(2)]
    skew = of("measures[ranks=2]", "work skew")[0]
    tap.check(waits[0] > waits[1] and skew >= max(waits) * (1 - 1e-9), "the rank that waits for the slowest is known",
              (waits, skew))


# case: first failure's message (the whole of it is matched), more that stands in some failure or its stack
BAD = {
    "checks[ranks=3]": (r"rank 1: !is\(t, 1\): this one is wrong", ()),
    "leaves[ranks=3]": (r"rank 1: !is\(t, 1\): this one goes.*", ()),
    "returns_early[ranks=3]": (r"ranks 0, 2: yp_barrier: ranks: rank 1 of 3 has left.*barrier.*", ()),
    "crashes[ranks=3]": (r"rank 2: crashed in the body: SIGSEGV \(Segmentation fault\).*", ("bad_crashes",)),
    "is_killed[ranks=3]": (r"rank 0: killed in the body: SIGKILL \(Killed\).*", ()),
    "exits_0[ranks=3]": (r"rank 1: the process exited with status 0 in the body.*", ()),
    "exits_3[ranks=3]": (r"rank 1: the process exited with status 3 in the body.*", ()),
    "hangs[ranks=3]": (r"timeout: still running after 2 s: ranks 0, 2 in barrier \(call 1\) in the body, "
                       r"rank 1 in the body", ("rank 1:\nat __libc_pause", "bad_hangs")),
    "hangs_in_destructor[ranks=2]": (r"timeout: still running after 2 s: rank 1 at the end; rank 0 over", ("at_exit",)),
    "leaks[ranks=2]": (r"rank 1: leaked 4.0 KiB of accounted memory in 1 allocation.*", ()),
    "memory_of_one[ranks=2]": (r"budget host memory: at most 512.0 KiB accounted at once: 1.0 MiB, 100 % above the limit",
                               ()),
    "memory_of_all_together[ranks=2]": (r"budget peak of all ranks at most 1.0 MiB: 1.0 MiB, 0.391 % above the limit", ()),
    "exchanges_alone": (r"yp_measure 'sum': .bounds\[0\]: only ranks exchange data, and this test does not declare .ranks",
                        ()),
    "exchanges_as_traffic[ranks=2]": (r"ranks 0, 1: yp_measure 'sum': .bounds\[0\]: all-reduce is a ceiling of ranks: "
                                      r"yp_exchange\(\) declares that", ()),
    "writes_nan[ranks=3]": (r"budget loss at most 1: .*", ()),
    "finds_nan[ranks=3]": (r"(?s)rank 1: 'sums': 1 of 4 elements off, 1 of them NaN or infinite: .*",
                           ("rank 1: isfinite(got[2]): its sum is no number",)),
    "waits_alone[ranks=3]": (r"rank 1: yp_barrier: ranks: rank \d of 3 has left.*", ()),
    "skips[ranks=2]": (r"rank 0: yp_barrier: .*", ("rank 1 skipped, and the others did not: not here",)),
    "leaves_process[ranks=2]": (r"rank 1: left 1 process running: usage-ranks \(pid \d+\)", ()),
    "writes_much[ranks=2]": (r"the ranks wrote more than 100000 bytes of output \(--output-limit\): .*", ()),
}

BAD.update({
    "fixture_fails[ranks=3]": (r"rank 1: fixture 'ranks.c::wrong' failed: !is\(t, 1\): this one is wrong.*", ()),
    "fixture_leaks[ranks=2]": (r"rank 1: fixture 'ranks.c::careless' failed: it left 64 bytes of accounted memory behind.*", ()),
    "fixture_is_written[ranks=2]": (r"rank 1: crashed in the body: SIGSEGV.*", ("bad_fixture_is_written",)),
})
# A failed fixture is an error, as a failed setup is.
ERRORS = ("fixture_fails[ranks=3]", "fixture_leaks[ranks=2]")

# A sanitizer ends the process itself, and finds the leak first.
SANITIZED = {
    "crashes[ranks=3]": r"rank 2: crashed in the body: SIGABRT \(Aborted\).*",
    "fixture_is_written[ranks=2]": r"rank 1: crashed in the body: SIGABRT \(Aborted\).*",
    "leaks[ranks=2]": r"rank 1: LeakSanitizer found leaked memory.*",
}


def check_bad(tap, cases, sanitized):
    for name, (first, more) in BAD.items():
        first = SANITIZED.get(name, first) if sanitized else first
        case = cases.get(name, {"outcome": None, "failures": []})
        text = "\n".join(f"{f['message']}\n{f['stack'] or ''}" for f in case["failures"])
        text = re.sub(r"^ +", "", text, flags=re.M)
        outcome = "error" if name in ERRORS else "failed"
        tap.check(case["outcome"] == outcome and re.fullmatch(first, case["failures"][0]["message"]),
                  f"{name}: the rank is named", text)
        if not sanitized:
            tap.check(all(m in text for m in more), f"{name}: and what it did", text)
        tap.check(case["duration"] < 5, f"{name}: within its time", case["duration"])
    tap.check("'loss' is another in each rank, and rank 1's is judged: " in (cases["writes_nan[ranks=3]"]["note"] or ""),
              "the rank whose value is judged is named", cases["writes_nan[ranks=3]"]["note"])


def check_exchanges(tap, program):
    """The ceiling of an exchange is probed by all ranks; one rank has nothing to exchange."""
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        run(program, "--history", history, "--speed=record", "-k", "exchanges and not alone and not traffic")
        cases = {key.split("::", 1)[1]: value for key, value in results(history).items()}
        bounds = rows(history, "SELECT case_id, bound.* FROM bound JOIN result ON result.id = result_id")
        of = {b["case_id"].split("::", 1)[1]: b for b in bounds}
        tap.equal(sorted(of), ["exchanges[ranks=2]", "exchanges_nothing[ranks=2]"], "one rank has no ceiling of an exchange")
        for name, b in of.items():
            tap.check((b["ceiling"], b["level"], b["threads"], b["work"], b["footprint"]) ==
                      ("all-reduce", "bus", 2, 1 << 20, 1 << 20) and b["probes"] >= 2 and
                      1e6 < b["low"] <= b["rate"] <= b["high"] < 1e12, f"{name}: the bus bandwidth is probed", b)
        shares = {r["case_id"].split("::", 1)[1]: r["share"] for r in
                  rows(history, "SELECT case_id, share FROM measurement JOIN result ON result.id = result_id")}
        tap.check(shares["exchanges[ranks=1]"] is None and 0 < shares["exchanges[ranks=2]"] < 0.5 and
                  shares["exchanges_nothing[ranks=2]"] > 100, "shares", shares)
        tap.equal([cases[f"exchanges[ranks={n}]"]["verdicts"][0]["met"] for n in (1, 2)], ["not judged", "recorded"],
                  "one rank has no share to judge")
        tap.check("of the ceiling of all-reduce at least, more than there is" in
                  (cases["exchanges_nothing[ranks=2]"]["note"] or ""), "more than there is: a note", cases)
        done = run(program, "--history", history, "--confirm=0", "-v", "-k", "exchanges_nothing")
        crowded = len(os.sched_getaffinity(0)) < 2
        tap.check(crowded or done.code == 1 and "more than there is: the declared work was not done" in done.out,
                  "a share far above 1 fails, on a busy machine too", done)
        shown = run(program, "--history", history, "--speed=record", "-v", "-k", "exchanges and not nothing and ranks=2")
        tap.check(re.search(r"sum [\d.]+ ms \+-\S+ %, bus [\d.]+ MB/s, [\d.e-]+ of all-reduce bus", shown.out),
                  "the headline has the bus bandwidth, and what bounds it", shown)


def check_scaling(tap, program):
    """Strong and weak scaling over ranks, of times that the cases say."""
    if len(os.sched_getaffinity(0)) < 2:
        tap.skip("scaling is judged", "one processor")
        return
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        done = run(program, "--history", history, "--confirm=1", "-k",
                   "strong or weak or falls or constant or grows")
        cases = {key.split("::", 1)[1]: value for key, value in results(history).items()}
        tap.equal([cases[name]["outcome"] for name in ("strong", "weak", "not_strong", "not_weak")],
                  ["passed", "passed", "failed", "failed"], "what scales passes, and what does not fails")
        for name in ("not_strong", "not_weak"):
            tap.equal([f["message"] for f in cases[name]["failures"]],
                      ["budget efficiency at least 0.9: 0.5, 44.4 % below the limit; 1 of 1 fresh rounds say so too"],
                      f"{name} says how far it is")
        tap.equal(done.code, 1, "the run fails")


def ranks_of(started):
    """The processes of ranks and those beside them, by the parent."""
    return [pid for pid, name in started.living("YIELDPOINT_RANKS=") if name.startswith("usage-ranks")]


def parent(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def check_killed(tap, program, launcher):
    """Somebody kills one of the processes that make up a case."""
    def beside(started):
        return [pid for pid in ranks_of(started) if parent(pid) not in ranks_of(started)]

    def launchers(started):
        return [pid for pid, name in started.living("YIELDPOINT_RANKS=") if name.startswith(("mpirun", "orterun", "mpiexec"))]

    for what, find, message in (
            ("a rank", lambda s: [p for p in ranks_of(s) if p not in beside(s)], r"rank \d: killed .*SIGKILL"),
            ("the process beside a rank", beside, r"ranks? [\d, ]+: killed from outside \(SIGKILL\)|"
             r"mpiexec\S* ended with status 9 before the ranks were over"),
            ("the launcher", launchers, r".* was killed by SIGKILL before the ranks were over|rank.*killed")):
        with tempfile.TemporaryDirectory() as folder:
            history = os.path.join(folder, "history.db")
            started = Started(program, "--history", history, "--launcher", launcher, "ranks.c::stays", "-k", "stays")
            try:
                wait_until(lambda s=started: len(ranks_of(s)) == 6, what="three ranks")
                time.sleep(0.3)
                os.kill(find(started)[0], signal.SIGKILL)
                began = time.monotonic()
                done = started.wait(30)
                case = results(history).get("ranks.c::stays[ranks=3]", {"failures": [{"message": "nothing"}]})
                tap.check(done.code == 1 and re.match(message, case["failures"][0]["message"]), f"{what} is killed: told",
                          f"{case}\n{done}")
                tap.check(time.monotonic() - began < 10, "soon", time.monotonic() - began)
                tap.equal(gone(started), [], "nothing is left")
            finally:
                started.end()


def check_runner(tap, program, launcher):
    for name, number in (("interrupted", signal.SIGINT), ("killed", signal.SIGKILL)):
        with tempfile.TemporaryDirectory() as folder:
            history = os.path.join(folder, "history.db")
            started = Started(program, "--history", history, "--launcher", launcher, "-k", "stays")
            try:
                wait_until(lambda s=started: len(ranks_of(s)) == 6, what="three ranks")
                time.sleep(0.2)
                os.kill(started.process.pid, number)
                done = started.wait(30)
                tap.equal(done.code, 2 if number == signal.SIGINT else -9, f"the runner is {name}")
                tap.equal(gone(started), [], "nothing of the ranks is left")
                run(program, "--history", history, "-q", "-k", "sums and ranks=1")
                tap.equal([n for n in os.listdir(folder) if n.startswith("run-")], [], "no file after the next run")
                tap.equal(len(results(history)), 1, "the history is whole")
            finally:
                started.end()


# Two NUMA nodes of a core each, as hwloc then tells.
TWO_NODES = {"HWLOC_SYNTHETIC": "package:2 numa:1 core:1 pu:1"}


def check_placement(tap, program, launcher):
    """Where each rank is, as a value, and as its test wants it: met, impossible here, or not done."""
    def of(values, case, name):
        return [[v["value"] for v in values if v["case_id"] == f"ranks.c::{case}" and v["name"] == f"{name} of rank {i}"]
                for i in range(2)]

    cpus = sorted(os.sched_getaffinity(0))
    if cpus[:2] != [0, 1]:
        tap.skip("placement", "processors 0 and 1 are not this process's")
        return
    run_it = ("--launcher", launcher, "--cpus=0,1")
    cases, values, done, _ = stored(program, *run_it, "-v", "-k", "placed", env=TWO_NODES)
    got = {name: (case["outcome"], case["reason"]) for name, case in cases.items()}
    tap.equal(got, {"placed_cores[ranks=2]": ("passed", None), "placed_numa[ranks=2]": ("passed", None),
                    "placed_in_one[ranks=2]": ("passed", None),
                    "placed_nodes[ranks=2]": ("skipped", "placement 'spread:node': 2 ranks are to have a node each, and there is 1")},
              f"{launcher}: a placement is met, or the case is skipped")
    for name, unit in (("cores", "core"), ("numa", "NUMA node"), ("numa", "package"), ("cores", "processor")):
        tap.equal(of(values, f"placed_{name}[ranks=2]", unit), [[0], [1]], f"each rank is on a {unit} of its own, which is stored")
    tap.equal(of(values, "placed_in_one[ranks=2]", "NUMA node"), [[0], [0]], "both are on one NUMA node")
    tap.equal(of(values, "placed_cores[ranks=2]", "node") + of(values, "placed_cores[ranks=2]", "processors"),
              [[0], [0], [1], [1]], "nodes and numbers of processors are stored")
    tap.check("    rank 1     processor 1, core 1, NUMA node 1, package 1, node 0\n" in done.out, "-v shows it", done)
    cases, _, _, _ = stored(program, *run_it, "-k", "placed_numa", env={"HWLOC_SYNTHETIC": "numa:1 core:2 pu:1"})
    tap.equal(cases["placed_numa[ranks=2]"]["reason"],
              "placement 'spread:numa spread:core': 2 ranks are to have a NUMA node each, and there is 1 NUMA node",
              "a machine of one NUMA node skips it")
    cases, _, _, _ = stored(program, *run_it, "-k", "placed_cores", "--bind=none")
    tap.equal(cases["placed_cores[ranks=2]"]["reason"], "placement 'spread:core': --bind none leaves the ranks where they are",
              "--bind none skips it")
    policy = {"OMPI_MCA_hwloc_base_binding_policy": "core", "HYDRA_BINDING": "core"}
    cases, values, _, _ = stored(program, *run_it, "-k", "placed_cores", env=policy)
    tap.equal((cases["placed_cores[ranks=2]"]["outcome"], sorted(of(values, "placed_cores[ranks=2]", "processor"))),
              ("passed", [[0], [1]]), "what the user has the launcher bind is left there")
    with tempfile.TemporaryDirectory() as folder:
        one = fake(folder, "one", f'exec taskset -c 1 {launcher} "$@"')
        cases, _, _, _ = stored(program, "--launcher", one, "--cpus=0,1", "-k", "placed_cores")
        case = cases["placed_cores[ranks=2]"]
        tap.check(case["outcome"] == "failed" and re.fullmatch(
            r"ranks 0, 1: placement 'spread:core' is not met: ranks 0 and 1 may both use core 1 of \S+",
            case["failures"][0]["message"]) and len(case["failures"]) == 1, "a launcher that does otherwise is told", case)


def check_elsewhere(tap, program, launcher):
    """Ranks on another machine have what they make themselves, and are told what they cannot have."""
    if shutil.which("unshare") is None or os.system("unshare -u true 2>/dev/null") != 0:
        tap.skip("ranks of another machine", "unshare cannot give a process another name of the machine")
        return
    with tempfile.TemporaryDirectory() as folder:
        away = fake(folder, "away", f'n=$2; shift 2; exec {launcher} -n $n unshare -u sh -c \'hostname elsewhere; exec "$@"\' sh "$@"')
        cases, _, _, _ = stored(program, "--launcher", away, "-k", "fixture_of and ranks=2")
        tap.equal(cases["fixture_of_each[ranks=2]"]["outcome"], "passed", "on another machine each rank makes its fixture")
        case = cases["fixture_of_run[ranks=2]"]
        tap.check(case["outcome"] == "failed" and re.fullmatch(
            r"ranks 0, 1: fixture 'whole' is in the memory of \S+, and this rank is on elsewhere: with \.each_rank each rank makes one",
            case["failures"][0]["message"]), "and that of the run is not there", case)


def check_refused(tap, program, sanitized):
    """Each request of each rank is refused in turn: the other ranks do not wait for ever, and the rank is named."""
    _, values, done, _ = stored(program, "--fail-allocation=each", "-k", "refused")
    crash = "SIGABRT" if sanitized else "SIGSEGV"
    sound = [v["value"] for name in ("allocations refused", "ended with a failure") for v in values
             if v["case_id"] == "ranks.c::refused_sound[ranks=3]" and v["name"] == name]
    tap.check(sound == [7, 7] and "3 failed, 1 passed" in done.out, "--fail-allocation=each refuses each request of each rank", done)
    for name, messages in (
            ("crashes", ["3 refused (--fail-allocation=3: request 2 of rank 0): rank 0: crashed in the body: " + crash,
                         "4 refused (--fail-allocation=4: request 2 of rank 1): rank 1: crashed in the body: " + crash]),
            ("loses", ["3 refused (--fail-allocation=3: request 2 of rank 0): rank 0: leaked 64 B of accounted memory",
                       "4 refused (--fail-allocation=4: request 2 of rank 1): rank 1: leaked 64 B of accounted memory"]),
            ("goes_silently", ["1 refused (--fail-allocation=1: request 1 of rank 0): rank 1: yp_barrier: ranks: rank 0 of 2 has left",
                               "2 refused (--fail-allocation=2: request 1 of rank 1): rank 0: yp_barrier: ranks: rank 1 of 2 has left"])):
        section = done.out.split(f"_ ranks.c::refused_{name}[ranks=2] _", 1)[-1].split("reproduce:")[0]
        found = re.findall(r"^  with allocation (.*)$", section, re.M)
        tap.check(len(found) == len(messages) and all(f.startswith(m) for m, f in zip(messages, found)),
                  f"{name}: the rank and its request are named", section)
    cases, _, _, _ = stored(program, "--fail-allocation=4", "-k", "refused_crashes")
    tap.check(cases["refused_crashes[ranks=2]"]["failures"][0]["message"].startswith("rank 1: crashed in the body"),
              "--fail-allocation=4 refuses the same again", cases)


def check_mpi(tap, program, launcher):
    """The same over the engine of MPI, with the MPI that the program is linked to."""
    cases, values, _, _ = stored(program, "--launcher", launcher)
    exchanges = {name: case["outcome"] for name, case in cases.items() if name.startswith("mpi_exchanges")}
    tap.equal(exchanges, {f"mpi_exchanges[bytes={n}-ranks=2]": "passed" for n in (8, 65536, 1 << 20)},
              "what MPI itself exchanges has a ceiling")
    sums = [v["value"] for n in (1, 2, 3) for v in values
            if v["case_id"] == f"ranks_mpi.c::mpi_sums[ranks={n}]" and v["name"] == "sum"]
    tap.equal(sums, [1, 3, 6], "a body has the communicator of its ranks")
    for name, message in (
            ("mpi_leaves[ranks=3]", r"rank 1: .*: this one goes; then: ranks 0, 2 in the body; rank 1 over"),
            ("mpi_returns_early[ranks=3]",
             r"timeout: still running after 2 s: ranks 0, 2 in the body, rank 1 leaving the ranks"),
            ("mpi_returns_before_barrier[ranks=3]", r"ranks? 0(, 2)?: yp_barrier: ranks: rank 1 of 3 has left.*"),
            ("mpi_is_killed[ranks=3]", r"rank 0: killed in the body: .*; then: ranks 1, 2 in the body; rank 0 over"),
            ("mpi_exits_0[ranks=3]",
             r"rank 1: the process exited with status 0 in the body; then: ranks 0, 2 in the body; rank 1 over"),
            ("mpi_aborts[ranks=3]",
             r"rank 1: the process exited with status 7 in the body; then: ranks 0, 2 in the body; rank 1 over"),
            ("mpi_errs[ranks=3]", r"rank 1: the process exited with status 1 in the body.*"),
            ("mpi_waits_alone[ranks=3]",
             r"timeout: still running after 2 s: ranks 0, 2 leaving the ranks, rank 1 in the body"),
            ("mpi_waits_in_barrier[ranks=3]", r"rank 1: yp_barrier: ranks: rank \d of 3 has left.*"),
            ("mpi_leaks[ranks=3]", r"rank 1: leaked 4.0 KiB of accounted memory in 1 allocation.*"),
            ("mpi_finds_nan[ranks=3]", r"(?s)rank 1: 'sums': 1 of 4 elements off, 1 of them NaN or infinite: .*")):
        case = cases[name]
        tap.check(case["outcome"] == "failed" and re.fullmatch(message, case["failures"][0]["message"]),
                  f"{launcher}: {name}: told", case["failures"])
        tap.check(case["duration"] < 6, f"{name}: within its time", case["duration"])
    tap.check("'loss' is another in each rank, and rank 1's is judged: nan" in (cases["mpi_finds_nan[ranks=3]"]["note"] or ""),
              "a value that is no number is judged, and its rank named", cases["mpi_finds_nan[ranks=3]"]["note"])
    tap.check("an operation of MPI failed: " in cases["mpi_errs[ranks=3]"]["tail"], "MPI's own words are in the output",
              cases["mpi_errs[ranks=3]"]["tail"])
    tap.check("MPI_Abort was called with the error code 7" in cases["mpi_aborts[ranks=3]"]["tail"],
              "what MPI_Abort was called with is in the output", cases["mpi_aborts[ranks=3]"]["tail"])
    tap.check("MPI_Barrier" in (cases["mpi_returns_early[ranks=3]"]["failures"][0]["stack"] or ""),
              "the stack has the operation of MPI", cases["mpi_returns_early[ranks=3]"]["failures"])


def check_page(tap, example, page):
    """The page's commands, with the example in the place of `ranks`."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    commands = [shlex.split(line)[1:] for line in re.findall(r"^ranks -.*$", text, re.M)]
    tap.equal(len(commands), 4, "the page has commands")
    printed = ""
    with tempfile.TemporaryDirectory() as folder:
        for words in commands:
            done = run(example, "--history", os.path.join(folder, "history.db"), *words)
            tap.equal(done.code, 0, f"{page}: {' '.join(words)}")
            printed += done.out
    shown = re.search(r"```text\n(.*?)```", text, re.S).group(1)
    tap.check(shown in printed, "it shows what is printed", printed)


def left_empty(before):
    """Directories of runs that are empty; those of other runs on this machine come and go."""
    found = []
    for name in set(os.listdir("/dev/shm")) - before:
        try:
            if name.startswith("yieldpoint-") and not os.listdir(f"/dev/shm/{name}"):
                found.append(name)
        except FileNotFoundError:
            pass
    return found


def main(program, example, page, *more):
    tap = Tap()
    sanitized = "sanitized" in more
    mpi = [path for path in more if path != "sanitized"]
    check_list(tap, program)
    check_without_launcher(tap, program)
    check_options(tap, program, sanitized)
    check_wrong_launcher(tap, program)
    check_unannounced(tap, program)
    launchers = [path for path in map(shutil.which, ("mpirun.openmpi", "mpirun.mpich")) if path]
    launchers = launchers or [path for path in [shutil.which("mpirun")] if path]
    for launcher in launchers:
        before = set(os.listdir("/dev/shm"))
        cases, values, _, left = stored(program, "--launcher", launcher, "--output-limit=100000", "-k", "not stays and not refused and not placed")
        tap.equal(left, [], "no file is left")
        check_good(tap, cases, values, sanitized)
        check_bad(tap, cases, sanitized)
        check_placement(tap, program, launcher)
        check_killed(tap, program, launcher)
        check_runner(tap, program, launcher)
        end = time.monotonic() + 5
        while left_empty(before) and time.monotonic() < end:
            time.sleep(0.05)
        tap.equal(left_empty(before), [], "no directory is left")
    if launchers:
        check_refused(tap, program, sanitized)
        check_exchanges(tap, program)
        check_scaling(tap, program)
        check_elsewhere(tap, program, launchers[0])
        check_page(tap, example, page)
    else:
        tap.skip("cases of several ranks run", "no mpirun in PATH (Debian packages openmpi-bin, mpich)")
    for built in mpi or [None]:
        own = "mpirun.mpich" if built is not None and built.endswith("mpich") else "mpirun.openmpi"
        launcher = shutil.which(own) or (shutil.which("mpirun") if len(mpi) == 1 else None)
        if built is not None and launcher is not None:
            check_mpi(tap, built, launcher)
        else:
            tap.skip("bodies with MPI", "this build has no MPI" if built is None else f"no {own} in PATH")
    tap.done()


main(*sys.argv[1:])
