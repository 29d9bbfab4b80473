"""`yieldpoint graph`: plans, passes that are held to what PyTorch made (models/graph/reference/make.py), and what is
refused."""

import csv
import json
import math
import os
import pty
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import ENVIRONMENT, run  # noqa: E402
from tap import Tap  # noqa: E402
from tensors import save, tensors  # noqa: E402

NOTHING, FILE, USAGE = 1, 3, 4
REFERENCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "suites", "stress", "graph")
GRAPHS, WEIGHTS = (os.path.join(REFERENCE, f"{name}.safetensors") for name in ("graphs", "weights"))
SMALL = ["--hidden", "8", "--heads", "2", "--layers", "2", "--modes", "3"]
TERMS = ["--velocity", "0.3", "--acceleration", "0.1", "--winner", "0.5", "--likely", "0.1", "--endpoint", "0.2",
         "--collision", "0.05"]


def norm(values):
    return math.sqrt(sum(v * v for v in values))


def off(name, got, right):
    """As a share of what is right. The bias of a score before a softmax has the gradient 0 but for rounding, beside
    which that of its weights stands. A NaN is infinitely far."""
    size = norm(right[name.replace("pool_attention.bias", "pool_attention.weight")][1])
    by = norm(g - w for g, w in zip(got[name][1], right[name][1]))
    return by / size if by == by and size > 0 else 0 if by == 0 else math.inf


# -- plans --


def plan(program, *words):
    done = run(program, "graph", "plan", *words, "--json")
    return done, json.loads(done.out) if done.out else None


def check_plans(tap, program):
    for words, count in ((["--size", "base"], 352429), (["--features", "7"], 352301), (["--size", "9M"], 9606291),
                         (["--size", "12M"], 11739799)):
        done, found = plan(program, *words)
        tap.equal((done.code, found["parameters"]), (0, count), f"parameters of {words}")
        kinds = {name: size for name, size in found["bytes"].items() if name != "total"}
        tap.equal(sum(kinds.values()), found["bytes"]["total"], f"{words}: the kinds are the total")
        tap.equal([kinds[name] for name in ("weights", "gradients", "optimiser")], [4 * count, 4 * count, 8 * count],
                  f"{words}: vectors")
    sizes = [plan(program, "--pass", name)[1]["bytes"] for name in ("forward", "forward_backward", "train_step")]
    tap.check(sizes[0]["gradients"] == sizes[0]["optimiser"] == sizes[1]["optimiser"] == 0 < sizes[1]["activations"],
              "a pass without training has no moments", sizes)
    few, all_ = (plan(program, *words)[1] for words in (["--edges", "100"], []))
    tap.equal((few["edges"], all_["edges"], few["nodes"]), (1600, 7392, 352), "edges and nodes of a batch")
    tap.check(few["bytes"]["total"] < all_["bytes"]["total"] and few["flops"] < all_["flops"], "fewer edges take less",
              (few, all_))
    for limit, fits in (("1G", True), ("100M", False)):
        done, found = plan(program, "--limit", limit)
        tap.equal((done.code, found["fits"]), (0 if fits else NOTHING, fits), f"in {limit}")
    done = run(program, "graph", "plan", "--limit", "100M")
    tap.check(done.code == NOTHING and "does not fit 100.0 MiB: " in done.out, "in words", done)


# -- passes --


def together(got, right):
    """Of all gradients: small ones are differences of larger ones, and lose more to rounding."""
    some = [name for name in right if name.endswith(".grad")]
    return norm(g - w for name in some for g, w in zip(got[name][1], right[name][1])) / norm(
        w for name in some for w in right[name][1])


