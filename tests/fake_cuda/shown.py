"""What a user is shown of an accelerator: `yieldpoint machine`, `yieldpoint show`, --csv, and a run without a clock."""

import contextlib
import csv
import io
import json
import os
import re
import sqlite3
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

PATH = "device.c::"


class Place:
    """The programs, and an environment in which there is a device, or not."""

    def __init__(self, program, plugin, nvml, cli, folder):
        self.program, self.cli, self.folder = program, cli, folder
        self.plugins = os.path.dirname(os.path.abspath(plugin))
        self.nvml = os.path.dirname(os.path.abspath(nvml))
        self.history = os.path.join(folder, "history.db")

    def env(self, fake="", nvml="", more=None):
        return {"YIELDPOINT_PLUGINS": self.plugins, "FAKE_CUDA": fake, "FAKE_NVML": nvml,
                "LD_LIBRARY_PATH": self.nvml, "CUDA_VISIBLE_DEVICES": "0", **(more or {})}

    def case(self, *arguments, **env):
        if os.path.exists(self.history):
            os.remove(self.history)
        return run(self.program, "--history", self.history, *arguments, env=self.env(**env))

    def show(self, *arguments):
        return run(self.cli, "show", "--history", self.history, *arguments)

    def machine(self, history, *arguments, **env):
        return run(self.cli, "machine", "--history", history, *arguments, env=self.env(**env))


def a_machine(place):
    """A history with this machine's own ceilings in it, so that only the devices are measured."""
    history = os.path.join(place.folder, "machine.db")
    place.case(PATH + "asks")
    os.rename(place.history, history)
    machine = rows(history, "SELECT machine FROM run")[0]["machine"]
    with contextlib.closing(sqlite3.connect(history)) as database, database:
        database.execute("INSERT INTO ceiling VALUES (?, 'copy', 'memory', 2, 'avx2', 'B/s', 1e9, "
                         "4e10, 3e10, 5e10)", (machine,))
    return history, machine


def check_machine(tap, place):
    history, machine = a_machine(place)
    done = place.machine(history)
    line = re.search(r"^cuda:0: Fake GPU, 1\.0 GiB, capability 9\.0, multiprocessors 4, L2 1\.0 MiB, "
                     r"up to 1980 MHz, PCI 0000:00:00\.0, driver 599\.1, for CUDA 13\.0$", done.out,
                     re.M)
    tap.check(done.code == 0 and line is not None, "the device and what it is", done)
    for row in (r"read L2  +[\d.]+ GB/s \[", r"copy memory  +[\d.]+ GB/s \[", r"fp8  +[\d.]+ [GT] op/s \[",
                r"download pageable  +[\d.]+ [MG]B/s \[", r"launch  +[\d.]+ [MG] op/s \["):
        tap.check(re.search("^  " + row, done.out, re.M) is not None, f"its ceiling: {row}", done.out)
    stored = rows(history, "SELECT machine, count(*) AS n FROM ceiling GROUP BY machine ORDER BY n")
    tap.equal([(r["machine"], r["n"]) for r in stored],
              [(machine, 1), (machine + "/Fake GPU/0000:00:00.0", 19)],
              "kept beside the machine's own, which stay")
    before = rows(history, "SELECT * FROM ceiling ORDER BY machine, name, level")
    shown = json.loads(place.machine(history, "--json").out)
    tap.equal([(d["device"], d["absent"], d["facts"]["gpu.driver"], len(d["ceilings"]))
               for d in shown["devices"]], [("cuda:0", None, "599.1", 19)], "as JSON")
    tap.equal(rows(history, "SELECT * FROM ceiling ORDER BY machine, name, level"), before,
              "and not measured again")
    two = json.loads(place.machine(history, "--json", more={"CUDA_VISIBLE_DEVICES": "0,1"}).out)
    tap.equal([d["device"] for d in two["devices"]], ["cuda:0", "cuda:1"], "all there are")


def check_no_machine(tap, place):
    history = os.path.join(place.folder, "machine.db")
    for fake, reason in (("driver=0", "no CUDA device: the driver's library libcuda.so.1 is not there"),
                         ("devices=0", "no CUDA device: the driver finds none"),
                         ("mode=2", "no CUDA device: its compute mode prohibits contexts"),
                         ("crash", "no CUDA device: the (driver ended the )?process that asked")):
        done = place.machine(history, fake=fake)
        last = done.out.splitlines()[-1] if done.out else ""
        tap.check(done.code == 0 and re.match(reason, last) is not None, f"{fake}: the reason", done)
    # Found when it is asked for, and lost when it is to be measured.
    done = place.machine(os.path.join(place.folder, "machine.db"), "--json", fake="driver=0")
    tap.equal([d["ceilings"] for d in json.loads(done.out)["devices"]], [[]], "and no ceilings")
    with contextlib.closing(sqlite3.connect(history)) as database, database:
        database.execute("DELETE FROM ceiling WHERE machine LIKE '%/%'")
    done = place.machine(history, fake="lost")
    tap.check(done.code == 0 and "cuda:0: a context on the CUDA device" in done.err and
              done.out.rstrip().endswith("not measured"), "a device that fails is reported", done)


