"""yieldpoint report: what it says of histories whose changes are known.

usage: report.py YIELDPOINT SUITE

A run of the suite makes the tables, and its case `timed` has the rows that stand for all others."""

import contextlib
import json
import os
import re
import sqlite3
import sys
import tempfile
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from histories import Maker  # noqa: E402
from program import rows, run  # noqa: E402
from tap import Tap  # noqa: E402

HOUR = 3600
START = 1.7e9
OWN, OTHER = "0" * 32, "1" * 32
FIGURE = re.compile(r"([0-9.]+) (ns|us|µs|ms|s|B|KiB|MiB|GiB)")
UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
LIMIT = 60000


class History:
    """Runs an hour apart, in which each case takes the same time but for a little noise."""

    def __init__(self, suite, path):
        done = run(suite, "-q", "-k", "timed", "--history", path, cwd=os.path.dirname(path))
        if done.code != 0:
            raise RuntimeError(done)
        self.path, self.maker, self.hour = path, Maker(path, path), 0
        self.database = self.maker.database
        # Only what is planted is there.
        for table in ("result", "run", "test_case"):
            self.database.execute(f"DELETE FROM {table}")
        for table in ("fact", "measurement", "samples", "memory", "noise", "axis", "value", "verdict"):
            self.database.execute(f"DELETE FROM {table}")

    def run(self, cases, failed=(), machine=OWN, commit=None, repeat=0, of=None):
        """`of`: a run that gets a repetition."""
        self.hour += 1
        started = START + HOUR * self.hour
        key = of or self.maker.run(started, machine, commit or f"{self.hour:040x}")
        self.maker.results(key, started, cases, failed, repeat=repeat)
        mine = f"result_id IN (SELECT id FROM result WHERE run_id = '{key}')"
        self.set("value", mine, value=0.5)
        self.set("verdict", mine, kind="max latency")
        return key

    def set(self, table, where, *parameters, **columns):
        names = ", ".join(f"{name} = ?" for name in columns)
        self.database.execute(f"UPDATE {table} SET {names} WHERE {where}", [*columns.values(), *parameters])

    def of(self, key, case, table, **columns):
        """Of a case's result in a run."""
        name = "id" if table == "result" else "result_id"
        self.set(table, f"{name} IN (SELECT id FROM result WHERE run_id = ? AND case_id = ?)", key, case, **columns)

    def save(self):
        self.maker.commit()


@contextlib.contextmanager
def planted(suite):
    with tempfile.TemporaryDirectory() as folder:
        history = History(suite, os.path.join(folder, "history.db"))
        yield history
        history.database.close()


def markdown(cli, history, *words):
    return run(cli, "report", *words, "--history", history.path, "--markdown", "-")


def sections(text):
    """The text of each section, by its name; and the head."""
    found, name = {"head": ""}, "head"
    for line in text.split("\n"):
        start = re.match(r"(?:### |<details><summary>)(?:\d+ )?(\w+)", line)
        if start:
            name = start[1]
            found[name] = ""
        found[name] += line + "\n"
    return found


def words_of(text):
    """(case, word) of all that Markdown says has changed."""
    case, found = None, set()
    for line in text.split("\n"):
        heading = re.match(r"#### (`+) ?(.*?) ?\1$", line)
        change = re.match(r"- \**([a-z ]+?)\**: `", line)
        if heading:
            case = heading[2]
        elif change and case:
            found.add((case, change[1]))
    return found


# -- what changed ----------------------------------------------------------------------------------------------


