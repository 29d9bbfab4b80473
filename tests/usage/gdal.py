"""GDAL reads what `yieldpoint synth` stores, and what GDAL stores is read."""

import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from cubes import dumped, envi, same, values_of  # noqa: E402
from program import run  # noqa: E402
from tap import Tap  # noqa: E402

SIZES = ["--height=11", "--width=13", "--channels=20", "--seed=3"]


def translate(folder, *words):
    done = run("gdal_translate", "-q", *words, cwd=folder)
    assert done.code == 0, done


def raw(path):
    with open(path, "rb") as file:
        return values_of(file.read(), "f", False)


def by_spectral():
    """Reads a file by Spectral Python; None: it is not installed."""
    try:
        from spectral.io import envi as reader
    except ImportError:
        return None
    return lambda path: reader.open(path + ".hdr", path + ".img").load(scale=False).ravel().tolist()


def check_reads(tap, program, folder):
    """Through GDAL to floats in BIP; the file itself says what they are."""
    spectral = by_spectral()
    if spectral is None:
        tap.skip("Spectral Python", "the package spectral is not installed")
    for order in ("bip", "bil", "bsq"):
        for kind in ("float32", "uint16", "int16"):
            for big in ("no", "yes"):
                name = f"{order} {kind} big-endian={big}"
                done = run(program, "synth", *SIZES, "--output=a", f"--interleave={order}",
                           f"--type={kind}", f"--big-endian={big}", "--bits=12", "--force",
                           cwd=folder)
                assert done.code == 0, done
                shape, values, head = envi(os.path.join(folder, "a.img"))
                translate(folder, "-of", "ENVI", "-co", "INTERLEAVE=BIP", "-ot", "Float32",
                          "a.img", "b.img")
                tap.check(same(raw(os.path.join(folder, "b.img")), values), f"GDAL reads {name}")
                if spectral is not None:
                    tap.check(same(spectral(os.path.join(folder, "a")), values), f"Spectral Python reads {name}")
                info = run("gdalinfo", "a.img", cwd=folder)
                none = {"uint16": "65535", "int16": "-32768"}.get(kind)
                tap.check(info.code == 0 and "Size is 13, 11" in info.out and
                          f"Type={dict(float32='Float32', uint16='UInt16', int16='Int16')[kind]}"
                          in info.out and "wavelength=400" in info.out and
                          (none is None or f"NoData Value={none}" in info.out),
                          f"GDAL knows {name}", info)


def check_quantities(tap, program, folder):
    """GDAL's scale of a band is the gain; a reflectance scale factor is no business of its."""
    for quantity, scale in (("radiance", "Scale:0.000244140625"), ("reflectance", None)):
        done = run(program, "synth", *SIZES, "--output=q", "--type=uint16", "--bits=12",
                   f"--quantity={quantity}", "--force", cwd=folder)
        assert done.code == 0, done
        info = run("gdalinfo", "-mdd", "ENVI", "q.img", cwd=folder)
        tap.check(info.code == 0 and ("Scale:" not in info.out if scale is None else
                                      info.out.count(scale) == 20) and
                  f"data_units={quantity.capitalize()}" in info.out and
                  ("reflectance_scale_factor=10000" in info.out) == (quantity == "reflectance"),
                  f"GDAL knows the scale of {quantity}", info)
        tap.check(all(f"Description = channel {c + 1} (" in info.out for c in range(20)),
                  f"GDAL knows the bands' names of {quantity}", info)


def check_classes(tap, program, dump, folder):
    done = run(program, "synth", *SIZES, "--output=k", "--target-fraction=0.3", "--force", cwd=folder)
    assert done.code == 0, done
    info = run("gdalinfo", "-mdd", "ENVI", "k_labels.img", cwd=folder)
    tap.check(info.code == 0 and "ColorInterp=Palette" in info.out and
              "file_type=ENVI Classification" in info.out and
              all(f"{k}: target {k}\n" in info.out for k in range(1, 5)) and
              "0: background\n" in info.out and "Color Table (RGB with 5 entries)" in info.out and
              "1: 230,60,40,255" in info.out, "GDAL knows the classes of labels", info)
    labels = envi(os.path.join(folder, "k_labels.img"))[1]
    translate(folder, "-of", "ENVI", "k_labels.img", "c.img")
    with open(os.path.join(folder, "c.hdr")) as file:
        head = file.read()
    shape, read = dumped(dump, os.path.join(folder, "c.img"))
    tap.check("ENVI Classification" in head and "target 4" in head and shape == (1, 11, 13, 1) and
              same(read, labels) and max(labels) == 4, "read GDAL's classification", head)


def check_is_read(tap, program, dump, folder):
    done = run(program, "synth", *SIZES, "--output=a", "--type=uint16", "--bits=8",
               "--dead-fraction=off", "--force", cwd=folder)
    assert done.code == 0, done
    values = envi(os.path.join(folder, "a.img"))[1]
    kinds = ["Byte", "UInt16", "Int16", "UInt32", "Int32", "Float32", "Float64", "Int64", "UInt64"]
    for kind in kinds:
        for order in ("BIP", "BIL", "BSQ"):
            done = run("gdal_translate", "-q", "-of", "ENVI", "-co", f"INTERLEAVE={order}", "-ot",
                       kind, "-a_nodata", "none", "a.img", "g.img", cwd=folder)
            if done.code != 0 and kind.endswith("nt64"):
                tap.skip(f"read GDAL's {order} {kind}", "this GDAL does not write it")
                continue
            shape, read = dumped(dump, os.path.join(folder, "g.img"))
            tap.check(shape == (1, 11, 13, 20) and same(read, values), f"read GDAL's {order} {kind}",
                      done)


def check_gains(tap, dump, folder):
    """Gains and offsets of bands, as GDAL applies them."""
    with open(os.path.join(folder, "n.img"), "wb") as file:
        file.write(bytes(range(2, 242)))
    with open(os.path.join(folder, "n.hdr"), "w") as file:
        file.write("ENVI\nsamples = 5\nlines = 6\nbands = 4\ndata type = 12\ninterleave = bil\nbyte order = 0\n"
                   "data gain values = {0.001, -0.5, 2e-5, 1}\ndata offset values = {-0.1, 0, 7, 0.3}\n")
    translate(folder, "-unscale", "-of", "ENVI", "-co", "INTERLEAVE=BIP", "-ot", "Float32", "n.img", "m.img")
    wanted = raw(os.path.join(folder, "m.img"))
    shape, read = dumped(dump, os.path.join(folder, "n.hdr"), "scaled")
    tap.check(shape == (1, 6, 5, 4) and all(abs(a - b) <= 1e-6 * abs(b) for a, b in zip(read, wanted)),
              "gains and offsets as GDAL has them", (list(read)[:8], list(wanted)[:8]))


def main(program, dump):
    tap = Tap()
    if shutil.which("gdal_translate") is None or shutil.which("gdalinfo") is None:
        tap.skip("GDAL", "no gdal_translate or gdalinfo; the Debian package is gdal-bin")
    else:
        with tempfile.TemporaryDirectory() as folder:
            tap.run("reads", check_reads, tap, program, folder)
            tap.run("quantities", check_quantities, tap, program, folder)
            tap.run("classes", check_classes, tap, program, dump, folder)
            tap.run("gains", check_gains, tap, dump, folder)
            tap.run("is read", check_is_read, tap, program, dump, folder)
    tap.done()


main(*[os.path.abspath(p) for p in sys.argv[1:]])
