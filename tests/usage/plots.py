"""Plots as files: well-formed, nothing overlaps or leaves the picture, PNG of each, tables of the figures."""

import json
import math
import os
import random
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, timeout=120, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def text_boxes(root):
    """The texts of a picture with about where they are drawn; those that are turned are left out."""
    sizes = {"h": 15, "s": 11, "n": 11, "a": 13}
    for text in root.iter(SVG + "text"):
        if text.get("transform"):
            continue
        size = sizes[text.get("class")]
        width = 0.5 * size * len(text.text or "")
        left = float(text.get("x")) - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
        base = float(text.get("y"))
        yield text.text, left, base - 0.72 * size, left + width, base + 0.15 * size


def faults(path):
    """What is wrong with a picture."""
    root = ET.parse(path).getroot()
    _, _, wide, high = (float(part) for part in root.get("viewBox").split())
    found = []
    if root.get("role") != "img" or root.find(SVG + "title") is None or root.find(SVG + "desc") is None:
        found.append("no role, title or description")
    boxes = list(text_boxes(root))
    for i, (text, left, top, right, bottom) in enumerate(boxes):
        if left < 0 or top < 0 or right > wide or bottom > high:
            found.append(f"'{text}' leaves the picture")
        for other, left2, top2, right2, bottom2 in boxes[:i]:
            if left < right2 and left2 < right and top < bottom2 and top2 < bottom:
                found.append(f"'{text}' lies on '{other}'")
    for mark in root.iter():
        if any(part in (mark.get(name) or "") for name in ("d", "x", "y", "width") for part in ("nan", "inf")):
            found.append(f"a place that is no number: {mark.attrib}")
    ids = [mark.get("id") for mark in root.iter() if mark.get("id")]
    if len(ids) != len(set(ids)):
        found.append("an id comes twice")
    return found