def changing(history):
    """Ten runs that are alike, and one in which each case does what it is named for. The newest run's key."""
    maker = history.maker
    names = ["broken", "mended", "slower", "faster", "larger", "gone", "same", "value", "noisy", "skipped", "idle"]
    cases = {name: maker.case(f"plan/{name}.c::work", 1) for name in names}
    for _ in range(10):
        last = history.run(list(cases.values()), failed={cases["mended"]})
    cases["new"] = maker.case("plan/new.c::work", 1)
    key = history.run([c for name, c in cases.items() if name != "gone"], failed={cases["broken"]})
    # Each time as in the run before, but for those that are to differ.
    for name, case in cases.items():
        if name in ("gone", "new"):
            continue
        median, = history.database.execute(
            "SELECT median FROM measurement JOIN result ON result.id = result_id WHERE run_id = ? AND case_id = ?",
            (last, case)).fetchone()
        median *= {"slower": 2, "faster": 0.5}.get(name, 1)
        history.of(key, case, "measurement", median=median, low=0.99 * median, high=1.01 * median)
    history.of(key, cases["larger"], "memory", allocated_peak=64 << 20)
    history.of(key, cases["value"], "value", value=0.25)
    history.of(key, cases["noisy"], "result", outcome="noisy")
    history.of(key, cases["skipped"], "result", outcome="skipped", reason="no memory here")
    for each in (last, key):
        history.of(each, cases["idle"], "result", outcome="skipped", reason="no device here")
    history.of(key, cases["broken"], "verdict", met="not met", measured=0.13, low=0.125, high=0.135, distance=-0.3)
    history.save()
    return cases


def changes(t, cli, suite):
    with planted(suite) as history:
        cases = changing(history)
        done = markdown(cli, history)
        parts = sections(done.out)
        t.equal((done.code, done.err), (0, ""), "a report of a run with changes ends with 0")
        t.check(done.out.startswith("## 1 failed, 1 undecided, 6 changed, 2 passed, 1 skipped; 1 only in the run"),
                "its first line counts the cases by section", done)
        t.equal(list(parts), ["head", "failed", "undecided", "changed", "passed", "skipped", "Advice"],
                "failed cases come first")
        t.check(re.search(r"`plan/\w+\.c::work\[n=1\]`: `It cannot be said whether \w+ has changed: ", parts["Advice"]),
                "of a time that compare cannot judge, advice says so", parts["Advice"])
        wanted = {"failed": ["broken"], "undecided": ["noisy"], "passed": ["new", "same"], "skipped": ["idle"],
                  "changed": ["faster", "larger", "mended", "skipped", "slower", "value"]}
        for section, names in wanted.items():
            t.equal(re.findall(r"plan/(\w+)\.c::work", re.sub(r"```.*?```", "", parts[section], flags=re.S)), names,
                    f"section {section} has its cases, in the order of their ids")
        t.check(cases["gone"] in parts["head"], "a case of the run before alone is named", parts["head"])
        said = words_of(done.out)
        t.equal({(c, w) for c, w in said if c == cases["slower"]}, {(cases["slower"], "slower")}, "slower, nothing else")
        compared = run(cli, "compare", "last~1", "last", "--history", history.path, "--json", "-")
        verdicts = {(c["case"], c["verdict"]) for c in json.loads(compared.out)["comparisons"]
                    if c["verdict"] not in ("same", "cannot say") and c["quantity"] != "case"}
        t.equal(said, verdicts, "a report says what `yieldpoint compare` says of the two runs")
        shown = run(cli, "show", cases["broken"], "--json", "--history", history.path)
        again = json.loads(shown.out)["reproduce"]
        t.check(f"```sh\n{again}\n```" in parts["failed"], "a failed case has the line that runs it again", parts["failed"])
        row = next((x for x in parts["failed"].split("\n") if "not met" in x), "")
        t.equal([x.strip().replace("\\", "") for x in row.split("|")[2:-1]],
                ["not met", "130 ms", "[125 ms, 135 ms]", "100 ms", "-30.0 %"],
                "a budget that is not met has figure, interval, limit and distance")
        text = run(cli, "report", "--history", history.path)
        t.equal((text.code, text.out.strip().split("\n")[-1]), (0, done.out.split("\n")[0][3:]),
                "without an output it prints text, which ends with the counts")
        for case, word in sorted(said):
            block = text.out.split(case)[1].split("plan/")[0]
            t.check(f"{word}: " in block, f"text says {word} of {case}", block)
        for figure in ("130 ms [125 ms, 135 ms]", again, "no device here"):
            t.check(figure in text.out, f"text has {figure[:40]}", text.out)
        chosen = markdown(cli, history, cases["slower"], "plan/same.c")
        t.check(chosen.out.startswith("## 1 changed, 1 passed\n"), "ids and files choose cases", chosen)
        chosen = markdown(cli, history, "-k", "broken or gone")
        t.check(chosen.out.startswith("## 1 failed; 1 only in"), "-k chooses cases, also those that are gone", chosen)
        t.equal(markdown(cli, history, "last~2").out.split("\n")[0], "## 1 failed, 10 passed",
                "between two runs that are alike nothing has changed")


