"""Which room includes which: docs/architecture.md has the plan, ARROWS holds it.

usage: arrows.py [ROOT]

Prints a line for each include that the plan does not have, or that is not written from the root, and
for each file that Python would take for a module of its own library; ends with 1 when there was one.
A room is a folder with all below it that is no room of its own. In `harness` the rooms are the steps of a
run and what they share: a step may include what stands before it here, as far as it is named."""

import fnmatch
import os
import re
import sys

VOCABULARY = ["harness/vocabulary", "device", "ranks", "base"]  # of every step of a run
ENDS = ["harness/message", "harness/stack", *VOCABULARY]  # of the runner and of a case's process
# room: what its files may include beside their own room and the public headers. A name that ends in .h
# is that header alone, a * any one folder.
ARROWS = {
    "include": [],
    "base": [],
    "device": ["base", "device/cuda/cuda_plugin.h"],
    "device/cuda": ["device", "base"],
    "ranks": ["base"],
    "ranks/nccl": ["ranks", "device/backend.h", "device/cuda/frame.h", "base"],
    "harness/vocabulary": ["device", "base"],
    "harness/message": VOCABULARY,
    "harness/stack": VOCABULARY,
    "harness/collect": VOCABULARY,
    "harness/body": ["harness/collect/collect.h", *ENDS],
    "harness/measure": ["harness/body/child.h", *ENDS],
    "harness/conduct": ["harness/body/child.h", "harness/body/stack.h", *ENDS],
    "harness/case": ["harness/conduct/conduct.h", "harness/measure", "harness/body", *ENDS],
    "harness/run": ["harness/case/life.h", "harness/collect", *ENDS],
    "harness/criterion": ["harness/run/plan.h", "harness/message/job.h", "harness/message/starts.h", *VOCABULARY],
    "harness/judge": ["harness/measure/noise.h", "harness/measure/count/counters.h", *VOCABULARY],
    "harness/record": ["harness/collect/collect.h", "harness/collect/sources.h", *VOCABULARY],
    "harness/history": ["harness/message/channel.h", "harness/message/case_list.h", "harness/record", "harness/collect/select.h", "harness/measure/noise.h", *VOCABULARY],
    "harness/baseline": ["harness/history", "harness/record", "harness/collect", "harness/measure/noise.h", *VOCABULARY],
    "harness/report": ["harness/record", "harness/collect", *VOCABULARY],
    "harness/driver": ["harness/report", "harness/baseline/baseline.h", "harness/history", "harness/record", "harness/judge", "harness/criterion", "harness/run",
                       "harness/case/life.h", "harness/conduct/rank.h", "harness/measure/count/callgrind.h", "harness/collect", *ENDS],
    "harness": ["harness/driver/program.h"],
    "machine": ["harness/history/history.h", "device", "base"],
    "reports": ["harness/history/history.h", "harness/baseline/baseline.h", "gate/stored", "gate/comparison.h", "gate/options.h", "gate/summary.h", "base"],
    "gate": ["harness/history/history.h", "base"],
    "launch": ["harness/history/history.h", "harness/baseline/baseline.h", "base"],
    "synth": ["device", "base", "synth/cuda/work.h"],
    "synth/cuda": ["synth", "device", "device/cuda", "base"],
    "synth/command": ["synth", "device", "base"],
    "models/nn": ["device", "base"],
    "models/data": ["device", "ranks", "base"],
    "models/metrics": ["device", "base"],
    "models/train": ["models/nn", "models/data", "models/metrics", "device", "ranks", "base"],
    "suites": ["models", "synth", "ranks", "base"],
    "cli": ["machine/machine.h", "reports/reports.h", "gate/gate.h", "launch/launch.h", "synth/command/command.h",
            "models/*/command/command.h", "base"],
    "examples": [],
    "tests": [""],
}
# A workload of models/ that is not named above: no other workload.
WORKLOAD = ["models/nn", "models/data", "models/metrics", "models/train", "device", "device/cuda", "ranks", "base"]
ARROWS["models/refiner/command"] = ["models/refiner", "synth/cube/cube.h", *WORKLOAD]
SOURCES = (".c", ".h", ".cu", ".cuh", ".cpp", ".inc")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.M)


def room_of(path):
    """The longest room that holds the file, and what it may include."""
    parts = path.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        room = "/".join(parts[:length])
        if room in ARROWS:
            return room, ARROWS[room]
    return ("/".join(parts[:2]), WORKLOAD) if parts[:1] == ["models"] and len(parts) > 1 else (None, [])


def within(path, room):
    return room == "" or path.startswith(room + "/") or fnmatch.fnmatch(path, room)


def allowed(path, target):
    room, may = room_of(path)
    if room_of(target)[0] == room:
        return True
    return any(within(target, other) for other in may)


def wrong(root):
    """(file, line, what is wrong) of each include that is not the plan's."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in ("build", "shared"))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if name.endswith(".py") and name[:-3] in sys.stdlib_module_names:
                yield path, 1, "programs beside it import it in place of Python's own module of that name"
            if not name.endswith(SOURCES) or "/" not in path or path.startswith("examples/"):
                continue
            if room_of(path)[0] is None:
                yield path, 1, "is in no room that ci/arrows.py knows"
                continue
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = file.read()
            for match in INCLUDE.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                quoted, angled = match.groups()
                if angled:
                    if not angled.startswith("yieldpoint/") and os.path.exists(os.path.join(root, angled)):
                        yield path, line, f"<{angled}>: the project's own headers stand in quotes"
                elif not os.path.exists(os.path.join(root, quoted)):
                    yield path, line, f'"{quoted}": is not written from the root'
                elif not allowed(path, quoted):
                    room, may = room_of(path)
                    yield path, line, f'"{quoted}": {room} may include {", ".join(may) or "no other room"}'


def main(root):
    found = list(wrong(root))
    for path, line, what in found:
        print(f"{path}:{line}: {what}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
