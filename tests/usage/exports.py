"""yieldpoint history export --openmetrics, --tensorboard: read back by readers that are written here from the formats'
definitions, and compared with what the history has."""

import contextlib
import math
import os
import re
import sqlite3
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from histories import making  # noqa: E402
from program import rows, run  # noqa: E402
from tap import Tap  # noqa: E402

OK, NOTHING, FILE, USAGE = 0, 1, 3, 4
DAY, NOON = 86400, 1795435200  # 2026-11-23T12:00Z
HOSTILE = ['a"b', "back\\slash", "two\nlines", "tab\tand \x1b[31m", "../../out", "/etc/passwd", ".hidden", "é☃𝄞",
           "</script>", "x" * 4096, "x" * 4095 + "y", "a{b=\"c\"} 1", "# EOF", "perf_a", "perf/a", "perf%7Ea", "perf~a"]


class Place:
    def __init__(self, yieldpoint, program, folder):
        self.yieldpoint, self.folder = yieldpoint, folder
        self.template = self.path("template.db")
        run(program, "--history", self.template, "-q", "-k", "timed and n=1")

    def path(self, name):
        return os.path.join(self.folder, name)

    def make(self, name, fill):
        path = self.path(name)
        with contextlib.closing(sqlite3.connect(self.template)) as source, \
                contextlib.closing(sqlite3.connect(path)) as copy:
            source.backup(copy)
            copy.executescript("PRAGMA foreign_keys = ON; DELETE FROM run; DELETE FROM test_case")
        with making(path, self.template) as maker:
            fill(maker)
        return path

    def export(self, *words, file=None):
        return run(self.yieldpoint, "history", "export", *words, *(["--history", file] if file else []))


def two_machines(maker):
    """Three runs; the second is another machine's; a case fails, one is on an accelerator with a series."""
    fit = maker.case("stress/rx.c::fit", 1, "stress slow")
    score = maker.case("stress/rx.c::score", 2, "stress", "cuda")
    for day, machine, commit, failed in ((0, "a1" * 16, "1" * 40, {fit}), (10, "b2" * 16, "2" * 40, ()),
                                         (20, "a1" * 16, "3" * 40, {score})):
        key = maker.run(NOON + day * DAY, machine, commit)
        maker.results(key, NOON + day * DAY, [fit, score], failed)
    change = maker.database.execute
    last = f"(SELECT id FROM result WHERE case_id = '{score}' ORDER BY started DESC LIMIT 1)"
    for name, values in (("clock", (1e9, 2e9, 1.5e9)), ("power", (100.5, math.nan, math.inf))):
        change(f"INSERT INTO series VALUES ({last}, ?, ?, ?)",
               (name, struct.pack("<3d", 0, 0.125, 0.25), struct.pack("<3d", *values)))
    change(f"INSERT OR REPLACE INTO noise VALUES ({last}, 0, 'began', ?)", (NOON + 20 * DAY + 1.5,))
    change(f"UPDATE measurement SET batch = 4 WHERE result_id = {last}")
    change(f"UPDATE measurement SET median = 9e999, share = NULL, p99 = 0.5 WHERE result_id = {last}")


def hostile(maker):
    cases = [maker.case(f"{name}::x", 1, 'ta"g') for name in HOSTILE]
    key = maker.run(NOON, "m\\\"\n", 'c"')
    maker.results(key, NOON, cases, set(cases[:3]))
    maker.database.execute("UPDATE value SET name = ?, unit = ?", ('auc "1"\\\n', "\\"))
    maker.database.execute("UPDATE measurement SET name = ?, unit = ?", ('nap\n"', "px\\"))
    maker.database.execute("UPDATE verdict SET name = ?", ("\\\\",))


# -- OpenMetrics ------------------------------------------------------------------------------------

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"')
NUMBER = re.compile(r"(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|\+Inf|-Inf|NaN)\Z")
SUFFIXES = {"gauge": "", "info": "_info", "stateset": ""}


def unescaped(text):
    return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), text)


