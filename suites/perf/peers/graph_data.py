"""Data of the graph trajectory model elsewhere. usage: graph_data.py build numpy|torch SEED
       graph_data.py parse all|needed SEED

build: a batch of 16 frames of a play as graphs, by the formulas of models/graph/build.h, whole arrays at a time. parse: a
week's file by Polars, all columns or those that graphs need. Plays are those of suites/perf/peers_graph_data.c.
"""

import os
import sys
import tempfile

from common import digest, measure, need, report, words

PLAYERS, FRAMES, BATCH, PAST, FUTURE, RADIUS, PLAYS = 22, 60, 16, 5, 10, 20.0, 200
COLUMNS = ("game_id,play_id,player_to_predict,nfl_id,frame_id,play_direction,absolute_yardline_number,player_name,"
           "player_height,player_weight,player_birth_date,player_position,player_side,player_role,x,y,s,a,dir,o,"
           "num_frames_output,ball_land_x,ball_land_y")
NEEDED = ["game_id", "play_id", "nfl_id", "frame_id", "play_direction", "player_weight", "player_side", "player_role",
          "x", "y", "s", "a", "dir", "o"]


def plays(np, seed, count):
    """(count, frames, players, 6) of whole hundredths."""
    word = (words(np, seed, 0, count * FRAMES * PLAYERS * 6) >> np.uint64(32)).reshape(count, FRAMES, PLAYERS, 6)
    cells = (word % np.array([4000, 5000, 1000, 800, 36000, 36000], np.uint64)).astype(np.int64)
    cells[..., 0] += 4000
    cells[:, 1:, :, :2] = (word[:, 1:, :, :2] % np.uint64(101)).astype(np.int64) - 50
    cells[..., :2] = cells[..., :2].cumsum(1)
    place = np.arange(cells.size, dtype=np.uint64)
    total = int((cells.ravel().astype(np.uint64) * (2 * place + np.uint64(1))).sum())
    report(hash=f"{total % (1 << 64):016x}")
    return cells


def graph_by_numpy(np, data, weight, side, t):
    now = data[t]
    x, y, speed, acceleration, direction, orientation = now.T
    turn, facing = np.deg2rad(direction), np.deg2rad(orientation)
    node = np.stack([x, y, speed, acceleration, np.sin(turn), np.cos(turn), np.sin(facing), np.cos(facing), weight], 1)
    velocity = np.diff(data[t - PAST:t, :, :2], axis=0)
    change = np.concatenate([np.zeros_like(velocity[:1]), np.diff(velocity, axis=0)])
    motion = np.concatenate([velocity, change], 2).transpose(1, 0, 2)
    target = (data[t + 1:t + 1 + FUTURE, :, :2] - now[:, :2]).transpose(1, 0, 2)
    position = now[:, :2]
    between = position[None] - position[:, None]  # (end, source): source - end
    distance = np.sqrt((between ** 2).sum(2))
    end, source = np.nonzero((distance > 1e-5) & (distance < RADIUS))
    d = between[end, source]
    edge = np.stack([distance[end, source] / np.float32(RADIUS), np.arctan2(d[:, 1], d[:, 0]), speed[source] - speed[end],
                     ((direction[source] - direction[end] + 180) % 360 - 180) / 180, side[source] == side[end]], 1)
    return node, np.ascontiguousarray(motion), np.ascontiguousarray(target), np.stack([source, end]), edge


def graph_by_torch(torch, data, weight, side, t):
    now = data[t]
    x, y, speed, acceleration, direction, orientation = now.unbind(1)
    turn, facing = torch.deg2rad(direction), torch.deg2rad(orientation)
    node = torch.stack([x, y, speed, acceleration, turn.sin(), turn.cos(), facing.sin(), facing.cos(), weight], 1)
    past = data[t - PAST:t, :, :2].permute(1, 0, 2)
    velocity = past[:, 1:] - past[:, :-1]
    change = torch.cat([torch.zeros_like(velocity[:, :1]), velocity[:, 1:] - velocity[:, :-1]], 1)
    motion = torch.cat([velocity, change], 2)
    target = data[t + 1:t + 1 + FUTURE, :, :2].permute(1, 0, 2) - now[:, None, :2]
    position = now[:, :2]
    distance = torch.cdist(position, position, compute_mode="donot_use_mm_for_euclid_dist")
    end, source = ((distance > 1e-5) & (distance < RADIUS)).nonzero(as_tuple=True)
    d = position[source] - position[end]
    edge = torch.stack([d.norm(dim=1) / RADIUS, torch.atan2(d[:, 1], d[:, 0]), speed[source] - speed[end],
                        ((direction[source] - direction[end] + 180) % 360 - 180) / 180,
                        (side[source] == side[end]).float()], 1)
    return node, motion, target, torch.stack([source, end]), edge


def build(form, seed):
    """Graphs one by one, put together as a batch with nodes counted on."""
    np = need("numpy")
    data = (plays(np, seed, 1)[0] / 100).astype(np.float32)
    weight = ((180 + 7 * np.arange(PLAYERS) - 200) / 50).astype(np.float32)
    side = np.arange(PLAYERS) // 11
    if form == "torch":
        library = need("torch")
        library.set_num_threads(1)
        data, weight, side = map(library.from_numpy, (data, weight, side))
        one, join = graph_by_torch, library.cat
    else:
        library, one, join = np, graph_by_numpy, np.concatenate

    def work():
        parts = [one(library, data, weight, side, PAST + 2 * i) for i in range(BATCH)]
        node, motion, target, index, edge = zip(*parts)
        index = [part + i * PLAYERS for i, part in enumerate(index)]
        return join(node), join(motion), join(target), join(index, 1), join(edge)

    node, motion, target, index, edge = measure("build", work, BATCH, "graphs")
    report(value="edges", number=index.shape[1])
    for name, values in (("nodes", node), ("motion", motion), ("targets", target), ("edges", edge)):
        report(value=f"{name} digest", number=digest(np, np.asarray(values, np.float32)))


def rows(cells, play):
    for i in range(PLAYERS):
        side = "Defense" if i < 11 else "Offense"
        before = f"2023090700,{play},True,{40000 + i},"
        between = f",right,42,Player {i},6-1,{180 + 7 * i},1995-01-01,WR,{side},Other Route Runner,"
        for frame in range(FRAMES):
            values = ",".join(f"{'-' if c < 0 else ''}{abs(c) // 100}.{abs(c) % 100:02}" for c in cells[frame][i])
            yield f"{before}{frame + 1}{between}{values},20,50.00,20.00\n"


def parse(columns, seed):
    np, polars = need("numpy", "polars")
    cells = plays(np, seed, PLAYS).tolist()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "input_2023_w01.csv")
        with open(path, "w", encoding="ascii") as file:
            file.write(COLUMNS + "\n")
            for play in range(PLAYS):
                file.writelines(rows(cells[play], play))
        size = os.path.getsize(path)
        chosen = None if columns == "all" else NEEDED
        frame = measure("parse", lambda: polars.read_csv(path, columns=chosen), size, "bytes")
    report(value="file", number=size)
    report(value="sum", number=float(frame["x"].sum() + frame["o"].sum()))


if __name__ == "__main__":
    {"build": build, "parse": parse}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
