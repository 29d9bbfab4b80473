"""The language model of models/lm in PyTorch, with the names that its tensors have there.

Written from the formulas in models/lm/lm.h; attention by torch's scaled_dot_product_attention, so that it is as
fast as PyTorch users have it.
"""

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"small": (768, 3072, 12, 12), "medium": (1024, 4096, 24, 16), "large": (1280, 5120, 36, 20),
         "xl": (1600, 6400, 48, 25), "2.7B": (2560, 10240, 32, 32)}


class Norm(nn.Module):
    def __init__(self, d, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        wide = x if x.dtype == torch.float64 else x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype) * self.weight


def angles(context, e, theta, dtype):
    """Cosines and sines (context, e / 2), made in double."""
    rates = theta ** (-torch.arange(0, e, 2, dtype=torch.float64) / e)
    turned = torch.outer(torch.arange(context, dtype=torch.float64), rates)
    return turned.cos().to(dtype), turned.sin().to(dtype)


def rope(x, cosine, sine):
    """Neighbours are turned; the first halves of all pairs stand before the second ones."""
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.cat((first * cosine - second * sine, first * sine + second * cosine), dim=-1)


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.output_proj = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x, cosine, sine):
        b, t, d = x.shape
        q, k, v = (p(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
                   for p in (self.q_proj, self.k_proj, self.v_proj))
        y = F.scaled_dot_product_attention(rope(q, cosine, sine).to(v.dtype), rope(k, cosine, sine).to(v.dtype), v,
                                           is_causal=True)
        return self.output_proj(y.transpose(1, 2).reshape(b, t, d))


class GatedUnit(nn.Module):
    def __init__(self, d, d_ff):
        super().__init__()
        self.w1, self.w2 = nn.Linear(d, d_ff, bias=False), nn.Linear(d_ff, d, bias=False)
        self.w3 = nn.Linear(d, d_ff, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    def __init__(self, d, d_ff, heads, eps):
        super().__init__()
        self.ln1, self.attn = Norm(d, eps), Attention(d, heads)
        self.ln2, self.ffn = Norm(d, eps), GatedUnit(d, d_ff)

    def forward(self, x, cosine, sine):
        x = x + self.attn(self.ln1(x), cosine, sine)
        return x + self.ffn(self.ln2(x))


class Model(nn.Module):
    def __init__(self, vocabulary, context, d, d_ff, layers, heads, theta=10000.0, eps=1e-5, dtype=torch.float32):
        super().__init__()
        self.token_embeddings = nn.Embedding(vocabulary, d)
        self.layers = nn.ModuleList(Layer(d, d_ff, heads, eps) for _ in range(layers))
        self.ln_final, self.lm_head = Norm(d, eps), nn.Linear(d, vocabulary, bias=False)
        cosine, sine = angles(context, d // heads, theta, dtype)
        self.register_buffer("cosine", cosine, persistent=False)
        self.register_buffer("sine", sine, persistent=False)
        self.to(dtype)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                std = 1.0 if name.startswith("token_embeddings") else (2.0 / sum(p.shape)) ** 0.5
                nn.init.trunc_normal_(p, std=std, a=-3 * std, b=3 * std)

    def forward(self, tokens):
        x = self.token_embeddings(tokens)
        for layer in self.layers:
            x = layer(x, self.cosine, self.sine)
        return self.lm_head(self.ln_final(x))

    def loss(self, tokens, labels):
        logits = self(tokens)
        wide = logits if logits.dtype == torch.float64 else logits.float()
        return F.cross_entropy(wide.view(-1, logits.shape[-1]), labels.reshape(-1))