def openmetrics(text):
    """{family: {"type", "unit", "help", samples: {labels as a frozenset of pairs: value}}}; raises ValueError where the
    text is not what section "Text format" of the specification allows."""
    families, current, told = {}, None, set()
    if not text.endswith("\n"):
        raise ValueError("no end of line at the end")
    lines = text[:-1].split("\n")
    if lines[-1] != "# EOF" or "# EOF" in lines[:-1]:
        raise ValueError("# EOF is the last line, once")
    for number, line in enumerate(lines[:-1], 1):
        def wrong(what, number=number, line=line):
            return ValueError(f"line {number}: {what}: {line[:200]}")
        if line.startswith("#"):
            found = re.fullmatch(rf"# (TYPE|UNIT|HELP) ({NAME}) (.*)", line)
            if not found:
                raise wrong("no metadata")
            kind, name, rest = found.groups()
            if name != current:
                if name in families:
                    raise wrong("a family in two pieces")
                families[name], current, told = {"type": None, "unit": "", "samples": {}}, name, set()
            if kind in told or families[name]["samples"]:
                raise wrong("metadata twice, or behind samples")
            told.add(kind)
            families[name][kind.lower()] = rest
            if kind == "UNIT" and not name.endswith("_" + rest):
                raise wrong("the unit is not the end of the name")
            if kind == "TYPE" and rest not in SUFFIXES:
                raise wrong("no type")
            continue
        found = re.match(rf"({NAME})\{{", line)
        if not found or current is None or found[1] != current + SUFFIXES[families[current]["type"]]:
            raise wrong("a sample of another family")
        at, labels = found.end(), []
        while line[at] != "}":
            label = LABEL.match(line, at)
            if not label:
                raise wrong("no label")
            labels.append((label[1], unescaped(label[2])))
            at = label.end() + (line[label.end()] == ",")
        if line[at + 1] != " " or not NUMBER.match(line[at + 2:]):
            raise wrong("no number")
        key = frozenset(labels)
        if len(key) != len(labels) or len({n for n, _ in labels}) != len(labels):
            raise wrong("a label twice")
        if key in families[current]["samples"]:
            raise wrong("the same labels twice")
        families[current]["samples"][key] = float(line[at + 2:].replace("Inf", "inf"))
    for name, family in families.items():
        if family["type"] == "info" and set(family["samples"].values()) != {1}:
            raise ValueError(f"{name}: an info is 1")
        if family["type"] == "stateset":
            for key, value in family["samples"].items():
                if name not in dict(key) or value not in (0, 1):
                    raise ValueError(f"{name}: no state")
    return families


def samples_of(families, name, **labels):
    return [v for k, v in families.get("yieldpoint_" + name, {"samples": {}})["samples"].items()
            if labels.items() <= dict(k).items()]


def check_openmetrics(tap, place):
    path, to = place.make("metrics.db", two_machines), place.path("m.txt")
    done = place.export("--openmetrics", to, file=path)
    with open(to) as file:
        found = openmetrics(file.read())
    tap.check(done.code == OK and not done.out and not done.err, "openmetrics: written", done)
    newest = rows(path, """SELECT * FROM (SELECT r.*, run.machine AS machine, run.id AS run_key, row_number() OVER
                           (PARTITION BY r.case_id, run.machine ORDER BY r.started DESC) AS n FROM result AS r
                           JOIN run ON run.id = r.run_id) WHERE n = 1""")
    told = {tuple(dict(k)[n] for n in ("case", "machine", "result", "run"))
            for k in found["yieldpoint_result"]["samples"]}
    tap.equal(told, {(r["case_id"], r["machine"], r["id"], r["run_key"]) for r in newest},
              "openmetrics: the newest result of each case and machine")
    wrong = []
    for r in newest:
        where = {"case": r["case_id"], "machine": r["machine"]}
        m = rows(path, "SELECT * FROM measurement WHERE result_id = ?", r["id"])[0]
        v = rows(path, "SELECT * FROM value WHERE result_id = ?", r["id"])[0]
        for name, wanted in (("time_seconds", m["median"]), ("time_low_seconds", m["low"]),
                             ("time_high_seconds", m["high"]), ("duration_seconds", r["duration"]),
                             ("began_timestamp_seconds", r["started"]), ("value", v["value"])):
            got = samples_of(found, name, **where)
            if got != [wanted]:
                wrong.append((where, name, got, wanted))
        states = {dict(k)["yieldpoint_outcome"]: x for k, x in found["yieldpoint_outcome"]["samples"].items()
                  if where.items() <= dict(k).items()}
        if [s for s in states if states[s]] != [r["outcome"]] or len(states) < 5:
            wrong.append((where, states))
        if samples_of(found, "budget_met", **where) != [float(r["outcome"] != "failed")]:
            wrong.append((where, "budget", samples_of(found, "budget_met", **where)))
    tap.check(not wrong and len(newest) == 4, "openmetrics: numbers are the history's, to the last digit", wrong)
    tap.equal(samples_of(found, "time_seconds", device="cuda", machine="a1" * 16), [math.inf],
              "openmetrics: infinity")
    done = place.export("--openmetrics", "-", "--machine", "b2", "--device", "cuda", file=path)
    tap.equal([dict(k)["case"] for k in openmetrics(done.out)["yieldpoint_result"]["samples"]],
              ["stress/rx.c::score[n=2]"], "openmetrics: by a filter, to the standard output")
    done = place.export("--openmetrics", "-", "--commit", "ffff", file=path)
    tap.check(done.code == NOTHING and done.out == "# EOF\n", "openmetrics: nothing matches", done)
    text = openmetrics(place.export("--openmetrics", "-", file=place.make("hostile.db", hostile)).out)
    told = {dict(k)["case"] for k in text["yieldpoint_result"]["samples"]}
    tap.equal(told, {f"{name}::x[n=1]" for name in HOSTILE}, "openmetrics: names are read back as they are")
    tap.equal({(dict(k)["name"], dict(k)["value_unit"], dict(k)["machine"])
               for k in text["yieldpoint_value"]["samples"]}, {('auc "1"\\\n', "\\", "m\\\"\n")},
              "openmetrics: names of values, units, machines")


