"""The graph trajectory model in PyTorch, with the names that its tensors have in the reference's state dict. GATv2
(Brody et al., "How attentive are graph attention networks?", 2022) is written out in scatter operations.

It differs from the reference where models/graph does: players who are absent are no nodes; a graph has a frame of its
own, where the reference gives the first graph's to the whole batch; log(2 pi) is exact; modes go through the decoder
together; the collision term is one of positions on the field, where the reference has displacements, of all nodes and
graphs; weights of attention have no dropout; a graph without nodes is allowed.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"base": {"hidden": 64, "heads": 4, "layers": 4, "modes": 6},
         "9M": {"hidden": 256, "heads": 8, "layers": 6, "modes": 12},
         "12M": {"hidden": 256, "heads": 8, "layers": 8, "modes": 16}}
# Parts of the loss, and the weights that the reference's training gives to them.
WEIGHTS = {"likelihood": 1.0, "coverage": 0.5, "velocity": 0.3, "acceleration": 0.1, "collision": 0.05, "winner": 0.5,
           "endpoint": 0.2}
LIKELY = 0.1  # within the winner: the cross entropy of the modes' probabilities

# -- segments: rows (n, ...) that belong to one of `count` owners, in any order --


def segment_sum(rows, owner, count):
    return rows.new_zeros(count, *rows.shape[1:]).index_add(0, owner, rows)


def segment_mean(rows, owner, count):
    """0 of an owner without rows."""
    size = segment_sum(torch.ones_like(rows[:, :1]), owner, count).clamp(min=1)
    return segment_sum(rows, owner, count) / size


def segment_softmax(score, owner, count):
    """By owner, for each of the other axes."""
    flat = score.flatten(1)
    most = flat.new_zeros(count, flat.shape[1]).scatter_reduce(0, owner[:, None].expand_as(flat), flat.detach(), "amax",
                                                               include_self=False)
    share = (flat - most[owner]).exp()
    return (share / segment_sum(share, owner, count)[owner]).view_as(score)


# -- the encoder --


class Gatv2(nn.Module):
    def __init__(self, hidden, heads, edge_features):
        super().__init__()
        self.att = nn.Parameter(torch.empty(1, heads, hidden))
        self.lin_l, self.lin_r = nn.Linear(hidden, heads * hidden), nn.Linear(hidden, heads * hidden)
        self.lin_edge = nn.Linear(edge_features, heads * hidden, bias=False)
        self.bias = nn.Parameter(torch.zeros(hidden))
        nn.init.xavier_uniform_(self.att)

    def forward(self, x, source, end, edge):
        """source and end have self-loops behind the edges, and edge their features."""
        n, (_, heads, c) = x.shape[0], self.att.shape
        left, right = self.lin_l(x).view(n, heads, c), self.lin_r(x).view(n, heads, c)
        from_source = left[source]
        sums = from_source + right[end] + self.lin_edge(edge).view(-1, heads, c)
        alpha = segment_softmax((F.leaky_relu(sums, 0.2) * self.att).sum(-1), end, n)
        return segment_sum(from_source * alpha[..., None], end, n).mean(1) + self.bias


def with_loops(nodes, source, end, edge):
    """Each node's own loop has the mean features of the edges that end there."""
    loops = torch.arange(nodes, device=source.device)
    return torch.cat([source, loops]), torch.cat([end, loops]), torch.cat([edge, segment_mean(edge, end, nodes)])


