"""Limits of the system, histories that are broken or held by another, a clock that is set back, a decimal comma, text
that a shell would run: a clear error, or it works.

    hostile.py USAGE OUTPUTS MANY CLI BACKWARDS NOLOCKS [sanitized]"""

import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from process import Started, wait_until  # noqa: E402
from program import ENVIRONMENT, results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

OK, FAILED, INTERRUPTED, INTERNAL = 0, 1, 2, 3
SOME = "passes or fails or naps"
NOBODY = 65534
# A result, as `-v` prints it and as `--tap` does.
TOLD = r"^(?:(?:not )?ok [0-9]+ - )?usage\.c::\S+(?: PASSED| FAILED|$| \(repeat)"


# The search for leaks at the end of the runner takes a process more than a limit may leave.
LEAKS = "detect_leaks=0"


def socket_of(pid):
    """Where Criterion listens in a runner of this process ID."""
    return f"/tmp/criterion_{pid}.sock"


def start_as_nobody(program, *arguments, cwd, stdout=subprocess.PIPE):
    """With another user's socket, left over, where Criterion would listen."""
    def before():
        with open(socket_of(os.getpid()), "w"):
            pass
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)

    return subprocess.Popen([program, *arguments], cwd=cwd, stdin=subprocess.DEVNULL, stdout=stdout,
                            stderr=subprocess.PIPE, text=True, env={**ENVIRONMENT, "ASAN_OPTIONS": LEAKS}, preexec_fn=before)


def count_printed(path):
    with open(path, encoding="utf-8") as file:
        return len(re.findall(TOLD, file.read(), re.M))


def check_live_socket(tap, program, place):
    """That of a runner with the same ID in another namespace of processes: it is left alone."""
    with socket.socket(socket.AF_UNIX) as live:
        def before():
            path = socket_of(os.getpid())
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # left by another run, whose process had this number
            live.bind(path)
            live.listen(8)

        history = os.path.join(place, "live.db")
        process = subprocess.Popen([program, "--history", history, "-k", SOME], cwd=place, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env={**ENVIRONMENT, "ASAN_OPTIONS": LEAKS}, preexec_fn=before)
        out, err = process.communicate(timeout=120)
        there = os.path.exists(socket_of(process.pid))
        if there:
            os.unlink(socket_of(process.pid))
    tap.check(process.returncode == FAILED and "1 failed, 5 passed" in out and there,
              "a live socket in the way: runs all, and leaves it there", (process.returncode, out, err))


def check_socket(tap, program, place):
    history = os.path.join(place, "socket.db")
    process = start_as_nobody(program, "--history", history, "-k", SOME, cwd=place)
    try:
        out, err = process.communicate(timeout=120)
        tap.check(process.returncode == FAILED and "1 failed, 5 passed" in out and len(results(history)) == 6 and not err,
                  "another user's socket in the way: runs all", (process.returncode, out, err))
        tap.check(os.path.exists(socket_of(process.pid)), "another user's socket in the way: stays there")
    finally:
        process.kill()
        os.unlink(socket_of(process.pid))
    check_live_socket(tap, program, place)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        name = f"another user's socket in the way: {number.name}"
        history = os.path.join(place, f"{number.name}.db")
        printed = history + ".out"
        with open(printed, "w", encoding="utf-8") as out:
            process = start_as_nobody(program, "--history", history, "--repeat", "1000", "-v", "usage.c::passes", cwd=place,
                                      stdout=out)
        try:
            # Not by the history: what root makes beside it to read it, the run then may not write for a moment.
            wait_until(lambda: count_printed(printed) >= 3 or process.poll() is not None, what="the first cases")
            process.send_signal(number)
            # To its end, and not only to that of the process that was killed: the pipe is open for as long.
            _, err = process.communicate(timeout=60)
            stored = rows(history, "SELECT exit_code FROM run")
            tap.check(process.returncode == (-9 if number == signal.SIGKILL else INTERRUPTED)
                      and stored == [{"exit_code": INTERRUPTED}] and 3 <= len(rows_or_none(history)) < 1000,
                      f"{name} interrupts the run", (process.returncode, stored, err))
        finally:
            process.kill()
            os.unlink(socket_of(process.pid))


