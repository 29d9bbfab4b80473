"""yieldpoint launch on two nodes of a Slurm cluster that this test starts and ends.

    launch.py YIELDPOINT LAUNCHED PAGE"""

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import slurm  # noqa: E402
from place import HOLDS, Place  # noqa: E402
from program import run  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, INTERRUPTED, LOST, USAGE, UNSELECTED = range(6)
ALL = sorted([*HOLDS, "launched.c::fails", "launched.c::counts[of=1]", "launched.c::counts[of=2]",
              "launched.c::counts_twice"])


def complete(tap, place, name, ids=tuple(ALL)):
    found = place.results()
    tap.equal(sorted(found), sorted(ids), f"{name}: the history has each case")
    tap.equal({i: r for i, r in found.items() if len(r) != 1}, {}, f"{name}: none twice")


def array(tap, place):
    done = place.launch("--slurm", "--nodes=2", "--shards", "3", "--keep", place.suite)
    tap.check(done.code == FAILED and "FAILED launched.c::fails - as it should\n" in done.out and
              re.search(r"^=+ 1 failed, 11 passed in [\d.]+s =+$", done.out, re.M), "a job array: the end is that of a run", done)
    complete(tap, place, "a job array")
    tap.equal(set(place.begun().values()), {1}, "a job array: each case was run once")
    folder = os.path.join(place.folder, ".yieldpoint", place.kept()[0])
    hosts = {re.search(r"on (n\d)", open(os.path.join(folder, f"shard-{i}.log")).read())[1] for i in range(3)}
    tap.equal(hosts, {"n1", "n2"}, "a job array: on both nodes")
    again = run(place.command, "history", "import", *(os.path.join(folder, f"shard-{i}.0.db") for i in range(3)),
                cwd=place.folder, env=place.environment)
    tap.check(again.code == OK and again.out.count("0 results new") == 3, "a job array: merged again, nothing is new", again)
    complete(tap, place, "merged again")
    last = run(place.command, "show", "launched.c::fails", cwd=place.folder, env=place.environment)
    tap.check(last.code == OK and "as it should" in last.out, "and show knows the failure", last)
    few = place.launch("--nodes=2", place.suite, "-k", "holds", "--speed=off", "launched.c")
    tap.check(few.code == OK and " 8 passed in " in few.out and len(place.kept()) == 1,
              "the suite's own options and files select; a green launch leaves no folder", few)
    none = place.launch("--nodes=2", place.suite, "-k", "nothing_has_this_name")
    tap.check(none.code == UNSELECTED and "no case selected" in none.err, "no case is selected", none)


def requeued(tap, place):
    place.hold(3)
    place.start("--nodes=2", place.suite)
    place.wait_begun(3)
    job = f"{place.job_number()}_{place.shard_of(3)}"
    before = place.begun()
    place.cluster.run("scontrol", "requeue", job)
    slurm.until(lambda: "PENDING" in place.cluster.run("squeue", "-h", "-r", "-j", job, "-o", "%T"), 30, "it is queued again")
    place.release()
    done = place.end()
    tap.check(done.code == FAILED and " 1 failed, 11 passed in " in done.out and "goes on where it stopped" in done.err,
              "a requeued job: goes on", done)
    complete(tap, place, "a requeued job")
    twice = {n for n, times in place.begun().items() if times > 1}
    tap.check(twice == {3} and before[3] == 1, "a requeued job: what had a result was not run again", place.begun())


def relation_requeued(tap, place):
    """Stopped between the cases that a relation reads: both are run again beside it."""
    place.hold(22)
    place.start("--nodes=1", place.suite, "-k", "counts")
    place.wait_begun(22)
    job = f"{place.job_number()}_0"
    place.cluster.run("scontrol", "requeue", job)
    slurm.until(lambda: "PENDING" in place.cluster.run("squeue", "-h", "-r", "-j", job, "-o", "%T"), 30, "it is queued again")
    place.release()
    done = place.end()
    tap.check(done.code == OK and " 3 passed in " in done.out, "a requeued relation: is judged", done)
    complete(tap, place, "a requeued relation", [i for i in ALL if "counts" in i])


def cancelled(tap, place):
    place.hold(5)
    place.start("--nodes=2", place.suite)
    place.wait_begun(5)
    shard = place.shard_of(5)
    place.cluster.run("scancel", f"{place.job_number()}_{shard}")
    done = place.end()
    lost = re.search(rf"^LOST shard {shard + 1} of 2 \(job {place.job_number()}_{shard}, node n\d\) was cancelled: (\d+) of (\d+) "
                     r"cases not run; see (.*)$", done.out, re.M)
    tap.check(done.code == LOST and lost is not None and os.path.exists(lost[3]), "a cancelled job: said by name", done)
    missing = set(re.findall(r"^NOT RUN (\S+) - shard", done.out, re.M))
    tap.check(HOLDS[4] in missing and lost is not None and len(missing) == int(lost[1]), "a cancelled job: so are its cases", done)
    complete(tap, place, "a cancelled job", set(ALL) - missing)