def figures(t, cli, suite):
    """Each figure is the history's, to the digits that are shown."""
    with planted(suite) as history:
        cases = [history.maker.case(f"plan/part{i % 3}.c::work", i) for i in range(60)]
        key = history.run(cases)
        for i, case in enumerate(cases):
            median = 1.2345678e-8 * 1.7**(i % 40)
            history.of(key, case, "measurement", median=median, low=median * 0.987654, high=median * 1.0123456)
        history.save()
        stored = {row["case_id"]: row for row in rows(
            history.path, "SELECT r.case_id, m.median, m.low, m.high FROM result AS r "
                          "JOIN measurement AS m ON m.result_id = r.id")}
        done = markdown(cli, history)
        text = run(cli, "report", "--history", history.path).out
        wrong, seen = [], 0
        for line in done.out.split("\n"):
            cells = [c.strip().replace("\\", "") for c in line.split(" |")]
            case = cells[0].strip("| ")
            if case not in stored:
                continue
            seen += 1
            told = FIGURE.findall(cells[2]) + FIGURE.findall(cells[3])
            true = [stored[case][name] for name in ("median", "low", "high")]
            wrong += [(case, *pair) for pair in zip(told, true) if not is_shown(*pair)]
            wrong += [(case, told)] * (len(told) != 3)
            wrong += [(case, "text")] * (" ".join(told[0]) not in text.split(case)[1].split("\n")[0])
        t.equal((seen, wrong), (60, []), "medians and intervals equal the history's to the digit shown")


def is_shown(figure, true):
    digits, unit = figure
    last = 10.0**-len(digits.partition(".")[2]) * UNITS[unit]
    cut = len(digits.replace(".", "").lstrip("0"))  # trailing zeros are not printed
    last *= 10**max(0, 0 if "." in digits else cut - 4)
    return abs(float(digits) * UNITS[unit] - true) <= max(0.5000001 * last, 0.5e-3 * true)


# -- what it is compared with ----------------------------------------------------------------------------------


def bases(t, cli, suite):
    with planted(suite) as history:
        case = [history.maker.case(f"plan/c{i}.c::work", 1) for i in range(4)]
        first = history.run(case)
        history.save()
        done = markdown(cli, history)
        t.check("compared with no run" in done.out and "## 4 passed\n" in done.out, "a first run has nothing to compare with",
                done)
        other = history.run(case, machine=OTHER)
        second = history.run(case)
        history.of(second, case[0], "value", value=0.75)
        history.save()
        done = markdown(cli, history)
        t.check(f"compared with `run {first[:8]} " in done.out, "the run before is one of the same machine", done)
        t.equal(words_of(done.out), {(case[0], "changed")}, "what changed since that run is found")
        done = markdown(cli, history, "--against", other[:8])
        t.check(f"compared with `run {other[:8]} " in done.out and "two machines" in done.out,
                "--against names a run of another machine, and the report says so", done)
        alone = history.run([case[1]])
        history.of(alone, case[1], "measurement", median=2e-3, low=1.98e-3, high=2.02e-3)
        whole = history.run(case)
        history.save()
        done = markdown(cli, history)
        t.check(f"compared with `run {second[:8]} " in done.out, "a run of one case is not what a whole one is compared with",
                done)
        done = markdown(cli, history, alone[:8])
        t.check(f"compared with `run {second[:8]} " in done.out and done.out.startswith("## 1 passed; 3 only"),
                "a run of one case is compared with the one before it", done)
        done = markdown(cli, history, "last", whole[:13], alone[:8])
        t.check(done.out.count("- `run ") == 2 and done.out.startswith("## 1 changed, 3 passed\n"),
                "several runs are reported together, each once", done)
        history.set("run", f"id = '{whole}'", slowdown=2.0)
        history.save()
        done = markdown(cli, history)
        t.check("slowed down 2 times" in done.out and done.out.startswith("## 4 passed\n"),
                "a run whose times are not those of the work is reported, and compared with nothing", done)
        twice = history.run(case, failed={case[2]})
        history.run(case, of=twice, repeat=1)
        history.save()
        done = markdown(cli, history)
        t.check(done.out.startswith("## 1 failed, "), "a case that failed in one of its repetitions has failed", done)


