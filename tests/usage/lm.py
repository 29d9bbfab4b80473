"""`yieldpoint lm`: plans, and passes that are held to what PyTorch made (models/lm/reference/make.py)."""

import json
import math
import os
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import run  # noqa: E402
from tap import Tap  # noqa: E402
from tensors import save, tensors  # noqa: E402

NOTHING, FILE, USAGE = 1, 3, 4
REFERENCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lm")


# -- files --


def npy(path, rows, letter="i8"):
    kinds = {"i8": "q", "i4": "i", "u1": "B", "f4": "f", "u2": "H"}
    text = f"{{'descr': '{'|' if letter == 'u1' else '<'}{letter}', 'fortran_order': False, " \
           f"'shape': ({len(rows)}, {len(rows[0])}), }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
        for row in rows:
            file.write(struct.pack(f"<{len(row)}{kinds[letter]}", *row))


def off(got, wanted):
    """||got - wanted|| / ||wanted||; a NaN counts as infinitely far."""
    by = math.sqrt(sum((g - w) ** 2 for g, w in zip(got, wanted)))
    norm = math.sqrt(sum(w * w for w in wanted))
    return by / norm if by == by and norm > 0 else math.inf


# -- plans --


def plan(program, *words):
    done = run(program, "lm", "plan", *words, "--json")
    return done, json.loads(done.out) if done.out else None


def parameters(v, d, f, layers):
    return 2 * v * d + layers * (4 * d * d + 3 * d * f + 2 * d) + d


def check_plans(tap, program):
    for size, (d, f, layers) in {"small": (768, 3072, 12), "medium": (1024, 4096, 24), "large": (1280, 5120, 36),
                                 "xl": (1600, 6400, 48), "2.7B": (2560, 10240, 32)}.items():
        done, found = plan(program, "--size", size, "--pass", "forward_backward", "--limit", "16G")
        n, fits = parameters(10000, d, f, layers), size in ("small", "medium", "large")
        tap.equal((found["parameters"], found["fits"], done.code), (n, fits, 0 if fits else NOTHING),
                  f"{size}: parameters, and whether it fits 16 GiB")
        tap.equal((found["bytes"]["weights"], found["bytes"]["gradients"]), (4 * n, 4 * n), f"{size}: vectors")
        kinds = {name: bytes for name, bytes in found["bytes"].items() if name != "total"}
        tap.check(0 <= found["bytes"]["total"] - sum(kinds.values()) <= 2 << 20,
                  f"{size}: the kinds are the total, but for constants", found)
    # Per token and layer, in bytes of bf16: 8 d + 3 d_ff elements, and in float a norm's factor, and a softmax's
    # largest score and sum.
    _, found = plan(program, "--precision", "bf16", "--pass", "train_step")
    d, f, heads, tokens, n = 768, 3072, 12, 2048, parameters(10000, 768, 3072, 12)
    kept = tokens * (12 * (2 * (8 * d + 3 * f) + 4 * (2 + 2 * heads)) + 2 * 2 * d + 3 * 4)
    tap.check(abs(found["bytes"]["activations"] / kept - 1) < 0.01, "activations of small are the formula's",
              (found, kept))
    tap.check(8 * n <= found["bytes"]["optimiser"] <= 8 * n + 65536, "AdamW has two moments", found)
    tap.check(2 * (n - 10000 * d) <= found["bytes"]["copies"] <= 2.1 * n, "bf16 has copies of the weights", found)


def check_recompute(tap, program):
    kept = [plan(program, "--recompute", level)[1]["bytes"]["activations"] for level in ("none", "norms", "blocks")]
    tap.check(kept[0] > 1.2 * kept[1] > 4 * kept[2], "what is made again is not kept", kept)


def check_fitting(tap, program):
    """What is said to fit does, and one more does not."""
    words = ["--pass", "train_step", "--context", "256", "--limit", "6G"]
    _, found = plan(program, *words)
    for more, fits in ((0, True), (1, False)):
        _, other = plan(program, *words, "--batch", str(found["largest_batch"] + more))
        tap.equal(other["fits"], fits, f"the largest batch and {more} more")
        _, other = plan(program, *words[:2], *words[4:], "--batch", "1", "--context",
                        str(found["largest_context"] + more))
        tap.equal(other["fits"], fits, f"the largest context and {more} more")
    done = run(program, "lm", "plan", "--size", "xl", "--limit", "16G")
    tap.check(done.code == NOTHING and "does not fit 16.0 GiB" in done.out, "in words", done)


