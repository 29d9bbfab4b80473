"""Mean and covariance by NumPy. usage: numpy_mean_cov.py PIXELS CHANNELS SEED"""

import json
import sys
import time


def tell(**result):
    print(json.dumps(result), flush=True)


def main(n, c, seed):
    try:
        import numpy as np
    except ImportError as error:
        tell(skip=str(error))
        return
    # SplitMix64, as peers.c has it; NumPy's arithmetic is modulo 2^64.
    words = np.uint64(seed) + np.arange(1, n * c + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15)
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xbf58476d1ce4e5b9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94d049bb133111eb)
    words ^= words >> np.uint64(31)
    tell(hash=f"{int(words.sum()):016x}")
    x = ((words >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)).reshape(n, c)

    seconds = []
    for _ in range(23):
        start = time.perf_counter()
        mean = x.mean(axis=0)
        centred = x - mean
        cov = centred.T @ centred / (n - 1)
        seconds.append(time.perf_counter() - start)
    tell(measure="mean and covariance", seconds=seconds[3:], warmup=3, items=n, unit="pixels",
         flops=n * c * (c + 1), bytes=4 * n * c)
    tell(value="variance", number=float(np.diag(cov).mean()))


main(*map(int, sys.argv[1:]))
