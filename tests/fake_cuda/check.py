"""Cases on a CUDA device that is made up: what they come to, and why they are skipped."""

import glob
import os
import re
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

PATH = "device.c::"


class Fake:
    """A program, a copy of its plugin (others may have the original loaded), and a fresh history for every run."""

    def __init__(self, program, plugin, folder):
        self.program, self.folder, self.count = program, folder, 0
        self.plugins = os.path.join(folder, "plugins")
        os.mkdir(self.plugins)
        shutil.copy(plugin, self.plugins)

    def run(self, *arguments, fake="", env=None):
        self.count += 1
        self.history = os.path.join(self.folder, f"{self.count}.db")
        done = run(self.program, "--history", self.history, *arguments,
                   env={"YIELDPOINT_PLUGINS": self.plugins, "FAKE_CUDA": fake, **(env or {})})
        found = results(self.history) if os.path.exists(self.history) else {}
        return done, {key.replace(PATH, ""): value for key, value in found.items()}


def holders(plugins):
    """Processes that have the plugin loaded."""
    count = 0
    for maps in glob.glob("/proc/[0-9]*/maps"):
        try:
            with open(maps) as file:
                count += os.path.join(plugins, "libyieldpoint-cuda.so") in file.read()
        except OSError:
            pass
    return count


def first(result):
    return (result["failures"] or [{"cause": None, "message": ""}])[0]


