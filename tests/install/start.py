"""What docs/start.md tells somebody with a project, done to the letter in an empty Debian 12: install, a first suite by
CMake, make or meson, a red budget, a function of the project's own, a slow change, the gate. Then the job that
`yieldpoint init` wrote for GitHub, step by step in a second empty Debian 12, as a runner's container has it: red.

usage: start.py SOURCE_ROOT cmake|make|meson [TRANSCRIPT]

Takes what is committed. TRANSCRIPT: the file for what was typed and printed, shortened; where something failed, all of
it is in TRANSCRIPT.log. Needs root, mmdebstrap and Debian's packages: skipped where ci/chroot says that it cannot."""

import base64
import os
import re
import shlex
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from newcomer import CANNOT, MARK, RELEASE, parse, section, transcript  # noqa: E402
from tap import Tap  # noqa: E402

PAGE = "docs/start.md"
BUNDLE = "==pushed=="
NOISY = "a budget could not be decided: 'unescape' was disturbed"
# What a project of this kind has, and what its developer needs to build it.
PROJECTS = {
    "cmake": ("CMakeLists.txt", "gcc libc6-dev make cmake", """cmake_minimum_required(VERSION 3.25)
project(text C)
add_library(text unescape.c)
target_include_directories(text PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
"""),
    "make": ("Makefile", "gcc libc6-dev make", "unescape.o: unescape.c unescape.h\n"),
    "meson": ("meson.build", "gcc libc6-dev meson",
              "project('text', 'c')\ntext = static_library('text', 'unescape.c')\n"),
}
HEADER = "#include <stddef.h>\nsize_t unescape(char *to, const char *from);\n"
HEADINGS = {"cmake": "CMake", "make": "make", "meson": "meson"}
FILES = {"cmake": "perf/CMakeLists.txt", "make": "perf/Makefile", "meson": "perf/meson.build"}


class Step:
    """What is typed, as it is shown, and the exit code that the page promises."""

    def __init__(self, command, shown=None, code=0):
        self.command, self.shown, self.code = command, shown or command, code


# -- the page ------------------------------------------------------------------------------------

def blocks(text, language=""):
    return [block for found, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S) if found == language]


def typed(text, build):
    """Of the blocks without a language. A comment says with which exit code a command ends, if it is not 0."""
    steps = []
    for line in "".join(blocks(text)).splitlines():
        command, _, comment = re.fullmatch(r"(.*?)(\s+# (.*))?", line).groups()
        code = re.search(r"exit code (\d)", comment or "")
        if build == "meson":
            command = command.replace("perf/build/perf-suite", "build/perf/perf-suite")
        steps.append(Step(re.sub(r"^sudo ", "", command), command, int(code.group(1)) if code else 0))
    return steps


def write(path, text):
    return Step(f"mkdir -p $(dirname {path}) && cat >{path} <<'END'\n{text}END", f"[editor] {path}")


def filled_in(text, file):
    """The lines that the page gives for a file, in the place of those that begin like them."""
    cell = re.search(rf"^\| `{re.escape(file)}` \| (.*) \|$", text, re.M).group(1)
    for line in re.findall("`(.*?)`", cell):
        begin = re.match(r"[\w ]+[=(:]", line).group()
        put = re.sub(r"([\\&|])", r"\\\1", line)
        yield Step(f"grep -q '^ *\\(# \\)\\?{begin}' {file} && sed -i "
                   + shlex.quote(f"s|^\\( *\\)\\(# \\)\\?{begin}.*|\\1{put}|") + f" {file}", f"[editor] {file}: {line}")


