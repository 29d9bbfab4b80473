"""Tensors of .safetensors files, as {name: (shape, values)}."""

import json
import struct

LETTERS = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "BOOL": "?"}
OF_PYTHON = {bool: "BOOL", int: "I64", float: "F32"}


def tensors(path):
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    found = {}
    for name, t in header.items():
        (begin, end), letter = t["data_offsets"], LETTERS[t["dtype"]]
        count = (end - begin) // struct.calcsize(letter)
        found[name] = (t["shape"], struct.unpack(f"<{count}{letter}", data[begin:end]))
    return found


def save(path, found):
    """The types are those of the first values in OF_PYTHON, or of a third element as "I32"."""
    header, data = {}, b""
    for name, (shape, values, *said) in found.items():
        dtype = said[0] if said else OF_PYTHON[type(values[0])]
        part = struct.pack(f"<{len(values)}{LETTERS[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
