"""An OpenBLAS that does not know the processor is told which kernels to take; the user's word counts more."""

import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import ENVIRONMENT, results, run  # noqa: E402
from tap import Tap  # noqa: E402

CORES = {"baseline": "nothing", "avx2": "Haswell", "avx512": "SkylakeX", "amx": "SkylakeX"}


def main(program):
    tap = Tap()
    ENVIRONMENT.pop("OPENBLAS_CORETYPE", None)

    def told(*options, **variables):
        """What a case and a command find: their outputs."""
        with tempfile.TemporaryDirectory() as folder:
            history = os.path.join(folder, "history.db")
            done = run(program, "--history", history, *options, env=variables)
            found = {case.split("::")[1]: r["tail"].strip() for case, r in results(history).items()}
            tap.check(done.code == 0 and len(found) == 2, f"{options} {variables} runs", done)
            return found.get("told", ""), found.get("command", "")

    case, command = told()
    isa = re.match(r"isa (\w+),", case)
    tap.check(isa is not None, "a case says what there is", case)
    here = isa[1] if isa else "baseline"
    tap.equal(case, f"isa {here}, told {CORES[here]}", "the kernels of the processor")
    tap.equal(command, "told nothing, nothing", "a command, which has an OpenBLAS of its own, chooses itself")
    case, command = told(OPENBLAS_CORETYPE="Zen")
    tap.equal((case, command), (f"isa {here}, told Zen", "told Zen, nothing"), "what the user says, in both")
    case, command = told("--isa=baseline")
    tap.equal((case, command), ("isa baseline, told Nehalem", "told Nehalem, nothing"), "--isa, in both")
    case, _ = told(YIELDPOINT_ISA="baseline")
    tap.equal(case, "isa baseline, told nothing", "without AVX2 a Prescott's kernels are the right ones")
    tap.done()


main(*sys.argv[1:])