def walk(root, build):
    """All steps of the developer."""
    file, packages, text = PROJECTS[build]
    own = section(root, PAGE, "Your own code")
    source, suite = blocks(own, "c")
    first = typed(section(root, PAGE, HEADINGS[build]), build)
    built = [step for step in first if "perf-suite -v" not in step.command]
    before, after = own.split("Build again:")
    edits = typed(before, build)
    steps = [Step(f"apt-get update && apt-get install -y --no-install-recommends git ca-certificates {packages}"),
             Step("git clone /yieldpoint ~/yieldpoint && cd ~/yieldpoint"),
             *typed(section(root, PAGE, "Install"), build),
             Step("git config --global user.name me && git config --global user.email me@example.org && "
                  "git init -q -b main ~/project && cd ~/project"),
             write(file, text), write("unescape.h", HEADER), write("unescape.c", source),
             Step("git add . && git commit -q -m 'a project that exists'"),
             *typed(section(root, PAGE, "The first suite"), build)]
    if build == "meson":
        line = blocks(section(root, PAGE, HEADINGS[build]), "meson")[0]
        steps.append(Step(f"cat >>{file} <<'END'\n{line}END", f"[editor] {file}: {line.strip()}"))
    steps += [*first, *typed(section(root, PAGE, "See it turn red"), build),
              write("perf/suite.c", suite), *filled_in(own, FILES[build]), *built, first[-1],
              *edits, *built, *typed(after, build),
              *typed(section(root, PAGE, "Before you commit: the gate"), build)]
    # What is pushed is slow, and takes more memory, which a busy machine cannot hide.
    steps += [*edits, Step("sed -i 's/\\*out = yp_alloc(t, n)/*out = yp_alloc(t, 4 * n)/' perf/suite.c"),
              Step("git commit -q -a -m 'look for the end at every byte'"),
              Step("git bundle create -q ~/pushed HEAD main")]
    return steps


# -- the job -------------------------------------------------------------------------------------

SUMMARY, REPORT = "/tmp/summary.md", "report.xml"
SHOWN = "[the job's summary]", "[report.xml]"
# Of the page's first setting, `(1)`; the others are as they were written.
SET = {"YIELDPOINT_SOURCE": "/yieldpoint", "YIELDPOINT_VERSION": "walked"}
GIVEN = {"GH_TOKEN": "", "GH_REPO": "me/project", "GITHUB_STEP_SUMMARY": SUMMARY, "SELECT": "not slow and not gpu"}
CHECKOUT = ("git -C /yieldpoint branch -f walked HEAD && git clone -q /with/pushed ~/project && "
            "cd ~/project")


def job(workflow):
    """The job `perf` of a push; the step that runs the suite is to be red. What follows it says `always()`."""
    given = {**{name: value for name, value in workflow["env"].items() if "${{" not in value}, **SET, **GIVEN}
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in given.items())
    steps, red = [], False
    for step in workflow["jobs"]["perf"]["steps"]:
        name = step.get("name", step.get("uses"))
        if red and "always()" not in step["if"]:
            raise ValueError(f"the step '{name}' does not run behind a red one")
        if "run" in step:
            red = red or name == "Run"
            steps.append(Step(f"env {words} sh -e -c {shlex.quote(step['run'])}", f"[step: {name}]",
                              int(name == "Run")))
        elif name.startswith("actions/checkout"):
            steps.append(Step(CHECKOUT, f"[step: {name}]"))
        else:
            # The history is that of the default branch, which this is.
            steps.append(Step(f"test -s {step['with']['path']}", f"[step: {name}, {step['with']['path']}]"))
    return [*steps, Step(f"cat {SUMMARY}", SHOWN[0]), Step(f"cat {REPORT}", SHOWN[1])]


# -- in the empty system ---------------------------------------------------------------------------

def script(steps, end=""):
    """Each is typed into the same shell, also when one before it ended otherwise than it should."""
    text = ""
    for step in steps:
        text += (f"echo {shlex.quote(MARK + ' ' + step.shown)}\nSECONDS=0\n{step.command}\ncode=$?\n"
                 f"echo \"{MARK}ended $code $SECONDS\"\n")
    return text + end