# -- passes --


def check_reference(tap, program, folder):
    words = ["--config", os.path.join(REFERENCE, "config.json"), "--tokens", os.path.join(REFERENCE, "tokens.npy"),
             "--load", os.path.join(REFERENCE, "weights.safetensors")]
    expected = tensors(os.path.join(REFERENCE, "expected.safetensors"))
    for how, bound in ((["--double"], 1e-10), ([], 1e-5), (["--recompute", "blocks"], 1e-5),
                       (["--precision", "bf16"], 3e-2)):
        path = os.path.join(folder, "out.safetensors")
        done = run(program, "lm", *words, *how, "--dump", path)
        tap.check(done.code == 0 and done.out.startswith("loss "), f"{how}: exit 0", done)
        got = tensors(path)
        tap.equal({n: t[0] for n, t in got.items()}, {n: t[0] for n, t in expected.items()}, f"{how}: names and shapes")
        worst = max((off(got[name][1], wanted), name) for name, (_, wanted) in expected.items())
        tap.check(worst[0] <= bound, f"{how}: all within {bound}", worst)
        print(f"# {how or ['fp32']}: the worst is {worst[1]}, off by {worst[0]:.2e}")
    done = run(program, "lm", *words, "--pass", "forward", "--dump", path)
    tap.equal((done.code, sorted(tensors(path))), (0, ["logits", "loss"]), "forward has no gradients")


def check_seeds(tap, program, folder):
    tokens = os.path.join(folder, "t.npy")
    npy(tokens, [[1, 2, 3, 4], [250, 0, 7, 9]], "u1")
    words = ["--vocabulary", "251", "--d-model", "32", "--d-ff", "48", "--layers", "1", "--heads", "2", "--tokens", tokens]
    outs = []
    for i, more in enumerate(([], [], ["--seed", "1"], ["--double"])):
        path = os.path.join(folder, f"seed{i}.safetensors")
        done = run(program, "lm", *words, *more, "--dump", path)
        tap.check(done.code == 0, f"weights to start from {more}", done)
        with open(path, "rb") as file:
            outs.append(file.read())
    tap.check(outs[0] == outs[1] != outs[2], "are of the seed alone")
    loss = [tensors(os.path.join(folder, f"seed{i}.safetensors"))["loss"][1][0] for i in (0, 3)]
    tap.check(abs(loss[0] / loss[1] - 1) < 1e-5, "and the same in double", loss)
    done = run(program, "lm", *words, "--json")
    tap.equal(sorted(json.loads(done.out)), ["loss", "seconds", "tokens"], "as JSON")


# -- bad input --


