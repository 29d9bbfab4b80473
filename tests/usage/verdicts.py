"""Confirmation by fresh processes, refused allocations, counters, placement: what a user gets."""

import fcntl
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import LOCK, results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

PATH = "verdicts.c::"


def case(program, history, name, *options, env=None):
    done = run(program, "--history", history, PATH + name, *options, env=env)
    return done, rows(history, "SELECT * FROM result ORDER BY started, rowid")


def scripted(tap, program, folder, script, wanted, processes, *options):
    """The first process is the first letter, and so on."""
    history = os.path.join(folder, f"speed-{script}{'-'.join(options)}.db")
    env = {"SCRIPT": script, "PROCESSES": history + ".count"}
    done, stored = case(program, history, "scripted", *options, env=env)
    main = [r for r in stored if r["attempt"] == 0]
    name = f"{script} {' '.join(options)}".strip()
    tap.equal([r["outcome"] for r in main], [wanted], f"{name}: {wanted}")
    tap.equal(os.path.getsize(env["PROCESSES"]), processes, f"{name}: {processes} processes")
    tap.equal(sorted(r["attempt"] for r in stored), list(range(processes)),
              f"{name}: each of them is stored")
    tap.equal(done.code, 1 if wanted == "failed" else 0, f"{name}: exit code")
    verdict = rows(history, "SELECT * FROM verdict WHERE result_id = ?", main[0]["id"])[0]
    return done, verdict


def check_confirmation(tap, program, folder):
    scripted(tap, program, folder, "f", "passed", 1)
    done, verdict = scripted(tap, program, folder, "ssss", "failed", 4)
    tap.check(verdict["met"] == "not met" and (verdict["asked"], verdict["confirmed"]) == (3, 3),
              "the verdict says who was asked", verdict)
    tap.check("3 of 3 fresh processes say so too" in done.out, "and so does the output", done)
    scripted(tap, program, folder, "sf", "noisy", 2)
    scripted(tap, program, folder, "ssf", "noisy", 3)
    scripted(tap, program, folder, "sb", "noisy", 2)
    scripted(tap, program, folder, "bfff", "passed", 4)
    scripted(tap, program, folder, "bsss", "failed", 4)
    scripted(tap, program, folder, "bfb", "noisy", 3)
    scripted(tap, program, folder, "bfs", "noisy", 3)
    scripted(tap, program, folder, "s", "failed", 1, "--confirm=0")
    scripted(tap, program, folder, "ss", "failed", 2, "--confirm=1")
    scripted(tap, program, folder, "sf", "failed", 2, "--noisy=fail")
    scripted(tap, program, folder, "s", "passed", 1, "--speed=record")
    done, _ = scripted(tap, program, folder, "sc", "failed", 2)
    tap.check("in fresh process 1: crashed in the body: SIGABRT" in done.out,
              "a crash of a fresh process is reported", done)
    done, _ = scripted(tap, program, folder, "ssk", "noisy", 3)
    tap.check("could not be decided: a fresh process skipped: nothing to nap on" in done.out,
              "a fresh process that skips is reported", done)
    tap.equal([r["outcome"] for r in rows(os.path.join(folder, "speed-ssk.db"),
                                          "SELECT outcome FROM result WHERE attempt > 0 "
                                          "ORDER BY attempt")],
              ["failed", "skipped"], "and is stored as skipped")
    # The fresh processes come after all other cases, and -x does not lose a verdict.
    history = os.path.join(folder, "order.db")
    env = {"SCRIPT": "ssss", "PROCESSES": history + ".count"}
    done = run(program, "--history", history, "-v", PATH + "scripted", PATH + "sound", env=env)
    lines = [line for line in done.out.splitlines() if line.startswith(PATH)]
    tap.check([line.split()[1] for line in lines] == ["PASSED", "FAILED"], "the others go first",
              done)