def check_outcomes(tap, fake):
    done, found = fake.run("-v", "--speed=record")
    outcomes = {key: (value["outcome"], first(value)["cause"]) for key, value in found.items()}
    ceilings = [key for key in outcomes if key.startswith("ceilings")]
    tap.equal([outcomes.pop(key) for key in ceilings], 14 * [("passed", None)],
              "every ceiling is probed")
    levels = rows(fake.history, "SELECT DISTINCT ceiling, level FROM bound WHERE result_id IN "
                                "(SELECT id FROM result WHERE case_id LIKE '%::ceilings%') AND "
                                "rate > 0 ORDER BY ceiling")
    tap.equal((len(levels), [r["level"] for r in levels if r["ceiling"] in ("fill", "read")]),
              (14, ["L2", "memory"]), "and the level is known")
    tap.equal(outcomes, {
        "doubles[n=100-cpu]": ("passed", None), "doubles[n=100-cuda]": ("passed", None),
        "doubles[n=100000-cpu]": ("passed", None), "doubles[n=100000-cuda]": ("passed", None),
        "compares[wrong=-1-cpu]": ("passed", None), "compares[wrong=-1-cuda]": ("passed", None),
        "compares[wrong=70001-cpu]": ("failed", "expectation"),
        "compares[wrong=70001-cuda]": ("failed", "expectation"),
        "replayed[cpu]": ("passed", None), "replayed[cuda]": ("passed", None),
        "waits_in_a_graph[cuda]": ("failed", "usage"), "fails_in_a_graph[cuda]": ("failed", "usage"),
        "waits_for_itself[cuda]": ("passed", None),
        "first_is_cold[cuda]": ("passed", None), "cold_and_clean[cuda]": ("passed", None), "measured[cuda]": ("passed", None), "elsewhere[cuda]": ("failed", "usage"),
        "freed_in_a_graph[cuda]": ("failed", "usage"), "taken_in_a_graph[cuda]": ("failed", "usage"),
        "freed_behind_work[cuda]": ("passed", None),
        "phases[graph=0-cuda]": ("passed", None), "phases[graph=1-cuda]": ("passed", None),
        "many_phases[graph=0-cuda]": ("passed", None), "many_phases[graph=1-cuda]": ("failed", "usage"),
        "parts[cpu]": ("passed", None), "parts[cuda]": ("passed", None),
        "is_held[cuda]": ("passed", None),
        "leaks[cuda]": ("failed", "leak"), "may_leak[cuda]": ("passed", None),
        "too_little[cuda]": ("passed", None), "too_much[cuda]": ("failed", "out of memory"),
        "one_gib_at_a_time[cuda]": ("passed", None), "freed_twice[cuda]": ("failed", "signal"),
        "many_blocks[cuda]": ("passed", None), "asks[cuda]": ("passed", None),
        "audited[cpu]": ("skipped", None), "audited[cuda]": ("skipped", None),
        "audited_left[cuda]": ("passed", None),
        "command[cuda]": ("passed", None), "same_data": ("passed", None),
        "streams[cpu]": ("passed", None), "streams[cuda]": ("passed", None),
        "joined[cuda]": ("passed", None), "stray[cuda]": ("failed", "usage"),
        "pinned_leaks[cuda]": ("failed", "leak"),
        "pinned_too_much[cuda]": ("passed", None), "too_many_streams[cuda]": ("passed", None),
        "pinned_freed_twice[cuda]": ("failed", "signal"),
        "pinned_is_no_device_memory[cuda]": ("failed", "signal"),
        "default_stream_destroyed[cpu]": ("failed", "signal"),
        "default_stream_destroyed[cuda]": ("failed", "signal"),
    }, "outcomes")
    wrong = [first(found[f"compares[wrong=70001-{device}]"])["message"] for device in ("cpu", "cuda")]
    tap.check(wrong[0] == wrong[1] and "'x': 1 of 100000 elements off: the first, [70001] is 70001, expected 70002" in
              wrong[1], "an array on a device is compared as one of the host", wrong)
    replayed = rows(fake.history, "SELECT * FROM measurement WHERE result_id = ?",
                    found["replayed[cuda]"]["id"])[0]
    bodies = rows(fake.history, "SELECT value FROM value WHERE result_id = ?",
                  found["replayed[cuda]"]["id"])[0]["value"]
    tap.equal((bodies, replayed["count"] >= 10), (replayed["warmup"] + 1, True),
              "a graph is launched in place of the body")
    tap.check(0.9e-3 < replayed["median"] < 1.2e-3, "and takes its time", replayed)
    tap.check(".graph: work that should become a graph" in
              first(found["waits_in_a_graph[cuda]"])["message"], "what is no graph is reported",
              first(found["waits_in_a_graph[cuda]"]))
    tap.equal([f["message"].split(": ")[1:] for f in found["fails_in_a_graph[cuda]"]["failures"]],
              [["work on the device", "the operation is not permitted when the stream is capturing "
                "(cudaErrorStreamCaptureUnsupported)"]], "and once, where the body asks itself")
    tap.check("memory was given back while work became a graph" in
              first(found["freed_in_a_graph[cuda]"])["message"], "nor may a graph lose its memory",
              first(found["freed_in_a_graph[cuda]"]))
    tap.check("an allocation of 100 bytes while work becomes a graph: memory is taken before" in
              first(found["taken_in_a_graph[cuda]"])["message"], "or take some",
              first(found["taken_in_a_graph[cuda]"]))
    # Launched one by one, the host may be late between the events.
    for case, wanted, late in (("phases[graph=0-cuda]", {"short": 1e-3, "long": 3e-3}, 1.5),
                               ("phases[graph=1-cuda]", {"short": 1e-3, "long": 3e-3}, 1.001),
                               ("many_phases[graph=0-cuda]", {"each": 5e-3}, 50)):
        phases = {row["name"]: row["seconds"] for row in rows(
            fake.history, "SELECT name, seconds FROM phase WHERE result_id = ?", found[case]["id"])}
        tap.check(phases.keys() == wanted.keys() and
                  all(0.999 * wanted[name] <= phases[name] <= late * wanted[name] for name in wanted),
                  f"{case}: phases are timed by events in the stream", phases)
    cold = rows(fake.history, "SELECT * FROM measurement WHERE result_id = ?",
                found["first_is_cold[cuda]"]["id"])[0]
    tap.check(cold["batch"] >= 16 and cold["warmup"] > 3 * cold["batch"] / 2 and cold["median"] < 40e-6,
              "a body that loads kernels does not say how long a batch is, nor that it is warm", cold)
    tap.check("another stream" in first(found["elsewhere[cuda]"])["message"],
              "work on another stream is reported", first(found["elsewhere[cuda]"]))
    tap.check("another stream" in first(found["stray[cuda]"])["message"],
              "of one's own, too", first(found["stray[cuda]"]))
    joined = rows(fake.history, "SELECT median FROM measurement WHERE result_id = ?",
                  found["joined[cuda]"]["id"])[0]["median"]
    tap.check(1.9e-3 < joined < 2.3e-3, "what is waited for is measured, beside the rest", joined)
    tap.equal(first(found["pinned_leaks[cuda]"])["message"],
              "leaked 1000 B of accounted memory in 1 allocation (yp_max_leak allows some)",
              "page-locked memory is the host's")
    tap.equal(first(found["leaks[cuda]"])["message"],
              "leaked 1000 B of accounted device memory in 1 allocation (yp_max_leak allows some)",
              "a leak is reported")
    tap.check("the driver refused 68719476736 bytes" in first(found["too_much[cuda]"])["message"],
              "a refusal is reported", first(found["too_much[cuda]"]))
    stored = rows(fake.history, "SELECT memory, allocated_peak, reserved, reserved_peak, allocations,"
                                " frees FROM memory WHERE result_id = ? ORDER BY memory",
                  found["one_gib_at_a_time[cuda]"]["id"])
    tap.equal([(m["memory"], m["allocations"], m["frees"]) for m in stored],
              [("device", 3, 3), ("host", 0, 0)], "host and device are told apart")
    tap.equal((stored[0]["allocated_peak"], stored[0]["reserved_peak"]),
              (702 << 20, 702 << 20), "peaks: what was asked for, and what the pool took")
    held = rows(fake.history, "SELECT value FROM value WHERE name = 'holders'")
    tap.equal((held, holders(fake.plugins)), ([{"value": 1}], 0),
              "one process holds the device during the run, and none after it")
    facts = {row["key"]: row["value"] for row in rows(fake.history, "SELECT key, value FROM fact")}
    tap.equal((facts.get("gpu.name"), facts.get("gpu.capability"), facts.get("library.cuda")),
              ("Fake GPU", "9.0", "13.0"), "the environment names the device")