def limited(program, *arguments, cwd, limits=(), user=None, env=None, timeout=120):
    """Under limits of the system: [(RLIMIT_..., value)]. A hang is exit code None."""
    def before():
        for which, value in limits:
            resource.setrlimit(which, (value, value))
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)

    process = subprocess.Popen([program, *arguments], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace",
                               env={**ENVIRONMENT, "ASAN_OPTIONS": LEAKS, **(env or {})},
                               preexec_fn=before)
    try:
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        process.kill()
        return None, *process.communicate()


def whole(history):
    return not os.path.exists(history) or rows(history, "PRAGMA integrity_check") == [{"integrity_check": "ok"}]


def works_or_says(tap, name, done, history, path):
    """All is run, or nothing is and one line says why. Never anything between, a crash or a hang. Whether it ran."""
    code, out, err = done
    ran = code == FAILED and "1 failed, 5 passed" in out and len(results(history)) == 6
    refused = code == INTERNAL and out == "" and re.fullmatch(r"error: [^\n]+\n", err) is not None
    tap.check(ran or refused, f"{name}: runs all, or says why nothing is run", done)
    tap.check(whole(history) and os.path.exists(path) == ran, f"{name}: the history is whole, the report there if it ran",
              os.path.exists(path))
    return ran


def over(tap, program, folder, name, which, values, jobs, user=None):
    """Over these values of a limit: refused by the least of them, run with the largest."""
    ran, told = [], ""
    for value in values:
        history = os.path.join(folder, f"{name}{jobs}-{value}.db")
        report = history + ".xml"
        done = limited(program, "--history", history, "--junitxml", report, "-k", SOME, "-j", str(jobs), cwd=folder,
                       limits=[(which, value)], user=user)
        ran.append(works_or_says(tap, f"{name} {value}, -j{jobs}", done, history, report))
        told += done[2]
    tap.check(not ran[0] and ran[-1], f"{name}: refused at {values[0]}, run at {values[-1]}", ran)
    return told


def check_limits(tap, program, folder, sanitized):
    for jobs in (1, 4):
        told = over(tap, program, folder, "open files", resource.RLIMIT_NOFILE,
                    (6, 8, 10, 12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 72, 128), jobs)
        tap.check("ulimit -n" in told, "open files: the limit is named", told)
    if sanitized:
        tap.skip("address space", "a sanitizer takes terabytes of it")
    else:
        mib = 1 << 20
        told = over(tap, program, folder, "address space", resource.RLIMIT_AS,
                    tuple(n * mib for n in (24, 40, 64, 72, 80, 88, 96, 128, 512)), 2)
        tap.check("ulimit -v" in told, "address space: the limit is named", told)
    if os.geteuid() != 0:
        tap.skip("processes", "only root can become a user that has no others")
        return
    place = os.path.join(folder, "of-nobody")
    os.makedirs(place)
    os.chown(place, NOBODY, NOBODY)
    copied = os.path.join(place, "program")
    shutil.copy2(program, copied)
    os.chmod(folder, 0o755)
    for jobs in (1, 4):
        told = over(tap, copied, place, "processes", resource.RLIMIT_NPROC, (0, 1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 200),
                    jobs, user=NOBODY)
        tap.check("ulimit -u" in told, "processes: the limit is named", told)
    check_socket(tap, copied, place)