def drained(tap, place):
    place.hold(1, 2, 3, 4, 5, 6, 7, 8)
    place.start("--nodes=2", "--shards=4", place.suite)
    slurm.until(lambda: sum(place.begun().values()) >= 2, 60, "both nodes work")
    place.cluster.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=tried")
    place.release()
    done = place.end()
    state = place.cluster.run("sinfo", "-h", "-N", "-n", "n2", "-o", "%T").strip()
    place.cluster.run("scontrol", "update", "NodeName=n2", "State=RESUME")
    tap.check(done.code == FAILED and " 1 failed, 11 passed in " in done.out and state == "drained", "a drained node: nothing is lost",
              f"{state}\n{done}")
    complete(tap, place, "a drained node")
    tap.equal(set(place.begun().values()), {1}, "a drained node: each case was run once")


def lost_node(tap, place):
    """Nobody tells the shard's process that the queue has given its node up: it goes on beside the one that takes its
    place."""
    place.hold(7)
    place.start("--nodes=2", place.suite, "--speed=off")  # else they would wait for one lock: it is one machine
    place.wait_begun(7)
    shard = place.shard_of(7)
    node = "n" + place.node_of(shard)
    own = place.cluster.run("squeue", "-h", "-r", "-j", f"{place.job_number()}_{shard}", "-o", "%A").strip()
    place.cluster.kill(node)
    for pid, words in place.cluster.left():
        if words.startswith(f"slurmstepd: [{own}."):
            os.kill(pid, signal.SIGKILL)
    place.cluster.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=tried")
    slurm.until(lambda: "was requeued" in place.said(), 30, "the launch sees it")
    place.wait_begun(7, times=2)
    place.release()
    done = place.end()
    place.cluster.start_node(node)
    tap.check(done.code == FAILED and " 1 failed, 11 passed in " in done.out, "a lost node: another takes its shard", done)
    complete(tap, place, "a lost node")


def held(tap, place):
    """A node that cannot start a job has Slurm hold it until somebody releases it."""
    folder, nodes = place.cluster.folder, place.cluster.nodes

    def move(source, target):
        for node in nodes:
            os.rename(os.path.join(folder, f"{source}.{node}"), os.path.join(folder, f"{target}.{node}"))

    move("spool", "away")
    try:
        place.start("--nodes=2", place.suite)
        slurm.until(lambda: place.said().count("was not started by its node: it is started again") >= 2, 30, "both are held")
    finally:
        move("away", "spool")
    done = place.end()
    tap.check(done.code == FAILED and " 1 failed, 11 passed in " in done.out, "a job that a node cannot start: is started again", done)
    complete(tap, place, "a job that a node cannot start")


def interrupted(tap, place):
    place.hold(1, 2, 3, 4, 5, 6, 7, 8)
    place.start("--nodes=2", place.suite, "-k", "holds or fails")
    slurm.until(lambda: sum(n <= 8 for n in place.begun()) >= 2, 60, "both nodes work")
    place.process.send_signal(signal.SIGINT)
    done = place.end()
    tap.check(done.code == INTERRUPTED and "cancelling job" in done.err and "interrupted in " in done.out,
              "Ctrl-C: cancels and says so", done)
    left = place.cluster.run("squeue", "-h", "-j", place.job_number())
    slurm.until(lambda: not place.cluster.left(), 10, "no process is left")
    tap.equal(left, "", "Ctrl-C: leaves no job")
    counts = re.search(r"(\d+) not run", done.out)
    tap.equal(len(place.results()), 9 - int(counts[1] if counts else 0), "Ctrl-C: what was done is in the history")
    tap.check(not [r for r in place.results().values() if r not in (["passed"], ["failed"])] and HOLDS[0] not in place.results(),
              "Ctrl-C: a case that it ended has no result", place.results())