def check_measured(tap, fake):
    done, found = fake.run(PATH + "measured")
    result = found["measured[cuda]"]
    tap.equal(result["outcome"], "passed", "speed on the device is judged")
    work = rows(fake.history, "SELECT * FROM measurement WHERE result_id = ? ORDER BY position",
                result["id"])
    tap.check(0.9e-3 < work[0]["median"] < 1.2e-3, "events time the work", work[0])
    tap.check(work[0]["bound"] == "copy" and 0.8 < work[0]["share"] < 1.2,
              "the share is of the device's own ceiling", work[0])
    tap.check(work[1]["count"] == 5 and work[1]["bound"] == "fp8", "cold, of matrix units", work[1])
    noise = {row["name"]: row["value"] for row in rows(
        fake.history, "SELECT name, value FROM noise WHERE result_id = ? AND position = 0",
        result["id"])}
    tap.check(noise.get("gpu held") == 1, "work was launched before it ran", noise)
    done, found = fake.run(PATH + "waits_for_itself", "--speed=record")
    held = rows(fake.history, "SELECT value FROM noise WHERE name = 'gpu held'")
    tap.equal([row["value"] for row in held], [0], "and work that waits for itself was not")
    tap.check(0 < noise.get("gpu opening", 0) < 10, "how long opening the device took", noise)
    tap.equal((noise.get("gpu pool granule"), noise.get("gpu reserved over allocated")),
              (2 << 20, None), "what its pool takes at a time")


def check_memory(tap, fake):
    done, found = fake.run(PATH + "doubles", "--device-memory-limit=100K")
    tap.equal({key: (value["outcome"], first(value)["cause"]) for key, value in found.items()},
              {"doubles[n=100-cpu]": ("passed", None), "doubles[n=100-cuda]": ("passed", None),
               "doubles[n=100000-cpu]": ("passed", None),
               "doubles[n=100000-cuda]": ("failed", "out of memory")},
              "a limit of the device's memory is the device's")
    tap.check("asked of the cuda:0, 0 of the limit of 102400 bytes" in
              first(found["doubles[n=100000-cuda]"])["message"], "and is reported", done)
    tap.check("--device-memory-limit=102400" in done.out, "and reproduced", done)
    done, found = fake.run(PATH + "doubles[n=100-cuda]", "--fail-allocation=each")
    stored = rows(fake.history, "SELECT attempt, outcome FROM result ORDER BY attempt")
    tap.equal([(row["attempt"], row["outcome"]) for row in stored],
              [(0, "passed"), (1, "failed"), (2, "failed")],
              "each allocation is refused once, the host's and the device's")
    values = {row["name"]: row["value"] for row in rows(fake.history, "SELECT * FROM value")}
    tap.equal((done.code, values), (0, {"allocations refused": 2, "ended with a failure": 2}),
              "and each is reported")
    done, found = fake.run(PATH + "leaks[cuda]", "--fail-allocation=each")
    tap.equal(found["leaks[cuda]"]["outcome"], "failed", "a leak is one in a sweep too")
    done, found = fake.run(PATH + "parts", PATH + "doubles", PATH + "many_blocks",
                           env={"YIELDPOINT_SEPARATE_ARRAYS": "1"})
    tap.equal({value["outcome"] for value in found.values()}, {"passed"},
              "every array is an allocation of its own")
    done, found = fake.run(PATH + "one_gib_at_a_time", fake="pools=0")
    tap.equal(found["one_gib_at_a_time[cuda]"]["outcome"], "passed", "a device without pools")
    done, found = fake.run(PATH + "many_blocks", fake="pools=0")
    tap.equal(found["many_blocks[cuda]"]["outcome"], "passed", "and many blocks of it")