def check_allocations(tap, program, folder, sanitized):
    history = os.path.join(folder, "sound.db")
    done, stored = case(program, history, "sound", "--fail-allocation=each")
    tap.equal([r["outcome"] for r in stored if r["attempt"] == 0], ["passed"],
              "a body that looks at what it gets is sound")
    tap.equal(sorted(r["fail_allocation"] for r in stored), [0, 1, 2, 3],
              "once with all, once without each")
    values = {r["name"]: r["value"] for r in rows(
        history, "SELECT v.* FROM value v JOIN result r ON r.id = v.result_id "
                 "WHERE r.attempt = 0")}
    tap.check(values.get("allocations refused") == 3 and values.get("ended with a failure") == 2,
              "two ends are failures that it tells", values)
    done, stored = case(program, os.path.join(folder, "crash.db"), "crashes",
                        "--fail-allocation=each")
    tap.check(done.code == 1 and "with allocation 2 refused (--fail-allocation=2): crashed in the "
              f"body: SIG{'ABRT' if sanitized else 'SEGV'}" in done.out,
              "a crash fails it, with the number to reproduce", done)
    done, stored = case(program, os.path.join(folder, "crash2.db"), "crashes",
                        "--fail-allocation=2")
    tap.check(done.code == 1 and stored[0]["signal"] == (6 if sanitized else 11),
              "which gives the same crash", done)
    done, stored = case(program, os.path.join(folder, "leaks.db"), "leaks",
                        "--fail-allocation=each")
    what = "LeakSanitizer found leaked memory" if sanitized else "it left accounted memory behind"
    tap.check(done.code == 1 and
              f"with allocation 2 refused (--fail-allocation=2): {what}" in done.out,
              "what is left behind fails it", done)
    if sanitized:  # ci/test finds leaks of the suites so
        done, stored = case(program, os.path.join(folder, "here.db"), "leaks", "--fail-allocation=2", "--no-fork")
        tap.check(done.code == 1 and "LeakSanitizer: detected memory leaks" in done.err and
                  "in ypi_body_memory_leaks " in done.err,
                  "without a process of its own it is reported at the end of the run, with the body's name", done)
    done, stored = case(program, os.path.join(folder, "none.db"), "removed",
                        "--fail-allocation=each")
    tap.check(done.code == 0 and len(stored) == 1, "a case without allocations runs once", done)
    done, stored = case(program, os.path.join(folder, "budgets.db"), "shared",
                        "--fail-allocation=each")
    tap.check(done.code == 0, "speed is not judged there", done)
    for wrong in ("0", "-1", "all", ""):
        done = run(program, f"--fail-allocation={wrong}")
        tap.check(done.code == 4 and "a whole number from 1, or each" in done.err,
                  f"--fail-allocation={wrong} is refused", done)


def check_pages(tap, history, outcome):
    tap.equal(outcome.get("soak[leak=0]"), "passed", "memory that is given back is no growth")
    tap.equal(outcome.get("soak[leak=1]"), "failed", "64 KiB an iteration are")
    growth = {r["case_id"]: r["growth_resident"] for r in rows(
        history, "SELECT r.case_id, m.growth_resident FROM measurement m "
                 "JOIN result r ON r.id = m.result_id")}
    leak = growth.get(PATH + "soak[leak=1]") or 0
    tap.check(0.9 < leak / 65536 < 1.2, "by the slope of the resident set", growth)
    tap.equal([outcome.get(f"empty[share={share}]") for share in (0, 1)], ["passed"] * 2,
              "what the framework takes itself counts for no budget")
    tap.equal(outcome.get("mapped[of=memory]"), "failed", "shared memory is the body's own")
    tap.equal(outcome.get("mapped[of=file]"), "passed", "pages of a file are not")
    files = rows(history, "SELECT resident_files AS n FROM result WHERE case_id GLOB '*of=file]'")
    tap.check(files[0]["n"] >= 900 << 10, "and are stored beside it", files)
    tree = {r["case_id"].split("of=")[-1]: r["measured"] / 2**20 for r in rows(
        history, "SELECT r.case_id, v.measured FROM verdict v JOIN result r ON r.id = v.result_id "
                 "WHERE v.kind = 'max resident tree' AND r.attempt = 0")}
    for of, mib, what in (("both", 48, "of processes side by side add up"), ("one", 32, "of one after the other do not"),
                          ("shared", 16, "that processes share counts once"), ("none", 16, "of the case alone is there")):
        tap.equal(outcome.get(f"tree[of={of}]"), "failed" if mib > 40 else "passed", f"memory {what}")
        tap.check(mib - 0.5 < tree.get(of + "]", 0) < mib + 2, "by its bytes", tree)
    tap.equal(outcome.get("faults[pages=10]"), "passed", "page faults within their budget")
    tap.equal(outcome.get("faults[pages=100]"), "failed", "and beyond it")