def check_taken_away(tap, program, folder, what, *more):
    """In the middle of a run nothing more is to be had, for which Criterion ends the program: what is done is there."""
    which, least = {"open files": (resource.RLIMIT_NOFILE, 4), "addresses": (resource.RLIMIT_AS, 1 << 20)}[what]
    name = f"{what} taken away {' '.join(more)}"
    history = os.path.join(folder, "h.db")
    report = history + ".xml"
    started = Started(program, "--history", history, "--junitxml", report, "--repeat", "200", "-v", *more,
                      "usage.c::passes", "usage.c::speaks")
    try:
        wait_until(lambda: len(rows_or_none(history)) >= 3, what="the first cases")
        resource.prlimit(started.process.pid, which, (least, least))
        done = started.wait(60)
    finally:
        started.end()
    stored = rows_or_none(history)
    printed = len(re.findall(TOLD, done.out, re.M))
    tap.check(done.code == INTERNAL and "error: " in done.err, f"{name}: ends with {INTERNAL} and says why",
              (done.code, done.out[-300:], done.err[-600:]))
    tap.check(3 <= len(stored) < 400 and len(stored) <= printed <= len(stored) + 1,
              f"{name}: what is printed is stored", (len(stored), printed, done.out[-300:]))
    tap.check(whole(history) and (not os.path.exists(report) or "</testsuites>" in open(report).read()),
              f"{name}: history and report are whole")
    tap.check("--tap" not in more or "\nBail out! " in done.out, f"{name}: a bail out", done.out[-300:])


def rows_or_none(history):
    try:
        return rows(history, "SELECT outcome FROM result")
    except sqlite3.Error:
        return []  # its tables are being made


def check_file_size(tap, program, folder):
    """SIGXFSZ would end the runner and all that it knows."""
    for size in (4 << 10, 128 << 10, 512 << 10, 1000 << 10):
        history = os.path.join(folder, f"size{size}.db")
        report = history + ".xml"
        code, out, err = limited(program, "--history", history, "--junitxml", report, "-v", "--repeat", "60", "--speed=off",
                                 "-k", "passes or fails", cwd=folder, limits=[(resource.RLIMIT_FSIZE, size)])
        printed = len(re.findall(r"^usage\.c::[a-z]+ [A-Z]+ #", out, re.M))
        try:
            stored = rows(history, "SELECT count(*) AS n FROM result")[0]["n"]
        except sqlite3.Error:
            stored = 0
        tap.check(code == INTERNAL and re.search("refused|File too large", err) is not None and
                  (stored == 0 or "what was stored before is kept" in err),
                  f"files of {size} bytes: says that a write was refused", (code, out[-300:], err))
        tap.check(stored <= printed <= stored + 1, f"files of {size} bytes: what is printed is stored ({stored})", printed)
    tap.check(stored > 0, "files of 1000 KiB: some are stored", stored)


def in_mounts(commands, program, *arguments, cwd, env=None):
    """In mounts of its own."""
    line = " && ".join([*commands, 'exec "$0" "$@"'])
    return limited("unshare", "-m", "sh", "-c", line, program, *arguments, cwd=cwd, env=env)


def check_left_orders(tap, program, folder):
    """By such files Criterion tells the processes of cases what to run. A killed runner leaves one."""
    def touch(*ranges):
        return "touch -d '2 minutes ago' " + " ".join(f"$(seq -f /dev/shm/bxfi_%.0f {numbers})" for numbers in ranges)

    mount = "mount -t tmpfs none /dev/shm"
    history = os.path.join(folder, "orders.db")
    done = in_mounts([mount, touch("$$ $(($$ + 300))"), "touch /dev/shm/bxfi_1x /dev/shm/bxfi_4000000"], "sh", "-c",
                     '"$0" "$@"; ls /dev/shm', program, "--history", history, "usage.c::passes", cwd=folder)
    # Those of processes and threads that run beside this stay, and some of these have ended since.
    dead = [n for n in re.findall(r"^bxfi_([0-9]+)$", done[1], re.M) if not os.path.exists(f"/proc/{n}")]
    tap.check("1 passed" in done[1] and "\nbxfi_1x\n" in done[1] and "4000000" in dead and len(dead) < 20,
              "orders left in /dev/shm: old ones of no process are removed", done)
    place = os.path.join(folder, "left-by-root")
    os.makedirs(place)
    shutil.copy2(program, place)
    os.chown(place, NOBODY, NOBODY)
    os.chmod(folder, 0o755)
    # Others fork meanwhile, and after the highest number come low ones.
    done = in_mounts([mount, touch("$$ $(($$ + 3000))", "300 3300")], "setpriv", f"--reuid={NOBODY}",
                     f"--regid={NOBODY}", "--clear-groups", os.path.join(place, os.path.basename(program)), "usage.c::passes", cwd=place)
    tap.check(done[0] == INTERNAL and re.search("^error: /dev/shm/bxfi_[0-9]+ is in the way.* another user", done[2], re.M),
              "orders left in /dev/shm by another user: are named", done)