def reason(tap, fake, words, wanted, env=None, device=None, outcome="skipped"):
    done, found = fake.run(PATH + "asks", *([f"--device={device}"] if device else []), fake=words,
                           env=env)
    result = found[f"asks[{device or 'cuda'}]"]
    text = result["reason"] if outcome == "skipped" else first(result)["message"]
    tap.check(result["outcome"] == outcome and re.search(wanted, text or "") is not None,
              f"{words or env or 'there'}: {outcome}", f"{result['outcome']}: {text}")


def check_absence(tap, fake):
    reason(tap, fake, "driver=0", "the driver's library libcuda.so.1 is not there")
    reason(tap, fake, "driver=12040", "too old: it is for CUDA 12.4, this build needs one for 13.0")
    reason(tap, fake, "devices=0", "the driver finds none")
    reason(tap, fake, "capability=70", r"of compute capability 7\.0, this build has code from 8\.0")
    reason(tap, fake, "mode=2", "compute mode prohibits contexts")
    reason(tap, fake, "busy", "in use by another process")
    reason(tap, fake, "crash", "the driver ended the process that asked|the process that asked ended")
    reason(tap, fake, "full", "out of memory: a context on the CUDA device", outcome="failed")
    reason(tap, fake, "lost", "a context on the CUDA device", outcome="failed")
    reason(tap, fake, "", "no plugin libyieldpoint-cuda.so in the directories",
           env={"YIELDPOINT_PLUGINS": fake.folder})
    reason(tap, fake, "", "CUDA_VISIBLE_DEVICES is '3', which has no cuda:1",
           env={"CUDA_VISIBLE_DEVICES": "3"}, device="cuda:1")
    with open(os.path.join(fake.folder, "libyieldpoint-cuda.so"), "w") as file:
        file.write("no shared object")
    reason(tap, fake, "", "cannot be loaded", env={"YIELDPOINT_PLUGINS": fake.folder})
    os.chmod(os.path.join(fake.folder, "libyieldpoint-cuda.so"), 0o666)
    reason(tap, fake, "", "no plugin", env={"YIELDPOINT_PLUGINS": fake.folder})


def check_faults(tap, fake):
    # The first wait is that of opening the device.
    done, found = fake.run(PATH + "doubles[n=100-cuda]", PATH + "asks", fake="fault=3")
    tap.equal((found["doubles[n=100-cuda]"]["outcome"],
               first(found["doubles[n=100-cuda]"])["cause"]), ("failed", "device"),
              "a kernel's fault is the device's failure")
    tap.check("an illegal memory access" in first(found["doubles[n=100-cuda]"])["message"],
              "and is reported", first(found["doubles[n=100-cuda]"]))
    done, found = fake.run(PATH + "asks", fake="fault=2")
    tap.equal((found["asks[cuda]"]["outcome"], first(found["asks[cuda]"])["cause"]),
              ("failed", "device"), "one that nobody waited for is found at the end")
    done, found = fake.run(PATH + "too_little", fake="fault=2")
    tap.equal(first(found["too_little[cuda]"])["cause"], "device",
              "an allocation that finds one is not out of memory")
    done, found = fake.run(PATH + "measured", fake="fault=5")
    tap.equal(first(found["measured[cuda]"])["cause"], "device", "one inside a measurement too")


