"""Writes reference_rx.h: what the nodes of models/rx are held to, computed apart from them.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy torch
    /tmp/venv/bin/python tests/unit/rx/rx_reference.py > tests/unit/rx/reference_rx.h

The formulas are those of models/rx/pipeline/nodes.h, written with numpy and PyTorch's own functions
(softmax, linalg.inv, linalg.eigh, nn.functional) in float64; gradients are autograd's. The data and
the points are made by tests/unit/rx/rx_nodes_reference.c too, bit for bit: whole numbers, and one correctly
rounded operation at a time.
"""

from textwrap import fill

import numpy as np
import torch
from torch.nn import functional

torch.set_default_dtype(torch.float64)

PIXELS, CHANNELS, COMPONENTS, HIDDEN, EPS, ORTHOGONALITY = 300, 12, 4, 5, 1e-6, 0.3
KEEP, TEMPERATURE, SCALE = 7.0, 0.75, 0.0625


class Random:
    """Knuth's linear congruential generator (MMIX), the upper 24 bits."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 40) % n


def make_data():
    """Three hidden causes, a loading of each in every channel, noise: whole numbers / 1024."""
    random = Random(2)
    loads = [[random.below(33) - 16 for _ in range(CHANNELS)] for _ in range(3)]
    x = np.empty((PIXELS, CHANNELS))
    y = np.empty(PIXELS)
    for p in range(PIXELS):
        cause = [random.below(65) - 32 for _ in range(3)]
        y[p] = random.below(16) == 0
        for c in range(CHANNELS):
            value = 4096 + 256 * c + sum(loads[k][c] * cause[k] for k in range(3))
            value += random.below(129) - 64 + (96 if y[p] and c % 3 == 0 else 0)
            x[p, c] = value / 1024
    return torch.tensor(x), torch.tensor(y)


def moved(values, by):
    """Off the start, where a gradient could be 0 or a matrix symmetric by accident."""
    flat = values.reshape(-1).clone()
    for i in range(len(flat)):
        flat[i] = flat[i] + flat[i] * (((i * 7) % 5 - 2) * by)
    return flat.reshape(values.shape)


def minmax(x, low, high):
    return (x - low) / torch.clamp(high - low, min=1e-6)


def select(u, logits, temperature):
    return u * KEEP * torch.softmax(logits / temperature, 0)


def quadratic(v, mu, a):
    z = v - mu
    return torch.einsum("pi,ij,pj->p", z, a, z)


def image(v):
    z = v - v.mean(0)
    a = torch.linalg.inv(torch.cov(v.T) + EPS * torch.eye(v.shape[1]))
    return torch.einsum("pi,ij,pj->p", z, a, z)


def laplacian(mean):
    apart = (mean[:, None] - mean[None, :]) / mean.mean()
    graph = 1 / (1 + apart**2)
    graph = graph - torch.diag(torch.diag(graph))
    root = torch.diag(graph.sum(1) ** -0.5)
    return root @ (torch.diag(graph.sum(1)) - graph) @ root


def components(covariance):
    values, vectors = torch.linalg.eigh(covariance)
    w = vectors.T.flip(0)[:COMPONENTS]
    largest = w.abs().argmax(1)
    return w * torch.sign(w[torch.arange(COMPONENTS), largest])[:, None], values.flip(0)


def bce(scores, y, scale, bias):
    logits = scale * (scores - bias)
    return 10 * functional.binary_cross_entropy_with_logits(logits, y)


def show(name, values):
    numbers = [repr(float(v)) for v in np.asarray(values, dtype=np.float64).reshape(-1)]
    print(f"static const double {name}[{len(numbers)}] = {{")
    print(fill(", ".join(numbers), 98, initial_indent="    ", subsequent_indent="    "))
    print("};")


def gradients(name, loss, parameters):
    """Points and gradients as one vector each, in the pipeline's order."""
    show(name + "_point", torch.cat([p.detach().reshape(-1) for p in parameters]))
    grads = torch.autograd.grad(loss, parameters)
    show(name + "_gradient", torch.cat([g.reshape(-1) for g in grads]).detach())
    show(name + "_loss", [loss.item()])


def leaves(*tensors):
    return [t.clone().detach().requires_grad_(True) for t in tensors]


def front(x):
    """Where MinMax and selector start, and what they leave."""
    low, high = x.min(), x.max()
    logits = torch.log(minmax(x, low, high).var(0) + EPS)
    return low, high, logits, select(minmax(x, low, high), logits, torch.tensor(TEMPERATURE))


