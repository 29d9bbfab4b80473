"""Standard normals by NumPy's Philox and by PyTorch. usage: normals.py numpy|torch COUNT SEED"""

import os
import sys

from common import expect, measure, need, report


def main(peer, count, seed):
    if peer == "numpy":
        np = need("numpy")
        random = np.random.Generator(np.random.Philox(seed))
        z = np.empty(count, np.float32)
        measure("normals", lambda: random.standard_normal(out=z, dtype=np.float32), count,
                "values", nbytes=4 * count)
    else:
        np, torch = need("numpy", "torch")
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        torch.manual_seed(seed)
        z = torch.empty(count)
        measure("normals", lambda: torch.randn(count, out=z), count, "values", nbytes=4 * count)
        z = z.numpy()
    # Six standard deviations each.
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        found = float((z.astype(np.float64)**power).mean())
        report(value=f"moment {power}", number=found)
        expect(abs(found - moment) < 6 * (spread / count)**0.5, f"moment {power} is {found:.6f}")


main(sys.argv[1], *map(int, sys.argv[2:]))
