"""Every way a case can go wrong is one failed case with its reason, and all others run."""

import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started, gone  # noqa: E402
from program import results, rows, run, shell  # noqa: E402
from tap import Tap  # noqa: E402

# case: (outcome, cause of the first failure, what its message says)
EXPECTED = {
    "a_first_passes": ("passed", None, None),
    "crash": ("failed", "signal", r"^crashed in the body: SIGSEGV \(Segmentation fault\)$"),
    "abort": ("failed", "signal", r"^crashed in the body: SIGABRT"),
    "exits": ("failed", "exit", r"^the process exited with status 3 in the body$"),
    "exits_at_once": ("failed", "exit", r"^the process exited with status 0 in the body$"),
    "hang": ("failed", "timeout", r"^timeout: still running after 0.3 s, killed in the body$"),
    "hang_ignoring_signals": ("failed", "timeout", r"still running after 0.3 s"),
    "crash_in_exit_handler": ("failed", "signal", r"^crashed after teardown: SIGSEGV"),
    "exit_in_exit_handler": ("failed", "exit", r"status 7 from an exit handler"),
    "hang_in_exit_handler": ("failed", "timeout", r"killed after teardown$"),
    "memory_limit": ("failed", "out of memory",
                     r"67108864 bytes asked .* 1048576 of the limit of 16777216 bytes in use$"),
    "memory_not_got": ("failed", "out of memory", r"^block: .*67108864 bytes asked"),
    "nothing_got_and_no_reason": ("failed", "expectation", r"^strchr\("),
    "nothing_got": ("failed", "expectation", r"^yp_device_alloc\(yp_device\(t\), 0\): "),
    "leak": ("failed", "leak", r"^leaked 1000 B of accounted memory in 1 allocation"),
    "double_free": ("failed", "signal", r"SIGABRT"),
    "overrun": ("failed", "memory overrun", r"^something was written behind a block of 1001 bytes: "
                                            r"1 to 4 bytes from its end$"),
    "underrun": ("failed", "memory overrun", r"^something was written in front of a block of 1000 "
                                             r"bytes: 8 to 8 bytes before its beginning$"),
    "overrun_of_an_accounted_block":
        ("failed", "memory overrun", r"^something was written behind a block of 40 bytes: 1 to 4 "),
    "blocks_are_filled": ("passed", None, None),
    "oom_kill": ("failed", "killed for memory", r"^killed by the kernel for want of memory"),
    "orphan": ("failed", "processes left", r"^left 1 process running: "),
    "daemon": ("failed", "processes left", r"^left 1 process running: "),
    "daemon_then_crash": ("failed", "processes left", r"^left 1 process running, among them sleep"),
    "forked_child_returns":
        ("failed", "forked child returned", r"^a forked child returned from the body$"),
    "forked_children_are_ended":
        ("failed", "forked child returned", r"^3 forked children returned from the body$"),
    "forked_child_gives_values":
        ("failed", "usage", r"^a forked child gave a value, a measurement, a check or a hash"),
    "forked_child_leaves": ("passed", None, None),
    "file_size_limit": ("failed", "expectation", r"^1 > 2: no file may grow$"),
    "no_descriptors": ("failed", "expectation", r"^1 > 2: no descriptor may be had$"),
    "all_descriptors_taken": ("failed", "expectation", r"^1 > 2: all descriptors are taken$"),
    "another_user": ("failed", "expectation", r"^1 > 2: the user is another$"),
    "removes_files_of_the_run": ("failed", "expectation", r"^1 > 2: the directory is gone$"),
    "thread_ended": ("failed", "exit", r"^the body ended the case's thread \(pthread_exit\)$"),
    "thread_ended_in_setup": ("error", "exit", r"^setup ended the case's thread"),
    "thread_ended_in_teardown": ("failed", "exit", r"^teardown ended the case's thread"),
    "workers_expect": ("failed", "expectation", r"odd: \d+$"),
    "worker_requires": ("failed", "expectation", r"in a worker$"),
    "thread_left": ("passed", None, None),
    "deadlock": ("failed", "timeout", r"still running after 0.5 s, killed in the body$"),
    "stack_overflow": ("failed", "signal", r"^crashed in the body: SIGSEGV"),
    "modes_left": ("passed", None, None),
    "modes_left_and_failed": ("failed", "expectation", r"^rounding is \d+$"),
    "modes_of_the_next_case": ("passed", None, None),
    "closed_descriptors": ("failed", "descriptors closed", r"not its own: 0 \(.*\), 1 \("),
    "floods_output": ("failed", "output", r"^wrote more than 67108864 bytes of output"),
    "fork_bomb": ("failed", "too many processes", r"^wanted more than 64 processes and threads"),
    "expectation": ("failed", "expectation", r"^found == 42: found is 41$"),
    "requirement": ("failed", "expectation", r"^1 > 2: one is not greater than 2$"),
    "setup_error": ("error", "expectation", r"^no licence for the solver$"),
    "misspelt_axis[channels=10-noise=0.5]":
        ("failed", "usage", r"no axis 'chanels' of kind int; this test has: channels \(int\), "
                            r"noise \(double\); did you mean 'channels'\?"),
    "name_twice": ("failed", "usage", r"the value 'auc' is there already"),
    "never_measured": ("failed", "budget", r"^budget fit at least .*: the body never measured it"),
    "crash_before_measuring": ("failed", "signal", r"SIGFPE"),
    "value_nan": ("failed", "budget", r"^budget auc at least 0.5: n/a$"),
    "value_too_low": ("failed", "budget", r"^budget auc at least 0.95: 0.5, 47.4 % below"),
    "peak_too_high": ("failed", "budget", r"at most 1.0 MiB accounted at once: 2.0 MiB, 100 % above"),
    "resident_too_high": ("failed", "budget", r"at most 8.0 MiB resident growth: 3[1-9]"),
    "too_slow": ("failed", "budget", r"^budget nap at most 20 us: .* above the limit$"),
    "wrong_gradient": ("failed", "gradient",
                       r"^gradient 'square': relative error 0.000[0-9]+ in tensor 'x', at most 1e-06"),
    "predicted_memory_is_wrong":
        ("failed", "expectation", r"^a block takes 4096 bytes of the host, where 4000 are predicted$"),
    "requests_in_a_pass":
        ("failed", "expectation", r"^a pass took memory 1 time, where none was to be taken$"),
    "a_refusal_leaks": ("failed", "expectation",
                        r"^two_blocks with request 2 to the cpu refused: 100 bytes of the host and "
                        r"0 of the device are left$"),
    "a_refusal_is_not_told": ("failed", "expectation",
                              r"^two_blocks with request 1 to the cpu refused: status 0, '', where "
                              r"it must be out of memory$"),
    "a_refusal_breaks": ("failed", "expectation",
                         r"^two_blocks with nothing refused, behind the refusal of request 1 to "
                         r"the cpu: status 1, 'it is broken'$"),
    "wrong_precision": ("failed", "gradient", r"^precision of 'y b': .* worst at element 0$"),
    "strict_xfail_passes": ("failed", "passed in spite of xfail", r"not supported yet$"),
    "xfail_fails": ("xfailed", "expectation", r"^wrong, as known$"),
    "xfail_passes": ("xpassed", None, None),
    "skipped": ("skipped", None, None),
    "setup_skips": ("skipped", None, None),
    "skips_itself": ("skipped", None, None),
    "libgit2_starts_when_it_is_used": ("passed", None, None),
    "z_last_passes": ("passed", None, None),
}
# case: functions that its failure's stack names, in this order; without a sanitizer.
STACKS = {
    "crash": ["ypi_body_zoo_crash"],
    "abort": ["abort", "ypi_body_zoo_abort"],
    "double_free": ["abort", "yp_device_free"],
    "hang": ["pause", "ypi_body_zoo_hang"],
    "deadlock": ["the case's", "ypi_body_zoo_deadlock", "thread ", "take_second_then_first"],
    "stack_overflow": ["overflow", " times"],
    "hang_ignoring_signals": ["ypi_body_zoo_hang_ignoring_signals"],
}
# of exceptions.cpp: the first failure's message, and functions of the second one's stack
EXCEPTIONS = {
    "runtime_error": (r"^uncaught exception std::runtime_error: no licence for the solver$",
                      ["give_up(int)", "runtime_error"]),
    "of_no_class": (r"^uncaught exception int$", ["of_no_class"]),
    "in_a_thread": (r"^uncaught exception std::runtime_error: no licence for the solver$",
                    ["thread exceptions", "give_up(int)"]),
    "terminate": (r"^crashed in the body: SIGABRT", ["terminate"]),
    "thread_ended": (r"^the body ended the case's thread \(pthread_exit\)$", None),
}
# Frames that are the framework's.
OWN = ["guarded", "run_stages", "ypi_child", "criterion", "on_crash", "on_terminate"]
# A sanitizer turns the signal of a crash into an abort with a report.
SANITIZED = ["crash", "stack_overflow", "crash_in_exit_handler", "crash_before_measuring"]
# It also tells of the access itself.
OVERRUNS = ["overrun", "underrun", "overrun_of_an_accounted_block"]
SPEED = {"min rate", "min flops", "min bandwidth", "max latency"}
LIMITS = ["--memory-limit", "16M", "--process-limit", "64"]