def check_condition(tap, fake, nvml):
    env = {"LD_LIBRARY_PATH": os.path.dirname(os.path.abspath(nvml))}
    done, found = fake.run(PATH + "measured", env=env)
    result = found["measured[cuda]"]
    series = {row["name"]: struct.unpack(f"{len(row['value']) // 8}d", row["value"]) for row in rows(
        fake.history, "SELECT * FROM series WHERE result_id = ?", result["id"])}
    tap.equal({name: value[0] for name, value in series.items()},
              {"clock": 1755e6, "temperature": 61, "power": 345.678, "utilisation": 0.87,
               "memory used": 42, "throttled": 1}, "the device is looked at beside a case")
    tap.check(len(series["clock"]) >= 3, "again and again", series)
    noise = {row["name"]: row["value"] for row in rows(
        fake.history, "SELECT name, value FROM noise WHERE result_id = ? AND position = 0",
        result["id"])}
    tap.equal((noise["gpu clock"], noise["gpu clock most"], noise["gpu samples set aside"]),
              (1755e6, 1980e6, 0), "and during a measurement")
    tap.equal(rows(fake.history, "SELECT system FROM memory WHERE memory = 'device'"),
              [{"system": 123456789}], "the driver's figure for the process")
    facts = {row["key"]: row["value"] for row in rows(fake.history, "SELECT key, value FROM fact")}
    tap.equal((facts.get("gpu.driver"), facts.get("gpu.clock.most")), ("599.1", "1980 MHz"),
              "the environment names the driver")
    done, found = fake.run(PATH + "measured", env={**env, "FAKE_NVML": "slow"})
    measured = rows(fake.history, "SELECT name, value FROM noise WHERE name LIKE 'gpu %' AND "
                                  "position = 0")
    noise = {row["name"]: row["value"] for row in measured}
    slowed = rows(fake.history, "SELECT slowed FROM samples WHERE position = 0")[0]["slowed"]
    tap.check(found["measured[cuda]"]["outcome"] in ("passed", "noisy") and
              noise["gpu throttled"] == 4 and noise["gpu samples set aside"] > 0 and
              len(slowed) == 8 * noise["gpu samples set aside"],
              "samples of a slowed device are set aside and stored", noise)
    for word, bits, aside, capped in (("hot", 0x20, True, False), ("capped", 0x4, False, True)):
        done, found = fake.run(PATH + "measured", env={**env, "FAKE_NVML": word})
        noise = {row["name"]: row["value"] for row in rows(
            fake.history, "SELECT name, value FROM noise WHERE name LIKE 'gpu %' AND position = 0")}
        count = rows(fake.history, "SELECT count FROM measurement WHERE position = 0")[0]["count"]
        tap.equal((noise["gpu throttled"], noise["gpu samples set aside"] > 0,
                   noise["gpu samples power capped"]), (bits, aside, count if capped else 0),
                  f"{word}: set aside is what is slowed down, flagged what is at its power cap")


def check_choice(tap, fake):
    for device, listed, wanted in (("cuda", None, "0"), ("cuda:2", None, "2"),
                                   ("cuda:1", "5,7,9", "7"), ("cuda", "GPU-abc,GPU-def", "GPU-abc")):
        env = {"CUDA_VISIBLE_DEVICES": listed} if listed else {}
        done, found = fake.run(PATH + "asks", PATH + "command", f"--device={device}", env=env)
        name = device if ":" in device else "cuda:0"
        tap.equal(found[f"asks[{device}]"]["tail"],
                  f"device {device} visible {wanted} name {name}\n", f"{device} of {listed}")
        tap.equal(found[f"command[{device}]"]["tail"], f"visible {wanted} device {name}\n",
                  f"{device} of {listed}: commands see the same")


def check_one_process(tap, fake):
    """--no-fork: the device is opened and closed for each case, and its accounts begin anew."""
    names = ["leaks[cuda]", "may_leak[cuda]", "too_little[cuda]", "doubles[n=100-cuda]",
             "doubles[n=100-cpu]", "replayed[cuda]", "phases[graph=1-cuda]", "measured[cuda]",
             "streams[cuda]", "streams[cpu]", "many_blocks[cuda]"]
    ids = [PATH + name for name in names]
    _, apart = fake.run("--speed=record", *ids)
    taken = "SELECT r.case_id, m.allocations, m.frees, m.allocated, m.allocated_peak FROM memory m " \
            "JOIN result r ON r.id = m.result_id ORDER BY r.case_id, m.memory"
    memory = rows(fake.history, taken)
    done, together = fake.run("--no-fork", *ids)
    tap.equal({key: (value["outcome"], first(value)["message"]) for key, value in together.items()},
              {key: (value["outcome"], first(value)["message"]) for key, value in apart.items()},
              "cases of a device in one process come to the same")
    tap.equal(rows(fake.history, taken), memory, "and take the same memory")
    tap.check(done.code == 1 and len(together) == len(names), "all of them", done)


def main(program, plugin, nvml):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        fake = Fake(program, plugin, folder)
        for check in (check_outcomes, check_measured, check_memory, check_absence, check_faults,
                      check_choice, check_one_process):
            tap.run(check.__name__, check, tap, fake)
        tap.run("check_condition", check_condition, tap, fake, nvml)
    tap.done()


main(*sys.argv[1:])