def check_reference(tap, program, folder):
    words = [*SMALL, "--graphs", GRAPHS, "--load", WEIGHTS, "--gradients"]
    path = os.path.join(folder, "out.safetensors")
    for file, how in (("expected", []), ("all_terms", TERMS)):
        right = {name: t for name, t in tensors(os.path.join(REFERENCE, f"{file}.safetensors")).items()
                 if name.split(".")[0] not in ("size", "weight")}
        for precision, bound in ((["--double"], 1e-10), ([], 5e-5)):
            done = run(program, "graph", *words, *how, *precision, "--dump", path)
            tap.check(done.code == 0 and done.out.startswith("loss "), f"{file} {precision}: exit 0", done)
            got = tensors(path)
            tap.equal([name for name in right if name not in got or got[name][0] != right[name][0]], [],
                      f"{file} {precision}: names and shapes")
            if file == "expected":
                tap.equal(sorted(got), sorted(right), f"{file} {precision}: and no others")
            errors = {name: off(name, got, right) for name in right if precision or not name.endswith(".grad")}
            worst = max((error, name) for name, error in {**errors, "gradients": together(got, right)}.items())
            tap.check(worst[0] <= bound, f"{file} {precision}: all within {bound}", worst)
            print(f"# {file} {precision}: the worst is {worst[1]}, off by {worst[0]:.2e}")
    done = run(program, "graph", *[w for w in words if w != "--gradients"], "--dump", path)
    tap.equal((done.code, [name for name in tensors(path) if name.endswith(".grad")]), (0, []),
              "without --gradients there are none")


def check_files(tap, program, folder):
    """The order of edges does not matter, nor what need not be there; graphs may have no edges and no nodes."""
    good, path = tensors(GRAPHS), os.path.join(folder, "graphs.safetensors")

    def loss(found, *words):
        save(path, found)
        done = run(program, "graph", *SMALL, "--graphs", path, "--load", WEIGHTS, "--double", "--json", *words)
        return json.loads(done.out) if done.code == 0 else done
    edges = good["edge_index"][0][1]
    order = list(range(edges))
    random.Random(1).shuffle(order)
    index, attr = good["edge_index"][1], good["edge_attr"][1]
    other = {**good, "edge_index": ([2, edges], [index[k] for k in order] + [index[edges + k] for k in order]),
             "edge_attr": ([edges, 5], [attr[5 * k + i] for k in order for i in range(5)])}
    right = loss(good)
    tap.equal((right["graphs"], right["nodes"], right["edges"]), (6, 31, edges), "what is in the file")
    tap.equal(loss(other)["loss"], right["loss"], "edges in another order")
    tap.equal(loss({name: t for name, t in good.items() if name != "id"})["loss"], right["loss"], "without id")
    found = loss({name: t for name, t in good.items() if name not in ("counts", "coverage")})
    tap.equal((found["nodes_that_count"], found["coverages_known"], found["coverage"]), (31, 0, 0),
              "without counts and coverage: all count, none is known")
    none = {**good, "edge_index": ([2, 0], [], "I64"), "edge_attr": ([0, 5], [], "F32")}
    found = loss(none, "--gradients")
    tap.check(found["edges"] == 0 and math.isfinite(found["loss"]) and found["loss"] != right["loss"], "without edges",
              found)


def npy(shape, values, descr=None, fortran=False):
    """An .npy file's bytes."""
    descr = descr or {int: "<i8", float: "<f4"}[type(values[0])]
    letter = {"<i8": "q", "<i4": "i", "<f4": "f", "<f8": "d", ">f4": "f"}[descr]
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + \
        struct.pack(f"{descr[0]}{len(values)}{letter}", *values)