def check_case(tap, result, name, outcome, cause, message):
    if result is None:
        tap.check(False, name, "no result is stored")
        return
    # Without a memory cgroup, or without root, these cannot set their trap.
    if name in ("oom_kill", "another_user") and result["outcome"] == "skipped":
        tap.skip(name, result["reason"])
        return
    ok = result["outcome"] == outcome and (cause is None) == (not result["failures"])
    # Something else may have been reported first, such as what LeakSanitizer has to say.
    ok = ok and (cause is None or any(f["cause"] == cause and re.search(message, f["message"])
                                      for f in result["failures"]))
    tap.check(ok, name, f"wanted {outcome}, {cause}, {message}\n"
                        f"got {result['outcome']}, {result['failures']}\n{result['tail'][-400:]}")


def check_stack(tap, name, stack, wanted, sanitized):
    at = 0
    for function in wanted:
        at = (stack or "").find(function, at) + 1
        if at == 0:
            break
    tap.check(sanitized or (at > 0 and not any(own in stack for own in OWN)),
              f"{name}: its stack is in the failure", stack)


def check_exceptions(tap, program, folder, sanitized):
    history = os.path.join(folder, "exceptions", "history.db")
    run(program, "--history", history)
    stored = {key.split("::", 1)[1]: value for key, value in results(history).items()}
    tap.equal(stored["caught"]["outcome"], "passed", "an exception that is caught is the body's own")
    for name, (message, stack) in EXCEPTIONS.items():
        failures = stored[name]["failures"]
        tap.check(stored[name]["outcome"] == "failed" and
                  re.search(message, failures[0]["message"]) is not None, f"exception: {name}",
                  failures)
        if stack is not None:
            check_stack(tap, name, failures[-1]["stack"], stack, sanitized)
    tap.equal(stored["thread_ended"]["tail"], "destroyed\n", "pthread_exit() runs destructors")


