"""The pipelines of models/rx/pipeline/nodes.h by autograd, and AdamW, by PyTorch.

usage: pipelines.py SIDE CHANNELS SEED PIPELINE; pipelines.py PARAMETERS STEPS SEED adamw
"""

import sys

from common import digest, geometric_mean, image, measure, need, report, uniform

TILE = 4096  # pixels, PEERS_TILE_PIXELS
KEEP, ENTROPY, DIVERSITY, ORTHOGONALITY, EPS, POSITIVE_WEIGHT, COMPONENTS, HIDDEN = 7, 0.3, 0.2, 0.1, 1e-3, 7, 5, 5
OTHERS = {"max": (2, 1), "temperature": (1.5, 1), "residual": (1, 1), "scale": (0.0625, 0.0625)}


def shapes(name, c):
    """Of the tensors, by their names."""
    pca = any(word in name for word in ("pca", "whitened", "residual"))
    d = COMPONENTS if pca else c
    found = {"min": (), "max": ()} if "minmax" in name else {}
    if "selector" in name:
        found.update(logits=(c,), temperature=())
    if pca:
        found.update(mean=(c,), W=(COMPONENTS, c))
    if "whitened" in name:
        found.update(log_variance=(COMPONENTS,))
    if "autoencoder" in name:
        return {**found, "W1": (HIDDEN, c), "b1": (HIDDEN,), "W2": (c, HIDDEN), "b2": (c,)}
    if "lad" in name:
        found.update(M=(d,), L=(d, d))
    elif "image" not in name:
        found.update(mu=(d,), A=(d, d))
    if "residual" in name:
        found.update(residual=())
    return {**found, "scale": (), "bias": ()}


def start(np, name, shape, seed):
    middle, width = OTHERS.get(name, (0, 1))
    count = int(np.prod(shape))
    values = uniform(np, seed + sum(name.encode()), 0, count)
    return (np.float32(middle) + np.float32(width) * values).reshape(shape)


def loss_of(torch, p, x, y):
    """Of pixels x (tiles, pixels, channels) with labels y (tiles, pixels) and parameters by their names."""
    extra, v = 0, x
    if "min" in p:
        v = (v - p["min"]) / torch.clamp(p["max"] - p["min"], min=1e-6)
    if "logits" in p:
        share = torch.softmax(p["logits"] / p["temperature"], dim=0)
        weights = KEEP * share
        v = v * weights
        extra = ENTROPY * (share * torch.log(share)).sum() - DIVERSITY * ((weights - weights.mean())**2).mean()
    if "W" in p:
        w = p["W"]
        centred = v - p["mean"]
        v = centred @ w.T
        left = centred - v @ w
        extra = extra + ORTHOGONALITY * ((w @ w.T - torch.eye(len(w), dtype=w.dtype))**2).sum()
        if "log_variance" in p:
            v = v / torch.sqrt(torch.exp(p["log_variance"]) + 1e-6)
    if "W1" in p:
        output = (v @ p["W1"].T + p["b1"]) @ p["W2"].T + p["b2"]
        return ((output - v)**2).mean()
    if "M" in p or "mu" in p:
        z, matrix = (v - p["M"], p["L"]) if "M" in p else (v - p["mu"], p["A"])
    else:
        z = v - v.mean(dim=1, keepdim=True)
        covariance = z.transpose(1, 2) @ z / (v.shape[1] - 1)
        matrix = torch.linalg.inv(covariance + EPS * torch.eye(v.shape[-1], dtype=v.dtype))
    scores = ((z @ matrix) * z).sum(dim=-1)
    if "residual" in p:
        scores = scores + p["residual"] * (left**2).sum(dim=-1)
    logits = p["scale"] * (scores - p["bias"])
    weight = torch.tensor(POSITIVE_WEIGHT, dtype=x.dtype)
    return 10 * torch.nn.functional.binary_cross_entropy_with_logits(logits, y, pos_weight=weight) + extra


def pipeline(np, torch, side, channels, seed, name):
    values, labels = image(np, side * side, channels, seed)
    starts = {tensor: start(np, tensor, shape, seed) for tensor, shape in shapes(name, channels).items()}

    def step_in(kind):
        p = {tensor: torch.tensor(value, dtype=kind, requires_grad=True) for tensor, value in starts.items()}
        x = torch.tensor(values.reshape(-1, TILE, channels), dtype=kind)
        y = torch.tensor(labels.reshape(-1, TILE), dtype=kind)

        def step():
            for tensor in p.values():
                tensor.grad = None
            loss = loss_of(torch, p, x, y)
            loss.backward()
            return loss.item(), [tensor.grad.numpy() for tensor in p.values()]

        return step

    loss, gradients = step_in(torch.float64)()
    gradient = geometric_mean(np, [digest(np, each) for each in gradients])
    for what in ("", "plain "):
        report(value=what + "loss", number=loss)
        report(value=what + "gradients", number=gradient)
    measure("gradient", step_in(torch.float32), side * side, "pixels")


def adamw(np, torch, count, steps, seed):
    size = np.exp2(np.arange(count) % 32 - 20).astype(np.float32)
    for kind, name in ((torch.float32, "float"), (torch.float64, "double")):
        p = torch.tensor(uniform(np, seed, 0, count), dtype=kind, requires_grad=True)
        optimiser = torch.optim.AdamW([p])
        for step in range(1, steps + 1):
            p.grad = torch.tensor(uniform(np, seed, step * count, count) * size, dtype=kind)
            optimiser.step()
        report(value=name, number=digest(np, p.detach().numpy()))


def main(first, second, seed, name):
    np, torch = need("numpy", "torch")
    torch.set_num_threads(2)
    if name == "adamw":
        adamw(np, torch, first, second, seed)
    else:
        pipeline(np, torch, first, second, seed, name)


main(*map(int, sys.argv[1:4]), sys.argv[4])
