"""The stress suite's small cases of a GPU, on a device that is made up and runs the kernels' own
code on the CPU: they come to the same as on the CPU. And `yieldpoint refiner` there.

    suites.py PROGRAM YIELDPOINT NCCL PLUGIN...
"""

import csv
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import results, rows, run  # noqa: E402
from tap import Tap  # noqa: E402

# In one process: to start one for each of 1,400 cases takes as long as the cases.
HOW = ("--speed=off", "--no-fork")
# What grows with the image takes too long so, as do 200 channels and the training of an autoencoder and of the whole
# language model, whose steps the cases trains_as_the_cpu hold to the CPU's. The growth is of times.
WHICH = ("-m", "stress and small and gpu and not slow and not ranks",
         "-k", "not spatial and not rx_autoencoder and not (score_error and channels=200) and not channels_growth",
         "--deselect", "stress/lm.c::train[")
LEAST = 400
# What lays out each kind of block.
SEPARATE = "predicted_memory or pipeline_shapes or pipeline_gradient or gradient_precision or train_on_device"


def refiner(tap, command, folder, env):
    table = os.path.join(folder, "refiner.csv")
    for mode in ("inference", "train"):
        done = run(command, "refiner", "--mode", mode, "--device", "cuda", "--tile-sizes", "32", "--batch-sizes", "1,3",
                   "--width", "8", "--warmup", "1", "--iterations", "2", "--output", table, env=env)
        tap.equal(done.code, 0, f"`yieldpoint refiner` has a GPU, {mode}")
    with open(table) as file:
        got = [(row["mode"], row["batch_size"], row["device"], row["error"]) for row in csv.DictReader(file)]
    tap.equal(got, [(mode, batch, "cuda", "") for mode in ("inference", "train") for batch in "13"], "and rows of it")


def ranks(tap, program, nccl, folder, env):
    if not shutil.which("mpirun"):
        tap.skip("cases of several ranks run", "no mpirun in PATH (Debian packages openmpi-bin, mpich)")
        return
    history = os.path.join(folder, "ranks.db")
    done = run(program, "--history", history, "--speed=off", "-m", "stress and small and gpu and ranks",
               env={**env, "CUDA_VISIBLE_DEVICES": "0,1,2,3", "YIELDPOINT_NCCL": os.path.abspath(nccl)}, timeout=300)
    found = {key: value["outcome"] for key, value in results(history).items()}
    tap.check(done.code == 0 and len(found) >= 8 and set(found.values()) == {"passed"},
              "so do those of several ranks, each with a device of its own, by a made-up NCCL", (found, done))


def main(program, command, nccl, *plugins):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        history = os.path.join(folder, "history.db")
        env = {"YIELDPOINT_PLUGINS": ":".join(os.path.dirname(os.path.abspath(p)) for p in plugins),
               "FAKE_CUDA": "memory=8589934592"}
        done = run(program, "--history", history, *HOW, *WHICH, env=env)
        found = results(history)
        outcomes = {key: (value["outcome"], value["reason"] or
                          "; ".join(f["message"] for f in value["failures"]))
                    for key, value in found.items()}
        tap.check(len(found) >= LEAST, "cases of a GPU run", sorted(found))
        tap.equal({key: value for key, value in outcomes.items() if value[0] != "passed"}, {},
                  "all of them pass")
        tap.equal(done.code, 0, "and so does the run")
        memory = rows(history, "SELECT result_id FROM memory WHERE memory = 'device' AND "
                               "allocations > 0 AND allocations = frees")
        tap.check(len(memory) >= LEAST - 1, "with the device's memory, all given back", memory)
        done = run(program, "--history", os.path.join(folder, "separate.db"), *HOW,
                   "-m", "stress and small and gpu and not slow and not ranks", "-k", SEPARATE,
                   env={**env, "YIELDPOINT_SEPARATE_ARRAYS": "1"})
        tap.equal(done.code, 0, "with an allocation for each array, too")
        done = run(program, "--history", os.path.join(folder, "without.db"), "--speed=off",
                   "stress/formulas/known.c::known[scene=one-cuda]",
                   env={**env, "YIELDPOINT_PLUGINS": os.path.dirname(os.path.abspath(plugins[0]))})
        tap.check(done.code == 1 and "scene: no plugin libyieldpoint-synth-cuda.so" in done.out,
                  "a plugin that is missing is named", done)
        refiner(tap, command, folder, env)
        ranks(tap, program, nccl, folder, env)
    tap.done()


main(*sys.argv[1:])