def check_mounts(tap, program, folder, sanitized):
    if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
        tap.skip("no /dev/shm, no /proc", "only a root that may mount can do without them")
        return
    for name, commands, why in (
            ("/dev/shm read-only", ["mount -t tmpfs -o ro none /dev/shm"], "/dev/shm"),
            ("/dev/shm of 4 KiB", ["mount -t tmpfs -o size=4k none /dev/shm"], "/dev/shm"),
            ("/dev/shm of 256 KiB", ["mount -t tmpfs -o size=256k none /dev/shm"], "/dev/shm"),
            ("no /proc", ["umount -l /proc"], "/proc"),
            ("/tmp read-only", ["mount --bind /tmp /tmp", "mount -o remount,ro,bind /tmp", f"mount -t tmpfs none {folder}"],
             "/tmp takes no socket (Read-only file system)")):
        if sanitized and why == "/proc":
            tap.skip(name, "a sanitizer needs it itself")
            continue
        history = os.path.join(folder, f"{len(name)}.db")
        report = history + ".xml"
        done = in_mounts(commands, program, "--history", history, "--junitxml", report, "-k", SOME, cwd=folder)
        ran = works_or_says(tap, name, done, history, report)
        tap.check(not ran and why in done[2] and "--no-fork" in done[2], f"{name}: is named, with a way round it", done)
        done = in_mounts(commands, program, "--history", history, "--no-fork", "usage.c::passes", cwd=folder)
        tap.check(done[0] == OK, f"{name}: --no-fork runs", done)
    left = "for i in $(seq $$ $(($$ + 200))); do : >/dev/shm/yieldpoint-$i; done"
    history = os.path.join(folder, "left.db")
    done = in_mounts(["mount -t tmpfs none /dev/shm", left], program, "--history", history, "usage.c::passes",
                     cwd=folder)
    tap.check(done[0] == OK, "what killed runners left in /dev/shm is in nobody's way", done)
    check_left_orders(tap, program, folder)
    history = os.path.join(folder, "1m.db")
    done = in_mounts(["mount -t tmpfs -o size=1m none /dev/shm"], program, "--history", history, "-k", SOME, cwd=folder)
    tap.check(done[0] == FAILED and len(results(history)) == 6, "/dev/shm of 1 MiB: runs six cases", done)


# -- histories ---------------------------------------------------------------------------------


