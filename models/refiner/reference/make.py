"""Weights, images, and what PyTorch makes of them, for the refiner's models to be held to.

    python3 -m venv PEERS && PEERS/bin/pip install torch
    PEERS/bin/python models/refiner/reference/make.py mock FOLDER [--width 8 --batch 2 ...]
    PEERS/bin/python models/refiner/reference/make.py vit FOLDER [--width 64 --depth 2 ...]
    PEERS/bin/python models/refiner/reference/make.py count

writes FOLDER/weights.safetensors, input.npy and target.npy in float, and in double, of each variant, a file
VARIANT.safetensors: the output, the mean squared error of each image, and the gradient of their mean by every tensor;
of the mock also running statistics behind that step. Sizes stand there as "size.NAME". `count` compares the full size's
parameters with what is known of it. The suite's own files are made without sizes.
"""

import argparse
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "data")]
from model import Mock, Vit  # noqa: E402
from torch_files import save, save_npy  # noqa: E402

MOCK = {"width": 4, "tile": 32, "batch": 2}
VIT = {"tile": 17, "batch": 2, "channels": 4, "bands": 6, "patch": 5, "width": 16, "depth": 2, "heads": 2, "trained": 1,
       "rank": 4, "alpha": 8, "head_width": 5, "head_blocks": 2}
# Where something else than the default is done; the last three have the gradients of small tensors alone.
VARIANTS = {"expected": {}, "int8": {"int8": True}, "first_block": {"feature": 1},
            "with_class_token": {"class_token": True}, "all_frozen": {"freeze_all": True, "int8": True}}


def draw(model):
    """Values in float, also of what begins as 0 or 1."""
    with torch.no_grad():
        for name, p in model.state_dict().items():
            if name == "pos_embed" or not p.is_floating_point():
                continue
            fan = p[0].numel() if p.dim() > 1 and name != "cls_token" else 0
            share = 0.5 if name.startswith("blocks.") else 1  # attention that is too sharp would amplify rounding
            drawn = torch.randn(p.shape, dtype=torch.float64) * (share * fan ** -0.5 if fan > 0 else 0.25)
            if name.endswith("weight") and p.dim() == 1:
                drawn = 1 + drawn
            elif name.endswith("norm.bias"):
                drawn = 0.5 + drawn  # ReLUs of a few channels stay alive
            p.copy_(drawn.float())
    return model


def step(model, image, target):
    """Errors by image, and gradients by name, 0 where nothing depends on a tensor."""
    model.zero_grad()
    losses = (model(image) - target).square().flatten(1).mean(1)
    losses.mean().backward()
    return losses.detach(), {f"{name}.grad": torch.zeros_like(p) if p.grad is None else p.grad.clone()
                             for name, p in model.named_parameters() if p.requires_grad}


def results_of_mock(model, image, target):
    with torch.no_grad():
        output = model.eval()(image)
    losses, gradient = step(model.train(), image, target)
    return output, losses, gradient, {n: p.clone() for n, p in model.state_dict().items() if ".running_" in n}


def results_of_vit(model, image, target):
    return model(image).detach(), *step(model, image, target), {}


def expected(results, sizes, most=None):
    """Of gradients, those of tensors with `most` elements or fewer."""
    output, losses, gradient, statistics = results
    if output.std((0, 2, 3)).min() < 1e-3:
        sys.exit("a channel of the output is constant: take another seed")
    gradient = {name: tensor for name, tensor in gradient.items() if most is None or tensor.numel() <= most}
    numbers = {f"size.{name}": torch.tensor(value, dtype=torch.float64) for name, value in sizes.items()}
    return {"output": output, "losses": losses, **gradient, **statistics, **numbers}


def begin(folder, model, shape, target_shape):
    """Writes what goes in; the images in double."""
    images = [torch.randn(size, dtype=torch.float64).float() for size in (shape, target_shape)]
    os.makedirs(folder, exist_ok=True)
    save(os.path.join(folder, "weights.safetensors"),
         {name: p.float() for name, p in model.state_dict().items() if p.is_floating_point()})
    for name, image in zip(("input", "target"), images):
        save_npy(os.path.join(folder, f"{name}.npy"), image)
    return [image.double() for image in images]


def settle(model, image):
    """Running statistics of another image, in float."""
    norms = [module for module in model.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    usual = norms[0].momentum
    for norm in norms:
        norm.momentum = 1
    with torch.no_grad():
        model.train()(image)
    for norm in norms:
        norm.momentum = usual
    return model.float().double()


def make_mock(folder, sizes):
    tile, batch = sizes["tile"], sizes["batch"]
    model = settle(draw(Mock(sizes["width"])).double(), torch.randn(batch, 4, tile, tile, dtype=torch.float64))
    images = begin(folder, model, (batch, 4, tile, tile), (batch, 4, tile // 4, tile // 4))
    save(os.path.join(folder, "expected.safetensors"), expected(results_of_mock(model, *images), sizes))


def make_vit(folder, sizes):
    arguments = {name: size for name, size in sizes.items() if name != "batch"}
    tile, batch = sizes["tile"], sizes["batch"]
    model = draw(Vit(**arguments)).double()
    images = begin(folder, model, (batch, sizes["channels"], tile, tile), (batch, sizes["head_width"], tile, tile))
    for variant, options in VARIANTS.items():
        other = Vit(**arguments, **options).double()
        other.load_state_dict(model.state_dict())
        most = None if variant in ("expected", "int8") else 100
        save(os.path.join(folder, f"{variant}.safetensors"),
             expected(results_of_vit(other, *images), {**sizes, **options}, most))


def count():
    """Parameters of the full size by part, and 8-bit weights: what the benchmark states of them."""
    with torch.device("meta"):
        mock, vit, other = Mock(), Vit(int8=True), Vit(freeze_all=True)
    sizes = {name: p.numel() for name, p in vit.named_parameters() if name != "pos_embed"}
    lora = {name for name in sizes if "lora_" in name}
    head = {name for name in sizes if name.startswith("head.")}
    encoder = sizes.keys() - lora - head - {"input_proj.weight", "input_proj.bias"}
    trained = [sum(p.numel() for p in model.parameters() if p.requires_grad) for model in (vit, other)]
    found = {"mock": sum(p.numel() for p in mock.parameters()), "encoder": sum(sizes[name] for name in encoder),
             "low-rank changes": sum(sizes[name] for name in lora), "head": sum(sizes[name] for name in head),
             "of the last two blocks": trained[0] - trained[1]}
    known = {"mock": 6600532, "encoder": 631188480, "low-rank changes": 5242880, "head": 2549248,
             "of the last two blocks": 2 * 19677440}
    for name, number in found.items():
        print(f"{name}: {number:,}{'' if number == known[name] else f', not {known[name]:,}'}")
    sys.exit(found != known)


def main():
    if sys.argv[1:] == ["count"]:
        count()
    if len(sys.argv) < 3 or sys.argv[1] not in ("mock", "vit"):
        sys.exit(__doc__)
    make, sizes = {"mock": (make_mock, MOCK), "vit": (make_vit, VIT)}[sys.argv[1]]
    parser = argparse.ArgumentParser(prog=f"make.py {sys.argv[1]}")
    parser.add_argument("folder")
    for name, size in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    found = vars(parser.parse_args(sys.argv[2:]))
    torch.manual_seed(4)
    torch.set_num_threads(1)
    make(found.pop("folder"), found)


if __name__ == "__main__":
    main()
