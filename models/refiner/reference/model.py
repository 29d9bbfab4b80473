"""The refiner's models in PyTorch, with the names that their tensors have there: the mock of models/refiner/mock.h, and
the vision transformer with low-rank changes, frozen matrices in 8 bits and a convolutional head.
"""

from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn

# -- the mock --


class MockLayer(nn.Module):
    def __init__(self, conv, act=None):
        super().__init__()
        self.conv = conv
        self.norm = nn.BatchNorm2d(conv.out_channels) if act is not None else None
        self.act = act

    def forward(self, x):
        x = self.conv(x)
        return x if self.norm is None else self.act(self.norm(x))


class Mock(nn.Sequential):
    def __init__(self, width=64):
        m = width
        convs = [nn.Conv2d(4, m, 7, 2, 3)]
        for c in (m, 2 * m, 4 * m):
            convs += [nn.Conv2d(c, 2 * c, 3, 2, 1), nn.Conv2d(2 * c, 2 * c, 1), nn.Conv2d(2 * c, 2 * c, 3, 1, 1)]
        convs += [nn.Conv2d(c, c // 2, 3, 1, 1) for c in (8 * m, 4 * m, 2 * m)]
        convs += [nn.ConvTranspose2d(c, c // 2, 4, 2, 1) for c in (m, m // 2)]
        layers = [MockLayer(conv, F.gelu if 10 <= i <= 12 else F.relu) for i, conv in enumerate(convs)]
        layers.append(MockLayer(nn.Conv2d(m // 4, 4, 1)))
        super().__init__(OrderedDict((f"layer{i + 1:02}", layer) for i, layer in enumerate(layers)))


# -- the vision transformer --


class Linear(nn.Linear):
    """With a low-rank change, and weights that may be rounded to 8 bits."""

    def __init__(self, inputs, outputs, rank, alpha):
        super().__init__(inputs, outputs)
        self.scale, self.int8 = alpha / max(rank, 1), False
        if rank > 0:
            self.lora_A = nn.Parameter(torch.zeros(rank, inputs))
            self.lora_B = nn.Parameter(torch.zeros(outputs, rank))

    def rounded(self):
        """By output: multiples of the largest magnitude / 127, to the nearest, ties to even."""
        unit = self.weight.abs().amax(1, keepdim=True) / 127
        return torch.where(unit > 0, torch.round(self.weight / unit) * unit, 0)

    def forward(self, x):
        y = F.linear(x, self.rounded() if self.int8 else self.weight, self.bias)
        return y + self.scale * (x @ self.lora_A.T @ self.lora_B.T) if hasattr(self, "lora_A") else y


class Attention(nn.Module):
    def __init__(self, width, heads, rank, alpha):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = Linear(width, 3 * width, rank, alpha), Linear(width, width, rank, alpha)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        share = torch.softmax(q @ k.transpose(-1, -2) / (d // self.heads) ** 0.5, -1)
        return self.proj((share @ v).transpose(1, 2).reshape(b, t, d))


class Mlp(nn.Module):
    def __init__(self, width, rank, alpha):
        super().__init__()
        self.fc1, self.fc2 = Linear(width, 4 * width, rank, alpha), Linear(4 * width, width, rank, alpha)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self, width, heads, rank, alpha):
        super().__init__()
        self.norm1, self.attn = nn.LayerNorm(width, 1e-6), Attention(width, heads, rank, alpha)
        self.norm2, self.mlp = nn.LayerNorm(width, 1e-6), Mlp(width, rank, alpha)

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self, bands, width, patch):
        super().__init__()
        self.proj = nn.Conv2d(bands, width, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class HeadBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.dwconv, self.norm = nn.Conv2d(width, width, 7, 1, 3, groups=width), nn.LayerNorm(width, 1e-6)
        self.pwconv1, self.pwconv2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        return x + self.pwconv2(F.gelu(self.pwconv1(y))).permute(0, 3, 1, 2)


class Head(nn.Module):
    def __init__(self, inputs, width, blocks):
        super().__init__()
        self.stem, self.out = nn.Conv2d(inputs, width, 1), nn.Conv2d(width, width, 1)
        self.blocks = nn.Sequential(*(HeadBlock(width) for _ in range(blocks)))

    def forward(self, x):
        return self.out(self.blocks(self.stem(x)))


def positions(side, width):
    """Sines and cosines of column, then row; 0 for the class token (He et al., "Masked autoencoders", 2022)."""
    rates = 10000 ** (-torch.arange(width // 4, dtype=torch.float64) / (width / 4))
    at = torch.arange(side * side, dtype=torch.float64)
    turns = [torch.outer(line, rates) for line in (at % side, at // side)]
    table = torch.cat([wave for turn in turns for wave in (turn.sin(), turn.cos())], 1)
    return torch.cat([torch.zeros(1, width, dtype=torch.float64), table])[None]


class Vit(nn.Module):
    """What is not said has the size of the benchmark. feature: how many blocks come before the head, 0 for all of
    them, which the last norm follows; class_token: the head's grid has it too; freeze_all: the last blocks are frozen
    as the others are. int8 rounds the matrices of frozen blocks."""

    def __init__(self, tile=224, channels=4, bands=6, patch=14, width=1280, depth=32, heads=16, trained=2, rank=8,
                 alpha=16.0, head_width=256, head_blocks=4, feature=0, class_token=False, freeze_all=False, int8=False):
        super().__init__()
        side = tile // patch
        self.feature, self.depth, self.class_token, self.side = feature or depth, depth, class_token, side
        self.input_proj = nn.Conv2d(channels, bands, 1)
        self.patch_embed = PatchEmbed(bands, width, patch)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embed = nn.Parameter(positions(side, width).to(self.cls_token))
        self.blocks = nn.ModuleList(Block(width, heads, rank, alpha) for _ in range(depth))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.head = Head(width, head_width, head_blocks)
        for name, p in self.named_parameters():
            part, *rest = name.split(".")
            p.requires_grad_(part in ("input_proj", "head") or "lora_" in name or
                             part == "blocks" and not freeze_all and int(rest[0]) >= depth - trained)
        for module in self.blocks.modules():
            if isinstance(module, Linear):
                module.int8 = int8 and not module.weight.requires_grad

    def grid(self, x):
        """Tokens (b, t, d) as (b, d, rows, columns)."""
        if not self.class_token:
            x = x[:, 1:]
        t = x.shape[1]
        rows = next(rows for rows in range(self.side, 0, -1) if t % rows == 0)
        return x.transpose(1, 2).reshape(x.shape[0], -1, rows, t // rows)

    def forward(self, image):
        x = self.patch_embed(self.input_proj(image))
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.pos_embed
        for block in self.blocks[:self.feature]:
            x = block(x)
        if self.feature == self.depth:
            x = self.norm(x)
        return F.interpolate(self.head(self.grid(x)), image.shape[2:], mode="bilinear", align_corners=False)
