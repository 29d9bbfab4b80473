"""Writes optimiser_reference.h: what models/train/optimiser.h is held to, by PyTorch on the CPU.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install numpy torch
    /tmp/venv/bin/python tests/unit/train/optimiser_reference.py > tests/unit/train/optimiser_reference.h

Two problems, each in float64 and float32. `given`: gradients that are given, of sizes from 1e-9 to
1e3 and some of them zero; AdamW alone. `bowl`: sum a (p - c)^2 / 2 in two tensors, the second
without weight decay; clip_grad_norm_ and, every five steps, ReduceLROnPlateau on the loss. And
learning rates that ReduceLROnPlateau gives for losses that are given.

The problems are made by tests/unit/train/optimiser.c too, bit for bit.
"""

import math

import torch

torch.set_num_threads(1)
COUNT = 12  # parameters; of the bowl, 5 are the first tensor


class Random:
    """Knuth's linear congruential generator (MMIX), the upper 24 bits."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 40) / 2**24


def number(value):
    value = float(value)
    return "NAN" if math.isnan(value) else "INFINITY" if value == math.inf else repr(value)


def numbers(values):
    return "{" + ", ".join(number(v) for v in values) + "}"


def given(dtype):
    random = Random(1)
    start = [random.uniform() * 4 - 2 for _ in range(COUNT)]
    p = torch.tensor(start, dtype=dtype, requires_grad=True)
    adamw = torch.optim.AdamW([p], lr=1e-3, weight_decay=0.01)
    for t in range(1, 101):
        g = [(random.uniform() - 0.5) * float(f"1e{i - 8}") for i in range(COUNT)]
        if t % 7 == 0:
            g[t % COUNT] = 0.0
        p.grad = torch.tensor(g, dtype=torch.float32).to(dtype)
        adamw.step()
        if t in (1, 2, 10, 100):
            yield t, p.detach().tolist()


def bowl(dtype):
    random = Random(2)
    a = torch.tensor([0.5 + 8 * random.uniform() for _ in range(COUNT)], dtype=dtype)
    c = torch.tensor([random.uniform() * 2 - 1 for _ in range(COUNT)], dtype=dtype)
    first = torch.zeros(5, dtype=dtype, requires_grad=True)
    second = torch.zeros(COUNT - 5, dtype=dtype, requires_grad=True)
    groups = [{"params": [first], "weight_decay": 0.1}, {"params": [second], "weight_decay": 0.0}]
    adamw = torch.optim.AdamW(groups, lr=0.05, betas=(0.8, 0.99), eps=1e-6)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        adamw, factor=0.3, patience=1, threshold=0.02, cooldown=1, min_lr=1e-4)
    for t in range(1, 201):
        away = torch.cat([first, second]).detach() - c
        g = a * away
        first.grad, second.grad = g[:5].clone(), g[5:].clone()
        norm = torch.nn.utils.clip_grad_norm_([first, second], 1.0)
        adamw.step()
        if t % 5 == 0:
            away = torch.cat([first, second]).detach() - c
            plateau.step(float((a * away * away).sum() / 2))
        if t in (1, 10, 50, 100, 200):
            yield t, [norm, adamw.param_groups[0]["lr"]], first.tolist() + second.tolist()


def plateau(losses, **how):
    p = torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.SGD([p], lr=0.5)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, **how)
    for loss in losses:
        schedule.step(loss)
        yield optimiser.param_groups[0]["lr"]


print("""/* Made by optimiser_reference.py, which says how. */
#ifndef RX_OPTIMISER_REFERENCE_H
#define RX_OPTIMISER_REFERENCE_H

#include <math.h>

#define REFERENCE_COUNT %d
#define REFERENCE_LOSSES 24

/* clang-format off */
static const struct { int step; double f64[REFERENCE_COUNT], f32[REFERENCE_COUNT]; } reference_given[] = {"""
      % COUNT)
for (t, double), (_, single) in zip(given(torch.float64), given(torch.float32)):
    print("    {%d, %s,\n     %s}," % (t, numbers(double), numbers(single)))
print("""};

static const struct {
    int step; double norm, lr, f64[REFERENCE_COUNT], norm32, lr32, f32[REFERENCE_COUNT];
} reference_bowl[] = {""")
for (t, d, double), (_, s, single) in zip(bowl(torch.float64), bowl(torch.float32)):
    print("    {%d, %s, %s, %s,\n     %s, %s, %s}," % (
        t, number(d[0]), number(d[1]), numbers(double), number(s[0]), number(s[1]), numbers(single)))
print("""};

static const struct {
    double factor; unsigned patience; double threshold; int absolute; unsigned cooldown;
    double min_lr, eps, losses[REFERENCE_LOSSES], lr[REFERENCE_LOSSES];
} reference_plateau[] = {""")
FALLING = [1 / (i + 1) for i in range(24)]
FLAT = [1.0] * 24
STEPS = [3.0, 2.0, 2.0, 2.0, 1.9999, 1.9, 1.9, 1.9, 1.9, 1.0, 1.0, 1.0] * 2
BROKEN = [math.nan, 2.0, math.nan, math.nan, 1.0, math.inf, 0.5, math.nan] * 3
NEGATIVE = [-1.0, -1.00005, -1.2, -1.2, -1.1, -1.3] * 4
for losses in (FALLING, FLAT, STEPS, BROKEN, NEGATIVE):
    for factor, patience, threshold, mode, cooldown, min_lr, eps in [
        (0.1, 10, 1e-4, "rel", 0, 0.0, 1e-8),
        (0.5, 0, 1e-4, "rel", 0, 0.01, 1e-8),
        (0.3, 2, 0.05, "abs", 2, 0.0, 1e-2),
        (0.7, 1, 0.2, "rel", 3, 0.0, 1e-8),
    ]:
        if mode == "rel" and min(losses) < 0:
            continue  # there PyTorch's learning rate falls only by chance: see schedule.h
        lrs = list(plateau(losses, factor=factor, patience=patience, threshold=threshold,
                           threshold_mode=mode, cooldown=cooldown, min_lr=min_lr, eps=eps))
        print("    {%s, %d, %s, %d, %d, %s, %s,\n     %s,\n     %s}," % (
            number(factor), patience, number(threshold), mode == "abs", cooldown, number(min_lr),
            number(eps), numbers(losses), numbers(lrs)))
print("""};
/* clang-format on */

#endif""")
