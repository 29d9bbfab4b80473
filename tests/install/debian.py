"""The Debian packages: built by ci/deb, installed in an empty Debian 12, where the projects of the documentation build
and pass; and the tarball of `meson dist`, which builds there without git.

usage: debian.py SOURCE_ROOT

Takes what is committed. Needs root, mmdebstrap and Debian's packages: skipped where ci/chroot or ci/deb says that it
cannot."""

import glob
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from tap import Tap  # noqa: E402

RELEASE, CANNOT = "bookworm", 125
EXAMPLES = "/usr/share/doc/yieldpoint/examples"
PACKAGED = f"""set -e
apt-get update -qq
apt-get install -qq -y --no-install-recommends /with/*.deb gcc g++ libc6-dev meson pkg-config cmake make </dev/null >/dev/null
for name in cookbook first ranks; do
    cp -r {EXAMPLES}/$name ~/$name
    cd ~/$name
    meson setup build >/dev/null
    ninja -C build >/dev/null
done
cd ~/cookbook
build/cookbook --speed=record first.c
cd ~/ranks
build/ranks -k parts -v --speed=record
build/mpi -v
cd ~/first
yieldpoint history || true
build/saxpy --speed=record
yieldpoint history
cp -r {EXAMPLES}/cmake ~/cmake
cd ~/cmake
cmake -B build >/dev/null
cmake --build build >/dev/null
cd build
ctest
echo == packages
"""
TARBALL = """set -e
apt-get update -qq
apt-get install -qq -y --no-install-recommends gcc libc6-dev meson pkg-config python3 libcriterion-dev libhwloc-dev \\
    libsqlite3-dev libcjson-dev libpng-dev xz-utils </dev/null >/dev/null
! command -v git
rm -rf /yieldpoint/.git
mkdir ~/from && cd ~/from
tar xf /with/yieldpoint-*.tar.gz
cd yieldpoint-*
meson setup build -Dtests=false -Dmodels=disabled -Doptimization=0 --libdir=lib
ninja -C build >/dev/null
build/cli/yieldpoint --version
meson install -C build >/dev/null
cp -r examples/first ~/first
cd ~/first
meson setup build >/dev/null
ninja -C build >/dev/null
build/saxpy --speed=record
echo == tarball
"""


def in_empty(tap, root, folder, name, script):
    done = subprocess.run([os.path.join(root, "ci", "chroot"), "--with", folder, RELEASE, "bash", "-c", script],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode == CANNOT:
        tap.skip(f"{name} in an empty Debian 12", done.stderr.strip().splitlines()[-1])
        return None
    tap.check(done.returncode == 0 and f"== {name}" in done.stdout, f"{name} in an empty Debian 12: all builds and passes",
              done.stdout[-5000:] + done.stderr[-3000:])
    return done.stdout


def check_packages(tap, root, folder):
    done = subprocess.run([os.path.join(root, "ci", "deb"), folder], capture_output=True, text=True)
    if "ci/setup --for deb" in done.stderr:
        tap.skip("packages", done.stderr.strip().splitlines()[-1])
        return
    names = sorted(os.path.basename(f).split("_")[0] for f in glob.glob(os.path.join(folder, "*.deb")))
    tap.check(done.returncode == 0 and "\nE: " not in done.stdout, "ci/deb builds, and lintian has no error",
              done.stdout[-3000:] + done.stderr)
    if tap.equal(names, ["libyieldpoint-dev", "libyieldpoint-mpi-dev", "yieldpoint", "yieldpoint-doc"], "four packages"):
        out = in_empty(tap, root, folder, "packages", PACKAGED)
        if out is not None:
            tap.check("ranks.c::parts[ranks=2] PASSED" in out and "mpi.c::all[ranks=2] PASSED" in out, "two ranks pass, with MPI and without", out)
            tap.check("saxpy.c::saxpy[mib=16]" in out and "0 tests failed" in out, "its history is listed; CTest passes", out)


def check_tarball(tap, root, folder):
    build, source = os.path.join(folder, "build"), os.path.join(folder, "clone")
    for words in (["git", "clone", "-q", root, source],
                  ["meson", "setup", build, source, "-Dtests=false", "-Dmodels=disabled", "-Dcuda=disabled"],
                  ["meson", "dist", "-C", build, "--no-tests", "--formats", "gztar"]):
        done = subprocess.run(words, capture_output=True, text=True)
        if not tap.check(done.returncode == 0, " ".join(words[:2]), done.stdout[-2000:] + done.stderr):
            return
    in_empty(tap, root, os.path.join(build, "meson-dist"), "tarball", TARBALL)


def main(root):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for name, check in (("packages", check_packages), ("tarball", check_tarball)):
            os.mkdir(os.path.join(folder, name))
            tap.run(name, check, tap, root, os.path.join(folder, name))
    tap.done()


main(*sys.argv[1:])