def check_npz(tap, program, folder):
    good, path = tensors(GRAPHS), os.path.join(folder, "graphs.npz")

    def ask(arrays, method=zipfile.ZIP_STORED, change=None):
        with zipfile.ZipFile(path, "w", method) as file:
            for name, content in arrays.items():
                with file.open(f"{name}.npy", "w", force_zip64=True) as entry:  # as NumPy does
                    entry.write(content)
        if change is not None:
            with open(path, "rb") as file:
                content = change(file.read())
            with open(path, "wb") as file:
                file.write(content)
        return run(program, "graph", *SMALL, "--graphs", path, "--load", WEIGHTS, "--double", "--json")

    arrays = {name: npy(*tensor) for name, tensor in good.items()}
    wide = {name: npy(shape, values, "<f8") for name, (shape, values) in good.items() if isinstance(values[0], float)}
    narrow = {name: npy(shape, values, "<i4") for name, (shape, values) in good.items()
              if isinstance(values[0], int) and name != "id"}
    right = json.loads(run(program, "graph", *SMALL, "--graphs", GRAPHS, "--load", WEIGHTS, "--double", "--json").out)
    for found, name in ((arrays, "as in .safetensors"), ({**arrays, **wide, **narrow}, "of other types")):
        done = ask(found)
        tap.check(done.code == 0 and json.loads(done.out)["loss"] == right["loss"], f".npz: {name}", done)
    done = ask(arrays, change=lambda content: content[:-2] + b"\5\0 word")
    tap.check(done.code == 0, ".npz: with a comment", done)
    node = good["node"]
    for found, method, change, code, text in (
            (arrays, zipfile.ZIP_DEFLATED, None, FILE, "is compressed: must be as numpy.savez() writes it"),
            (arrays, zipfile.ZIP_STORED, lambda content: content[:-30], FILE, "it has no directory"),
            (arrays, zipfile.ZIP_STORED, lambda content: content[:-12] + b"\xff" + content[-11:], FILE,
             "its directory has fewer entries than it says"),
            (arrays, zipfile.ZIP_STORED, lambda content: content[200:], FILE, "graphs.npz: "),
            (arrays, zipfile.ZIP_STORED, lambda content: b"PK\3\4", FILE, "it is too short"),
            ({**arrays, "node": npy(*node, fortran=True)}, zipfile.ZIP_STORED, None, FILE,
             "array 'node': must be in C order and little-endian"),
            ({**arrays, "node": npy(*node, descr=">f4")}, zipfile.ZIP_STORED, None, FILE, "array 'node': must be in C"),
            ({**arrays, "node": arrays["node"][:-4]}, zipfile.ZIP_STORED, None, FILE,
             "array 'node': it does not have as many bytes as its shape says"),
            ({**arrays, "node": npy([2**62, 2**62], [], "<f4")}, zipfile.ZIP_STORED, None, FILE, "'node': it does not"),
            ({**arrays, "node": arrays["node"][:40]}, zipfile.ZIP_STORED, None, FILE, "graphs.npz: "),
            ({**arrays, "node": b"no array"}, zipfile.ZIP_STORED, None, FILE, "graphs.npz: "),
            ({**arrays, "role": arrays["counts"]}, zipfile.ZIP_STORED, None, USAGE, "tensor 'role' is of F32")):
        done = ask(found, method, change)
        tap.check(done.code == code and text in done.err and done.out == "", f".npz, refused: {text}", done)


def check_seeds(tap, program, folder):
    outs, found = [], []
    for i, more in enumerate(([], [], ["--seed", "1"], ["--double"], ["--precision", "bf16"], ["--precision", "fp16"])):
        path = os.path.join(folder, f"seed{i}.safetensors")
        done = run(program, "graph", *SMALL, "--graphs", GRAPHS, *more, "--gradients", "--dump", path)
        tap.check(done.code == 0, f"weights to start from {more}", done)
        found.append(tensors(path))
        with open(path, "rb") as file:
            outs.append(file.read())
    tap.check(outs[0] == outs[1] != outs[2], "are of the seed alone")
    for i, name, bound in ((0, "float", 1e-5), (4, "bf16", 0.1), (5, "fp16", 0.1 / 8)):
        errors = together(found[i], found[3]), off("mixture", found[i], found[3])
        tap.check(max(errors) < bound, f"{name} is near double", errors)
        print(f"# {name}: gradients and mixture are off by {errors[0]:.2e} and {errors[1]:.2e}")


# -- training --


