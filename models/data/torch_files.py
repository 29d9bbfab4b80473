"""PyTorch's tensors in files that models read: .safetensors and .npy."""

import json
import struct

import torch

TYPES = {torch.float64: "F64", torch.float32: "F32", torch.int64: "I64", torch.int32: "I32"}
NPY = {torch.float64: "<f8", torch.float32: "<f4", torch.int64: "<i8"}


def content(tensor):
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()


def save(path, tensors):
    """Named tensors as .safetensors."""
    header, at, parts = {}, 0, []
    for name, tensor in tensors.items():
        part = content(tensor)
        header[name] = {"dtype": TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def save_npy(path, tensor):
    text = f"{{'descr': '{NPY[tensor.dtype]}', 'fortran_order': False, 'shape': {tuple(tensor.shape)}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + content(tensor))
