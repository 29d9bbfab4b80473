"""`yieldpoint plays`: what it stores, what it refuses, how it ends."""

import contextlib
import csv
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from process import Started  # noqa: E402
from program import run  # noqa: E402
from tap import Tap  # noqa: E402

FILE, USAGE = 3, 4
SUMMARY = "supplementary_data.csv"
SMALL = ["--plays=3", "--players=4", "--frames=16"]


def week(number):
    return f"train/input_2023_w{number:02d}.csv"


@contextlib.contextmanager
def place():
    with tempfile.TemporaryDirectory() as folder:
        yield os.path.realpath(folder)


def contents(folder):
    """{path: bytes}, of files alone; a folder that holds nothing is there as None."""
    found = {}
    for at, folders, files in os.walk(folder):
        if at != folder and not folders and not files:
            found[os.path.relpath(at, folder)] = None
        for name in files:
            with open(os.path.join(at, name), "rb") as file:
                found[os.path.relpath(os.path.join(at, name), folder)] = file.read()
    return found


def rows(data):
    return list(csv.DictReader(data.decode().splitlines()))


# -- what is stored ------------------------------------------------------------------------------


def check_stored(tap, program):
    with place() as folder:
        done = run(program, "plays", "--output=d", "--weeks=2", *SMALL, "--seed=7", cwd=folder)
        found = contents(folder)
        size = sum(len(data) for data in found.values())
        tap.check(done.code == 0 and done.err == "" and re.match(
            rf"2 weeks of 3 plays: 96 frames of 4 players, {size} bytes in .*s: .* rows/s, .*B/s\n$", done.out),
            "stored: the report", done)
        tap.equal(sorted(found), sorted(f"d/{name}" for name in (SUMMARY, week(1), week(2))), "stored: the files")
        plays = rows(found[f"d/{SUMMARY}"])
        tap.equal([p["week"] for p in plays], list("111222"), "stored: the plays of all weeks, in order")
        for number in (1, 2):
            own = [(p["game_id"], p["play_id"]) for p in plays if p["week"] == str(number)]
            there = rows(found[f"d/{week(number)}"])
            tap.equal(list(dict.fromkeys((r["game_id"], r["play_id"]) for r in there)), own,
                      f"stored: week {number} has its plays")
            tap.check(len(there) == 3 * 4 * 16 and len({(r["play_id"], r["nfl_id"], r["frame_id"]) for r in there})
                      == len(there), f"stored: week {number} has a row for each player and frame", len(there))
        made = {}
        for threads in (1, 2, 7):  # several pieces of a week for each
            run(program, "plays", f"--output=t{threads}", "--plays=100", f"--threads={threads}", cwd=folder)
            made[threads] = contents(os.path.join(folder, f"t{threads}"))
        tap.check(len(made[1]) == 2 and made[1] == made[2] == made[7], "stored: the same by any number of threads")
        run(program, "plays", "--output=other", *SMALL, "--seed=8", cwd=folder)
        tap.check(contents(folder)[f"other/{week(1)}"] != found[f"d/{week(1)}"], "stored: another seed, other plays")
        done = run(program, "plays", "--output=m", "--plays=40", "--missing=0.5", "--quiet", cwd=folder)
        there = rows(contents(folder)[f"m/{week(1)}"])
        counts = {}
        for r in there:
            counts.setdefault((r["game_id"], r["play_id"]), {}).setdefault(r["nfl_id"], set()).add(r["frame_id"])
        gone = [len(seen) < max(map(len, players.values())) for players in counts.values() for seen in players.values()]
        tap.check((done.code, done.out, done.err) == (0, "", "") and 0.4 < sum(gone) / len(gone) < 0.55,
                  "stored: --missing=0.5 takes frames from half of the players", (done, sum(gone), len(gone)))


# -- what is refused -----------------------------------------------------------------------------

WRONG = {
    "no output": (["--plays=1"], USAGE, "--output is missing"),
    "no plays": (["--output=d"], USAGE, "--plays is missing"),
    "no weeks": (["--output=d", "--plays=1", "--weeks=0"], USAGE, "--weeks is '0': must be a whole number"),
    "too many weeks": (["--output=d", "--plays=1", "--weeks=100"], USAGE,
                       "^yieldpoint: --weeks is 100: must be 1 to 99$"),
    "too many plays": (["--output=d", "--plays=640001"], USAGE, "--plays is 640001: must be 1 to 640000"),
    "too many threads": (["--output=d", "--plays=1", "--threads=100000"], USAGE, "--threads is 100000: must be 1 to 1024"),
    "one player": (["--output=d", "--plays=1", "--players=1"], USAGE, "--players is 1: must be 2 to 200"),
    "201 players": (["--output=d", "--plays=1", "--players=201"], USAGE, "--players is 201: must be 2 to 200"),
    "15 frames": (["--output=d", "--plays=1", "--frames=15"], USAGE, "--frames is 15: must be 16 to 200"),
    "201 frames": (["--output=d", "--plays=1", "--frames=201"], USAGE, "--frames is 201: must be 16 to 200"),
    "more than all missing": (["--output=d", "--plays=1", "--missing=1.1"], USAGE,
                              "--missing is '1.1': must be a number"),
    "no such option": (["--output=d", "--games=1"], USAGE, "--games.*`yieldpoint plays --help` tells them"),
    "a word": (["plays"], USAGE, "'?plays'?"),
    "no directory": (["--output=none/d", "--plays=1"], FILE, "none/d: cannot be made: No such file or directory"),
    "a file for a directory": (["--output=/dev/null", "--plays=1"], FILE,
                               "/dev/null/train: cannot be made: Not a directory"),
    "no ini file": (["--output=d", "--plays=1", "--config=none.ini"], FILE, "none.ini: No such file"),
    "a disk too small": (["--output=d", "--plays=640000", "--weeks=99", "--players=200", "--frames=200"], FILE,
                         r"needs \d+ bytes .*, and \S+ has \d+ "),
}