def killed(tap, place):
    """The command dies and its jobs go on; another command takes its place, now and once more when all is over."""
    place.hold(5)
    place.start("--nodes=2", "--keep", place.suite)
    place.wait_begun(5)
    job = place.job_number()
    folder = os.path.join(place.folder, ".yieldpoint", place.kept()[0])
    second = run(place.command, "launch", "--attach", job, cwd=place.folder, env=place.environment)
    tap.check(second.code == LOST and "another command waits for this launch already" in second.err,
              "attach: not beside the launch itself", second)
    place.process.kill()
    place.process.wait()
    place.start("--attach", job)
    slurm.until(place.job_number, 30, "the other command has found the job")
    place.release()
    done = place.end()
    tap.check(done.code == FAILED and " 1 failed, 11 passed in " in done.out and f"job {job}: 12 cases in 2 shards" in done.err,
              "attach: a launch that was killed comes to its end", done)
    complete(tap, place, "attach")
    tap.equal(set(place.begun().values()), {1}, "attach: each case was run once")
    again = place.launch("--attach", folder)
    tap.check(again.code == FAILED and " 1 failed, 11 passed in " in again.out, "attach: once more, with the same end", again)
    complete(tap, place, "attach, once more")
    shutil.rmtree(folder)
    for word in (folder, job):
        gone = place.launch("--attach", word)
        tap.check(gone.code == LOST and f"--attach {word}: there is no " in gone.err, "attach: a folder that is gone", gone)
    usage = place.launch("--attach", job, "--nodes=2", place.suite)
    tap.check(usage.code == USAGE and "goes with --history and --keep alone" in usage.err, "attach: with no suite", usage)


def outputs(tap, place):
    """Files that the suite's options ask for have each case once, from wherever the options come, and so has TAP."""
    with open(os.path.join(place.folder, "yieldpoint.ini"), "w", encoding="utf-8") as file:
        file.write("[yieldpoint]\noptions = --junitxml=out/all.xml\n")
    out = os.path.join(place.folder, "out")
    place.hold(3)
    place.start("--nodes=2", "--keep", place.suite, "--csv", "out/all.csv", "--tap", "--json=out/all.json")
    place.wait_begun(3)
    job = f"{place.job_number()}_{place.shard_of(3)}"
    place.cluster.run("scontrol", "requeue", job)
    slurm.until(lambda: "PENDING" in place.cluster.run("squeue", "-h", "-r", "-j", job, "-o", "%T"), 30, "it is queued again")
    place.release()
    done = place.end()
    tap.check(done.code == OK and " 1 failed, 11 passed in " in done.err, "--tap: failures are in its lines, all else is on "
              "standard error", done)
    lines = re.findall(r"^(not ok|ok) \d+ - (\S+)$", done.out, re.M)
    tap.check(done.out.startswith("TAP version 13\n1..12\n") and sorted(lines) ==
              sorted(("not ok" if "fails" in i else "ok", i) for i in ALL) and "\n# as it should\n" in done.out,
              "--tap: each case once", done.out)
    tap.equal(sorted(os.listdir(out)), ["all.csv", "all.json", "all.xml"], "the files are where they were asked for")
    own = os.listdir(os.path.join(place.folder, ".yieldpoint", place.kept()[0]))
    tap.equal({re.sub(r"\d+", "N", name) for name in own if name.endswith((".xml", ".json", ".csv")) and name != "launch.json"},
              {"shard-N.N.xml", "shard-N.N.json", "shard-N.N.csv"}, "and each shard had files of its own")
    root = ElementTree.parse(os.path.join(out, "all.xml")).getroot()
    cases = {p.get("value"): case for case in root.iter("testcase") for p in case.iter("property") if p.get("name") == "id"}
    tap.equal((sorted(cases), len(list(root.iter("testcase"))), root[0].get("tests"), root[0].get("failures")),
              (ALL, 12, "12", "1"), "--junitxml of yieldpoint.ini: each case once")
    tap.equal([(f.get("message"), "as it should" in f.text) for f in root.iter("failure")], [("as it should", True)],
              "--junitxml: the failure")
    with open(os.path.join(out, "all.json"), encoding="utf-8") as file:
        entries = json.load(file)["benchmarks"]
    tap.equal((sorted(e["name"] for e in entries), [e["name"] for e in entries if e.get("error_occurred")]),
              (ALL, ["launched.c::fails"]), "--json: each case once")
    tap.equal({e["name"]: e["n"] for e in entries if "n" in e}, {i: n for n, i in enumerate(HOLDS, 1)}, "--json: with its values")
    rows_of = csv_rows(os.path.join(out, "all.csv"))
    tap.equal(sorted(row["id"] for row in rows_of if row["kind"] == "duration"), ALL, "--csv: each case once")
    again = place.launch("--attach", job.split("_")[0])
    tap.check(again.code == OK and csv_rows(os.path.join(out, "all.csv")) == rows_of, "--csv: another command adds nothing", again)


