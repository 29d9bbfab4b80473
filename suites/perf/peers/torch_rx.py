"""RX as cuvis.ai trains it, by PyTorch. usage: torch_rx.py SIDE CHANNELS SEED FORM THREADS

Its formulas in a new implementation: statistics merged batch by batch, scores by one einsum, the
gradient of 10 BCE(sigmoid(scale (s - bias)), y) by autograd. Batches are of 65,536 pixels.

FORM: einsum, the formula as it stands; product, the form that is fastest in PyTorch; double, the
latter in double and without a gradient.
"""

import sys

from common import (DOUBLE, FLOAT, expect, image, judge_scores, judge_statistics, measure, need,
                    report, statistics_of, work_of)

BATCH = 65536


def statistics(torch, x):
    """Welford's update for batches, after Chan, Golub and LeVeque."""
    count = 0
    mean = torch.zeros(x.shape[1], dtype=x.dtype)
    products = torch.zeros(x.shape[1], x.shape[1], dtype=x.dtype)
    for batch in x.split(BATCH):
        m = len(batch)
        its_mean = batch.mean(dim=0)
        centred = batch - its_mean
        step = its_mean - mean
        products += centred.T @ centred + torch.outer(step, step) * (count * m / (count + m))
        mean += step * (m / (count + m))
        count += m
    return mean, products / (count - 1)


def score_by_einsum(torch, x, mean, inverse):
    centred = x - mean
    return torch.einsum("pi,ij,pj->p", centred, inverse, centred)


def score_by_product(torch, x, mean, inverse):
    centred = x - mean
    return (centred @ inverse * centred).sum(dim=1)


def gradient_step(torch, score, x, labels, start):
    parameters = [p.clone().requires_grad_() for p in start]
    mean, inverse, scale, bias = parameters
    logits = scale * (score(torch, x, mean, inverse) - bias)
    loss = 10 * torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
    loss.backward()
    return loss.detach(), [p.grad for p in parameters]


def train(torch, score, x, labels, mean, inverse):
    n, channels = x.shape
    start = [mean, inverse, torch.tensor(0.05), torch.tensor(float(channels))]
    y = torch.from_numpy(labels).to(x.dtype)
    loss, gradients = measure("gradient step", lambda: gradient_step(torch, score, x, y, start), n,
                              "pixels", flops=4 * n * channels * channels, nbytes=4 * n * channels)
    report(value="mean loss", number=float(loss))
    for name, gradient in zip(("mean", "A", "scale", "bias"), gradients):
        report(value=f"gradient of {name}", number=float(gradient.double().norm()))


def main(side, channels, seed, form, threads):
    np, torch = need("numpy", "torch")
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    expect(torch.get_num_threads() == threads, f"PyTorch takes {torch.get_num_threads()} threads")
    values, labels = image(np, side * side, channels, seed)
    wide = form == "double"
    kind = torch.float64 if wide else torch.float32
    score = score_by_einsum if form == "einsum" else score_by_product
    x = torch.from_numpy(values).to(kind)
    of_statistics, of_score, of_detection = work_of(len(x), channels)

    def detection():
        mean, covariance = statistics(torch, x)
        return score(torch, x, mean, torch.linalg.inv(covariance))

    mean, covariance = measure("statistics", lambda: statistics(torch, x), **of_statistics)
    judge_statistics(np, values, mean.double().numpy(), covariance.double().numpy(),
                     DOUBLE if wide else FLOAT)
    # Scoring is judged by itself: with an inverse that the covariance in double has.
    right_mean, right = statistics_of(np, values)
    mean = torch.from_numpy(right_mean).to(kind)
    inverse = torch.from_numpy(np.linalg.inv(right)).to(kind)
    scores = measure("score", lambda: score(torch, x, mean, inverse), **of_score)
    judge_scores(np, scores.numpy(), channels, 1e-8 if wide else 1e-4)
    measure("detection", detection, **of_detection)
    if not wide:
        train(torch, score, x, labels, mean, inverse)


main(*map(int, sys.argv[1:4]), sys.argv[4], int(sys.argv[5]))
