"""Graphs, weights, and what PyTorch makes of them, for the graph trajectory model to be held to.

    python3 -m venv PEERS && PEERS/bin/pip install torch
    PEERS/bin/python models/graph/reference/make.py FOLDER [--size base|9M|12M] [--layers 2 --graphs 16 ...]
    PEERS/bin/python models/graph/reference/make.py count

writes FOLDER/graphs.safetensors and weights.safetensors in float and, in double, expected.safetensors: mixtures, the
logits of modes and coverage, the loss with its parts and the gradient of every tensor; and all_terms.safetensors: the
loss with every part that training may have, logits, and the gradient of small tensors. Sizes stand there as
"size.NAME", weights of the loss as "weight.NAME". `count` compares the sizes' parameters with what is known of them. The suite's own
files are made without options.
"""

import argparse
import math
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "data")]
from model import LIKELY, SIZES, WEIGHTS, Gatv2, Model, batch_of, terms, total  # noqa: E402
from torch_files import save  # noqa: E402

MODEL = {"hidden": 8, "heads": 2, "layers": 2, "modes": 3}
STEPS = {"history": 4, "future": 10}
# The first graphs of a file: players who are far apart, one player, none; and others.
PLAYERS = {"apart": 3, "alone": 1, "empty": 0}
RADIUS = 20.0
TERMS = ("velocity", "acceleration", "winner", "endpoint")


def edges_of(node, side, radius):
    """All ordered pairs that are near, and their features."""
    source, end = (~torch.eye(node.shape[0], dtype=torch.bool)).nonzero().T
    off = node[source] - node[end]
    distance = off[:, :2].norm(dim=1)
    turn = torch.rad2deg(torch.atan2(node[source, 4], node[source, 5]) - torch.atan2(node[end, 4], node[end, 5]))
    feature = torch.stack([distance / radius, torch.atan2(-off[:, 1], -off[:, 0]), off[:, 2],
                           ((turn + 180) % 360 - 180) / 180, (side[source] == side[end]).double()], 1)
    near = (distance > 1e-5) & (distance < radius)
    return torch.stack([source, end])[:, near], feature[near]


def draw_graph(n, apart):
    """Players who are all apart, or of whom the first two nearly collide, and how they went."""
    place = torch.rand(n, 2, dtype=torch.float64) * 30 + torch.tensor([40.0, 10.0])
    if apart:
        place += 40 * torch.arange(n)[:, None]
    else:
        place[1:2] = place[:1] + 0.25
    speed, turn, facing = torch.rand(n, 3, dtype=torch.float64).unbind(1)
    speed, turn, facing = 8 * speed, 2 * math.pi * turn, 2 * math.pi * facing
    step = 0.1 * speed[:, None, None] * torch.stack([turn.cos(), turn.sin()], 1)[:, None]
    velocity = step + 0.05 * torch.randn(n, STEPS["history"], 2, dtype=torch.float64)
    change = torch.cat([torch.zeros(n, 1, 2, dtype=torch.float64), velocity.diff(dim=1)], 1)
    side = torch.arange(n) % 2
    node = torch.stack([*place.T, speed, torch.randn(n, dtype=torch.float64), turn.sin(), turn.cos(), facing.sin(),
                        facing.cos(), torch.randn(n, dtype=torch.float64)], 1)
    edge_index, edge_attr = edges_of(node, side, RADIUS)
    return {"node": node, "role": torch.randint(5, (n,)), "side": torch.where(torch.rand(n) < 0.1, 2, side),
            "motion": torch.cat([velocity, change], 2), "counts": (torch.rand(n) < 0.9).double(),
            "edge_index": edge_index, "edge_attr": edge_attr}


def draw_graphs(graphs, players):
    """A file's tensors: no graph is padded, edges are in no order."""
    sizes = [*PLAYERS.values(), *[max(1, players - i % 3) for i in range(graphs)]][:graphs]
    drawn = [draw_graph(n, i == 0) for i, n in enumerate(sizes)]
    first = torch.tensor([0, *sizes]).cumsum(0)
    out = {"id": torch.arange(graphs) + 1000, "first": first, "frame": torch.randint(100, (graphs,)),
           "formation": torch.randint(8, (graphs,)), "alignment": torch.randint(10, (graphs,)),
           "context": torch.stack([torch.randint(1, 5, (graphs,)), torch.randint(1, 20, (graphs,)),
                                   torch.randn(graphs)], 1),
           "coverage": (torch.arange(graphs) % 3 - 1).double()}
    for name in drawn[0]:
        if name != "edge_index":
            out[name] = torch.cat([g[name] for g in drawn])
    out["edge_index"] = torch.cat([g["edge_index"] + at for g, at in zip(drawn, first)], 1)
    order = torch.randperm(out["edge_index"].shape[1])
    out["edge_index"], out["edge_attr"] = out["edge_index"][:, order], out["edge_attr"][order]
    return {name: x.int() if name != "id" and not x.is_floating_point() else x.float() if name != "id" else x
            for name, x in out.items()}