def start(v):
    return v.mean(0), torch.linalg.inv(torch.cov(v.T) + EPS * torch.eye(v.shape[1]))


def bias_of(scores):
    return (scores.mean() + 2 * scores.std()).detach()


def whole(x, y):
    """MinMax -> selector -> RX -> logit -> BCE."""
    low, high, logits, v = front(x)
    mu, a = start(v)
    show("rx_start", torch.cat([t.reshape(-1) for t in (low, high, logits, mu, a)]))
    scores = quadratic(v, mu, a)
    show("rx_scores", scores[::15])
    show("rx_bias", [bias_of(scores)])
    p = leaves(low * (1 + 1 / 512), high * (1 - 1 / 512), moved(logits, 1 / 2048),
               torch.tensor(TEMPERATURE), moved(mu, 1 / 2048), moved(a, 1 / 256),
               torch.tensor(SCALE), bias_of(scores))
    v = select(minmax(x, p[0], p[1]), p[2], p[3])
    gradients("rx", bce(quadratic(v, p[4], p[5]), y, p[6], p[7]), p)


def own_image(x, y):
    low, high, logits, v = front(x)
    scores = image(v)
    show("image_scores", scores[::15])
    p = leaves(low * 1.015625, high * 0.984375, moved(logits, 1 / 64), torch.tensor(TEMPERATURE),
               torch.tensor(SCALE), bias_of(scores))
    v = select(minmax(x, p[0], p[1]), p[2], p[3])
    gradients("image", bce(image(v), y, p[4], p[5]), p)


def lad(x, y):
    low, high = x.min(), x.max()
    mean = minmax(x, low, high).mean(0)
    graph = laplacian(mean)
    show("lad_laplacian", graph)
    scores = quadratic(minmax(x, low, high), mean, graph)
    p = leaves(low, high, moved(mean, 1 / 64), moved(graph, 1 / 64), torch.tensor(SCALE),
               bias_of(scores))
    loss = bce(quadratic(minmax(x, p[0], p[1]), p[2], p[3]), y, p[4], p[5])
    gradients("lad", loss, p)


def pca(x, y):
    low, high = x.min(), x.max()
    u = minmax(x, low, high)
    w, values = components(torch.cov(u.T))
    show("pca_w", w)
    show("pca_eigenvalues", values[:COMPONENTS])
    mu, a = start((u - u.mean(0)) @ w.T)
    show("pca_a", a)
    scores = quadratic((u - u.mean(0)) @ w.T, mu, a)
    shift = torch.tensor([(k + 1) / 1024 for k in range(COMPONENTS)])
    p = leaves(low, high, moved(u.mean(0), 1 / 512), moved(w, 1 / 64), shift,
               moved(torch.diag(torch.diag(a)), 1 / 64), torch.tensor(SCALE), bias_of(scores))
    u = minmax(x, p[0], p[1])
    loss = bce(quadratic((u - p[2]) @ p[3].T, p[4], p[5]), y, p[6], p[7])
    excess = p[3] @ p[3].T - torch.eye(COMPONENTS)
    gradients("pca", loss + ORTHOGONALITY * (excess**2).sum(), p)


def autoencoder(x):
    random = Random(3)
    shapes = [(HIDDEN, CHANNELS), (HIDDEN,), (CHANNELS, HIDDEN), (CHANNELS,)]
    layers = [torch.tensor([(random.below(257) - 128) / 256 for _ in range(int(np.prod(s)))])
              .reshape(s) for s in shapes]
    p = leaves(x.min() * 1.015625, x.max() * 0.984375, *layers)
    u = minmax(x, p[0], p[1])
    gradients("autoencoder", functional.mse_loss(
        functional.linear(functional.linear(u, p[2], p[3]), p[4], p[5]), u), p)


def main():
    x, y = make_data()
    print("/* Made by rx_reference.py, which says how. Tensors follow one another. */")
    print("#ifndef REFERENCE_RX_H\n#define REFERENCE_RX_H\n\n/* clang-format off */")
    print(f"enum {{ R_PIXELS = {PIXELS}, R_CHANNELS = {CHANNELS}, R_COMPONENTS = {COMPONENTS}, "
          f"R_HIDDEN = {HIDDEN} }};")
    show("rx_sums", [x.sum().item(), (x * x).sum().item(), y.sum().item()])
    whole(x, y)
    own_image(x, y)
    lad(x, y)
    pca(x, y)
    autoencoder(x)
    print("/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    main()