def check_bounds(tap, program, folder):
    """What a share is of, as it is printed and stored."""
    history = os.path.join(folder, "bounds.db")
    done = run(program, "--history", history, "-v", PATH + "far_away", PATH + "far_but_asked")
    tap.check(re.search(r"far_away PASSED nap [^,\n]* in ", done.out) is not None,
              "a share of what does not bound the work is not printed", done)
    share = re.search(r"far_but_asked \w+ nap [^,\n]*, ([-0-9.e]+) of int32 \+ fp32 in ", done.out)
    tap.check(share is not None and 0 < float(share.group(1)) < 0.1,
              "unless a budget asks for it; then none reads 0.00", done)
    stages = rows(history, "SELECT b.ceiling, b.stage, b.probes FROM bound b JOIN result r "
                           "ON r.id = b.result_id WHERE r.case_id GLOB '*far_away'")
    tap.check([(s["ceiling"], s["stage"]) for s in stages] == [("int32", 0), ("fp32", 1)] and
              all(s["probes"] > 0 for s in stages), "each bound has a row", stages)


def check_impossible(tap, program, folder):
    """No budget of speed is met by work that was not done, whose share is told all the same."""
    history = os.path.join(folder, "impossible.db")
    done = run(program, "--history", history, "-v", PATH + "removed_and_budgeted", PATH + "undone")
    met = [v["met"] for v in rows(history, "SELECT v.met FROM verdict v JOIN result r ON r.id = v.result_id "
                                           "WHERE r.attempt = 0")]
    tap.check(done.code == 1 and met == ["not met"] * 3, "work that was not done meets no budget", done)
    why = "more than there is: the declared work was not done; 3 of 3 fresh processes say so too"
    tap.equal([line.split(" at ")[0].strip() for line in done.out.splitlines() if line.endswith(why)][:3],
              ["budget nothing", "budget nothing", "budget fill"], "it is said why, and confirmed")


def check_figures(tap, program, folder, sanitized):
    history = os.path.join(folder, "figures.db")
    run(program, "--history", history, PATH + "soak", PATH + "empty", PATH + "mapped",
        PATH + "tree", PATH + "faults", PATH + "served", PATH + "removed", PATH + "instructions")
    check_bounds(tap, program, folder)
    stored = results(history)
    outcome = {name.split("::")[1]: r["outcome"] for name, r in stored.items()}
    if sanitized:
        tap.skip("growth and page faults", "AddressSanitizer keeps what is freed")
    else:
        check_pages(tap, history, outcome)
    tap.equal(outcome.get("served"), "passed", "a percentile from 200 requests")
    served = rows(history, "SELECT m.* FROM measurement m JOIN result r ON r.id = m.result_id "
                           "WHERE r.case_id GLOB '*served'")[0]
    tap.check(served["kind"] == "serve" and served["count"] == 200 and served["rate"] == 500,
              "each request is a sample", served)
    notes = {r["case_id"]: r["note"] for r in rows(history, "SELECT case_id, note FROM result")}
    tap.check("the compiler has removed the work" in (notes.get(PATH + "removed") or ""),
              "work that the compiler removed is reported", notes)
    counted = stored.get(PATH + "instructions")
    met = counted["verdicts"][0]["met"]
    tap.check((counted["outcome"], met) in (("passed", "met"), ("skipped", "absent")),
              "a counter is read, or its absence skips the case", counted)
    if counted["outcome"] == "skipped":
        tap.check("cannot be judged" in counted["reason"], "with the reason", counted["reason"])


