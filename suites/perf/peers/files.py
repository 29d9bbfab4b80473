"""Writing and reading an image: NumPy and Spectral Python.

usage: files.py SIDE CHANNELS SEED BY LAYOUT TYPE

BY and LAYOUT: "numpy npy" by np.save and np.load, "mapped npy" through a memory map into an array
that is there, "raw bip" by tofile and fromfile, "spectral" with bip, bil or bsq. TYPE is float32 or,
with spectral, uint16 under a scale of 65,536. What is written is synced; what is read comes from the
page cache and ends as float32 (SIDE, SIDE, CHANNELS), one pixel's channels side by side.
"""

import os
import sys
import tempfile

from common import expect, image, measure, need

SCALE = 65536


def sync(path):
    """What was written through another handle, too."""
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def by_numpy(np, folder, cube):
    path = os.path.join(folder, "image.npy")

    def write():
        np.save(path, cube)
        sync(path)

    return write, lambda: np.load(path)


def by_mapping(np, folder, cube):
    path = os.path.join(folder, "image.npy")
    out = np.zeros_like(cube)

    def write():
        mapped = np.lib.format.open_memmap(path, "w+", cube.dtype, cube.shape)
        mapped[:] = cube
        mapped.flush()

    def read():
        np.copyto(out, np.load(path, mmap_mode="r"))
        return out

    return write, read


def by_raw(np, folder, cube):
    path = os.path.join(folder, "image.img")

    def write():
        cube.tofile(path)
        sync(path)

    return write, lambda: np.fromfile(path, np.float32).reshape(cube.shape)


def by_spectral(np, folder, cube, layout, kind):
    envi = need("spectral.io.envi")
    header = os.path.join(folder, "image.hdr")
    stored = cube if kind == "float32" else (cube * SCALE).astype(np.uint16)
    metadata = {} if kind == "float32" else {"reflectance scale factor": SCALE}

    def write():
        envi.save_image(header, stored, dtype=stored.dtype, interleave=layout, ext="img",
                        metadata=metadata, force=True)
        sync(os.path.join(folder, "image.img"))

    # load() leaves BIL and BSQ as they are, and turns the view; a scale makes doubles.
    return write, lambda: np.ascontiguousarray(envi.open(header).load(), np.float32)


def main(side, channels, seed, by, layout, kind):
    np = need("numpy") if by != "spectral" else need("numpy", "spectral")[0]
    values, _ = image(np, side * side, channels, seed)
    cube = values.reshape(side, side, channels)
    work = {"items": cube.size, "unit": "values", "nbytes": cube.nbytes}
    with tempfile.TemporaryDirectory() as folder:
        if by == "spectral":
            write, read = by_spectral(np, folder, cube, layout, kind)
        else:
            write, read = {"numpy": by_numpy, "mapped": by_mapping, "raw": by_raw}[by](
                np, folder, cube)
        measure("write", write, **work)
        found = measure("read", read, **work)
        expect(np.array_equal(np.asarray(found), cube), "what was read is not what was written")
        expect(found.dtype == np.float32 and found.flags.c_contiguous, "it is read as another type")


main(*map(int, sys.argv[1:4]), *sys.argv[4:])