class DropPath(nn.Module):
    """Drops whole rows."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if self.rate == 0 or not self.training:
            return x
        return x * torch.empty_like(x[:, :1]).bernoulli_(1 - self.rate) / (1 - self.rate)


class History(nn.Module):
    def __init__(self, motion, hidden, dropout):
        super().__init__()
        self.lstm = nn.LSTM(motion, hidden, 2, batch_first=True, dropout=dropout)
        self.output_proj = nn.Linear(hidden, hidden)

    def forward(self, motion):
        return self.output_proj(self.lstm(motion)[1][0][-1])


class Social(nn.Module):
    def __init__(self, hidden, dropout):
        super().__init__()
        self.interaction_mlp = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Dropout(dropout),
                                             nn.Linear(hidden, hidden))
        self.gate = nn.Linear(hidden, hidden)

    def forward(self, x, source, end):
        m = self.interaction_mlp(torch.cat([x[source], x[end]], -1))
        return segment_mean(m * torch.sigmoid(self.gate(m)), source, x.shape[0])


class Encoder(nn.Module):
    def __init__(self, hidden, heads, layers, features, dropout):
        super().__init__()
        self.embedding = nn.Linear(features, hidden)
        self.role_emb, self.side_emb = nn.Embedding(5, hidden), nn.Embedding(3, hidden // 2)
        self.context_encoder = nn.Linear(3, hidden)
        self.formation_emb, self.alignment_emb = nn.Embedding(8, hidden), nn.Embedding(10, hidden)
        self.temporal_emb = nn.Embedding(100, hidden)
        self.gat_layers = nn.ModuleList(Gatv2(hidden, heads, 5) for _ in range(layers))
        self.layer_norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(layers))
        self.drop_paths = nn.ModuleList(DropPath(dropout * i / max(1, layers - 1)) for i in range(layers))
        self.social_pooling = Social(hidden, dropout)
        self.history_encoder = History(4, hidden, dropout)
        self.dropout = nn.Dropout(dropout)
        self.final_norm = nn.LayerNorm(hidden)

    def forward(self, g):
        nodes = g["node"].shape[0]
        source, end = g["edge_index"]
        side = self.side_emb(g["side"])
        scene = F.relu(self.context_encoder(g["context"])) + self.formation_emb(g["formation"]) + \
            self.alignment_emb(g["alignment"]) + self.temporal_emb(g["frame"])
        h = F.relu(self.embedding(g["node"][:, :self.embedding.in_features])) + self.role_emb(g["role"])
        h = h + scene[g["graph"]] + self.history_encoder(g["motion"])
        h = h + F.pad(side, (0, h.shape[1] - side.shape[1]))
        edges = with_loops(nodes, source, end, g["edge_attr"])
        for gat, norm, drop_path in zip(self.gat_layers, self.layer_norms, self.drop_paths):
            h = norm(drop_path(self.dropout(F.relu(gat(h, *edges)))) + h)
        return self.final_norm(h + self.social_pooling(h, source, end))


# -- the scene, the decoder --


class Scene(nn.Module):
    """Eight points attend to the nodes of each graph. `cross_attention` holds the parameters: nodes are not padded."""

    def __init__(self, hidden, heads):
        super().__init__()
        self.inducing_points = nn.Parameter(torch.randn(8, hidden))
        self.cross_attention = nn.MultiheadAttention(hidden, heads)
        self.pool_attention = nn.Linear(hidden, 1)
        self.output_proj = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden))

    def attend(self, x, graph, graphs):
        c, a = x.shape[1], self.cross_attention
        heads, d = a.num_heads, a.head_dim
        q = F.linear(self.inducing_points, a.in_proj_weight[:c], a.in_proj_bias[:c]).view(-1, heads, d)
        k, v = F.linear(x, a.in_proj_weight[c:], a.in_proj_bias[c:]).view(-1, 2, heads, d).unbind(1)
        share = segment_softmax(torch.einsum("ihd,nhd->nih", q, k) * d ** -0.5, graph, graphs)
        return a.out_proj(segment_sum(share[..., None] * v[:, None], graph, graphs).flatten(2))

    def forward(self, x, graph, graphs):
        points = self.attend(x, graph, graphs)
        return self.output_proj((torch.softmax(self.pool_attention(points), 1) * points).sum(1))


class Decoder(nn.Module):
    def __init__(self, hidden, heads, modes, future, dropout):
        super().__init__()
        layer = nn.TransformerEncoderLayer(hidden, heads, 4 * hidden, dropout, batch_first=True)
        layer.self_attn.dropout = 0.0
        self.transformer = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.query_pos_emb = nn.Parameter(torch.randn(1, future, hidden))
        self.mode_emb = nn.Embedding(modes, hidden)
        self.gmm_head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 5))
        self.mode_prob_head = nn.Linear(hidden, modes)

    def forward(self, x):
        """Parameters (n, modes, future, 5) and logits (n, modes)."""
        steps = x[:, None, None] + self.mode_emb.weight[:, None] + self.query_pos_emb
        raw = self.gmm_head(self.transformer(steps.flatten(0, 1))).view(*steps.shape[:3], 5)
        mean, spread, turn = raw.split([2, 2, 1], -1)
        return torch.cat([mean, spread.exp().clamp(0.01, 10), torch.tanh(turn)], -1), self.mode_prob_head(x)


class Model(nn.Module):
    """A batch is a dict of tensors that are named as the arrays of models/graph/graph.h, edges as in batch_of()."""

    def __init__(self, hidden=64, heads=4, layers=4, modes=6, features=9, future=10, dropout=0.0):
        super().__init__()
        self.encoder = Encoder(hidden, heads, layers, features, dropout)
        self.scene_encoder = Scene(hidden, heads)
        self.decoder = Decoder(hidden, heads, modes, future, dropout)
        self.classifier = nn.Linear(hidden, 1)

    def forward(self, g):
        """Parameters, logits of modes, and logits of coverage (graphs)."""
        graph, graphs = g["graph"], g["context"].shape[0]
        x = self.encoder(g)
        x = x + 0.5 * self.scene_encoder(x, graph, graphs)[graph]
        return *self.decoder(x), self.classifier(segment_mean(x, graph, graphs)).squeeze(1)


def batch_of(g, dtype=torch.float32):
    """A file's tensors as the model takes them: with "graph", each node's. edge_index (2, edges) says where edges begin
    and end, edge_attr (edges, 5) what they are like, in any order."""
    out = {name: x.to(dtype) if x.is_floating_point() else x.long() for name, x in g.items()}
    sizes = out["first"].diff()
    return {**out, "graph": torch.repeat_interleave(torch.arange(sizes.numel()), sizes)}


# -- the loss --


def log_density(parameters, target):
    """(n, modes) of the whole way, without the mode's probability."""
    mean, spread, turn = parameters[..., :2], parameters[..., 2:4], parameters[..., 4]
    z = (target[:, None] - mean) / spread
    x, y, q = z[..., 0], z[..., 1], 1 - turn.square() + 1e-6
    square = (x.square() + y.square() - 2 * turn * x * y) / q
    return (-0.5 * square - spread.log().sum(-1) - 0.5 * q.log() - math.log(2 * math.pi)).sum(-1)