def check_histories(tap, program, cli, folder):
    good = os.path.join(folder, "good.db")
    run(program, "--history", good, "-k", SOME, "--repeat", "5")
    with sqlite3.connect(good) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    with open(good, "rb") as file:
        content = file.read()
    page = 4096
    broken = {"cut off in its first page": content[:1000], "cut off": content[:len(content) // 2 + 100],
              "with noise in it": content[:2 * page] + os.urandom(len(content) - 2 * page),
              "of zeros": bytes(len(content))}
    foreign = {"that is text": (b"run,started\n" * 100, None, "some other file"),
               "that is a short text": (b"short", None, "some other file"),
               "of a newer version": (content, "PRAGMA user_version = 99", "schema version 99.*newer Yieldpoint"),
               "of an unnamed application": (b"", "CREATE TABLE theirs (a)", "another application"),
               "of another application": (b"", "CREATE TABLE theirs (a); PRAGMA application_id = 99", r"\(id 0x63\)")}
    for name, (data, change, said) in foreign.items():
        path = os.path.join(folder, f"{name}.db")
        with open(path, "wb") as file:
            file.write(data)
        if change is not None:
            with contextlib.closing(sqlite3.connect(path)) as database:
                database.executescript(change)
        with open(path, "rb") as file:
            before = file.read()
        done = run(program, "--history", path, "-k", SOME)
        with open(path, "rb") as file:
            tap.check(done.code == INTERNAL and path in done.err and re.search(said, done.err) and file.read() == before,
                      f"a history {name}: is refused and stays as it is", done)
    for name, data in broken.items():
        path = os.path.join(folder, f"broken {name}.db")
        with open(path, "wb") as file:
            file.write(data)
        done = run(program, "--history", path, "-k", SOME)
        tap.check(done.code == INTERNAL and path in done.err and re.match("error: ", done.err) is not None,
                  f"a history {name}: is told, with its path", done)
        for words in (["history"], ["show"], ["budgets"], ["trend"], ["history", "import", path]):
            target = good if "import" in words else path
            asked = subprocess.run([cli, *words, "--history", target], capture_output=True, text=True, errors="replace",
                                   env=ENVIRONMENT, timeout=60)
            tap.check(asked.returncode > 0 and os.path.basename(path) in asked.stderr, f"a history {name}: yieldpoint {words[-1] if len(words) < 3 else 'history import'} says so",
                      asked)


def check_locked(tap, program, folder):
    """Another process holds it: waited for, and after half a minute an error. Nothing that was printed is lost."""
    history = os.path.join(folder, "locked.db")
    run(program, "--history", history, "usage.c::passes")
    other = sqlite3.connect(history, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    started = Started(program, "--history", history, "usage.c::passes")
    long = Started(program, "--history", os.path.join(folder, "free.db"), "usage.c::passes")
    tap.equal(long.wait().code, OK, "another history is not held up")
    time.sleep(3)
    tap.equal(started.process.poll(), None, "a history that is locked: is waited for")
    other.execute("ROLLBACK")
    done = started.wait()
    tap.check(done.code == OK and rows(history, "SELECT count(*) AS n FROM result") == [{"n": 2}],
              "and when it is free the run goes on", done)
    started = Started(program, "--history", history, "-v", "usage.c::passes", "usage.c::naps")
    try:
        wait_until(lambda: rows(history, "SELECT count(*) AS n FROM result")[0]["n"] >= 3, what="the first case")
        other.execute("BEGIN IMMEDIATE")
        done = started.wait(100)
    finally:
        started.end()
    other.close()
    printed = len(re.findall(r"^usage\.c::\S+ PASSED", done.out, re.M))
    stored = rows(history, "SELECT count(*) AS n FROM result")[0]["n"] - 2
    tap.check(done.code == INTERNAL and "another process has held its lock" in done.err and stored <= printed <= stored + 1,
              "locked for half a minute in the midst: is told, and what was done is there", (done, stored))


def check_no_locks(tap, program, cli, library, folder):
    """File systems of networks may give no locks, or no shared memory: said as such, and at once."""
    history = os.path.join(folder, "there.db")
    run(program, "--history", history, "usage.c::passes")
    for name, said in (("YPTEST_NO_LOCKS", "gives no locks (No locks available)"),
                       ("YPTEST_NO_SHARING", "gives no memory that processes share")):
        lacking = {"LD_PRELOAD": library, name: "1"}
        for words in ([program, "usage.c::passes", "--history", os.path.join(folder, f"{name}.db")],
                      [program, "usage.c::passes", "--history", history], [cli, "show", "--history", history],
                      [cli, "history", "import", history, "--history", os.path.join(folder, f"{name}-into.db")]):
            begun = time.monotonic()
            done = run(*words, env=lacking)
            tap.check(done.code == INTERNAL and said in done.err and time.monotonic() - begun < 10,
                      f"{name}: {' '.join(os.path.basename(word) for word in words[:3])}", done)
    done = run(program, "--history", history, "usage.c::timed[n=1]", env={"LD_PRELOAD": library, "YPTEST_NO_FLOCK": "1"},
               timeout=30)
    tap.check(done.code == OK and "cannot be locked (No locks available)" in done.err, "no lock of the machine: runs and says so",
              done)


# -- clock and locale --------------------------------------------------------------------------


def check_clock(tap, program, cli, library, folder):
    """The wall clock goes an hour back at every look. Time-outs and durations do not mind."""
    history = os.path.join(folder, "clock.db")
    back = {"LD_PRELOAD": library}
    begun = time.monotonic()
    done = run(program, "--history", history, "--junitxml", os.path.join(folder, "clock.xml"), "-k", "hangs or passes or numbers",
               env=back)
    took = time.monotonic() - begun
    found = results(history)
    tap.check(done.code == FAILED and took < 60 and found["outputs.c::hangs"]["outcome"] == "failed",
              "the clock set back: a time-out comes all the same", (took, done))
    started = [row["started"] for row in rows(history, "SELECT started FROM result ORDER BY rowid")]
    tap.check(len(started) > 2 and started == sorted(started, reverse=True), "the clock was set back", started)
    tap.check(all(0 <= row["duration"] < 30 for row in found.values()) and found["outputs.c::hangs"]["duration"] >= 0.3,
              "durations are by the other clock", [row["duration"] for row in found.values()])
    summary = re.search(r" in ([0-9.]+)s", done.out)
    tap.check(summary is not None and 0 < float(summary[1]) < took + 0.1, "and so is that of the run", done.out[-200:])
    again = subprocess.run([cli, "reproduce", "--history", history, "outputs.c::passes"], capture_output=True, text=True,
                           env={**ENVIRONMENT, **back}, timeout=120)
    tap.check("stored no result" not in again.stderr and again.returncode in (0, 6), "reproduce finds the new result", again)


def comma_locale(folder):
    """A locale with a decimal comma; None where none can be made."""
    source = os.path.join(folder, "comma")
    with open(source, "w", encoding="utf-8") as file:
        file.write('LC_NUMERIC\ndecimal_point ","\nthousands_sep "."\ngrouping 3;3\nEND LC_NUMERIC\n')
    if shutil.which("localedef"):
        subprocess.run(["localedef", "-c", "-i", source, "-f", "ANSI_X3.4-1968", os.path.join(folder, "comma_XX")],
                       capture_output=True)
    # Without the package of charmaps it is begun and not made.
    return "comma_XX" if os.path.exists(os.path.join(folder, "comma_XX", "LC_CTYPE")) else None


def check_locale(tap, program, folder):
    name = comma_locale(folder)
    if name is None:
        tap.skip("a decimal comma", "no localedef that makes a locale")
        return
    for how, more in (("in a process of its own", []), ("--no-fork", ["--no-fork"])):
        for setting in ({"LC_ALL": name}, {"LC_ALL": name, "OUTPUTS_LOCALE": name}):
            history = os.path.join(folder, f"comma{len(more)}{len(setting)}.db")
            table, report = history + ".csv", history + ".xml"
            done = run(program, "--history", history, "--csv", table, "--junitxml", report, *more, "-k", "numbers", "--set",
                       "x=0.5", env={"LOCPATH": folder, **setting})
            with open(table, encoding="utf-8") as file, open(report, encoding="utf-8") as other:
                texts = done.out + file.read() + other.read()
            figures = re.findall(r"[0-9],[0-9]+", done.out)
            tap.check(done.code == FAILED and "no locale" not in texts and figures == [] and 'value="0.5"' in texts and
                      "--set=x=0.5" in done.out and not re.search(r'time="[0-9]+,', texts),
                      f"a decimal comma {how} ({'set by the body' if len(setting) > 1 else 'in the environment'})", (figures, done))
            tap.equal([row["value"] for row in rows(history, "SELECT value FROM value WHERE name = 'half'")], [0.5],
                      f"a decimal comma {how}: the value is as it was")
    odd = os.fsdecode(b"\xff\xfe\x80")
    done = run(program, "--history", os.path.join(folder, "c.db"), "-k", "label", "--set", f"label={odd}", env={"LC_ALL": "C"})
    tap.check(done.code == FAILED and "1 failed" in done.out, "bytes that are no characters, in the locale C", done)


# -- size --------------------------------------------------------------------------------------


def check_many(tap, program, folder):
    """In one process, which is the quicker way; 500 of them in theirs, and 4 KB of id."""
    begun = time.monotonic()
    done = run(program, "--history", os.path.join(folder, "many.db"), "--no-fork", "-q", "--tap", "--junitxml",
               os.path.join(folder, "many.xml"), cwd=folder, timeout=500)
    lines = done.out.splitlines()
    tap.check(done.code == OK and lines[1] == "1..10000" and len([x for x in lines if x.startswith("ok ")]) == 9990,
              f"10,000 cases in {time.monotonic() - begun:.0f} s", (done.code, lines[:3], lines[-2:], done.err[-300:]))
    tap.equal(rows(os.path.join(folder, "many.db"), "SELECT outcome, count(*) AS n FROM result GROUP BY outcome"),
              [{"outcome": "failed", "n": 10}, {"outcome": "passed", "n": 9990}], "and all are stored")
    done = run(program, "--history", os.path.join(folder, "some.db"), "-q", "-j4", "-k", "thousand=3 and hundred=4", cwd=folder)
    tap.check(done.code == OK and "100 passed, 9900 deselected" in done.out, "a hundred of them in processes of their own", done)


def check_long_ids(tap, program, cli, folder):
    label = "x" * 4096
    history = os.path.join(folder, "long.db")
    done = run(program, "--history", history, "-v", "--csv", "rows.csv", "--junitxml", "long.xml", "-k", "text", "--set",
               f"label={label}", cwd=folder)
    tap.check(done.code == FAILED and f"usage.c::text[label={label}] FAILED" in done.out, "an id of 4 KB", done.err)
    again = run(program, "--history", history, f"usage.c::text[label={label}]", "--set", f"label={label}", cwd=folder)
    tap.check(again.code == FAILED and "1 failed" in again.out, "is found by its id", again.err)
    shown = subprocess.run([cli, "show", "last", "--history", history], capture_output=True, text=True, env=ENVIRONMENT)
    tap.check(shown.returncode == OK and label in shown.stdout, "and shown", shown.stderr)
    deep = folder
    while len(deep) < 3900:
        deep = os.path.join(deep, "d" * min(200, 3900 - len(deep)))
        os.mkdir(deep) if len(deep) < 4000 else None
    done = run(program, "--history", os.path.join(deep, "h.db"), "--junitxml", os.path.join(deep, "j.xml"), "usage.c::passes",
               cwd=folder)
    tap.check((done.code == OK and os.path.exists(os.path.join(deep, "j.xml"))) or
              (done.code == INTERNAL and re.fullmatch(r"error: [^\n]+\n", done.err) is not None),
              "a path of nearly 4 KB: works or says why", (done.code, done.err[-300:]))


# -- places ------------------------------------------------------------------------------------


def check_places(tap, program, folder):
    environment = {k: v for k, v in ENVIRONMENT.items() if k not in ("HOME", "TMPDIR", "USER", "LOGNAME")}
    history = os.path.join(folder, "bare.db")
    done = subprocess.run([program, "--history", history, "usage.c::passes"], capture_output=True, text=True, cwd=folder,
                          env=environment, stdin=subprocess.DEVNULL)
    tap.check(done.returncode == OK, "HOME, TMPDIR and USER unset", done)
    if os.geteuid() == 0:
        place = os.path.join(folder, "ro")
        os.makedirs(place)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", place], capture_output=True).returncode != 0:
            tap.skip("a read-only working directory", "this root may not mount")
            return
        try:
            done = run(program, "usage.c::passes", cwd=place)
            tap.check(done.code == INTERNAL and done.out == "" and ".yieldpoint" in done.err,
                      "a read-only working directory: where it cannot write is told", done)
            done = run(program, "--history", history, "usage.c::passes", cwd=place)
            tap.check(done.code == OK, "with a history elsewhere it runs", done)
            done = run(program, "--history", history, "--junitxml", "x.xml", "usage.c::passes", cwd=place)
            tap.check(done.code == INTERNAL and done.out == "" and "x.xml" in done.err, "a report there is refused at once", done)
        finally:
            subprocess.run(["umount", place], check=True)


# -- text that a shell would run ---------------------------------------------------------------


def check_no_shell(tap, program, cli, folder):
    place = os.path.join(folder, "with $(touch s1) `touch s2` ; touch s3 'and\n\"quotes\"")
    os.makedirs(place)
    copied = os.path.join(place, "program $(touch s4)")
    shutil.copy2(program, copied)
    label = "$(touch s5) `touch s6` ; touch s7 & ' touch s8 '\n touch s9 \" | touch s10 \\"
    history = os.path.join(place, "history $(touch s11).db")
    done = run(copied, "--history", history, "-k", "text", "--set", f"label={label}", cwd=place)
    line = re.search(r"^  reproduce: (.*?)\n={5}", done.out, re.M | re.S)
    tap.check(done.code == FAILED and line is not None, "odd text runs, and has a line to run it again", done)
    for shell in ("bash", "sh"):
        again = subprocess.run([shell, "-c", line[1] + " --history again.db"], cwd=place, capture_output=True, text=True,
                               env=ENVIRONMENT, timeout=60)
        tap.check(again.returncode == FAILED and f"label {label}" in again.stdout, f"{shell} runs just that line", again)
    ids = [row["id"] for row in rows(history, "SELECT id FROM result")]
    case = rows(history, "SELECT case_id FROM result")[0]["case_id"]
    for words in (["reproduce", ids[0]], ["reproduce", case], ["show", case], ["history", "--id", case], ["trend", case],
                  ["compare", "last", "last"], ["gate", "--base", label], ["gate", "--base", "main", "--build", label],
                  ["bisect", case, "--good", label, "--bad", "$(touch s12)"]):
        asked = subprocess.run([cli, *words, "--history", history], cwd=place, capture_output=True, text=True,
                               errors="replace", env=ENVIRONMENT, timeout=120, stdin=subprocess.DEVNULL)
        tap.check(asked.returncode >= 0, f"yieldpoint {words[0]} with such words ends by itself", asked)
    tap.equal(sorted(f for root, _, files in os.walk(folder) for f in files if re.fullmatch("s[0-9]+", f)), [],
              "nothing of it was run")


def main(usage, outputs, many, cli, library, nolocks, *more):
    sanitized = "sanitized" in [os.path.basename(word) for word in more]
    tap = Tap()

    def check(function, *words, last=()):
        with tempfile.TemporaryDirectory() as folder:
            function(tap, *words, os.path.realpath(folder), *last)

    taken = [("open files", *how) for how in ((), ("--tap",), ("-j4",))]
    checks = [(check_locked, usage), (check_file_size, usage), (check_histories, usage, cli), (check_locale, outputs),
              (check_many, many), (check_long_ids, usage, cli), (check_places, usage), (check_no_shell, usage, cli)]
    if sanitized:
        tap.skip("addresses taken away", "a sanitizer then ends the program itself")
        tap.skip("no locks, the clock set back", "a sanitizer wants to be the first library")
    else:
        taken += [("addresses", *how) for _, *how in taken]
        checks += [(check_no_locks, usage, cli, nolocks), (check_clock, outputs, cli, library)]
    for function in (check_limits, check_mounts):
        tap.run(function.__name__, lambda: check(function, usage, last=[sanitized]))
    tap.beside(*((function.__name__, check, function, *words) for function, *words in checks),
               *((" ".join(how), lambda how: check(check_taken_away, usage, last=how), how) for how in taken))
    tap.done()


main(*map(os.path.abspath, sys.argv[1:]))