def check_races(tap, program, folder, _):
    history = os.path.join(folder, "races", "history.db")
    done = run(program, "--history", history, "--speed=record")
    stored = {key.split("::", 1)[1]: value for key, value in results(history).items()}
    tap.equal({name: (r["outcome"], [f["message"] for f in r["failures"]])
               for name, r in stored.items()},
              {"one_thread": ("passed", []),
               "two_threads": ("failed", ["ThreadSanitizer found an error; its report is in "
                                          "the output below"])}, "a race fails its case")
    tap.check(done.code == 1 and "races.c" in stored["two_threads"]["tail"],
              "ThreadSanitizer's report is the case's output", done)


CAUGHT = " caught what ends it (yp_require, yp_fail, yp_skip, ...) and went on: what a catch (...) catches has to be thrown again"
# of leaving.cpp: outcome, failures (None: another check's), output
LEAVING = {
    "require": ("failed", ["depth < 0: depth is 0"], "destroyed deep|destroyed deep|destroyed outer|torn down"),
    "fail": ("failed", ["as it should"], "destroyed outer"),
    "skip": ("skipped", [], "destroyed outer|torn down"),
    "not_ok": ("failed", ["yp_set_error(YP_INVALID, \"as it should\"): as it should"], "destroyed outer"),
    "refused": ("failed", None, "destroyed outer"),
    "no_such_axis": ("failed", ["no axis 'n' of kind int; this test has: none"], "destroyed outer"),
    "measured": ("failed", ["runs++ == 0: run 2"], "destroyed inner|destroyed inner|destroyed outer"),
    "setup_skips": ("skipped", [], "destroyed outer"),
    "teardown_requires": ("failed", ["0 > 1: in teardown"], "destroyed outer"),
    "swallowed": ("failed", ["depth < 0: depth is 0", "the body" + CAUGHT],
                  "destroyed deep|caught|went on|destroyed outer|torn down"),
    "skip_swallowed": ("failed", ["the body" + CAUGHT], "caught"),
    "swallowed_once": ("failed", ["0 > 1: first", "0 > 2: second", "the body" + CAUGHT], "caught"),
    "thrown_again": ("failed", ["depth < 0: depth is 0"], "destroyed deep|caught"),
    "not_an_exception": ("failed", ["depth < 0: depth is 0"], "destroyed deep|destroyed outer"),
    "in_noexcept": ("failed", ["0 > 1: inside noexcept"], "torn down"),
    "in_a_destructor": ("failed", ["0 > 1: in a destructor"], "torn down"),
    "through_c": ("failed", ["a == b: in a callback"], "destroyed inner|destroyed outer"),
    "through_the_framework": ("failed", ["in a callback"], "destroyed inner|destroyed outer"),
    "in_a_thread": ("failed", None, None),
    "own_exception_while_leaving": ("failed", ["e.what()[0] == 'X': what is the user's"], "destroyed outer"),
    "whole": ("passed", [], "destroyed outer"),
    "without_exceptions": ("failed", ["0 > 1: as in C"], "torn down"),
}