def draw_weights(model):
    """Values in float, also of what begins as 0 or 1."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            fan = p[0].numel() if p.dim() > 1 and "_emb" not in name and "points" not in name else 0
            drawn = torch.randn(p.shape, dtype=torch.float64) * (fan ** -0.5 if fan > 0 else 0.25)
            if name.endswith("inducing_points"):
                drawn *= 12  # or all attend to the same, and the gradient of their weights is a difference
            if name.endswith("weight") and p.dim() == 1:
                drawn = 1 + drawn
            p.copy_(drawn.float())
    return model


def spread(model, batch):
    """Some of the deviations are beyond each of their limits: one of 50 logarithms is."""
    low, high = math.log(0.01), math.log(10)
    with torch.no_grad():
        raw = []
        handle = model.decoder.gmm_head.register_forward_hook(lambda module, given, out: raw.append(out[..., 2:4]))
        model(batch)
        handle.remove()
        first, last = torch.quantile(raw[0].reshape(-1, 2)[:10 ** 6], torch.tensor([0.02, 0.98]).double(), dim=0)
        scale, head = (high - low) / (last - first), model.decoder.gmm_head[2]
        head.weight[2:4] *= scale[:, None]
        head.bias[2:4] = (head.bias[2:4] - first) * scale + low
    return model.float().double()


def aim(model, batch):
    """Targets that the model may well have drawn itself: small deviations make no loss that hides all others."""
    with torch.no_grad():
        mixture, logits, _ = model(batch)
    ways = mixture[torch.arange(len(logits)), logits.argmax(1)]
    (x, y), turn = torch.randn(2, *ways.shape[:2], dtype=torch.float64), ways[..., 4]
    off = torch.stack([x, turn * x + (1 - turn.square()).sqrt() * y], -1)
    return (ways[..., :2] + ways[..., 2:4] * off).float()


def expect(holds, what):
    if not holds:
        sys.exit(f"{what}: take another seed")


def results_of(model, g, weights):
    """Outputs, losses, gradients."""
    model.zero_grad()
    results = mixture, logits, coverage = model(g)
    parts = terms(results, g)
    loss = total(parts, weights)
    loss.backward()
    deviations = mixture[..., 2:4]
    expect((deviations == 0.01).any() and (deviations == 10).any(), "deviations are within their limits")
    expect(all(part > 0 for part in parts.values()), "a part of the loss is 0")
    return {"mixture": mixture, "logit": logits, "coverage": coverage, "loss": loss,
            "loss.likelihood": parts["likelihood"], "loss.coverage": parts["coverage"],
            "loss.terms": total({name: parts[name] for name in TERMS}, weights),
            "loss.collision": parts["collision"] * (weights.get("collision", 0) > 0)}, \
        {f"{name}.grad": p.grad for name, p in model.named_parameters()}


def numbers(kind, values):
    return {f"{kind}.{name}": torch.tensor(value, dtype=torch.float64) for name, value in values.items()}


def make(folder, sizes, graphs, players):
    drawn = draw_graphs(graphs, players)
    batch = batch_of(drawn, torch.float64)
    model = spread(draw_weights(Model(**sizes, future=STEPS["future"]).double()), batch)
    drawn["target"] = aim(model, batch)
    batch = batch_of(drawn, torch.float64)
    os.makedirs(folder, exist_ok=True)
    save(os.path.join(folder, "graphs.safetensors"), drawn)
    save(os.path.join(folder, "weights.safetensors"), {name: p.float() for name, p in model.named_parameters()})
    expect(batch["edge_index"].shape[1] > 0 and (batch["counts"] == 0).any(), "no edges, or all nodes count")
    said = numbers("size", {**sizes, **STEPS})
    usual = {name: WEIGHTS[name] for name in ("likelihood", "coverage")}
    outputs, gradient = results_of(model, batch, usual)
    save(os.path.join(folder, "expected.safetensors"), {**outputs, **gradient, **said, **numbers("weight", usual)})
    outputs, gradient = results_of(model, batch, WEIGHTS)
    losses = {name: x for name, x in outputs.items() if name != "mixture"}
    small = {name: x for name, x in gradient.items() if x.numel() <= max(100, sizes["hidden"])}
    weighted = numbers("weight", {**WEIGHTS, "likely": LIKELY})
    save(os.path.join(folder, "all_terms.safetensors"), {**losses, **small, **said, **weighted})


def count():
    """Parameters of the sizes: what the benchmark states of them."""
    known = {"base": 352429, "9M": 9606291, "12M": 11739799}
    with torch.device("meta"):
        models = {name: (Model(**sizes), known[name]) for name, sizes in SIZES.items()}
        models["base with 7 features"] = Model(features=7), 352301
        models["a layer of base"] = Gatv2(64, 4, 5), 34880
    right = True
    for name, (model, wanted) in models.items():
        found = sum(p.numel() for p in model.parameters())
        right &= found == wanted
        print(f"{name}: {found:,}{'' if found == wanted else f', not {wanted:,}'}")
    sys.exit(not right)


def main():
    if sys.argv[1:] == ["count"]:
        count()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--size", choices=SIZES)
    for name, size in MODEL.items():
        parser.add_argument(f"--{name}", type=int, help=f"{size}, or the size's")
    parser.add_argument("--graphs", type=int, default=6)
    parser.add_argument("--players", type=int, default=10)
    parser.add_argument("--seed", type=int, default=4)
    found = parser.parse_args()
    sizes = SIZES[found.size] if found.size else MODEL
    torch.manual_seed(found.seed)
    torch.set_num_threads(1)
    sizes = {name: getattr(found, name) or size for name, size in sizes.items()}
    make(found.folder, sizes, found.graphs, found.players)


if __name__ == "__main__":
    main()
