"""Plants one defect at a time into a copy of the sources and runs `meson test --suite stress`.

usage: planted.py [NAME ...]: only these, in this order, without the run in which nothing is planted

Each defect must turn exactly the cases red that it is in, the first of them with a reason that says
what it is. Prints the part of the transcript that shows it.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))

# name: (file, what stands there, what is planted, the case, the reason, other cases it is in)
PLANTS = {
    "crash": ("suites/stress/synth.c", "    uint64_t wrong = 0;\n",
              "    uint64_t wrong = 0;\n    if (s.channels == 50)\n        words = NULL;\n",
              "stress/synth.c::words[medium]", r"crashed in the body: SIGSEGV"),
    "hang": ("suites/stress/rx.c", "    static const size_t tile_pixels[] = {4096, 1000, 137};\n",
             "    static const size_t tile_pixels[] = {4096, 1000, 137};\n"
             "    while (s.channels == 10)\n        yp_keep(s.channels);\n",
             "stress/rx.c::same_data[small]", r"timeout: still running after 60 s"),
    "wrong gradient": ("models/rx/detector/loss.c", "(float)(loss->gram[i] / n)",
                       "(float)(loss->gram[i] / n * (channels == 10 ? 1.001 : 1))",
                       "stress/rx.c::gradient_precision[small-cpu]",
                       r"precision of 'A': the error 0.001 is .* times"),
    "leak": ("suites/stress/rx.c",
             '    yp_value(t, "auc", scene_tiles_auc(&tiles, t, scores, s.cubes));\n    rx_destroy(rx);\n',
             '    yp_value(t, "auc", scene_tiles_auc(&tiles, t, scores, s.cubes));\n'
             "    if (s.channels != 50)\n        rx_destroy(rx);\n",
             "stress/rx.c::fit[medium-cpu]", r"leaked [0-9.]+ MiB of accounted memory in 1 allocation"),
    "doubled allocation": ("suites/scene_tiles.c",
                           "    float *scores = yp_alloc_host(t, bytes);\n",
                           "    float *scores = yp_alloc_host(t, 2 * bytes);\n",
                           "stress/rx.c::fit[medium-cpu]",
                           r"at most 10.6 MiB accounted at once: [0-9.]+ MiB, .* above",
                           "stress/rx.c::fit[small-cpu]"),
    # Microseconds a pixel, where the fit takes 40 ns; seen by what times a fit of 10 channels in
    # tiles of 4,096 pixels.
    "slowed kernel": ("models/rx/detector/statistics.c", "    const struct rx *rx = arg;\n",
                      "    const struct rx *rx = arg;\n"
                      "    bool slow = rx->channels == 10 && rx->tile_pixels == 4096;\n"
                      "    for (volatile size_t n = slow ? 20000 * tile->pixels : 0; n > 0; n--)\n"
                      "        continue;\n",
                      "stress/rx.c::fit[small-cpu]", r"fit at least 0.11 of what bounds it: .* below",
                      "stress/rx_train.c::train[small-cpu]"),
}


def copy_sources(to):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=ROOT, check=True, capture_output=True)
    for name in listed.stdout.decode().split("\0"):
        if name and os.path.exists(os.path.join(ROOT, name)):
            os.makedirs(os.path.join(to, os.path.dirname(name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(to, name))
    # The copy's own history, whatever it stands in.
    if not os.path.exists(os.path.join(to, "yieldpoint.ini")):
        with open(os.path.join(to, "yieldpoint.ini"), "w") as ini:
            ini.write("[yieldpoint]\n")


@contextlib.contextmanager
def planted(tree, name, file, old, new):
    """The copy's file with `new` in the place of `old`, as long as the context lasts."""
    path = os.path.join(tree, file)
    with open(path) as source:
        text = source.read()
    if text.count(old) != 1:
        sys.exit(f"{name}: {file} does not hold the place to plant once")
    with open(path, "w") as source:
        source.write(text.replace(old, new))
    try:
        yield
    finally:
        with open(path, "w") as source:
            source.write(text)


def run_stress(build):
    environment = {**os.environ, "YIELDPOINT_OPTIONS": "--timeout=60", "NO_COLOR": "1"}
    done = subprocess.run(["meson", "test", "-C", build, "--suite", "stress", "--no-suite", "slow",
                           "--print-errorlogs"], capture_output=True, text=True,
                          errors="replace", env=environment, stdin=subprocess.DEVNULL)
    with open(os.path.join(build, "meson-logs", "testlog.txt"), errors="replace") as log:
        tap = log.read()
    passed = set(re.findall(r"^ok [0-9]+ - ([^\n#]*?)\s*$", tap, re.M))
    failed = set(re.findall(r"^not ok [0-9]+ - ([^\n#]*?)\s*$", tap, re.M))
    return done, passed, failed


def excerpt(out, case):
    """Meson's line of the failing test and what it shows of the case."""
    lines = out.splitlines()
    shown = [line for line in lines if re.match(r"^ *[0-9]+/[0-9]+ ", line)]
    begin = next((i for i, line in enumerate(lines) if line == f"FAILED {case}"), None)
    if begin is not None:
        for line in lines[begin:]:
            shown.append(line)
            if line.startswith("  reproduce:"):
                break
    return shown


def check(name, build, tree):
    """Plants one and takes it away again; whether exactly its cases turned red."""
    file, old, new, case, reason, *others = PLANTS[name]
    with planted(tree, name, file, old, new):
        subprocess.run(["ninja", "-C", build], check=True, stdout=subprocess.DEVNULL)
        done, passed, failed = run_stress(build)
    shown = "\n".join(excerpt(done.stdout, case)).replace(build, "build")
    red = {case, *others}
    right = done.returncode != 0 and failed == red and re.search(reason, shown)
    print(f"\n== {name}: {'exactly' if right else 'NOT exactly'} {sorted(red)}: exit "
          f"{done.returncode}, red: {sorted(failed)}, {len(passed)} green\n{shown}", flush=True)
    if not right:
        print(done.stdout[-3000:], flush=True)
    return bool(right)


def main(names):
    problems = 0
    with tempfile.TemporaryDirectory() as folder:
        tree, build = os.path.join(folder, "tree"), os.path.join(folder, "tree", "build")
        copy_sources(tree)
        subprocess.run(["meson", "setup", build, tree], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["ninja", "-C", build], check=True, stdout=subprocess.DEVNULL)
        if not names:
            done, passed, failed = run_stress(build)
            print(f"nothing planted: exit {done.returncode}, {len(passed)} passed, "
                  f"{len(failed)} failed {sorted(failed)}", flush=True)
            problems += done.returncode != 0 or bool(failed) or not passed
        for name in names or PLANTS:
            problems += not check(name, build, tree)
    print(f"\n{problems} problems")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