def check_refused(tap, program, folder):
    good = os.path.join(folder, "good.npy")
    npy(good, [[1, 2, 3]])
    tiny = ["--vocabulary", "5", "--d-model", "8", "--d-ff", "8", "--layers", "1", "--heads", "2"]
    bad = os.path.join(folder, "bad.npy")
    short = os.path.join(folder, "short.safetensors")
    config = os.path.join(folder, "config.json")
    with open(config, "w", encoding="utf-8") as file:
        file.write('{"vocab_size": 10.5}')
    with open(os.path.join(REFERENCE, "weights.safetensors"), "rb") as file, open(short, "wb") as to:
        to.write(file.read()[:-5])

    def refused(words, code, text):
        before = sorted(os.listdir(folder))
        done = run(program, "lm", *words)
        tap.check(done.code == code and text in done.err and done.out == "", f"refused: {text}", done)
        tap.equal(sorted(os.listdir(folder)), before, "and nothing is left")

    refused(["plan", "--size", "huge"], USAGE, "there is no size 'huge': must be small, medium, large, xl or 2.7B")
    refused(["plan", "--heads", "7"], USAGE, "lm_config.heads is 7, d_model 768")
    refused(["plan", "--size", "xl", "--config", config], USAGE, "--size and --config are both said")
    refused(["plan", "--config", config], FILE, "config.json: vocab_size: must be a whole number from 1")
    refused(["plan", "--config", folder], FILE, "cannot be read, or is empty")
    refused(["plan", "--batch", "0"], USAGE, "--batch")
    refused(["plan", "--batch", "4096", "--context", "512"], USAGE, "together at most 1048576 tokens")
    refused(["plan", "--precision", "fp8"], USAGE, "one of: fp32 bf16")
    refused(["plan", "--limit", "much"], USAGE, "--limit")
    refused(["plan", "--size", "small", "--layers", "60"], USAGE, "at most 512 tensors")
    refused([*tiny], USAGE, "--tokens is missing")
    refused([*tiny, "--tokens", good, "--pass", "train_step"], USAGE, "--pass is train_step")
    refused([*tiny, "--tokens", os.path.join(folder, "none.npy")], FILE, "No such file")
    npy(bad, [[1, 2, 5]])
    refused([*tiny, "--tokens", bad], USAGE, "bad.npy: token (0, 2) is 5: must be 0 to 4")
    npy(bad, [[1, -2, 4]])
    refused([*tiny, "--tokens", bad], USAGE, "token (0, 1) is -2")
    npy(bad, [[1.0, 2.0]], "f4")
    refused([*tiny, "--tokens", bad], USAGE, "tokens are whole numbers")
    npy(bad, [[1], [2]])
    refused([*tiny, "--tokens", bad], USAGE, "(batch, context + 1), at least (1, 2)")
    with open(bad, "r+b") as file:
        file.truncate(100)
    refused([*tiny, "--tokens", bad], FILE, "bad.npy")
    refused([*tiny, "--tokens", good, "--load", short], FILE, "short.safetensors")
    weights = os.path.join(REFERENCE, "weights.safetensors")
    refused([*tiny, "--tokens", good, "--load", weights], USAGE, "tensor 'token_embeddings.weight' has 2 axes")
    refused([*tiny, "--tokens", good, "--dump", os.path.join(folder, "no", "where")], FILE, "no/where")
    refused(["plan", "--nonsense"], USAGE, "there is no such option")
    refused(["plan", "--nonsense"], USAGE, "  yieldpoint lm plan --nonsense")
    for name, path in (("tokens", good), ("load", short), ("config", config)):
        words = ["--tokens", good, *([] if name == "tokens" else [f"--{name}", path])]
        with open(path, "rb") as file:
            before = file.read()
        refused([*words, "--dump", os.path.join(folder, ".", os.path.basename(path))], USAGE,
                f"is the file of --{name}: must be another")
        with open(path, "rb") as file:
            tap.equal(file.read(), before, f"--{name} is as it was")


# -- what a file says beside the model --


def check_keys(tap, program, folder):
    """Each key of a configuration does what it says, or is refused."""
    with open(os.path.join(REFERENCE, "config.json"), encoding="utf-8") as file:
        base = json.load(file)
    config = os.path.join(folder, "keys.json")
    words = ["--config", config, "--tokens", os.path.join(REFERENCE, "tokens.npy"), "--load",
             os.path.join(REFERENCE, "weights.safetensors"), "--double", "--pass", "forward", "--json"]

    def loss(text=None, **keys):
        with open(config, "w", encoding="utf-8") as file:
            file.write(text or json.dumps({**base, **keys}))
        done = run(program, "lm", *words)
        return json.loads(done.out)["loss"] if done.code == 0 else (done.code, done.err)

    # Made from the formulas in models/lm/lm.h, by another program in double.
    same, other = 2.941758425134318, 2.8288386637663687
    for keys, wanted in (({}, same), ({"rms_norm_eps": 1e-5}, same), ({"rms_norm_eps": 0.5}, other),
                         ({"tie_word_embeddings": False}, same), ({"context_length": 1024}, same)):
        got = loss(**keys)
        tap.check(isinstance(got, float) and abs(got - wanted) < 1e-9, f"the loss with {keys}", got)
    got = loss(rope_theta=500)
    tap.check(isinstance(got, float) and abs(got - same) > 1e-3, "rope_theta counts", got)
    for keys, code, text in (
            ({"rms_norm_epsilon": 0.5}, FILE, "no key 'rms_norm_epsilon', did you mean 'rms_norm_eps'? Allowed are "),
            ({"tie_word_embeddings": True}, FILE, "tie_word_embeddings: must be false"),
            ({"rope_theta": "500"}, FILE, "rope_theta: must be a number"),
            ({"rms_norm_eps": None}, FILE, "rms_norm_eps: must be a number"),
            ({"rms_norm_eps": -1}, USAGE, "eps -1"),
            ({"context_length": 8}, USAGE, "has 10 tokens a row: context_length of the configuration allows 8")):
        got = loss(**keys)
        tap.check(isinstance(got, tuple) and got[0] == code and text in got[1], f"refused: {text}", got)
    for text, why in (('{"d_ff": 1, "d_ff": 2}', "d_ff: must be there once"), ('["d_ff"]', "is no JSON object"),
                      ('{"d_ff": 1} {}', "is no JSON object"), ('{"d_ff": 1}', "vocab_size is missing")):
        got = loss(text=text)
        tap.check(isinstance(got, tuple) and got[0] == FILE and why in got[1], f"refused: {why}", got)
    loss()
    _, found = plan(program, "--config", config)
    tap.equal(found["context"], 9, "a plan is for context_length tokens")
    done, _ = plan(program, "--config", config, "--context", "10")
    tap.check(done.code == USAGE and "--context is 10: context_length" in done.err, "and for no more", done)


