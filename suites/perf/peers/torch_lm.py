"""The language model by PyTorch. usage: torch_lm.py SIZE BATCH CONTEXT PASS PRECISION FORM SEED THREADS

The model of models/lm/reference/model.py. PASS: forward, forward_backward or train_step (with clipping and fused
AdamW). PRECISION: fp32, or bf16 by autocast with weights in float. FORM: eager, or compile for torch.compile.
"""

import os
import sys

from common import expect, measure, need, report

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models", "lm", "reference"))
VOCABULARY = 10000


def flops(d, d_ff, layers, batch, context, backward):
    """As lm_flops() counts."""
    weights = layers * (4 * d * d + 3 * d * d_ff) + VOCABULARY * d
    forward = batch * context * (2 * weights + 2 * layers * (context + 1) * d)
    return forward * (3 if backward else 1)


def main(size, batch, context, what, precision, form, seed, threads):
    torch = need("torch")
    from model import SIZES, Model
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(seed)
    d, d_ff, layers, heads = SIZES[size]
    model = Model(VOCABULARY, context, d, d_ff, layers, heads)
    tokens = torch.randint(VOCABULARY, (batch, context + 1))
    x, labels = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    loss_of = torch.compile(model.loss) if form == "compile" else model.loss

    def loss():
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            return loss_of(x, labels)

    def forward():
        with torch.no_grad():
            return loss()

    def forward_backward():
        model.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        return value

    def train_step():
        value = forward_backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        return value

    work = {"forward": forward, "forward_backward": forward_backward, "train_step": train_step}[what]
    first = float(work().detach())
    value = measure("pass", work, batch * context, "tokens",
                    flops=flops(d, d_ff, layers, batch, context, what != "forward"))
    report(value="loss", number=first)
    expect(abs(first - 9.28) < 0.3, f"the first loss is {first:.3g}: random weights have a little over ln {VOCABULARY}")
    expect(float(value.detach()) == float(value.detach()), "the loss is no number")


if __name__ == "__main__":
    if len(sys.argv) != 9:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:7], int(sys.argv[7]), int(sys.argv[8]))