def check_leaving(tap, program, folder, _):
    history = os.path.join(folder, "leaving", "history.db")
    run(program, "--history", history, "--memory-limit", "1G")
    stored = {key.split("::", 1)[1]: value for key, value in results(history).items()}
    tap.equal(sorted(stored), sorted(LEAVING), "leaving: every case has a result")
    for name, (outcome, messages, output) in LEAVING.items():
        r = stored[name]
        said = [f["message"] for f in r["failures"]]
        tap.check(r["outcome"] == outcome and (messages is None or said == messages),
                  f"leaving: {name}: its failures", f"{r['outcome']}: {said}")
        if output is not None:
            tap.equal(r["tail"].strip().replace("\n", "|"), output, f"leaving: {name}: destructors and teardown")
    tap.check("0 > 1: in a thread" in stored["in_a_thread"]["failures"][0]["message"] and
              "can only be ended by the thread that runs its body" in stored["in_a_thread"]["tail"],
              "leaving: not from another thread", stored["in_a_thread"])


# Other programs, by name.
CHECKS = {"exceptions": check_exceptions, "leaving": check_leaving, "races": check_races}


def data_and_verdicts(result):
    return (result["outcome"], result["data_hash"],
            [(v["kind"], v["name"], v["met"]) for v in result["verdicts"]
             if v["kind"] not in SPEED],
            sorted({f["cause"] for f in result["failures"]}))