def check_untimed(tap, program, folder, sanitized):
    """--speed=off: bodies run, and what is no speed is judged as ever."""
    off = "--speed=off"
    done, verdict = scripted(tap, program, folder, "s", "passed", 1, off)
    tap.equal((verdict["met"], verdict["measured"]), ("not judged", None),
              "a speed budget is reported as not judged")
    tap.check("speed: not timed" in done.out, "and the run says so", done)
    history = os.path.join(folder, "off.db")
    done = run(program, "--history", history, "-v", PATH + "soak", PATH + "faults[pages=100]",
               PATH + "served", PATH + "shared", PATH + "leaking_is_slower", off, env={"RATE": "2"})
    stored = {name.split("::")[1]: r for name, r in results(history).items()}
    outcome = {name: r["outcome"] for name, r in stored.items()}
    grown = outcome.pop("soak[leak=1]")
    if sanitized:
        outcome.pop("soak[leak=0]")
    else:
        tap.equal(outcome.pop("soak[leak=0]"), "passed", "memory that is given back is no growth")
    tap.equal(grown, "failed", "growth is judged without a clock")
    tap.equal(outcome, {"faults[pages=100]": "passed", "served": "passed", "shared": "passed",
                        "leaking_is_slower": "skipped"}, "nothing fails by speed or by counts")
    tap.equal(stored["leaking_is_slower"]["reason"],
              "a relation of speed, and nothing is timed (--speed=off)", "with the reason")
    ran = rows(history, "SELECT m.name, m.kind, m.count, m.warmup FROM measurement m ORDER BY name, "
                        "m.warmup")
    tap.equal([(m["name"], m["kind"], m["count"], m["warmup"]) for m in ran],
              [("answer", "run", 0, 200), ("fill", "run", 0, 1), ("step", "run", 0, 200),
               ("step", "run", 0, 200), ("touch", "run", 0, 20)], "as often as was declared")
    tap.equal([rows(history, f"SELECT count(*) AS n FROM {table}")[0]["n"] for table in
               ("bound", "noise", "counter")], [0, 0, 0], "nothing is probed or counted")
    body = stored["served"]["body"]
    tap.check(body < 50, "requests are not waited for: the last would come after 100 s", body)
    tap.check("--speed=off" in done.out, "and reproduced", done)
    # Whoever holds the machine for a timed run does not hold it up.
    with open(LOCK, "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = run(program, "--history", history, PATH + "shared", off, timeout=30)
    tap.check(done.code == 0 and "waiting for" not in done.out + done.err, "beside a timed run",
              done)


def check_slowdown(tap, program, folder):
    """A budget with a slack of 1.5. Beside other work all may be undecided but 250x.
    tests/unit/harness/measure_loop.c has what a sample and a phase take, to 1 %."""
    for factor, wanted in ((None, ["passed", "noisy"]), ("1.2x", ["passed", "noisy"]), ("2x", ["failed", "noisy"]),
                           ("250", ["failed"])):
        history = os.path.join(folder, f"slack{factor}.db")
        options = [] if factor is None else ["--slowdown", factor]
        done, stored = case(program, history, "slack", *options)
        tap.check(stored[0]["outcome"] in wanted, f"--slowdown {factor}: {wanted}", done)
        marked = rows(history, "SELECT slowdown FROM run")[0]["slowdown"]
        number = None if factor is None else float(factor.strip("x"))
        tap.equal(marked, number, f"--slowdown {factor}: stored with the run")
        line = f"slowdown: every timed sample takes {number or 0:g} times as long as its work\n"
        tap.equal(line in done.out, factor is not None, f"--slowdown {factor}: the header says so")
    tap.check("--slowdown=250x" in done.out, "the line that reproduces it has the factor", done)
    history = os.path.join(folder, "rows.db")
    path = os.path.join(folder, "slowed.csv")
    done = run(program, "--history", history, "-q", PATH + "slack", "--slowdown=1.2x", "--csv", path)
    tap.check("slowdown: " in done.out and os.path.getsize(path) == 0,
              "a table of normal results gets no rows", done)
    done = run(program, "--history", history, PATH + "slack", "--slowdown=1x")
    tap.check(done.code == 0 and "slowdown" not in done.out, "1x is none", done)


def group_with_quota(name):
    """A control group that may use a tenth of one processor; None where none can be made."""
    for mount, files in (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "50000", "cpu.cfs_quota_us": "5000"}),
                         ("/sys/fs/cgroup", {"cpu.max": "5000 50000"})):
        group = os.path.join(mount, name)
        try:
            os.mkdir(group)
        except OSError:
            continue
        try:
            for file, text in files.items():
                with open(os.path.join(group, file), "r+", encoding="ascii") as limit:
                    limit.write(text)
            return group
        except OSError:
            os.rmdir(group)
    return None