def csv_rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def outputs_of_lost(tap, place):
    """A case that was not run is in the files."""
    place.hold(5)
    place.start("--nodes=2", place.suite, "--junitxml=lost.xml")
    place.wait_begun(5)
    place.cluster.run("scancel", f"{place.job_number()}_{place.shard_of(5)}")
    done = place.end()
    root = ElementTree.parse(os.path.join(place.folder, "lost.xml")).getroot()
    missing = {case.get("name") for case in root.iter("testcase") for e in case.iter("error") if "not run: shard" in e.get("message")}
    tap.check(done.code == LOST and missing == {i.split("::")[1] for i in re.findall(r"^NOT RUN (\S+) - shard", done.out, re.M)} and
              len(list(root.iter("testcase"))) == 12, "--junitxml: a case that was not run is an error", missing)


def wrong(tap, place):
    refused = place.launch("--partition=nowhere", place.suite)
    tap.check(refused.code == LOST and "invalid partition" in refused.err and not os.path.isdir(place.history) and
              place.kept() == [], "a partition that is not there: Slurm's reason, nothing is left", refused)
    copy = os.path.join(place.folder, "suite")
    shutil.copy(place.suite, copy)
    place.cluster.run("scontrol", "update", "NodeName=n1,n2", "State=DRAIN", "Reason=tried")
    place.start("--nodes=2", copy)
    slurm.until(place.job_number, 30, "it is submitted")
    os.unlink(copy)
    place.cluster.run("scontrol", "update", "NodeName=n1,n2", "State=RESUME")
    done = place.end()
    tap.check(done.code == LOST and done.out.count("ended with 127 (FAILED)") == 2 and "12 not run in" in done.out and
              "not found" in done.out, "a suite that does not start: the end of what the job printed", done)
    shutil.copy(place.suite, copy)
    place.hold(*range(1, 9))
    place.start("--nodes=1", "--shards=2", copy, "-k", "holds")
    slurm.until(lambda: sum(place.begun().values()) == 1, 60, "the first shard works")
    with open(copy + ".new", "wb") as file, open(place.suite, "rb") as given:
        file.write(given.read() + b"another build")
    os.chmod(copy + ".new", 0o755)
    os.rename(copy + ".new", copy)
    place.release()
    done = place.end()
    tap.check(done.code == LOST and " 4 passed, 4 not run in" in done.out and
              "the suite was built anew since the launch: not run" in done.out, "a suite that is built anew: no second build runs", done)
    os.unlink(copy)
    usage = place.launch(copy)
    tap.check(usage.code == USAGE and "no suite can be run there" in usage.err, "a suite that is not there", usage)


def documented(tap, place, page):
    """The page's commands, in its order, as they stand."""
    with open(page, encoding="utf-8") as file:
        parts = re.split(r"^```(.*)\n", file.read(), flags=re.M)  # text, kind, block, "", text, ...
    os.makedirs(os.path.join(place.folder, "build"))
    os.makedirs(os.path.join(place.folder, "bin"))
    shutil.copy(place.suite, os.path.join(place.folder, "build", "suite"))
    os.symlink(place.command, os.path.join(place.folder, "bin", "yieldpoint"))
    environment = {**place.environment, "PATH": os.path.join(place.folder, "bin") + ":" + place.environment["PATH"]}
    lines = [line for kind, block in zip(parts[1::4], parts[2::4]) if kind == "" for line in block.splitlines()]
    tap.equal([line for line in lines if not re.match(r"(yieldpoint (launch|history)|build/suite) ", line)], [],
              "docs/cluster.md: its blocks are commands")
    tap.check(len(lines) >= 8, "and there are some", lines)
    for line in lines:
        done = subprocess.run(["sh", "-c", line], cwd=place.folder, env=environment, capture_output=True, text=True, timeout=120)
        wanted = (UNSELECTED,) if "--resume" in line else (OK,) if " import " in line else (OK, FAILED)
        tap.check(done.returncode in wanted, f"docs/cluster.md: {line.split('  ')[0]}", f"{done.returncode}\n{done.stdout}{done.stderr}")


def main(command, suite, page):
    tap = Tap()
    reason = slurm.missing()
    if reason:
        tap.skip("yieldpoint launch on Slurm", reason)
        tap.done()
    began = time.monotonic()
    with slurm.Cluster(nodes=2) as cluster:
        for check in (array, requeued, relation_requeued, cancelled, drained, lost_node, held, interrupted, killed, outputs,
                      outputs_of_lost, wrong, documented):
            with Place(cluster, command, suite) as place:
                tap.run(check.__name__, check, tap, place, *([page] if check is documented else []))
                tap.equal(place.strays(), [], f"{check.__name__}: no output in the working directory")
            slurm.until(lambda: "idle idle" == " ".join(cluster.run("sinfo", "-h", "-N", "-o", "%T").split()), 60, "idle again")
            print(f"# {check.__name__}: {time.monotonic() - began:.0f} s", flush=True)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
