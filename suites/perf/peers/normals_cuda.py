"""Standard normals on a GPU by PyTorch and by CuPy. usage: normals_cuda.py torch|cupy COUNT SEED

A sample is the device's own time of some launches, by its events: what our side is timed by.
"""

import sys

from common import expect, need, report

SAMPLES, BATCH, WARMUP = 30, 10, 3
PART = 1 << 24  # what moments are made of


def torch_normals(count, seed):
    torch = need("torch")
    if not torch.cuda.is_available():
        report(skip="PyTorch finds no CUDA device")
        sys.exit(0)
    torch.manual_seed(seed)
    z = torch.empty(count, device="cuda")

    def sample():
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(BATCH):
            torch.randn(count, out=z, device="cuda")
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / BATCH

    return sample, lambda: z[:PART].double().cpu().numpy()


def cupy_normals(count, seed):
    cupy = need("cupy")
    try:
        there = cupy.cuda.runtime.getDeviceCount() > 0
    except cupy.cuda.runtime.CUDARuntimeError as error:
        report(skip=f"CuPy finds no CUDA device: {error}")
        sys.exit(0)
    if not there:
        report(skip="CuPy finds no CUDA device")
        sys.exit(0)
    random = cupy.random.Generator(cupy.random.Philox4x3210(seed))
    z = cupy.empty(count, cupy.float32)

    def sample():
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        for _ in range(BATCH):
            random.standard_normal(dtype=cupy.float32, out=z)
        end.record()
        end.synchronize()
        return cupy.cuda.get_elapsed_time(begin, end) * 1e-3 / BATCH

    return sample, lambda: cupy.asnumpy(z[:PART].astype(cupy.float64))


def main(peer, count, seed):
    sample, part = (torch_normals if peer == "torch" else cupy_normals)(count, seed)
    for _ in range(WARMUP):
        sample()
    report(measure="normals", seconds=[sample() for _ in range(SAMPLES)], warmup=WARMUP,
         items=count, unit="values", bytes=4 * count)
    z = part()
    # Six standard deviations each.
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        found = float((z**power).mean())
        report(value=f"moment {power}", number=found)
        expect(abs(found - moment) < 6 * (spread / len(z))**0.5, f"moment {power} is {found:.6f}")


main(sys.argv[1], *map(int, sys.argv[2:]))