def check_quota(tap, program, folder):
    """What the quota of the control group held back may be too slow for that alone."""
    group = group_with_quota(f"quota-of-verdicts-{os.getpid()}")
    if group is None:
        tap.skip("a quota", "no control group with a quota can be made here")
        return
    history = os.path.join(folder, "quota.db")
    try:
        done = run("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh", program, "--history", history,
                   "--confirm=0", PATH + "held_back", PATH + "held_back_command")
    finally:
        os.rmdir(group)
    tap.equal({name.split("::")[1]: r["outcome"] for name, r in results(history).items()},
              {"held_back": "noisy", "held_back_command": "noisy"}, "what a quota held back is undecided")
    held = [r["value"] for r in rows(history, "SELECT value FROM noise WHERE name = 'throttled'")]
    tap.check(done.code == 0 and len(held) == 2 and min(held) > 0.02, "and the quota's part is stored", (held, done))


def values(program, history, *options, env=None):
    run(program, "--history", history, PATH + "processors", *options, env=env)
    return {r["name"]: r["value"] for r in rows(history, "SELECT * FROM value")}


def check_place(tap, program, folder):
    allowed = sorted(os.sched_getaffinity(0))
    all_of_them = values(program, os.path.join(folder, "all.db"))
    tap.equal(all_of_them.get("processors"), len(allowed), "all processors by default")
    one = values(program, os.path.join(folder, "one.db"), f"--cpus={allowed[-1]}")
    tap.equal(one.get("processors"), 1, "--cpus with one of them")
    bound = values(program, os.path.join(folder, "bound.db"), "--bind=cores")
    tap.check(bound.get("processors") == len(allowed) and
              bound.get("processors of the thread") == 1, "--bind=cores from the measuring on",
              bound)
    free = values(program, os.path.join(folder, "free.db"), "--bind=none")
    tap.equal(free.get("processors of the thread"), len(allowed), "--bind=none")
    low = values(program, os.path.join(folder, "low.db"), "--isa=baseline")
    tap.equal(low.get("isa"), 0, "--isa=baseline")
    for option, allowed_words in (("--cpus=x", "0-3,8"), ("--cpus=", "0-3,8"),
                                  ("--bind=socket", "auto, none or cores"),
                                  ("--isa=sse9", "baseline, avx2, avx512 or amx"),
                                  ("--confirm=-1", "a whole number from 0")):
        done = run(program, option)
        tap.check(done.code == 4 and allowed_words in done.err, f"{option} is refused", done)
    done = run(program, "--cpus=4000", "--history", os.path.join(folder, "far.db"))
    tap.check(done.code == 3 and "4000" in done.err, "--cpus with none that is there", done)


def main(program, sanitized=""):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        # Those of times are the other builds': tests/unit/harness runs the same loops with a sanitizer.
        for check in (check_confirmation, check_place,
                      *(() if sanitized else (check_slowdown, check_quota, check_impossible))):
            tap.run(check.__name__, check, tap, program, folder)
        for check in (check_allocations, check_figures, check_untimed):
            tap.run(check.__name__, check, tap, program, folder, bool(sanitized))
    tap.done()


main(*sys.argv[1:])
