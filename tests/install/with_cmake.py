"""What CTest makes of examples/cmake, which is built against an installed Yieldpoint."""

import json
import os
import re
import shutil
import subprocess

CASES = ["suite.c::speed[n=1000]", "suite.c::speed[n=100000]", "suite.c::of_none", "suite.c::by_vector", "nightly suite"]


def did(tap, name, *words, cwd=None, env=None):
    done = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=env, stdin=subprocess.DEVNULL)
    tap.check(done.returncode == 0, name, done.stdout[-3000:] + done.stderr)
    return done.returncode == 0


def listed(out):
    """{name: {property: value}} of CTest."""
    done = subprocess.run(["ctest", "--show-only=json-v1"], capture_output=True, text=True, cwd=out, check=True)
    return {test["name"]: {p["name"]: p["value"] for p in test["properties"]} for test in json.loads(done.stdout)["tests"]}


def check_tests(tap, name, out):
    tests = listed(out)
    tap.equal(list(tests), CASES, f"{name}: a test a case, ids below the project's directory, and one for the nightly suite")
    if list(tests) != CASES:
        return
    tap.equal([tests[c].get("LABELS") for c in CASES], [["perf"], ["perf"], ["small"], ["small"], ["nightly"]],
              f"{name}: labels are tags")
    tap.equal([bool(tests[c].get("RUN_SERIAL")) for c in CASES], [True, True, False, False, True],
              f"{name}: what is timed runs alone")
    tap.equal([tests[c].get("TIMEOUT") for c in CASES], [365.0] * 4 + [None], f"{name}: a time-out above the case's own")


def ctest(out, *words):
    done = subprocess.run(["ctest", "-j2", "--output-on-failure", *words], capture_output=True, text=True, cwd=out)
    return done.returncode, re.findall(r"Test +#\d+: (.+?) \.*\s*\**(Passed|Skipped|Failed)", done.stdout), done


def check_cmake(tap, stage, source):
    """`source`: a copy of the example, to write to."""
    if shutil.which("cmake") is None:
        tap.skip("cmake: builds", "no cmake")
        return
    prefix = os.path.dirname(os.path.dirname(os.path.dirname(stage.path("/yieldpoint/yieldpoint.h"))))
    env = {k: v for k, v in os.environ.items() if k != "PKG_CONFIG_PATH"}
    for generator in ("Ninja", "Unix Makefiles"):
        name, out = f"cmake, {generator}", os.path.join(source, "build " + generator)
        if not did(tap, f"{name}: configures", "cmake", "-G", generator, "-S", source, "-B", out,
                   f"-DCMAKE_PREFIX_PATH={prefix}", env=env):
            continue
        tap.equal(list(listed(out)), ["suite_NOT_BUILT", "nightly suite"], f"{name}: before the build a test says so")
        if not did(tap, f"{name}: builds", "cmake", "--build", out, env=env):
            continue
        check_tests(tap, name, out)
        code, outcomes, done = ctest(out)
        tap.equal((code, sorted(outcomes)), (0, sorted((c, "Skipped" if "by_vector" in c else "Passed") for c in CASES)),
                  f"{name}: passes, and skips what is skipped")
    # A fault in the code under test, and a change that makes the tests others.
    with open(os.path.join(source, "sums.c")) as file:
        text = file.read()
    with open(os.path.join(source, "sums.c"), "w") as file:
        file.write(text.replace("total += x[i];", "total += n > 5000 ? 0 : x[i];"))
    with open(os.path.join(source, "suite.c"), "a") as file:
        file.write('YP_TEST(sums, added, .tags = "small")\n{\n    yp_expect(t, true, "never");\n}\n')
        file.write('\n#include <stdlib.h>\nYP_TEST(sums, heap, .tags = "small", .heap = true, .budgets = YP_BUDGETS(yp_max_allocations(YP_HEAP, 1)))\n'
                   "{\n    void *volatile block[2] = {malloc(1), malloc(1)};\n    free(block[0]);\n    free(block[1]);\n}\n")
    with open(os.path.join(source, "CMakeLists.txt")) as file:
        text = file.read()
    with open(os.path.join(source, "CMakeLists.txt"), "w") as file:
        file.write(text.replace("suite.c LIBRARIES", "suite.c HEAP LIBRARIES"))
    if did(tap, "cmake: builds again", "cmake", "--build", out, env=env):
        code, outcomes, done = ctest(out, "-LE", "nightly")
        outcomes = dict(outcomes)
        tap.check(code == 8 and outcomes.get(CASES[0]) == "Passed" and outcomes.get(CASES[1]) == "Failed",
                  "cmake: the case at fault fails alone", done.stdout)
        tap.equal(outcomes.get("suite.c::added"), "Passed", "cmake: an added case is found at the next build")
        tap.check(outcomes.get("suite.c::heap") == "Failed" and "FAILED suite.c::heap - budget" in done.stdout,
                  "cmake: HEAP counts allocations", done.stdout)
    with open(os.path.join(source, "suite.c"), "a") as file:
        file.write('YP_TEST(sums, wrong, .tags = "unheard-of")\n{\n}\n')
    done = subprocess.run(["cmake", "--build", out], capture_output=True, text=True, env=env)
    tap.check(done.returncode != 0 and "unheard-of" in done.stdout + done.stderr,
              "cmake: an error at collection fails the build and says which", done.stdout + done.stderr)