def check_show(tap, place):
    csv_file = os.path.join(place.folder, "rows.csv")
    done = place.case(PATH + "measured", "--speed=record", "--csv", csv_file, nvml="slow")
    tap.equal(done.code, 0, "a case on a device that is slowed down")
    shown = place.show().out
    # A busy machine may take the processor away for longer than a batch can be held.
    figures = json.loads(place.show("--json").out)["measurements"][0]["noise"]
    launched = (r"^    on the device: launched before it ran, a batch held for [\d.]+ [nmu]?s "
                if figures["gpu held"] > 0 and figures.get("gpu launching") is not None else
                r"^    on the device: launched before it ran$" if figures["gpu held"] > 0 else
                r"^    on the device: run as it was launched, for it waits for its own results$")
    for what, pattern in (
            ("the device", r"^  device +cuda \(Fake GPU, 1\.0 GiB, driver 599\.1\)$"),
            ("how it was launched", launched),
            ("how long it was opened", r"^      opened in [\d.]+ [mu]?s$"),
            ("its clocks", r"^      clock 1\.2 GHz, least 1\.2 GHz, of at most 1\.98 GHz, up to 61 C, "
                           r"345\.7 W, utilised 87 %, memory used up to 42 B$"),
            ("samples set aside", r"^      \d+ samples set aside and taken again, from [\d.]+ ms to "
                                  r"[\d.]+ ms: the device was slowed down by its power cap$"),
            ("the series", r"^device over time \((\d+) looks in [\d.]+ m?s; "),
            ("its columns", r"^  power +345\.7 W, from 345\.7 W to 345\.7 W$"),
            ("how often it was slowed down", r"^  slowed down +in (\d+) of \1, by its power cap$"),
            ("how often it was at its power cap", r"^  at power cap +in (\d+) of \1$"),
            ("a ceiling without threads", r"^    ceiling of copy from memory: .* in \d+ probes$")):
        tap.check(re.search(pattern, shown, re.M) is not None, f"show: {what}", shown)
    shown = json.loads(place.show("--json", "--samples").out)
    one = shown["measurements"][0]
    aside = one["set_aside"]
    tap.check(aside["count"] == len(one["set_aside_samples"]) == one["noise"]["gpu samples set aside"]
              and aside["least"] <= aside["median"] <= aside["most"], "as JSON", aside)
    clock = shown["series"]["clock"]
    tap.equal((clock["least"], clock["median"], clock["most"], clock["count"]),
              (1.2e9, 1.2e9, 1.2e9, len(clock["values"])), "with the rows of the series")
    table = list(csv.DictReader(io.StringIO(place.show("--csv").out)))
    tap.equal((len(table), table[0]["clock Hz"], table[0]["power W"], table[0]["throttled"]),
              (clock["count"], "1.2e+09", "345.678", "4"), "and as CSV")
    with open(csv_file) as file:
        found = {(r["kind"], r["name"]): r for r in csv.DictReader(file)}
    power = found.get(("series", "power"), {})
    tap.equal((power.get("value"), power.get("unit"), power.get("samples")),
              ("345.678", "W", str(clock["count"])), "--csv has a row a column")
    tap.equal(found.get(("set aside", "work"), {}).get("samples"), str(aside["count"]),
              "and one of what was set aside")


def check_capped(tap, place):
    place.case(PATH + "measured", "--speed=record", nvml="capped")
    shown = place.show().out
    for what, pattern in (
            ("samples at the power cap", r"^      \d+ samples kept that the device took at its power cap$"),
            ("no slowdown", r"^  slowed down +in 0 of \d+$"),
            ("looks at the power cap", r"^  at power cap +in (\d+) of \1$")):
        tap.check(re.search(pattern, shown, re.M) is not None, f"at its power cap: {what}", shown)
    tap.check("the device was slowed down" not in shown, "nothing says that it was slowed down", shown)


def check_show_none(tap, place):
    place.case(PATH + "doubles[n=100-cpu]")
    done = place.show("--csv")
    tap.check(done.code == 1 and done.out == "" and "no accelerator" in done.err,
              "a case on the CPU has no series", done)
    tap.check("over time" not in place.show().out, "and shows none")
    place.case(PATH + "doubles[n=100-cuda]", more={"LD_LIBRARY_PATH": ""})
    tap.check("over time" not in place.show().out, "nor one whose driver tells nothing")


def check_untimed(tap, place):
    off = "--speed=off"
    done = place.case(PATH + "measured", PATH + "replayed", off)
    outcomes = {key.replace(PATH, ""): r["outcome"] for key, r in results(place.history).items()}
    tap.equal(outcomes, {"measured[cuda]": "passed", "replayed[cpu]": "passed",
                         "replayed[cuda]": "passed"}, "--speed=off on the device")
    ran = rows(place.history, "SELECT c.device, m.name, m.kind, m.count, m.warmup FROM measurement m "
               "JOIN result r ON r.id = m.result_id JOIN test_case c ON c.id = r.case_id "
               "ORDER BY r.case_id, m.position")
    tap.equal([tuple(r.values()) for r in ran],
              [("cuda", "work", "run", 0, 1), ("cuda", "tensor", "run", 0, 5),
               ("cpu", "work", "run", 0, 1), ("cuda", "work", "run", 0, 1)],
              "each body runs as often as it says, and is no graph")
    bodies = rows(place.history, "SELECT value FROM value WHERE name = 'bodies'")
    tap.equal({r["value"] for r in bodies}, {1.0}, "which the bodies say too")
    tap.equal(rows(place.history, "SELECT count(*) AS n FROM bound")[0]["n"], 0, "nothing is probed")
    tap.check("work: ran 1 time, not timed" in place.show("measured").out, "and show says so",
              place.show("measured").out)
    done = place.case(PATH + "measured", off, fake="fault=1")
    failure = results(place.history)[PATH + "measured[cuda]"]["failures"]
    tap.check(failure and failure[0]["cause"] == "device" and
              "yp_measure 'work'" in failure[0]["message"], "a fault of a body is the body's",
              failure)


def main(program, plugin, nvml, cli):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(program, plugin, nvml, cli, folder)
        for check in (check_machine, check_no_machine, check_show, check_capped, check_show_none, check_untimed):
            tap.run(check.__name__, check, tap, place)
    tap.done()


main(*sys.argv[1:])
