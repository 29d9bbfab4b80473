"""What the README and the cookbook tell a newcomer, done to the letter in an empty Debian 12: clone, the two commands,
install, the example, a first test of one's own.

usage: newcomer.py SOURCE_ROOT [TRANSCRIPT]

Takes what is committed. TRANSCRIPT: the file for what was typed and printed, shortened, with the seconds; where something
failed, all of it is in TRANSCRIPT.log. Needs root, mmdebstrap and Debian's packages: skipped where ci/chroot says that
it cannot."""

import os
import re
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402

RELEASE, CANNOT = "bookworm", 125
MARK = "==newcomer=="
# An empty system has not even git, and the clone is of a directory here.
BEFORE = ["apt-get update && apt-get install -y --no-install-recommends git ca-certificates",
          "git clone /yieldpoint ~/yieldpoint && cd ~/yieldpoint"]
SECTIONS = [("README.md", "Two commands"), ("README.md", "A test"), ("docs/cookbook.md", "Cookbook"),
            ("docs/cookbook.md", "The first test")]


def section(root, page, heading):
    """The text below a heading, as far as the next."""
    with open(os.path.join(root, page), encoding="utf-8") as file:
        text = file.read()
    return re.search(rf"^#+ {re.escape(heading)}$(.*?)(?=^#+ |\Z)", text, re.M | re.S).group(1)


def commands_of(text):
    """The lines of blocks without a language; of a block with prompts, those behind prompts."""
    found = []
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        lines = [] if language else block.splitlines()
        prompted = [line[2:] for line in lines if line.startswith("$ ")]
        found += [re.sub(r"\s+#.*", "", line) for line in prompted or lines]
    return found


def commands(root):
    """In order, each once: what the cookbook begins with has been done by then. One that shows a failure is left
    out."""
    found = list(BEFORE)
    for page, heading in SECTIONS:
        for line in commands_of(section(root, page, heading)):
            if line not in found and "mib=64" not in line and line != "yieldpoint history":
                found.append(line)
    return found


def typed(line):
    """For root, in a system that has no sudo. From the cookbook on, from where the clone is."""
    line = re.sub(r"^sudo ", "", line)
    return "cd ~/yieldpoint && " + line if line.startswith("cp -r examples/") else line


def script(lines):
    """Each is typed into the same shell, also when one before it has failed."""
    text = "failed=0\n"
    for line in lines:
        text += (f"echo '{MARK} '{shlex.quote(line)}\nSECONDS=0\n{typed(line)}\ncode=$?\n"
                 f"echo \"{MARK}ended $code $SECONDS\"\n[ $code -eq 0 ] || failed=1\n")
    return text + "exit $failed\n"


def shortened(output, first=2, last=9):
    """Without what differs by where it is done; mirrors have no name here, and home is ~."""
    lines = [re.sub(r"https?://[^/\s]+", "http://MIRROR", line.rstrip()) for line in output.splitlines()]
    lines = [line.replace(os.path.expanduser("~root/"), "~/") for line in lines]
    lines = [line.split("\r")[-1] for line in lines if line]
    if len(lines) > first + last + 1:
        lines = lines[:first] + [f"[... {len(lines) - first - last} lines]"] + lines[-last:]
    return lines


def transcript(done, longer=()):
    """Of the `longer` ones twenty lines are kept, else eleven."""
    text = ""
    for line, output, code, seconds in done:
        ended = f"{seconds} s" if code == 0 else f"{seconds} s, exit code {code}"
        text += "\n".join([f"$ {line}", *shortened(output, 12 if line in longer else 2), f"[{ended}]"]) + "\n\n"
    return text


def parse(output):
    """[(line, output, code, seconds)] of those that ended."""
    found = []
    for part in output.split(MARK + " ")[1:]:
        line, _, rest = part.partition("\n")
        printed, mark, ended = rest.partition(MARK + "ended ")
        if mark:
            found.append((line, printed, *map(int, ended.split()[:2])))
    return found


def main(root, file=None):
    tap = Tap()
    lines = commands(root)
    ran = subprocess.run([os.path.join(root, "ci", "chroot"), RELEASE, "bash", "-c", script(lines)],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                         errors="replace")
    if ran.returncode == CANNOT:
        tap.skip("a newcomer in an empty Debian 12", ran.stdout.strip().splitlines()[-1])
        tap.done()
    done = parse(ran.stdout)
    for line in lines:
        outcome = next((each for each in done if each[0] == line), None)
        tap.check(outcome is not None and outcome[2] == 0, line, outcome[1] if outcome else "not run")
    tap.check(len(done) == len(lines) and ran.returncode == 0, "and the exit code says so", ran.stdout)
    if file:
        with open(file, "w", encoding="utf-8") as out:
            out.write(transcript(done))
        if tap.failed:
            with open(file + ".log", "w", encoding="utf-8") as out:
                out.write(ran.stdout)
    tap.done()


if __name__ == "__main__":
    main(*sys.argv[1:])