def in_empty(tap, root, name, steps, folder, end=""):
    """[(shown, output, exit code, seconds)], and all that was printed; None: skipped."""
    with open(os.path.join(folder, "script"), "w", encoding="utf-8") as file:
        file.write(script(steps, end))
    ran = subprocess.run([os.path.join(root, "ci", "chroot"), "--with", folder, RELEASE, "bash", "/with/script"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                         errors="replace")
    if ran.returncode == CANNOT:
        tap.skip(f"{name} in an empty Debian 12", ran.stdout.strip().splitlines()[-1])
        return None
    done = parse(ran.stdout)
    for index, step in enumerate(steps):
        outcome = done[index] if index < len(done) else (step.shown, "not run", None, 0)
        if step.code == 1 and outcome[2] == 0 and NOISY in outcome[1]:
            tap.skip(f"{name}: {step.shown}", "this machine is too busy to judge speed")
            continue
        tap.check(outcome[0] == step.shown and outcome[2] == step.code, f"{name}: {step.shown}"
                  + (f" (ends with {step.code})" if step.code else ""), f"exit code {outcome[2]}\n{outcome[1]}")
    return done, ran.stdout


def output_of(done, shown):
    """Of the last such step."""
    return [each[1] for each in done if each[0] == shown][-1]


def check_developer(tap, root, build, folder):
    """The repository as it is pushed goes to the job through what is printed."""
    steps = walk(root, build)
    found = in_empty(tap, root, build, steps, folder, f"echo {BUNDLE}; base64 ~/pushed; echo {BUNDLE}\n")
    if found is None:
        return None
    done, printed = found
    program = next(step.shown for step in steps if "--set kib=1024" in step.shown)
    larger = output_of(done, program)
    tap.check("suite.c::checksum[small-kib=1024] - budget host memory" in larger,
              f"{build}: the budget of memory names its case", larger)
    red = output_of(done, program.replace(" --set kib=1024", ""))
    if NOISY not in red:
        tap.check(re.search(r"FAILED (perf/)?suite.c::unescape\[kib=64\] - budget unescape at most 1 ms", red),
                  f"{build}: and that of time", red)
    gate = next(each[1] for each in done if each[0].startswith("yieldpoint gate"))
    tap.check("128.0 KiB -> 192.0 KiB" in gate and "1 more" in gate and "broken" not in gate,
              f"{build}: and the gate", gate)
    parts = printed.split(BUNDLE + "\n")
    if tap.equal(len(parts), 3, f"{build}: what is pushed"):
        with open(os.path.join(folder, "pushed"), "wb") as file:
            file.write(base64.b64decode(parts[1]))
    return found


def check_job(tap, root, build, folder):
    text = subprocess.run(["git", "clone", "-q", os.path.join(folder, "pushed"), os.path.join(folder, "project")],
                          capture_output=True, text=True)
    if not tap.check(text.returncode == 0, f"{build}: it can be cloned", text.stderr):
        return None
    with open(os.path.join(folder, "project", ".github/workflows/perf.yml"), encoding="utf-8") as file:
        found = in_empty(tap, root, f"{build}, the job", job(yaml.safe_load(file)), folder)
    if found is not None:
        summary, report = (output_of(found[0], name) for name in SHOWN)
        tap.check("unescape[kib=64]" in summary and "1 failed" in summary,
                  f"{build}: the job's summary names the case", summary)
        tap.check("<failure" in report and "at most 256.0 KiB accounted at once: 320.0 KiB" in report,
                  f"{build}: JUnit names the budget", report)
    return found


def main(root, build, file=None):
    tap = Tap()
    text = printed = ""
    with tempfile.TemporaryDirectory() as folder:
        for name, check in (("the developer", check_developer), ("the job", check_job)):
            found = check(tap, root, build, folder)
            if found is None:
                break
            seconds = sum(each[3] for each in found[0])
            text += f"## {build}: {name}, {len(found[0])} steps, {seconds} s\n\n"
            text += f"```console\n{transcript(found[0], SHOWN)}```\n\n"
            printed += found[1]
    if file:
        with open(file, "w", encoding="utf-8") as out:
            out.write(text)
        if tap.failed:
            with open(file + ".log", "w", encoding="utf-8") as out:
                out.write(printed)
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