# -- what is too much, or not what it seems --------------------------------------------------------------------


def cut(t, cli, suite):
    with planted(suite) as history:
        cases = [history.maker.case(f"plan/part{i // 50}.c::work", i) for i in range(900)]
        history.run(cases, failed=set(cases[:400]))
        history.save()
        done = markdown(cli, history)
        left = re.search(r"Left out, because a comment has only so much room: (.*)\.\n$", done.out)
        t.check(LIMIT * 0.8 < len(done.out.encode()) <= LIMIT, "a comment is cut below its limit", len(done.out.encode()))
        t.check(left is not None, "what was left out is counted at the end", done.out[-500:])
        counts = {name: int(n) for n, name in re.findall(r"(\d+) (\w+)", left[1] if left else "")}
        t.equal(done.out.count("\n#### ") + counts.get("failed", 0), 400, "failed cases that are shown and left out are all")
        listed = len(re.findall(r"^\| plan/", done.out, re.M))
        t.equal(listed + counts.get("passed", 0), 500, "passed cases that are shown and left out are all")
        t.check(done.out.count("<details>") == done.out.count("</details>"), "each folded part ends")


HOSTILE = ["`ticks``three```", "a|b\\|c", "</details><script>alert(1)</script>", "line\nend\r", "\x1b[31mred\x07",
           "*stars* _under_ [link](http://x)", "x" * 4096, "|" * 300, "\u202eright to left", "\x9b31m", "'quote' \"twice\""]


def hostile(t, cli, suite):
    with planted(suite) as history:
        cases = []
        for i, name in enumerate(HOSTILE):
            cases += [history.maker.case(f"plan/{name}.c::work", 2 * i), history.maker.case(f"plan/{name}.c::fine", 2 * i + 1)]
        key = history.run(cases, failed=set(cases[::2]))
        for i, name in enumerate(HOSTILE):
            history.of(key, cases[2 * i], "failure", message=name)
            history.of(key, cases[2 * i + 1], "result", reason=name, outcome="skipped")
        history.maker.database.execute("UPDATE failure SET message = CAST(x'fffe41c3' AS TEXT) WHERE message = ?",
                                       (HOSTILE[0],))
        for column, value in (("median", None), ("low", float("-inf")), ("high", float("inf"))):
            history.of(key, cases[0], "measurement", **{column: value})
        history.save()
        done = markdown(cli, history)
        t.equal((done.code, done.err), (0, ""), "hostile names are reported")
        text = run(cli, "report", "--history", history.path)
        t.equal((text.code, text.err), (0, ""), "hostile names are printed")
        for name, out in (("Markdown", done.out), ("text", text.out)):
            bad = {hex(ord(c)) for c in out if unicodedata.category(c) == "Cc" and c != "\n" and ord(c) < 0x80}
            t.equal(bad, set(), f"no control character gets into {name}")
        t.check("\x9b" not in text.out, "no command of the C1 set reaches a terminal")
        lines = [x for x in re.sub(r"^(`{3,}).*?^\1$", "", done.out, flags=re.S | re.M).split("\n")
                 if not x.startswith("#### ")]
        t.equal([x for x in lines if "<script" in x or ("<" in x and not re.match(r"</?details>", x))], [],
                "no markup stands outside of code")
        table = [x for x in lines if x.startswith("| plan")]
        widths = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", x)) for x in table}
        t.equal((len(table), widths), (len(HOSTILE), {3}), "each row of a table has its columns")
        heads = [x for x in done.out.split("\n") if x.startswith("#### ")]
        t.equal(len(heads), len(HOSTILE), "each case has its heading")
        t.check(all(re.fullmatch(r"#### (`+)(?!`).*(?<!`)\1", x) for x in heads), "an id ends where its code ends", heads)