def check_tensors(tap, program, folder):
    """All weights of a file are the model's, and numbers; what is no weight is passed over, and named."""
    good, path = tensors(os.path.join(REFERENCE, "weights.safetensors")), os.path.join(folder, "w.safetensors")
    dump = os.path.join(folder, "none.safetensors")

    def load(found, *more):
        save(path, found)
        return run(program, "lm", "--config", os.path.join(REFERENCE, "config.json"), "--tokens",
                   os.path.join(REFERENCE, "tokens.npy"), "--load", path, "--dump", dump, *more)

    right = load(good)
    tap.check(right.code == 0 and right.err == "", "all tensors are the model's", right)
    for more, text in (({"layers.0.attn.mask": ([9, 9], [True] * 81)}, "not used: tensor 'layers.0.attn.mask'"),
                       ({"a": ([1], [1.0]), "b": ([1], [False])}, "not used: 'a' and 1 more")):
        done = load({**good, **more})
        tap.check(done.code == 0 and text in done.err and done.out.split(";")[0] == right.out.split(";")[0],
                  f"{sorted(more)} is passed over", done)
    os.unlink(dump)
    head, values = "lm_head.weight", good["lm_head.weight"][1]
    renamed = {prefix: {prefix + name: tensor for name, tensor in good.items()} for prefix in ("_orig_mod.", "model.")}
    for found, more, code, text in (
            (good, ["--layers", "1"], USAGE, "tensor 'layers.1.ln1.weight' is none of the model's, which has 1 layer "),
            ({**good, "layers.0.ln1.bias": ([16], [0.0] * 16)}, [], USAGE, "tensor 'layers.0.ln1.bias' is none of"),
            (renamed["_orig_mod."], [], USAGE, "'_orig_mod.token_embeddings.weight': take the prefix '_orig_mod.' off"),
            (renamed["model."], [], USAGE, "take the prefix 'model.' off all names"),
            ({name: t for name, t in good.items() if name != head}, [], USAGE, "has no tensor 'lm_head.weight'"),
            ({**good, head: ([13, 16], [True] * 208)}, [], FILE, "'lm_head.weight' is another type: no real numbers"),
            ({**good, head: ([13, 16], (*values[:5], math.nan, *values[6:]))}, [], NOTHING,
             "w.safetensors: tensor 'lm_head.weight' is nan at element 5: must be finite"),
            ({**good, head: ([13, 16], (*values[:5], -math.inf, *values[6:]))}, ["--double"], NOTHING,
             "is -inf at element 5"),
            ({**good, head: ([13, 16], [1e38 * (-1) ** i for i in range(208)])}, [], NOTHING, "of finite weights")):
        done = load(found, *more)
        tap.check(done.code == code and text in done.err and done.out == "" and not os.path.exists(dump),
                  f"refused: {text}", done)


def main(program):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_plans, check_recompute, check_fitting):
            tap.run(check.__name__, check, tap, program)
        for check in (check_reference, check_seeds, check_refused, check_keys, check_tensors):
            tap.run(check.__name__, check, tap, program, folder)
    tap.done()


main(os.path.abspath(sys.argv[1]))