def png_size(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[-8:-4] == b"IEND", path
    return struct.unpack(">II", data[16:24])


def check_pictures(tap, folder, plots, what):
    names = [plot["name"] for plot in plots]
    bad = [f"{name}: {fault}" for name in names for fault in faults(os.path.join(folder, name + ".svg"))]
    tap.equal(bad[:5], [], f"{what}: pictures are well-formed, texts apart from each other and inside")
    drawn = [name for name in names if os.path.exists(os.path.join(folder, name + ".png"))]
    if drawn:
        sizes = [png_size(os.path.join(folder, name + ".png")) for name in names]
        tap.check(drawn == names and all(wide == 1280 and high > 300 for wide, high in sizes),
                  f"{what}: each is a PNG, too", sizes)
    left = sorted(os.listdir(folder))
    wanted = sorted(n + e for n in names for e in ((".svg", ".png") if drawn else (".svg",)))
    tap.equal(left, wanted, f"{what}: no other file is left")


def check_tables(tap, program, folder, tiles, models):
    code, out, err = run(program, os.path.join(folder, "tiles"), "--csv", tiles)
    tap.check(code == 0, "a table of tiles is taken", err)
    plots = json.loads(out)
    tap.equal([plot["name"] for plot in plots],
              ["tiles.csv-memory", "tiles.csv-throughput", "tiles.csv-phases", "tiles.csv-memory-throughput"],
              "it gives its four plots")
    rows = {tuple(row[1:3]): row[4:] for row in plots[1]["table"]["rows"]}
    tap.equal(rows, {(256, 1): [33.6, 0.0297], (384, 1): [21.8, 0.0459], (256, 2): [45.7, 0.0438],
                     (384, 2): [27.1, 0.0738]}, "with the figures of the file")
    check_pictures(tap, os.path.join(folder, "tiles"), plots, "tiles")
    code, out, err = run(program, os.path.join(folder, "models"), "--csv", models)
    plots = json.loads(out)
    tap.equal([plot["name"] for plot in plots],
              ["models.csv-throughput", "models.csv-phases", "models.csv-time-over-context_length"],
              "of models there is no memory to draw")
    tap.check("OOM" in [row[3] for row in plots[0]["table"]["rows"]], "what ran out of memory is in the table", out)
    check_pictures(tap, os.path.join(folder, "models"), plots, "models")
    bad = os.path.join(folder, "bad.csv")
    with open(bad, "w") as file:
        file.write("tile_size,avg_time_ms\n256,1\n384,soon\n")
    code, out, err = run(program, os.path.join(folder, "bad"), "--csv", bad)
    tap.equal((code, err.startswith(f"{bad}:3: avg_time_ms is 'soon'")), (2, True), "a fault is named by its line")


def measurement(rng, seconds, flops, level):
    return {"name": "work", "unit": "images", "items": 4, "flops": flops, "bytes": flops / rng.choice([0.1, 2, 30]),
            "median": seconds, "mean": seconds * 1.01, "low": seconds * 0.9, "high": seconds * 1.2,
            "bound": rng.choice(["fp32", "read", "copy + fp32", "<b>"]), "share": rng.random(), "threads": 2,
            "phases": [{"name": name, "seconds": seconds * 0.3} for name in ("forward", "back & forth")],
            "bounds": [{"ceiling": "fp32", "level": "", "threads": 2, "rate": 1e11 * rng.uniform(0.9, 1.1)},
                       {"ceiling": "read", "level": level, "threads": 2, "rate": 2e10 * rng.uniform(0.9, 1.1)}]}


def documents(rng):
    """Tests with axes of many shapes, figures over many powers of ten, names that are not meant well."""
    odd = ["a", "</title><script>", "x" * 4096, "\u202e\u00e9\u4e2d", "\x01\x1b[0m", "\"'&<>"]
    for t in range(6):
        sizes = sorted(rng.sample([1, 7, 16, 64, 100, 256, 384, 1000, 4096, 50000], rng.randint(2, 7)))
        low = 10.0 ** rng.randint(-8, 2)
        for size in sizes:
            for batch in [1, 2, 8][: rng.randint(1, 3)]:
                for by in odd[: 1 + t % 4]:
                    name = f"{odd[t % 6]}/t{t}.c::test"
                    yield {"case": {"id": f"{name}[n={size}-batch={batch}-by={by}-cpu]", "device": "cpu",
                                    "axes": {"tile": size, "batch": batch, "by": by}},
                           "result": {"outcome": rng.choice(["passed", "passed", "noisy"])},
                           "memory": {"host": {"allocated_peak": rng.choice([0, 1024, 1e6, 3e9]) * size}},
                           "measurements": [measurement(rng, low * size * rng.uniform(0.5, 2), 1e9 * size,
                                                        rng.choice(["L1", "L2", "L3", "memory"]))]}


def check_planted(tap, program, folder):
    for seed in range(2):
        planted = list(documents(random.Random(seed)))
        path = os.path.join(folder, f"{seed}.json")
        with open(path, "w") as file:
            json.dump(planted, file)
        out_folder = os.path.join(folder, f"planted{seed}")
        code, out, err = run(program, out_folder, "--documents", path)
        tap.check(code == 0, f"planted documents {seed} are drawn", err)
        plots = json.loads(out)
        check_pictures(tap, out_folder, plots, f"planted {seed}")
        peaks = sorted(d["memory"]["host"]["allocated_peak"] for d in planted)
        medians = sorted(d["measurements"][0]["median"] for d in planted)
        drawn = [row for plot in plots if plot["title"].startswith("Peak memory:") for row in plot["table"]["rows"]]
        timed = [row for plot in plots if plot["title"].startswith("Throughput:") for row in plot["table"]["rows"]]
        tap.check(sorted(row[-1] for row in drawn) == peaks, f"planted {seed}: the figures of all documents")
        # cJSON prints 15 digits where the 17th would tell.
        close = [math.isclose(row[-1], median, rel_tol=1e-15) and math.isclose(row[-2], 4 / median, rel_tol=1e-15)
                 for row, median in zip(sorted(timed, key=lambda row: row[-1]), medians)]
        tap.check(all(close) and len(timed) == len(planted), f"planted {seed}: times and rates to the digit", timed[:3])


def check_writing(tap, program, folder, tiles):
    code, _, err = run(program, os.path.join(tiles, "below"), "--csv", tiles)
    tap.check(code == 2 and tiles in err, "a directory that cannot be made is named", err)


def main(program, tiles, models):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        tap.run("check_tables", check_tables, tap, program, folder, tiles, models)
        tap.run("check_planted", check_planted, tap, program, folder)
        tap.run("check_writing", check_writing, tap, program, folder, tiles)
    tap.done()


main(*map(os.path.abspath, sys.argv[1:4]))