def exits(t, cli, suite):
    with planted(suite) as history:
        case = history.maker.case("plan/a.c::work", 1)
        history.save()
        done = run(cli, "report", "--history", history.path)
        t.check(done.code == 1 and "run a suite first" in done.err, "a history without a result: exit 1", done)
        history.run([case])
        history.save()
        for name, words, code, said in [
                ("a run that is not there", ["0123456789abcdef"], 4, "no such run"),
                ("an id that is not there", ["plan/b.c::work"], 4, "plan/b.c::work"),
                ("a malformed expression", ["-k", "and and"], 4, "and"),
                ("-k that chooses nothing", ["-k", "nowhere"], 5, "no case"),
                ("an option that is not there", ["--pdf", "x"], 4, "--pdf"),
                ("two outputs on the same stream", ["--text", "--markdown", "-"], 4, "standard output"),
                ("a file without a name", ["--markdown", ""], 4, "--markdown"),
                ("--against without its run", ["--against", "last~7"], 4, "last~7"),
                ("a file that cannot be written", ["--markdown", "/nowhere/at/all.md"], 3, "/nowhere/at/all.md")]:
            done = run(cli, "report", *words, "--history", history.path)
            t.check(done.code == code and said in done.err and done.out == "", f"{name}: exit {code} and what is wrong", done)
        done = run(cli, "report", "--history", "/nowhere/history.db")
        t.check(done.code == 3 and "/nowhere/history.db" in done.err, "a history that is not there: exit 3", done)
        target = os.path.join(os.path.dirname(history.path), "report.md")
        done = run(cli, "report", "--history", history.path, "--markdown", target)
        with open(target, encoding="utf-8") as file:
            t.equal((done.code, done.out, file.readline()), (0, "", "## 1 passed\n"), "--markdown FILE writes it")
        done = run(cli, "report", "--history", history.path, "--markdown", target, "--text")
        t.check(done.code == 0 and "1 passed" in done.out, "two outputs in one pass", done)


TABLE = """mode,tile_size,batch_size,device,forward_time_ms,total_time_ms,peak_memory_mb
inference,64,1,cpu,10.0,10.0,100
inference,64,2,cpu,19.0,19.0,180
inference,128,1,cpu,41.0,41.0,390
inference,128,2,cpu,80.0,80.0,700
"""


