"""Cubes in files, read with nothing but the standard library."""

import array
import math
import os
import re
import subprocess
import sys

TYPES = {"1": "B", "2": "h", "4": "f", "12": "H"}
NUMPY_TYPES = {"u1": "B", "i2": "h", "f4": "f", "u2": "H"}


def values_of(data, code, big):
    values = array.array(code)
    values.frombytes(data)
    if big != (sys.byteorder == "big"):
        values.byteswap()
    return values


def header(path):
    with open(path) as file:
        text = file.read()
    assert text.startswith("ENVI\n"), text[:20]
    found = re.findall(r"^([a-z ]+) = (\{[^}]*\}|.*)$", text, re.M)
    return dict(found)


def envi(raw):
    """(height, width, channels), the values in BIP order, the header."""
    head = header(os.path.splitext(raw)[0] + ".hdr")
    h, w, c = (int(head[k]) for k in ("lines", "samples", "bands"))
    with open(raw, "rb") as file:
        stored = values_of(file.read(), TYPES[head["data type"]], head["byte order"] == "1")
    assert len(stored) == h * w * c, (raw, len(stored), h, w, c)
    steps = {"bip": (w * c, c, 1), "bil": (w * c, 1, w), "bsq": (w, 1, h * w)}[head["interleave"]]
    values = [stored[i * steps[0] + j * steps[1] + b * steps[2]]
              for i in range(h) for j in range(w) for b in range(c)]
    return (h, w, c), values, head


def npy(path):
    """The shape and the values of an array in C order."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    size = data[8] + 256 * data[9]
    assert (10 + size) % 64 == 0 and data[9 + size:10 + size] == b"\n"
    head = eval(data[10:10 + size], {})
    assert not head["fortran_order"]
    values = values_of(data[10 + size:], NUMPY_TYPES[head["descr"][1:]], head["descr"][0] == ">")
    assert len(values) == math.prod(head["shape"]), (path, len(values), head)
    return head["shape"], list(values)


def same(a, b):
    """Equal, with a NaN equal to a NaN."""
    return len(a) == len(b) and all(x == y or (x != x and y != y) for x, y in zip(a, b))


def dumped(program, path, *more):
    """What the library reads: (cubes, height, width, channels), values."""
    done = subprocess.run([program, path, *more], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()
    line, data = done.stdout.split(b"\n", 1)
    return tuple(int(n) for n in line.split()), values_of(data, "f", sys.byteorder == "big")


def with_numpy():
    """An interpreter that has NumPy, or None."""
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            done = subprocess.run([python, "-c", "import numpy"], capture_output=True, timeout=60,
                                  check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    return None