def check_reproduce(tap, out, stored, folder):
    """Each printed line gives the same data and the same verdicts."""
    lines = re.findall(r"^  reproduce: (.*)$", out, re.M)
    tap.check(len(lines) >= 30, f"{len(lines)} reproduce lines are printed", out[-2000:])

    def again(number):
        history = os.path.join(folder, f"again{number}.db")
        return shell(lines[number], "--history", history), results(history)

    # They mostly wait: for processes that end, for time-outs.
    with ThreadPoolExecutor(4) as threads:
        ran = list(threads.map(again, range(len(lines))))
    for line, (done, found) in zip(lines, ran):
        case = next(iter(found), "?")
        tap.check(len(found) == 1 and case in stored and
                  data_and_verdicts(found[case]) == data_and_verdicts(stored[case]),
                  f"reproduces {case}", f"{line}\n{done}\n{found}")


def check_stillborn(tap, program, hanging, history):
    """`hanging` was started with the others: most of what it takes is waiting."""
    done = hanging.wait(300)
    found = results(history)
    first = found.get("tests/zoo/stillborn.c::first", {"failures": [], "outcome": "none"})
    tap.check(done.code == 3 and len(found) == 1 and first["outcome"] == "failed" and
              "did not come to life within 30 s" in first["failures"][0]["message"],
              "a constructor that hangs ends the run with its reason", f"{done}\n{found}")
    done = run(program, "--history", history)
    tap.equal(done.code, 0, "without it the same program passes")


# By the variable that has it happen: what is said of the case whose process did not begin.
UNBEGUN = {"END_FORKED": "crashed before it began: SIGKILL (Killed)",
           "END_EXECUTED": "crashed before it began: SIGKILL (Killed)",
           "LEAVE": "the process exited with status 7 before it began: "}


def check_unbegun(tap, program, folder):
    """One process ends before it begins, which Criterion would end the run for."""
    for name, message in UNBEGUN.items():
        for jobs in ("1", "2"):
            history = os.path.join(folder, f"{name}{jobs}.db")
            done = run(program, "--history", history, "--speed=off", "-j", jobs, "--repeat", "2",
                       env={f"YIELDPOINT_TEST_{name}": history + ".mark"})
            outcomes = sorted(r["outcome"] for r in rows(history, "SELECT outcome FROM result"))
            said = [f["message"] for f in rows(history, "SELECT message FROM failure")]
            tap.check(done.code == 1 and outcomes == ["failed", "passed", "passed", "passed"] and len(said) == 1 and
                      said[0].startswith(message), f"{name}, -j{jobs}: one case failed, the others were run",
                      f"{done}\n{outcomes}\n{said}")