# -- TensorBoard ------------------------------------------------------------------------------------


def crc32c(data):
    """Bit by bit, of the polynomial 0x1EDC6F41 reflected."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


assert crc32c(b"123456789") == 0xe3069283


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(data):
    at = 0
    while at < len(data):
        length, of_length = struct.unpack_from("<QI", data, at)
        if of_length != masked(data[at:at + 8]):
            raise ValueError(f"byte {at}: the sum of the length")
        record = data[at + 12:at + 12 + length]
        if len(record) != length or struct.unpack_from("<I", data, at + 12 + length)[0] != masked(record):
            raise ValueError(f"byte {at}: the sum of the record")
        yield record
        at += 16 + length


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def fields(data):
    """[(number, value)] of a message: int, float or bytes."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("a field is cut")
        else:
            form, size = {1: ("<d", 8), 5: ("<f", 4)}[key & 7]
            value, at = struct.unpack_from(form, data, at)[0], at + size
        found.append((key >> 3, value))
    return found


def scalars(path):
    """{tag: [(step, wall time, value)]}."""
    with open(path, "rb") as file:
        events = [fields(r) for r in records(file.read())]
    if (3, b"brain.Event:2") not in events[0]:
        raise ValueError(f"the first event is no version: {events[0]}")
    found = {}
    for event in events[1:]:
        one = dict(event)
        for _, value in fields(one[5]):
            parts = dict(fields(value))
            found.setdefault(parts[1].decode(), []).append((one.get(2, 0), one[1], parts[2]))
    return found


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def trees(folder):
    """{path below the folder: scalars} of all files in it."""
    found = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            if ".tfevents." not in name:
                raise ValueError(f"{directory}/{name} is no event file")
            found[os.path.relpath(directory, folder)] = scalars(os.path.join(directory, name))
    return found


