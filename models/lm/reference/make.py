"""Weights, tokens, and what PyTorch makes of them, for `yieldpoint lm` to be held to.

    python3 -m venv PEERS && PEERS/bin/pip install torch
    PEERS/bin/python models/lm/reference/make.py FOLDER [--double] [vocabulary context d_model d_ff layers heads batch]

writes FOLDER/config.json, weights.safetensors, tokens.npy and expected.safetensors (logits, loss and the gradient of
every tensor) in float, or in double. Those under tests/usage/lm are made by it with --double and its own sizes.
"""

import json
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "data")]
from model import Model  # noqa: E402
from torch_files import save, save_npy  # noqa: E402


def main(folder, double, sizes):
    vocabulary, context, d, d_ff, layers, heads, batch = sizes
    dtype = torch.float64 if double else torch.float32
    torch.manual_seed(3)
    torch.set_num_threads(1)
    model = Model(vocabulary, context, d, d_ff, layers, heads, dtype=dtype)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 1:  # gains that are not all the same
                p.add_(0.25 * torch.randn_like(p))
            p.copy_(p.float().to(dtype))  # the same values in both precisions
    tokens = torch.randint(vocabulary, (batch, context + 1))
    loss = model.loss(tokens[:, :-1], tokens[:, 1:])
    loss.backward()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump({"vocab_size": vocabulary, "context_length": context, "d_model": d, "d_ff": d_ff,
                   "num_layers": layers, "num_heads": heads, "rope_theta": 10000.0}, file)
        file.write("\n")
    save(os.path.join(folder, "weights.safetensors"), {n: p.float() for n, p in model.state_dict().items()})
    save_npy(os.path.join(folder, "tokens.npy"), tokens)
    save(os.path.join(folder, "expected.safetensors"),
         {"logits": model(tokens[:, :-1]), "loss": loss, **{f"{n}.grad": p.grad for n, p in model.named_parameters()}})


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--double"]
    if len(words) not in (1, 8):
        sys.exit(__doc__)
    main(words[0], "--double" in sys.argv, [int(word) for word in words[1:]] or [13, 9, 16, 24, 2, 2, 3])
