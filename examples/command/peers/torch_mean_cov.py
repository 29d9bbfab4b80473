"""Mean and covariance by PyTorch. usage: torch_mean_cov.py PIXELS CHANNELS SEED"""

import json
import sys
import time


def tell(**result):
    print(json.dumps(result), flush=True)


def signed(value):
    """The whole number of 64 bits with a sign that has the same bits."""
    value %= 1 << 64
    return value - (1 << 64) if value >= 1 << 63 else value


def main(n, c, seed):
    try:
        import torch
    except ImportError as error:
        tell(skip=str(error))
        return

    def shifted(words, bits):  # without the sign, which >> would repeat
        return words >> bits & (1 << 64 - bits) - 1

    # SplitMix64, as peers.c has it, in integers with a sign.
    words = torch.arange(1, n * c + 1, dtype=torch.int64) * signed(0x9e3779b97f4a7c15) + signed(seed)
    words = (words ^ shifted(words, 30)) * signed(0xbf58476d1ce4e5b9)
    words = (words ^ shifted(words, 27)) * signed(0x94d049bb133111eb)
    words = words ^ shifted(words, 31)
    tell(hash=f"{int(words.sum()) % (1 << 64):016x}")
    x = (shifted(words, 40).to(torch.float32) / (1 << 24)).reshape(n, c)

    seconds = []
    for _ in range(23):
        start = time.perf_counter()
        mean = x.mean(dim=0)
        centred = x - mean
        cov = centred.T @ centred / (n - 1)
        seconds.append(time.perf_counter() - start)
    tell(measure="mean and covariance", seconds=seconds[3:], warmup=3, items=n, unit="pixels",
         flops=n * c * (c + 1), bytes=4 * n * c)
    tell(value="variance", number=float(torch.diagonal(cov).mean()))


main(*map(int, sys.argv[1:]))