def outputs(t, cli, suite):
    """All of them in one pass, each whole or not at all."""
    with planted(suite) as history:
        folder = os.path.dirname(history.path)
        cases = [history.maker.case("plan/sweep.c::work", i) for i in range(1, 6)]
        history.run(cases)
        history.run(cases, failed={cases[1]})
        history.save()

        def path(name):
            return os.path.join(folder, name)

        def read(name):
            with open(path(name), encoding="utf-8") as file:
                return file.read()

        where = ["--output", path("page.html"), "--plots", path("plots"), "--trace", path("trace.json")]
        done = run(cli, "report", *where, "--markdown", path("report.md"), "--text", "--history", history.path)
        t.check(done.code == 0 and done.err == "", "page, plots, trace, Markdown and text in one pass", done)
        page = read("page.html")
        t.equal([case for case in cases if case not in page], [], "the page has every case")
        t.check(any(e.get("ph") == "X" for e in json.loads(read("trace.json"))["traceEvents"]), "the trace has events")
        t.check(any(name.endswith(".svg") for name in os.listdir(path("plots"))), "there are plots", os.listdir(folder))
        t.check("1 failed" in read("report.md") and "1 failed" in done.out, "Markdown and text are there too", done)
        os.mkdir(path("without"))
        with open(path("without/librsvg-2.so.2"), "w", encoding="utf-8") as file:
            file.write("no library\n")
        done = run(cli, "report", "--plots", path("pictures"), "--history", history.path,
                   env={"LD_LIBRARY_PATH": path("without")})
        drawn = sorted(name for name in os.listdir(path("plots")) if name.endswith(".svg"))
        t.check(done.code == 0 and done.err.count("plots are written as SVG alone") == 1 and drawn and
                sorted(os.listdir(path("pictures"))) == drawn, "without librsvg: the plots as SVG, and a line that says so",
                (done, drawn))
        done = run(cli, "report", "--trace", "-", "--history", history.path)
        t.check(done.code == 0 and "traceEvents" in json.loads(done.out), "a trace on the standard output is nothing else",
                done)
        with open(path("table.csv"), "w", encoding="utf-8") as file:
            file.write(TABLE)
        done = run(cli, "report", "--csv", path("table.csv"), "--plots", path("tables"), cwd=folder)
        t.check(done.code == 0 and len(os.listdir(path("tables"))) >= 4, "a table alone is plotted without a history", done)
        with open(path("broken.csv"), "w", encoding="utf-8") as file:
            file.write(TABLE + "inference,many,1,cpu,1,1,1\n")
        before = page
        done = run(cli, "report", "--csv", path("broken.csv"), "--output", path("page.html"), "--history", history.path)
        t.check(done.code == 3 and "broken.csv:6" in done.err, "a table with a bad cell: exit 3, file and line", done)
        t.check(read("page.html") == before, "and the page that was there stays", done)
        done = run(cli, "report", "--config", path("none.ini"), "--history", history.path)
        t.check(done.code == 1 and not os.path.exists(path("none.ini")), "nothing to recommend: exit 1 and no file", done)
        for name, words in [("two outputs in one file", ["--output", "x", "--trace", "x"]),
                            ("two outputs on one stream", ["--trace", "-", "--markdown", "-"]),
                            ("a page on the standard output", ["--output", "-"]),
                            ("a table that nothing plots", ["--csv", path("table.csv"), "--text"]),
                            ("a limit that is no size", ["--limit", "much"])]:
            done = run(cli, "report", *words, "--history", history.path)
            t.check(done.code == 4 and done.out == "" and "^" in done.err, f"{name}: exit 4", done)
        before = read("table.csv")
        for name, words in [("a page in the place of the history", ["--output", history.path]),
                            ("a trace in the place of a table", ["--csv", path("table.csv"), "--plots", path("tables"),
                                                                 "--trace", os.path.join(folder, ".", "table.csv")])]:
            done = run(cli, "report", *words, "--history", history.path)
            t.check(done.code == 4 and "which is read" in done.err and read("table.csv") == before, f"{name}: exit 4", done)
        done = run(cli, "report", "--output", "/nowhere/p.html", "--markdown", path("late.md"), "--history", history.path)
        t.check(done.code == 3 and not os.path.exists(path("late.md")), "a page that cannot be made: nothing is written", done)


def charts(t, cli, suite):
    with planted(suite) as history:
        cases = [history.maker.case("plan/bars.c::work", i) for i in (1, 2)]
        for number in range(12):
            key = history.run(cases)
            for i, case in enumerate(cases):
                seconds = 1e-3 * (1 + i) * (3 if number == 5 else 1)
                history.of(key, case, "measurement", median=seconds, low=seconds, high=seconds)
        history.save()
        for locale, full, half, low, high in (("C.UTF-8", "█" * 10, "█" * 5, "▁", "█"), ("C", "#" * 10, "#" * 5, "_", "^")):
            done = run(cli, "report", "--history", history.path, env={"LC_ALL": locale})
            lines = [x for x in done.out.split("\n") if "bars.c" in x]
            past = low * 5 + high + low * 6
            t.equal([re.split(r"  +| (?=[█#])", x.strip())[-2:] for x in lines], [[half, past], [full, past]],
                    f"bars are as long as their figures, and the past is drawn ({locale})")


def main(cli, suite):
    t = Tap()
    cli, suite = os.path.abspath(cli), os.path.abspath(suite)
    for name, check in (("changes", changes), ("figures", figures), ("bases", bases), ("cut", cut), ("hostile", hostile),
                        ("exits", exits), ("outputs", outputs), ("charts", charts)):
        t.run(name, check, t, cli, suite)
    t.done()


main(*sys.argv[1:])
