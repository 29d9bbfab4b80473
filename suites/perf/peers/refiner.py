"""The refiner's mock elsewhere. usage: refiner.py TILE BATCH MODE PRECISION FORM SEED THREADS

The model of models/refiner/reference/model.py. MODE: inference, or train for a step with AdamW. PRECISION: fp32; bf16 by
PyTorch's autocast or OpenVINO's hint. FORM: PyTorch as eager, channels_last or compile; openvino and onnxruntime, which
only infer.
"""

import io
import os
import sys

from common import expect, measure, need, report

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models", "refiner",
                                "reference"))


def by_torch(torch, model, x, target, mode, precision, form):
    if form == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    run = torch.compile(model) if form == "compile" else model
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def forward():
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            return run(x)

    def infer():
        with torch.no_grad():
            return forward()

    def train():
        optimiser.zero_grad(set_to_none=True)
        loss = torch.nn.functional.mse_loss(forward().float(), target)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return infer if mode == "inference" else train


def by_openvino(torch, model, x, precision, threads):
    openvino = need("openvino")
    hints = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32",
             "PERFORMANCE_HINT": "LATENCY"}
    compiled = openvino.compile_model(openvino.convert_model(model, example_input=x), "CPU", hints)
    request, given = compiled.create_infer_request(), x.numpy()
    return lambda: torch.from_numpy(request.infer({0: given}, share_inputs=True)[0])


def by_onnxruntime(torch, model, x, threads):
    runtime, _, _ = need("onnxruntime", "onnx", "onnxscript")
    file = io.BytesIO()
    torch.onnx.export(model, (x,), file, dynamo=False)
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = runtime.InferenceSession(file.getvalue(), options, ["CPUExecutionProvider"])
    name, given = session.get_inputs()[0].name, x.numpy()
    return lambda: torch.from_numpy(session.run(None, {name: given})[0])


def main(tile, batch, mode, precision, form, seed, threads):
    torch = need("torch")
    from model import Mock
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.manual_seed(seed)
    model = Mock().train(mode == "train")
    x, target = torch.randn(batch, 4, tile, tile), torch.randn(batch, 4, tile // 4, tile // 4)
    with torch.no_grad():
        right = model(x).clone() if mode == "inference" else None
    if form == "openvino":
        work = by_openvino(torch, model, x, precision, threads)
    elif form == "onnxruntime":
        work = by_onnxruntime(torch, model, x, threads)
    else:
        work = by_torch(torch, model, x, target, mode, precision, form)
    first = work()
    flops = 7.076e9 * batch * (tile / 256) ** 2 * (3 if mode == "train" else 1)
    last = measure("inference" if mode == "inference" else "step", work, batch, "samples", flops=flops)
    if mode == "train":
        expect(bool(last < first), f"the loss was {float(first):.4g} and is {float(last):.4g}")
        return
    off = float((last.float() - right).norm() / right.norm())
    report(value="off eager float", number=off)
    expect(off < (0.1 if precision == "bf16" else 1e-4), f"the result is {off:.2g} off that of eager float")


if __name__ == "__main__":
    if len(sys.argv) != 8:
        sys.exit(__doc__)
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:6], int(sys.argv[6]), int(sys.argv[7]))