def main(program, stillborn, sanitized, *others):
    tap = Tap()
    sanitized = sanitized != "false"
    if sanitized:
        for name in SANITIZED:
            outcome, cause, message = EXPECTED[name]
            EXPECTED[name] = outcome, cause, re.sub("SIG(SEGV|FPE).*", "SIGABRT", message)
        for name in OVERRUNS:
            EXPECTED[name] = "failed", "signal", "^crashed in the body: SIGABRT"
        EXPECTED["resident_too_high"] = "passed", None, None  # so much may be the sanitizer's own
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        stillborn_history = os.path.join(folder, "stillborn", "history.db")
        hanging = Started(stillborn, "--history", stillborn_history, env={"YIELDPOINT_TEST_HANG": "1"})
        started = Started(program, "--history", history, *LIMITS)
        done = started.wait(120)
        stragglers = gone(started)
        started.end()
        left = sorted(os.listdir(folder))
        stored = {key.split("::", 1)[1]: value for key, value in results(history).items()}
        for name, expected in EXPECTED.items():
            check_case(tap, stored.get(name), name, *expected)
        tap.equal(sorted(stored), sorted(EXPECTED), "every case has a result and no other")
        tap.equal(done.code, 1, "the exit code says that something failed")
        counted = {o: sum(1 for e in stored.values() if e["outcome"] == o)
                   for o in ("failed", "passed", "skipped", "xfailed", "xpassed", "error")}
        counts = ", ".join(f"{n} {o}" + ("s" if o == "error" and n > 1 else "")
                           for o, n in counted.items())
        tap.check(re.search(f"^=+ {counts} in [0-9.]+s =+$", done.out.splitlines()[-1]) is not None,
                  "the last line sums up", f"{counted}\n{done.out[-300:]}")
        tap.check("teardown ran" in stored["requirement"]["tail"] and
                  "not reached" not in stored["requirement"]["tail"],
                  "a requirement ends the body and teardown runs", stored["requirement"]["tail"])
        for name in ("setup_error", "setup_skips"):
            tap.equal(stored[name]["tail"], "", f"{name}: neither body nor teardown runs")
        for name in ("forked_child_returns", "forked_children_are_ended"):
            case = stored[name]
            tap.equal((case["tail"].count("teardown ran"), len(case["failures"]),
                       [v["value"] for v in rows(history, "SELECT value FROM value WHERE "
                                                          "result_id = ?", case["id"])]),
                      (1, 2 if case["verdicts"] else 1, [50]),
                      f"{name}: its child's part of the result is left out")
        for name, functions in STACKS.items():
            check_stack(tap, name, stored[name]["failures"][0]["stack"], functions,
                        sanitized and name not in ("hang", "deadlock"))
        tap.check(re.search(r"^thread forgotten \(\d+\) outlived the body: .*pause.* < wait_for_ever",
                            stored["thread_left"]["note"] or "") is not None,
                  "a thread that outlives the body is noted", stored["thread_left"]["note"])
        workers = stored["workers_expect"]["failures"]
        tap.check(len(workers) == 200 and sorted({f["message"].split(": ")[-1] for f in workers}, key=int) ==
                  [str(i) for i in range(1, 50, 2)], "each worker's failures are there, each whole", workers[:3])
        tap.check([f["cause"] for f in stored["worker_requires"]["failures"]] == ["expectation", "signal"] and
                  "only be ended by the thread that runs its body" in stored["worker_requires"]["tail"],
                  "a worker cannot end the body", stored["worker_requires"])
        tap.equal([stored[name]["tail"] for name in ("thread_ended", "thread_ended_in_setup")],
                  ["teardown ran\n", ""], "a body that ends its thread is torn down")
        tap.equal([re.sub(r"flushing of denormals, ", "", stored[name]["note"] or "") for name in
                   ("modes_left", "modes_left_and_failed", "modes_of_the_next_case")],
                  ["the case left changed, and it was put back: rounding, traps of floating-point "
                   "exceptions, the locale", "the case left changed, and it was put back: rounding",
                   ""], "modes that a body leaves changed are noted")
        for name in ("file_size_limit", "no_descriptors", "all_descriptors_taken", "another_user",
                     "removes_files_of_the_run"):
            case = stored[name]
            tap.equal([(v["value"], len(case["failures"])) for v in
                       rows(history, "SELECT value FROM value WHERE result_id = ?", case["id"])],
                      [(50, 1)] if case["outcome"] == "failed" else [],
                      f"{name}: what it sent is there, and no other failure")
        tap.equal([f["message"] for f in stored["expectation"]["failures"]],
                  ["found == 42: found is 41", "found == 43: found is 41"],
                  "expectations go on")
        tap.equal([f["message"] for f in stored["memory_not_got"]["failures"] if f["message"].startswith("leaked ")], [],
                  "what a refused body holds is no leak")
        tap.equal([v["met"] for v in stored["crash_before_measuring"]["verdicts"]],
                  ["unmeasured"], "a crashed case has its budgets reported")
        tap.check(len(stored["floods_output"]["tail"]) > 1000 and
                  stored["floods_output"]["output_bytes"] > 67108864,
                  "the tail of a flood is kept", stored["floods_output"]["output_bytes"])
        tap.equal(left, ["history.db", "stillborn"], "nothing else is left beside the history")
        tap.equal(stragglers, [], "no process outlives its case")
        for other in others:
            CHECKS[os.path.basename(other)](tap, other, folder, sanitized)
        check_reproduce(tap, done.out, results(history), folder)
        check_stillborn(tap, stillborn, hanging, stillborn_history)
        check_unbegun(tap, stillborn, folder)
    tap.done()


main(*sys.argv[1:])
