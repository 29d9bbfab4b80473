"""The graph trajectory model by PyTorch. usage: graph.py SIZE GRAPHS MODE FORM SEED THREADS

The model of models/graph/reference/model.py, with GATv2 in scatter operations, on the graphs of
suites/perf/peers_graph.c. MODE: inference, or train for a step with dropout and fused AdamW. FORM: eager, or compile
for torch.compile.
"""

import os
import sys

from common import expect, measure, need, report, words

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models", "graph",
                                "reference"))
PLAYERS, WORDS, RADIUS = 22, 8, 20


def unsigned(np, word, first, below):
    """The number of `word` from bit `first` on that is below a size."""
    return ((word >> np.uint64(first) & np.uint64(0xFFFF)) * np.uint64(below) >> np.uint64(16)).astype(np.int64)


def numbers(np, seed, graphs):
    """Whole numbers that all else is made of, (nodes, 12 + 16 + 20); units in drawn()."""
    word = words(np, seed, 0, graphs * PLAYERS * WORDS).reshape(-1, WORDS)
    below = [1440, 1600, 256, 256, 360, 360, 128, 5, 100, 8, 10, 3]  # four of a word
    head = np.stack([unsigned(np, word[:, i // 4], i % 4 * 16, size) for i, size in enumerate(below)], 1)
    tail = word[:, 3:].copy().astype("<u8").view(np.uint8)[:, :36].astype(np.int64)
    return np.concatenate([head, tail], 1)


def drawn(np, seed, graphs):
    """A batch's arrays by name; edges sorted by where they end."""
    n = numbers(np, seed, graphs)
    nodes = len(n)
    x, y = n[:, 0].reshape(graphs, -1), n[:, 1].reshape(graphs, -1)
    dx, dy = (z[:, None, :] - z[:, :, None] for z in (x, y))  # (graphs, end, source): source - end
    square = dx * dx + dy * dy
    graph, end, source = np.nonzero((square > 0) & (square < (32 * RADIUS) ** 2))
    near = graph, end, source
    end, source = graph * PLAYERS + end, graph * PLAYERS + source
    place = np.arange(n.size, dtype=np.uint64)
    total = int((n.ravel().astype(np.uint64) * (2 * place + np.uint64(1))).sum()) + len(end)
    report(hash=f"{total % (1 << 64):016x}")
    side = np.arange(nodes) % PLAYERS // 11
    turn, facing = np.deg2rad(n[:, 4]), np.deg2rad(n[:, 5])
    node = np.stack([n[:, 0] / 32 + 30, n[:, 1] / 32, n[:, 2] / 32, n[:, 3] / 32 - 4, np.sin(turn), np.cos(turn),
                     np.sin(facing), np.cos(facing), n[:, 6] / 64 - 1], 1)
    edge = np.stack([np.sqrt(square[near]) / (32 * RADIUS), np.arctan2(dy[near], dx[near]),
                     (n[source, 2] - n[end, 2]) / 32, ((n[source, 4] - n[end, 4] + 180) % 360 - 180) / 180,
                     side[source] == side[end]], 1)
    of_graph = n[::PLAYERS]
    context = np.stack([1 + of_graph[:, 9] % 4, 1 + of_graph[:, 10], of_graph[:, 11] - 1], 1)
    return {"first": np.arange(graphs + 1) * PLAYERS, "frame": of_graph[:, 8], "formation": of_graph[:, 9],
            "alignment": of_graph[:, 10], "context": context.astype(np.float32),
            "coverage": of_graph[:, 11].astype(np.float32) - 1, "node": node.astype(np.float32), "role": n[:, 7],
            "side": side, "motion": ((n[:, 12:28] - 128) / 256).reshape(-1, 4, 4).astype(np.float32),
            "target": ((n[:, 28:48] - 128) / 32).reshape(-1, 10, 2).astype(np.float32),
            "counts": np.ones(nodes, np.float32), "edge_index": np.stack([source, end]),
            "edge_attr": edge.astype(np.float32)}


def main(size, graphs, mode, form, seed, threads):
    torch, np = need("torch", "numpy")
    from model import SIZES, Model, batch_of, loss
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(seed)
    batch = batch_of({name: torch.from_numpy(x) for name, x in drawn(np, seed, graphs).items()})
    report(value="edges", number=batch["edge_index"].shape[1])
    model = Model(**SIZES[size], dropout=0.1).train(mode == "train")
    run = torch.compile(model) if form == "compile" else model
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def infer():
        with torch.no_grad():
            return run(batch)[0]

    def train():
        optimiser.zero_grad(set_to_none=True)
        value = loss(run(batch), batch)
        value.backward()
        optimiser.step()
        return value.detach()

    with torch.no_grad():
        right = model(batch)[0] if mode == "inference" else None
    work = infer if mode == "inference" else train
    first = work()
    last = measure("inference" if mode == "inference" else "step", work, graphs, "graphs")
    if mode == "train":
        expect(bool(last < first), f"the loss was {float(first):.4g} and is {float(last):.4g}")
        return
    off = float((last - right).norm() / right.norm())
    report(value="off eager", number=off)
    expect(off < 1e-4, f"the result is {off:.2g} off that of eager PyTorch")


if __name__ == "__main__":
    if len(sys.argv) != 7:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:5], int(sys.argv[5]), int(sys.argv[6]))
