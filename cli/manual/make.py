"""Makes the manual pages of what programs say of themselves, so that they hold what the option tables hold.

usage: make.py yieldpoint PROGRAM OUTPUT    yieldpoint(1), of the command
       make.py suite PROGRAM OUTPUT         yieldpoint-suite(7), of a test program
"""

import re
import subprocess
import sys

EXIT_CODES = """0 passed, 1 failed, 2 interrupted or an error at collection, 3 an internal error, 4 a wrong command line,
5 nothing was selected."""
FILES = [("yieldpoint.ini", "in the directory of the project or above: [yieldpoint] options = ..., history = FILE; "
          "[tags] name = what it is for"),
         (".yieldpoint/history.db", "where results are kept, an SQLite file, beside yieldpoint.ini or .git")]
ENVIRONMENT = [("YIELDPOINT_OPTIONS", "options, read before those of the command line"),
               ("YIELDPOINT_LOCK", "the file by which timed runs wait for each other; /tmp/yieldpoint.lock"),
               ("YIELDPOINT_ISA", "the highest instruction set to use: baseline, avx2, avx512 or amx"),
               ("YIELDPOINT_PLUGINS", "directories of plugins for GPUs, separated by colons")]


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def told(*words):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"make.py: {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def heading(title):
    return f".SH {title.upper()}"


def item(label, text):
    return [".TP", f".B {roff(label)}", roff(text)]


def verbatim(lines):
    return [".RS", ".nf"] + [roff(line) for line in lines] + [".fi", ".RE"]


def begin(name, section, version, what):
    return [f'.TH {roff(name.upper())} {section} "" "{version.strip()}" "Yieldpoint"', heading("name"),
            f"{roff(name)} \\- {roff(what)}"]


def pairs(title, entries):
    out = [heading(title)]
    for label, text in entries:
        out += item(label, text)
    return out


def options(lines):
    """Groups and their options as ypi_options_print() writes them."""
    out = []
    for line in lines:
        option = re.match(r"  (-\S+(?:, --\S+)?(?: \S+)?) +(.*)$", line)
        if re.match(r"^\S.*:$", line):
            out += [f".SS {roff(line[:-1].capitalize())}"]
        elif option:
            out += item(option.group(1), option.group(2))
        elif line.startswith("  -"):
            sys.exit(f"make.py: cannot read the option in {line!r}")
    return out


def suite_page(program):
    lines = told(program, "--help").splitlines()
    end = max(i for i, line in enumerate(lines) if line.startswith("  -")) + 1
    out = begin("yieldpoint-suite", 7, told(program, "--version"), "options of a Yieldpoint test program")
    out += [heading("synopsis"), ".I program", roff(lines[0].split(" ", 2)[2]), heading("description"),
            roff("A program that is linked with Yieldpoint runs the tests in it: each case in a process of its own, "
                 "measured, judged by its budgets and stored. Without a word it runs all of them; files, file::test "
                 "and ids, as --co prints them, select.")]
    out += [heading("options")] + options(lines[1:end])
    out += [heading("exit status"), roff(" ".join(EXIT_CODES.split()))]
    out += pairs("environment", ENVIRONMENT) + pairs("files", FILES)
    return out + [heading("see also"), ".BR yieldpoint (1)"]


def command_page(program):
    lines = told(program, "--help").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("  yieldpoint "))
    end = max(i for i, line in enumerate(lines) if line.startswith("      ")) + 1
    out = begin("yieldpoint", 1, told(program, "--version"), lines[0].split(": ", 1)[1])
    out += [heading("synopsis"), ".B yieldpoint", ".I command", "[options]", heading("commands")]
    commands = []
    for line in lines[first:end]:
        name = line.split()[1] if line.startswith("  yieldpoint ") else None
        if name and (not commands or commands[-1][0] != name):
            commands.append((name, []))
        commands[-1][1].append(line[2:])
    for name, text in commands:
        out += [f".SS {roff(name)}"] + verbatim(text)
        if re.search(rf"{name}\s+--help", " ".join(text)):
            helped = told(program, name, "--help").splitlines()
            out += verbatim(helped[next(i for i, line in enumerate(helped) if line.startswith("  -")):])
    out += [heading("general"), ".nf"] + [roff(line.strip()) for line in lines[end:] if line] + [".fi"]
    out += pairs("files", FILES)
    return out + [heading("see also"), ".BR yieldpoint\\-suite (7)"]


def main(kind, program, output):
    page = {"yieldpoint": command_page, "suite": suite_page}[kind](program)
    with open(output, "w", encoding="utf-8") as file:
        file.write("\n".join(page) + "\n")


main(*sys.argv[1:])