def collision(place, graph, graphs):
    """Players whose mean places are nearer than a yard, by as much, in both directions; the mean of graphs."""
    near = (graph[:, None] == graph) & ~torch.eye(len(graph), dtype=torch.bool)
    a, b = near.nonzero().T
    return F.relu(1 - (place[a] - place[b]).norm(dim=-1)).sum() / graphs


def mean_where(values, holds):
    """0 where it never holds."""
    return torch.where(holds, values, 0).sum() / holds.sum().clamp(min=1)


def nll_of(parameters, logits, target):
    """(n)"""
    return -torch.logsumexp(log_density(parameters, target) + (torch.softmax(logits, -1) + 1e-6).log(), -1)


def coverage_of(logit, label):
    """(graphs); labels below 0 are not known."""
    return F.binary_cross_entropy_with_logits(logit, 0.95 * label + 0.025, reduction="none")


def terms(results, g, names=tuple(WEIGHTS)):
    """Parts of the loss by name, each a mean over the nodes that count, or over graphs."""
    parameters, logits, coverage = results
    target, counts, label = g["target"], g["counts"] > 0, g["coverage"]
    mean = parameters[..., :2]
    way = (torch.softmax(logits, -1)[..., None, None] * mean).sum(1)  # what is expected
    off = way - target

    def winner():
        error = (mean - target[:, None]).norm(dim=-1).mean(-1)
        best, mode = error.min(-1)
        return mean_where(best + LIKELY * F.cross_entropy(logits, mode, reduction="none"), counts)

    def endpoint():
        error = off[:, -1].norm(dim=-1)
        return mean_where(torch.tanh(error / 5).square() * error, counts)

    of = {"likelihood": lambda: mean_where(nll_of(parameters, logits, target), counts),
          "coverage": lambda: mean_where(coverage_of(coverage, label), label >= 0),
          "velocity": lambda: mean_where(off.diff(dim=1).square().mean((1, 2)), counts),
          "acceleration": lambda: mean_where(off.diff(n=2, dim=1).square().mean((1, 2)), counts),
          "collision": lambda: collision(g["node"][:, :2] + way.mean(1), g["graph"], label.shape[0]),
          "winner": winner, "endpoint": endpoint}
    return {name: of[name]() for name in names}


def total(parts, weights):
    return sum(weights.get(name, 0) * part for name, part in parts.items())


def loss(results, g):
    """What training starts with: negative log-likelihood and coverage."""
    names = ("likelihood", "coverage")
    return total(terms(results, g, names), {name: WEIGHTS[name] for name in names})
