"""Reading an image from a file: NumPy and Spectral Python. usage: read.py SIDE CHANNELS SEED

The files are written just before, so they come from the page cache.
"""

import os
import sys
import tempfile

from common import expect, image, measure, need


def main(side, channels, seed):
    np, spectral = need("numpy", "spectral")
    envi = need("spectral.io.envi")
    x, _ = image(np, side * side, channels, seed)
    cube = x.reshape(side, side, channels)
    work = {"items": cube.size, "unit": "values", "nbytes": cube.nbytes}

    def check(name, read):
        expect(np.array_equal(np.asarray(read), cube), f"{name} gives other values")

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "image.npy")
        np.save(path, cube)
        check("read npy", measure("read npy", lambda: np.load(path), **work))
        check("read npy mapped",
              measure("read npy mapped", lambda: np.array(np.load(path, mmap_mode="r")), **work))
        os.remove(path)
        for interleave in ("bip", "bil", "bsq"):
            header = os.path.join(folder, interleave + ".hdr")
            envi.save_image(header, cube, dtype=np.float32, interleave=interleave, ext="img")
            name = "read envi " + interleave
            check(name, measure(name, lambda: spectral.open_image(header).load(), **work))
            os.remove(os.path.join(folder, interleave + ".img"))


main(*map(int, sys.argv[1:]))