def check_tensorboard(tap, place):
    path, to = place.path("metrics.db"), place.path("tb")
    done = place.export("--tensorboard", to, file=path)
    found = trees(to)
    tap.check(done.code == OK and not done.out and not done.err, "tensorboard: written", done)
    case = "stress~rx.c::score[n=2]"
    over = found[f"{case}/results-{'a1' * 6}"]
    stored = rows(path, """SELECT m.*, r.started AS began, r.duration AS duration, r.id AS id FROM result AS r
                           JOIN run ON run.id = r.run_id JOIN measurement AS m ON m.result_id = r.id
                           WHERE case_id LIKE '%score%' AND machine LIKE 'a1%' ORDER BY r.started""")
    tap.equal(over["time (s)/nap"], [(i, r["began"], single(r["median"]) if r["median"] < 1e30 else math.inf)
                                     for i, r in enumerate(stored)], "tensorboard: a step for each result of a machine")
    tap.equal(over["case/duration (s)"], [(i, r["began"], single(r["duration"])) for i, r in enumerate(stored)],
              "tensorboard: durations")
    values = rows(path, "SELECT value FROM value WHERE result_id IN (?, ?) ORDER BY result_id = ?", stored[0]["id"],
                  stored[1]["id"], stored[1]["id"])
    tap.equal([v for _, _, v in over["value/auc"]], [single(r["value"]) for r in values], "tensorboard: values")
    tap.equal(len([1 for name in found if name.startswith(case + "/results")]), 2, "tensorboard: machines stay apart")

    one = found[[n for n in found if n.startswith(f"{case}/2026-12-13") and n.endswith(stored[1]["id"][:8])][0]]
    samples = rows(path, "SELECT seconds FROM samples WHERE result_id = ?", stored[1]["id"])[0]["seconds"]
    samples = struct.unpack(f"<{len(samples) // 8}d", samples)
    got = one["sample (s)/nap"]
    walls = [NOON + 20 * DAY + 1.5 + 4 * sum(samples[:i + 1]) for i in range(len(samples))]
    tap.check([(s, v) for s, _, v in got] == [(i, single(x)) for i, x in enumerate(samples)] and
              all(abs(w - x) < 1e-6 for (_, w, _), x in zip(got, walls)), "tensorboard: samples by step, at their times",
              (got[:3], walls[:3]))
    began = rows(path, "SELECT started FROM result WHERE id = ?", stored[1]["id"])[0]["started"]
    tap.equal(one["device/clock"], [(i, began + 0.125 * i, v) for i, v in enumerate((1e9, 2e9, 1.5e9))],
              "tensorboard: a series, in its steps and times")
    tap.equal(one["device/power"], [(0, began, 100.5)], "tensorboard: what is no number of a series is left out")

    before = {d: sorted(n) for d, _, n in os.walk(to)}
    place.export("--tensorboard", to, file=path)
    tap.check({d: sorted(n) for d, _, n in os.walk(to)} == before and trees(to) == found,
              "tensorboard: once more replaces the same files")
    done = place.export("--tensorboard", place.path("tb-none"), "--commit", "ffff", file=path)
    tap.check(done.code == NOTHING and not os.path.exists(place.path("tb-none")), "tensorboard: nothing matches", done)

    below = place.path("below/tb")
    done = place.export("--tensorboard", below, file=place.path("hostile.db"))
    found = trees(below)
    tap.check(done.code == OK and os.listdir(place.path("below")) == ["tb"] and
              len([n for n in found if "/results" in n]) == len(HOSTILE) and len(os.listdir(below)) == len(HOSTILE),
              "tensorboard: each hostile name has a directory of its own, and none is outside",
              f"{done}\n{sorted(found)}")
    tap.check(all('value/auc "1"\\\n' in s for n, s in found.items() if "/results" in n),
              "tensorboard: tags are the names")


def check_many_samples(tap, place):
    def fill(maker):
        case = maker.case("a.c::many", 1)
        maker.results(maker.run(NOON), NOON, [case])
        many = struct.pack("<100000d", *(1e-3 + 1e-9 * i for i in range(100000)))
        maker.database.execute("UPDATE samples SET seconds = ?", (many,))
        maker.database.execute("UPDATE measurement SET count = 100000, batch = 1")

    place.export("--tensorboard", place.path("many"), file=place.make("many.db", fill))
    got = [s for n, s in trees(place.path("many")).items() if "/results" not in n][0]["sample (s)/nap"]
    tap.check(len(got) == 20000 and all(s == 5 * i and v == single(1e-3 + 1e-9 * s) for i, (s, _, v) in enumerate(got)),
              "tensorboard: of 100,000 samples every fifth, with its number", (len(got), got[:3]))


# -- training logs ----------------------------------------------------------------------------------

LOG = """kind,epoch,place,step,loss,weight,norm,lr,scale,skipped,train_loss,validation_loss,auc,best,seconds
step,1,1,1,2.5,8,1.5,0.001,1,0,,,,,0.5
step,1,2,2,2.25,8,,0.001,1,1,,,,,0.25
epoch,1,2,2,,,,0.001,1,,2.375,2.5,0.75,1,1
step,2,1,3,inf,8,1,0.0005,1,0,,,,,0.25
step,2,2,4,9.9,8,1,0.0"""