def check_full_disk(tap, program, words, cache):
    """The file of other settings stays where its successor does not fit. A limit of a file's size stands for the disk's;
    beyond it writing is an error, since SIGXFSZ is ignored."""
    with open(cache, "rb") as file:
        before = file.read()
    done = subprocess.run([program, "graph", *words, "--history", "3", "--cache", "disk"], capture_output=True, text=True,
                          timeout=300, restore_signals=False, preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_FSIZE, (len(before) // 4, len(before) // 4)), env=ENVIRONMENT)
    with open(cache, "rb") as file:
        after = file.read()
    tap.check(done.returncode == FILE and "graphs.cache: cannot be written at byte " in done.stderr, "a full disk", done)
    tap.check(after == before, "a full disk: the cache of other settings is as it was")


def check_bar(tap, program, words):
    """On a terminal while a cache is made; elsewhere a short wait is none."""
    done = run(program, "graph", *words, "--cache", "memory", "--epochs", "0")
    tap.equal((done.code, done.err), (0, ""), "no bar in a file")
    for more, bar in (([], True), (["--quiet"], False)):
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            done = subprocess.run([program, "graph", *words, "--cache", "memory", "--epochs", "0", *more], stderr=theirs,
                                  stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=300, env=ENVIRONMENT)
            os.write(theirs, b"end")
            os.close(theirs)
            text = b""
            while not text.endswith(b"end"):
                text += terminal.read(4096)
        whole = re.search(rb"\rgraph: \[#{24}\] (\d+) of \1 graphs; 0 s left   \r\nend$", text)
        tap.check(done.returncode == 0 and bool(whole) == bar and (bar or text == b"end"), f"{more}: a bar that fills",
                  text)


def check_trainer(tap, folder, path, train, losses, saved):
    """What the trainer has, by the names of its settings: that each counts, and goes on from a checkpoint."""
    log, checkpoint = os.path.join(folder, "rates.csv"), os.path.join(folder, "cosine")

    def rates(*more):
        """Of the steps, with their end."""
        done = train("--lr", "0.01", "--quiet", "--log", log, *more)
        tap.check(done.code == 0, f"{more}: exit 0", done)
        with open(log, encoding="utf-8") as file:
            return [float(row["lr"]) for row in csv.DictReader(file) if row["kind"] == "step"], saved()
    cosine = ["--schedule", "cosine", "--cosine-warmup", "3", "--cosine-min-lr", "0.001"]
    found, whole = rates("--epochs", "2", *cosine)
    steps = len(found)
    right = [0.01 * t / 3 if t <= 3 else 0.001 + 0.0045 * (1 + math.cos(math.pi * (t - 3) / (steps - 3)))
             for t in range(1, steps + 1)]
    tap.check(steps > 6 and max(abs(a - b) for a, b in zip(found, right)) < 1e-9, "a cosine over all epochs", found)
    tap.check(rates("--epochs", "2", *cosine, "--cosine-steps", str(steps))[1] == whole, "and over as many steps")
    run_on = ["--checkpoint", checkpoint, "--checkpoint-every", "1"]
    rates("--epochs", "1", *cosine, "--cosine-steps", str(steps), *run_on)
    done = train("--lr", "0.01", "--epochs", "2", *cosine, "--resume", *run_on)
    tap.check(done.code == 0 and "epoch 2:" in done.out and "epoch 1:" not in done.out and saved() == whole,
              "and goes on from a checkpoint", done)
    done = train("--lr", "0.01", "--epochs", "3", *cosine, "--resume", *run_on)
    tap.check(done.code == USAGE and "cosine.steps is " in done.err, "but not over more epochs", done)
    usual = rates("--epochs", "2")[1]
    half = rates("--epochs", "2", "--accumulate", "2")
    tap.equal(len(half[0]), (steps // 2 + 1) // 2 * 2, "accumulated batches are one step")
    for more in (["--average", "0.9"], ["--clip", "0.01"], ["--validation", "0.6"], ["--adamw-weight-decay", "0.5"],
                 ["--optimiser", "sgd"], ["--optimiser", "sgd", "--sgd-momentum", "0.5"],
                 ["--schedule", "plateau", "--plateau-patience", "0", "--plateau-threshold", "1"]):
        tap.check(rates("--epochs", "2", *more)[1] != usual, f"{more} counts")
    done = train("--epochs", "9", "--lr", "1", "--clip", "0", "--patience", "1", "--schedule", "constant")
    found = losses(done)
    best = found.index(min(found))
    tap.check(done.code == 0 and len(found) == best + 3 < 10 and
              f"stopped after epoch {best + 2}: no better loss than that of epoch {best}\n" in done.out, "it stops early",
              done)
    for more, text in ((["--average", "1.5"], "--average is '1.5': must be one of the numbers from 0 up to 1"),
                       (["--schedule", "cosines"], "--schedule is 'cosines': must be one of plateau, constant, cosine"),
                       (["--cosine-warmup", "5"], "--cosine-warmup has no effect: must be without it, or --schedule cosine"),
                       (["--sgd-momentum", "0.5"], "--sgd-momentum has no effect: must be without it, or --optimiser sgd"),
                       (["--schedule", "cosine", "--cosine-warmup", "999"],
                        f"cosine.warmup is 999, allowed are fewer than the {5 * steps} steps of all epochs"),
                       (["--checkpoint-every", "5"], "--checkpoint-every needs --checkpoint"),
                       (["--log", path], "best.safetensors is the file of --save: must be another"),
                       (["--checkpoint", log, "--log", os.path.join(folder, ".", "rates.csv")],
                        "rates.csv is the file of --checkpoint: must be another")):
        done = train(*more)
        tap.check((done.code, done.out) == (USAGE, "") and text in done.err, f"refused: {text}", done)


def check_training(tap, program, folder):
    plays, path = os.path.join(folder, "plays"), os.path.join(folder, "best.safetensors")
    done = run(program, "plays", "--output", plays, "--plays", "5", "--weeks", "1", "--quiet")
    tap.check(done.code == 0, "plays to train on", done)
    words = ["train", "--data", plays, "--hidden", "8", "--heads", "2", "--layers", "1", "--modes", "2", "--batch", "8"]

    def train(*more):
        return run(program, "graph", *words, *more, "--save", path)

    def losses(done):
        """Of validation, by epoch."""
        return [float(line.split("validation ")[1].split()[0].rstrip(",")) for line in done.out.splitlines()
                if line.startswith("epoch")]

    def saved():
        with open(path, "rb") as file:
            return file.read()
    done = train("--epochs", "3", "--lr", "0.01")
    found = losses(done)
    tap.check(done.code == 0 and len(found) == 4 and found[3] < found[0], "the loss of validation falls", done)
    straight = saved()
    again = train("--epochs", "1", "--lr", "0.001", "--load", path)
    tap.equal(losses(again)[:1], [min(found)], "what is saved has the best loss, and is where a training begins")
    slow = losses(train("--epochs", "1", "--lr", "0.001"))
    tap.check(slow[0] == found[0] and slow[1] != found[1], "another rate", (slow, found))
    checkpoint, log = os.path.join(folder, "checkpoint"), os.path.join(folder, "log.csv")
    for more in (["--epochs", "1"], ["--epochs", "3", "--resume"]):
        done = train("--lr", "0.01", "--checkpoint", checkpoint, "--log", log, *more)
        tap.check(done.code == 0 and ("epoch 1:" in done.out) == (more[1] == "1"), f"in parts: {more}", done)
    tap.check(saved() == straight, "in parts: the same weights")
    with open(log, encoding="utf-8") as file:
        kinds = [line.split(",")[0] for line in file]
    tap.equal((kinds[0], kinds.count("epoch")), ("kind", 4), "a log with each epoch once")
    done = train("--epochs", "3", "--lr", "0.01", "--precision", "fp16", "--log", log)
    with open(log, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    steps = [row for row in rows if row["kind"] == "step"]
    skipped = sum(int(row["skipped"]) for row in steps)
    last = f", scale {65536 >> skipped}, {skipped} step{'' if skipped == 1 else 's'} skipped; "
    tap.check(done.code == 0 and last in done.out.splitlines()[-1] and float(steps[0]["scale"]) == 65536,
              "fp16: the scale and the skipped steps are told and logged", (done, last))
    narrow = losses(done)
    tap.check(0 < abs(narrow[0] / found[0] - 1) < 1e-3 and narrow[3] < 0.8 * narrow[0], "fp16: the loss falls",
              (narrow, found))
    for more, scale in ((["--precision", "fp16", "--scaling-initial", "8"], 8), (["--scaling-initial", "16"], 16)):
        done = train("--epochs", "1", *more, "--log", log)
        with open(log, encoding="utf-8") as file:
            scales = {float(row["scale"]) for row in csv.DictReader(file) if row["kind"] == "step"}
        tap.check(done.code == 0 and scales == {scale} and f", scale {scale}, 0 steps skipped; " in done.out,
                  f"{more}: that scale", (done, scales))
    for cache in ("memory", "disk", "disk"):
        done = train("--epochs", "3", "--lr", "0.01", "--cache", cache, "--quiet")
        tap.check(done.code == 0 and done.out == "" and saved() == straight, f"--cache {cache}: the same weights", done)
    check_full_disk(tap, program, words, os.path.join(plays, "graphs.cache"))
    check_bar(tap, program, words)
    check_trainer(tap, folder, path, train, losses, saved)
    train("--epochs", "1", "--lr", "0.01", "--quiet")
    same = saved()
    done = train("--epochs", "1", "--lr", "0.01", "--augment", "--quiet")
    tap.check(done.code == 0 and saved() != same, "with changed graphs", done)
    done = run(program, "graph", *words[3:-2], "--load", path, "--graphs", GRAPHS)
    tap.check(done.code == 0 and done.out.startswith("loss "), "what is saved can be loaded", done)
    done = train("--epochs", "3", "--checkpoint", checkpoint, "--resume")
    tap.check(done.code == USAGE and "lr" in done.err, "another rate is refused by a checkpoint", done)
    os.unlink(path)
    done = train("--epochs", "9", "--lr", "1e30")
    tap.check(done.code == NOTHING and "the loss is not finite any more" in done.err and len(losses(done)) < 9,
              "a training without a loss ends", done)
    tap.check(all(math.isfinite(v) for _, values in tensors(path).values() for v in values),
              "the best weights are saved")
    scaled = "--precision", "fp16", "--scaling-initial"
    done = train("--epochs", "9", *scaled, "1e30")
    tap.check(done.code == NOTHING and "the loss is not finite any more" in done.err,
              "a scale that no few steps bring down ends a training as a lost loss does", done)
    done = train("--epochs", "2", *scaled, "1e6", "--accumulate", "1000")
    tap.check(done.code == 0 and "epoch 2: validation" in done.out and "2 steps skipped" in done.out,
              "an epoch whose only step is skipped for its scale is no lost loss", done)
    done = train("--epochs", "1", "--checkpoint", checkpoint, "--resume", "--load", GRAPHS)
    tap.check(done.code == USAGE and "--load" in done.err, "--resume with --load", done)
    for option in ("--save", "--checkpoint"):
        done = run(program, "graph", *words, option, os.path.join(folder, "no", "where"))
        tap.check((done.code, done.out) == (FILE, "") and "no/where: cannot be made" in done.err,
                  f"{option}: refused before the training", done)
    single = os.path.join(folder, "single")
    run(program, "plays", "--output", single, "--plays", "1", "--quiet")
    done = run(program, "graph", "train", "--data", single, *words[3:])
    tap.check((done.code, done.out) == (USAGE, "") and "has no graph for validation" in done.err, "a single play", done)


def check_ranks(tap, program, folder):
    """Two processes with what mpirun gives them end with the files of one."""
    plays, meeting = os.path.join(folder, "shared_plays"), os.path.join(folder, "meeting")
    os.mkdir(meeting)
    run(program, "plays", "--output", plays, "--plays", "4", "--frames", "20", "--quiet")
    words = ["graph", "train", "--data", plays, *SMALL, "--batch", "4", "--accumulate", "2", "--epochs", "2"]

    def files(name):
        return [option for kind in ("checkpoint", "save", "log") for option in
                (f"--{kind}", os.path.join(folder, f"{name}.{kind}"))]

    def start(rank, *more):
        place = {"OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": str(rank),
                 "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen([program, *words, *more], env={**ENVIRONMENT, **place}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def ends(started):
        return [(*process.communicate(timeout=120), process.returncode) for process in started]

    def read(name, kind):
        with open(os.path.join(folder, f"{name}.{kind}"), "rb") as file:
            return file.read()
    one = run(program, *words, *files("one"), env={"OMP_NUM_THREADS": "1"})
    first, second = ends([start(rank, "--ranks", meeting, *files("both")) for rank in (0, 1)])
    tap.check((one.code, first[2], second[2]) == (0, 0, 0), "two ranks train", (first, second))
    tap.equal([read("both", kind) == read("one", kind) for kind in ("checkpoint", "save")], [True, True],
              "their checkpoint and weights are those of one process")
    tap.equal(read("both", "log").count(b"\n"), read("one", "log").count(b"\n"), "one of them writes the log")
    tap.check("epoch 2" in first[0] and second[0] == "", "and prints", (first, second))
    refused = ends([start(0)])[0]
    tap.check(refused[2] == USAGE and "Open MPI has started 2 processes" in refused[1],
              "without --ranks they are refused", refused)
    first, second = ends([start(rank, "--ranks", meeting, *files("both"), *more) for rank, more in
                          enumerate(([], ["--lr", "0.5"]))])
    tap.check("a number of all that a checkpoint depends on" in second[1] and USAGE == first[2] == second[2],
              "and with other settings", (first, second))


# -- bad input --


def check_refused(tap, program, folder):
    good, path = tensors(GRAPHS), os.path.join(folder, "bad.safetensors")
    weights, other = tensors(WEIGHTS), os.path.join(folder, "other.safetensors")
    words = [*SMALL, "--graphs", path]

    def refused(words, code, text):
        before = sorted(os.listdir(folder))
        done = run(program, "graph", *words)
        tap.check(done.code == code and text in done.err and done.out == "", f"refused: {text}", done)
        tap.equal(sorted(os.listdir(folder)), before, "and nothing is left")

    def at(name, place, value):
        shape, values = good[name]
        return {**good, name: (shape, [*values[:place], value, *values[place + 1:]])}

    refused([], USAGE, "--graphs is missing")
    refused(["plan", "--size", "huge"], USAGE, "'huge'")
    for form in ("plan", "train"):
        refused([form, "--nonsense"], USAGE, f"  yieldpoint graph {form} --nonsense")
    refused(["plan", "--heads", "7"], USAGE, "graph_options.hidden is 64, heads 7: hidden must be even and a multiple")
    refused(["plan", "--features", "10"], USAGE, "features is 10")
    refused(["plan", "--batch", "0"], USAGE, "--batch")
    refused(["plan", "--precision", "fp8"], USAGE, "one of: fp32 bf16 fp16")
    refused(["plan", "--coverage", "-1"], USAGE, "--coverage")
    refused(["plan", "--graphs", path], USAGE, "--graphs is no option of yieldpoint graph plan")
    refused(["plan", "--cosine-warmup", "3"], USAGE, "--cosine-warmup is no option of yieldpoint graph plan")
    refused([*words, "--clip", "3"], USAGE, "--clip is no option of a pass over given graphs")
    refused([*words, "--limit", "1G"], USAGE, "--limit is no option of a pass over given graphs")
    refused(["train"], USAGE, "--data is missing")
    refused(["train", "--data", folder, "--dump", path], USAGE, "--dump is no option of yieldpoint graph train")
    refused(["train", "--data", folder, "--resume"], USAGE, "--resume needs --checkpoint")
    refused(["train", "--data", os.path.join(folder, "none")], FILE, "none")
    refused(["plan", "--seed", "1"], USAGE, "--seed is no option of yieldpoint graph plan")
    refused(["plan", "--players", "3", "--edges", "7"], USAGE, "--edges is 7: must be 6 at most")
    for players in ("9223372036854775809", "1152921504606846977"):
        refused(["plan", "--players", players], USAGE, f"--players is {players}: must be below 2^31")
    refused(["plan", "--batch", "1000000000", "--players", "4"], USAGE, "4000000000 nodes and 12000000000 edges")
    refused(["plan", "--hidden", "4096", "--modes", "256", "--future", "1024", "--batch", "2147483647", "--players",
             "1"], USAGE, "takes more bytes than are counted")
    refused(["--nonsense"], USAGE, "there is no such option")
    refused([*SMALL, "--graphs", os.path.join(folder, "none")], FILE, "No such file")
    save(path, good)
    refused([*words, "--load", GRAPHS], USAGE, "has no tensor 'encoder.embedding.weight' (8, 9)")
    refused(["--graphs", path, "--load", WEIGHTS], USAGE, "'encoder.embedding.weight' is (8, 9): must be (64, 9)")
    refused([*words, "--dump", os.path.join(folder, "no", "where")], FILE, "no/where")
    refused([*words, "--dump", os.path.join(folder, ".", "bad.safetensors")], USAGE, "is the file of --graphs: must be")
    tap.equal(tensors(path), good, "and it is as it was")
    save(other, weights)
    refused([*words, "--load", other, "--dump", other], USAGE, "is the file of --load: must be")
    name = "decoder.mode_emb.weight"
    for value, code, text in ((math.nan, USAGE, f"{name} is nan at element 0: must be finite"),
                              (1e38, NOTHING, "of finite weights and graphs")):
        save(other, {**weights, name: ([3, 8], [value] * 24)})
        refused([*words, "--load", other], code, text)
    save(path, {**good, "counts": ([31], [0.0] * 31), "coverage": ([6], [-1.0] * 6)})
    save(other, {**weights, name: ([3, 8], [1e38] * 24)})
    refused([*words, "--load", other], NOTHING, "element 0 of 'mixture' is ")
    save(path, good)
    save(other, {**weights, "extra": ([1], [1.0])})
    refused([*words, "--load", other], USAGE, "tensor 'extra' is none of the model's")
    os.unlink(other)
    for found, text in (
            ({name: t for name, t in good.items() if name != "node"}, "has no tensor 'node' (nodes, 9)"),
            ({**good, "more": ([1], [1.0])}, "tensor 'more' is none of a file of graphs"),
            ({**good, "role": ([30], [0] * 30)}, "tensor 'role' is (30): must be (nodes) with 6 graphs, 31 nodes"),
            ({**good, "node": ([31, 7], [0.5] * 217)}, "tensor 'node' is (31, 7): must be (nodes, 9) with 6 graphs"),
            ({**good, "side": ([31], [0.5] * 31)}, "tensor 'side' is of F32: must be I64, I32 or U8"),
            ({**good, "coverage": ([6], [1] * 6)}, "tensor 'coverage' is of I64: must be F64, F32, F16 or BF16"),
            ({**good, "id": ([7], [1] * 7)}, "tensor 'id' is of I64 with 7 elements: must be I64 with 6"),
            ({**good, "first": ([0], [], "I64")}, "tensor 'first' is (0): must be (graphs + 1)"),
            ({**good, "edge_index": ([0, 0], [], "I64")},
             "is (0, 0): must be (2, edges) with 6 graphs, 31 nodes, 4 steps of history, 10 steps of future"),
            (at("counts", 3, -3.0), "graph_batch.counts: element 3 is -3: must be 0 or 1"),
            (at("counts", 3, 0.5), "graph_batch.counts: element 3 is 0.5: must be 0 or 1"),
            (at("coverage", 2, 7.0), "graph_batch.coverage: element 2 is 7: must be 1 at most"),
            (at("node", 12, math.nan), "graph_batch.node: element 3 of row 1 is nan: must be finite"),
            (at("role", 4, 5), "graph_batch.role: element 4 is 5: must be 0 or more, below 5"),
            (at("frame", 2, 1 << 40), "tensor 'frame' is 1099511627776 at element 2: must be below 2^31"),
            (at("first", 1, 40), "graph_batch.first: element 1 of 7 is 40: must ascend from 0 to 31"),
            (at("edge_index", 7, 31), "'edge_index' has node 31 at edge 7: must be 0 or more, below 31"),
            (at("edge_index", 7, -1), "'edge_index' has node -1 at edge 7"),
            (at("edge_index", 0, 0), "of another graph than node"),
            (at("edge_index", 0, good["edge_index"][1][good["edge_index"][0][1]]), "has a loop of node"),
            ({**good, "edge_index": ([2, 2], [5, 5, 6, 6]), "edge_attr": ([2, 5], [0.5] * 10)},
             "'edge_index' has an edge from node 5 to node 6 twice")):
        save(path, found)
        refused(words, USAGE, text)
    pipe = os.path.join(folder, "pipe")
    os.mkfifo(pipe)
    refused([*SMALL, "--graphs", pipe], FILE, "pipe: is no file")
    with open(path, "r+b") as file:
        file.truncate(100)
    refused(words, FILE, "bad.safetensors")


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        tap.run("check_plans", check_plans, tap, program)
        for check in (check_reference, check_files, check_npz, check_seeds, check_training, check_ranks, check_refused):
            tap.run(check.__name__, check, tap, program, folder)
    tap.done()


main(os.path.abspath(sys.argv[1]))