def check_wrong(tap, program):
    for name, (words, code, expected) in WRONG.items():
        with place() as folder:
            done = run(program, "plays", *words, cwd=folder)
            tap.check(done.code == code and re.search(expected, done.err, re.M) and done.out == "" and
                      contents(folder) == {}, f"refused: {name}", (done, contents(folder)))
    for name in (SUMMARY, week(1), week(2)):
        with place() as folder:
            os.makedirs(os.path.join(folder, "d/train"))
            with open(os.path.join(folder, "d", name), "w") as file:
                file.write("mine")
            words = ["--output=d", "--weeks=2", *SMALL]
            done = run(program, "plays", *words, cwd=folder)
            kept = {path: data for path, data in contents(folder).items() if data is not None}
            tap.check(done.code == FILE and f"{name}: is there already; --force" in done.err and
                      kept == {f"d/{name}": b"mine"}, f"existing: {name} is kept", (done, kept))
            done = run(program, "plays", *words, "--force", cwd=folder)
            found = contents(folder)
            tap.check(done.code == 0 and len(found) == 3 and found[f"d/{name}"] != b"mine",
                      f"existing: {name} is replaced", (done, sorted(found)))


def check_ini(tap, program):
    with place() as folder:
        with open(os.path.join(folder, "yieldpoint.ini"), "w") as file:
            file.write("[synth]\nheight = 3\n[plays]\nplays = 2\nplayers = 6\nframes = 20\nquiet = yes\n")
        done = run(program, "plays", "--output=d", "--players=4", cwd=folder)
        there = rows(contents(folder)[f"d/{week(1)}"])
        tap.check((done.code, done.out, done.err, len(there)) == (0, "", "", 2 * 4 * 20), "ini: the command line wins",
                  (done, len(there)))
        with open(os.path.join(folder, "yieldpoint.ini"), "w") as file:
            file.write("[plays]\nplayer = 6\n")
        done = run(program, "plays", "--output=e", *SMALL, cwd=folder)
        tap.check(done.code == USAGE and re.search(r"yieldpoint.ini:2: 'player' in \[plays\]: known", done.err),
                  "ini: no such option", done)


# -- how it ends ---------------------------------------------------------------------------------


def check_full(tap, program):
    def limited(*words):
        return Started(program, "plays", "--output=d", "--plays=100", *words, cwd=folder, preexec_fn=lambda:
                       resource.setrlimit(resource.RLIMIT_FSIZE, (3000000, 3000000))).wait()
    with place() as folder:
        done = limited()
        tap.check(done.code == FILE and re.search(r"w01.csv: cannot be written at byte \d+: File too large", done.err)
                  and contents(folder) == {}, "full: it leaves nothing", (done, sorted(contents(folder))))
        run(program, "plays", "--output=d", *SMALL, cwd=folder)
        before = contents(folder)
        done = limited("--force")
        tap.check(done.code == FILE and contents(folder) == {f"d/{week(1)}": before[f"d/{week(1)}"]},
                  "full: with --force no summary of other plays stays", (done, sorted(contents(folder))))


def check_killed(tap, program):
    many = ["--output=d", "--weeks=6", "--plays=120"]
    chance = random.Random(4)
    with place() as folder:
        begun = time.monotonic()
        run(program, "plays", *many, cwd=folder)
        took, reference = time.monotonic() - begun, contents(folder)
    for number, code in ((signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)):
        ended = tries = 0
        # On a busy machine many may be over, or not have begun, when the signal comes.
        while tries < 5 or (ended == 0 and tries < 100):
            tries += 1
            with place() as folder:
                started = Started(program, "plays", *many, cwd=folder)
                try:
                    time.sleep(chance.uniform(0.002, took * 0.9))
                    started.process.send_signal(number)
                    done = started.wait()
                finally:
                    started.end()
                found = contents(folder)
                ended += done.code == code
                early = done.code == -number and found == {}
                wrong = [name for name, data in found.items() if data is not None and reference.get(name) != data]
                tap.check((early or done.code in (0, code)) and wrong == [] and
                          (f"d/{SUMMARY}" not in found or found == reference),
                          f"killed: {number.name} leaves whole files only", (done, wrong, sorted(found)))
                if done.code in (130, 143):
                    said = re.search(r"(\d+) of 6 weeks are whole and stay", done.err)
                    whole = [name for name in found if "_w" in name]
                    tap.check("yieldpoint: interrupted\n" in done.err and None not in found.values() and
                              len(whole) == (int(said[1]) if said else 0), "killed: it tells what is whole",
                              (done, sorted(found)))
        tap.check(ended > 0, f"killed: {number.name} came in time", ended)


def main(program):
    tap = Tap()
    tap.run("stored", check_stored, tap, program)
    tap.run("wrong", check_wrong, tap, program)
    tap.run("ini", check_ini, tap, program)
    tap.run("full", check_full, tap, program)
    tap.run("killed", check_killed, tap, program)
    tap.done()


main(os.path.abspath(sys.argv[1]))