def check_log(tap, place):
    log, to = place.path("run 1.csv"), place.path("logs")
    with open(log, "w") as file:
        file.write(LOG)
    os.utime(log, (NOON, NOON))
    done = place.export("--tensorboard", to, "--log", log)
    found = trees(to)
    tap.equal((done.code, done.out, done.err, list(found)),
              (OK, "", f"yieldpoint: {log}:6: the last line has no end and is left out\n", ["run%201.csv"]),
              "log: a run of its own, and the row that is still being written is told")
    found = found["run%201.csv"]
    tap.equal(found["step/loss"], [(1, NOON - 1.5, 2.5), (2, NOON - 1.25, 2.25), (3, NOON, math.inf)],
              "log: by step, at times that end when the file was changed; a torn row is left out")
    tap.equal((found["step/norm"], found["epoch/auc"], found["epoch/train_loss"]),
              ([(1, NOON - 1.5, 1.5), (3, NOON, 1)], [(2, NOON - 0.25, 0.75)], [(2, NOON - 0.25, 2.375)]),
              "log: what is empty is left out; an epoch has tags of its own")
    tap.equal(sorted(t for t in found if t.split("/")[1] in ("epoch", "place", "step", "kind")), [],
              "log: places are no scalars")
    for name, text, said in (
            ("no step", "epoch,loss\n1,2\n", r":1: .*no column 'step'"), ("empty", "", r":1: there is no first line"),
            ("no number", "step,loss\n1,two\n", r":2: is no number: 'two'"),
            ("short", "step,loss\n1,2\n3\n", r":3: .*fewer fields"), ("long", "step,loss\n1,2,3\n", r":2: .*more fields"),
            ("half a step", "step,loss\n1.5,2\n", r":2: .*no whole number"),
            ("below 0", "step,loss\n-1,2\n", r":2: .*no whole number"),
            ("a terminal's", "step,loss\n1,\x1b[31m\n", r":2: is no number: '\?\[31m'"),
            ("names", ",".join(["step"] * 300) + "\n", r"more than 256 columns")):
        with open(log, "w") as file:
            file.write(text)
        done = place.export("--tensorboard", place.path("bad"), "--log", log)
        tap.check(done.code == FILE and re.search(said, done.err) and not trees(place.path("bad")),
                  f"log: {name} is told with its line, and nothing is written", done)
    done = place.export("--tensorboard", to, "--log", place.path("absent.csv"))
    tap.check(done.code == FILE and "absent.csv: No such file" in done.err, "log: one that is not there", done)


def check_command_line(tap, place):
    path, to = place.path("metrics.db"), place.path("out.txt")
    for words in (("--openmetrics", ""), ("--openmetrics", "-", "--csv", "-"), ("--tensorboard", "-"),
                  ("--tensorboard", "a", "--columns", "all"), ("--openmetrics", "-", "--attempts"), ("--log", "a"),
                  ("--csv", "-", "--log", "a"), ("--tensorboard", "a", "--log", "b", "-k", "fit")):
        done = run(place.yieldpoint, "history", "export", *words)
        tap.check(done.code == USAGE and not done.out and not os.path.exists("a"), f"{' '.join(words)}: is wrong", done)
    place.export("--openmetrics", to, file=path)
    with open(to) as file:
        before = file.read()
    damaged = place.make("damaged.db", two_machines)
    with open(damaged, "r+b") as file:
        file.seek(os.path.getsize(damaged) // 4)
        file.write(b"\xff" * (os.path.getsize(damaged) // 2))
    done = place.export("--openmetrics", to, file=damaged)
    with open(to) as file:
        tap.check(done.code == FILE and file.read() == before, "a damaged history leaves the file as it was", done)
    with open(place.path("file"), "w"):
        done = place.export("--tensorboard", place.path("file"), file=path)
    tap.check(done.code == FILE and place.path("file") in done.err, "a file in the place of the directory", done)
    done = place.export("--openmetrics", place.path("no/m.txt"), file=path)
    tap.check(done.code == FILE and "m.txt" in done.err, "a folder that is not there", done)
    tap.equal([n for n in os.listdir(place.folder) if ".part" in n], [], "nothing is left over")


def main(yieldpoint, program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(yieldpoint, program, folder)
        tap.run("openmetrics", check_openmetrics, tap, place)
        tap.run("tensorboard", check_tensorboard, tap, place)
        tap.run("many samples", check_many_samples, tap, place)
        tap.run("log", check_log, tap, place)
        tap.run("command line", check_command_line, tap, place)
    tap.done()


main(*[os.path.abspath(p) for p in sys.argv[1:3]])
