"""Writes sgd_reference.h: what SGD, the cosine schedule and loss scaling are held to.

    python3 tests/unit/train/sgd_reference.py > tests/unit/train/sgd_reference.h

Python's floats, IEEE doubles, and the formulas as PyTorch's documentation has them (torch.optim.SGD,
torch.amp.GradScaler) and as published (Loshchilov and Hutter, 2017, formula 5, behind a linear
warm-up): PyTorch itself does not run here. Gradients are made by tests/unit/train/optimiser.c too, bit
for bit.
"""

import math
import struct

COUNT = 6
STEPS = 12
CASES = [  # momentum, dampening, weight decay, nesterov
    (0.0, 0.0, 0.0, False),
    (0.0, 0.0, 0.1, False),
    (0.9, 0.0, 0.0, False),
    (0.9, 0.5, 0.01, False),
    (0.8, 0.0, 0.01, True),
]
COSINES = [(0, 10, 0.0), (4, 20, 1e-3), (10, 11, 0.0)]  # warm-up, steps, least rate
RATE = 0.05


class Random:
    """Knuth's linear congruential generator (MMIX), the upper 24 bits."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 40) / 2**24


def sgd(momentum, dampening, decay, nesterov):
    """torch.optim.SGD, from its documentation, line by line."""
    random = Random(3)
    p = [random.uniform() * 4 - 2 for _ in range(COUNT)]
    b = [None] * COUNT
    for _ in range(STEPS):
        for i in range(COUNT):
            g = random.uniform() - 0.5
            if decay != 0:
                g = g + decay * p[i]
            if momentum != 0:
                b[i] = momentum * b[i] + (1 - dampening) * g if b[i] is not None else g
                g = g + momentum * b[i] if nesterov else b[i]
            p[i] = p[i] - RATE * g
    return p


def cosine(warmup, steps, least):
    rates = []
    for t in range(1, 26):
        if t <= warmup:
            rates.append(RATE * t / warmup)
        else:
            part = min((t - warmup) / (steps - warmup), 1.0)
            rates.append(least + 0.5 * (RATE - least) * (1 + math.cos(math.pi * part)))
    return rates


def scales(initial, growth, backoff, interval, finite):
    """torch.amp.GradScaler.update(): _growth_tracker and _scale."""
    scale, tracker, out = initial, 0, []
    for ok in finite:
        if not ok:
            scale *= backoff
            tracker = 0
        else:
            tracker += 1
            if tracker == interval:
                grown = scale * growth
                try:
                    struct.pack("<f", grown)
                    scale = grown
                except OverflowError:
                    pass
                tracker = 0
        out.append(scale)
    return out


def numbers(values):
    return "{" + ", ".join(repr(float(v)) for v in values) + "}"


FINITE = [c == "1" for c in "1110111110110111111111001111111111"]

print(f"""/* Made by sgd_reference.py, which says how. */
#define SGD_COUNT {COUNT}
#define SGD_STEPS {STEPS}
#define SGD_RATE {RATE}
#define COSINE_STEPS 25
#define SCALE_STEPS {len(FINITE)}

static const struct {{
    double momentum, dampening, weight_decay;
    int nesterov;
    double end[SGD_COUNT];
}} reference_sgd[] = {{""")
for case in CASES:
    print("    {%r, %r, %r, %d, %s}," % (*case[:3], case[3], numbers(sgd(*case))))
print("""};

static const struct {
    unsigned warmup, steps;
    double least, rates[COSINE_STEPS];
} reference_cosine[] = {""")
for case in COSINES:
    print("    {%d, %d, %r, %s}," % (*case, numbers(cosine(*case))))
print("""};

static const char reference_finite[] = "%s";
static const struct {
    double initial, growth, backoff;
    unsigned interval;
    double scales[SCALE_STEPS];
} reference_scaling[] = {""" % "".join("01"[ok] for ok in FINITE))
for case in [(65536.0, 2.0, 0.5, 3), (1.0, 4.0, 0.25, 1), (2.0**126, 2.0, 0.5, 2)]:
    print("    {%r, %r, %r, %d, %s}," % (*case, numbers(scales(*case, FINITE))))
print("};")
