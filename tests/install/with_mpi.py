"""Programs whose ranks use MPI, as others build them: with an installed yieldpoint-mpi by pkg-config, meson and CMake, and
as a part of a project that brings Yieldpoint along."""

import os
import shutil
import subprocess

PASSED = "sums.c::all[ranks=2] PASSED"
MESON = """project('by-meson', 'c', default_options: ['c_std=gnu17'])
executable('sums', 'sums.c', dependencies: dependency('yieldpoint-mpi'))
"""
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(by-cmake LANGUAGES {language})
find_package(yieldpoint REQUIRED {components})
yieldpoint_add_suite(sums {source} MPI)
add_executable(by-target {source})
target_link_libraries(by-target PRIVATE yieldpoint::mpi)
"""


def reason_without(stage):
    """Why there is nothing to try; None: there is."""
    if stage.path("/pkgconfig/yieldpoint-mpi.pc") is None:
        return "this build has no MPI (-Dmpi)"
    if shutil.which("mpirun") is None:
        return "no mpirun"
    return None


def source_of(root):
    with open(os.path.join(root, "examples", "ranks", "mpi.c")) as file:
        return file.read()


def check_passes(tap, name, program, stage=None):
    environment = stage.environment if stage is not None else None
    done = subprocess.run([program, "--speed=record", "-v"], capture_output=True, text=True, env=environment,
                          cwd=os.path.dirname(program), stdin=subprocess.DEVNULL)
    tap.check(done.returncode == 0 and PASSED in done.stdout, f"{name}: two ranks add up by MPI", done.stdout + done.stderr)


class Folder:
    def __init__(self, tap, stage, folder, text):
        self.tap, self.stage, self.folder, self.text = tap, stage, folder, text

    def with_files(self, name, files, source="sums.c"):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        for file, text in {**files, source: self.text}.items():
            with open(os.path.join(path, file), "w") as out:
                out.write(text)
        return path

    def ran(self, words, cwd):
        return subprocess.run(words, capture_output=True, text=True, env=self.stage.environment, cwd=cwd, stdin=subprocess.DEVNULL)

    def did(self, name, *words, cwd):
        done = self.ran(words, cwd)
        return self.tap.check(done.returncode == 0, name, done.stdout[-3000:] + done.stderr)


def check_pkg_config(tap, kind, here):
    folder = here.with_files(f"pkg-config-{kind}", {})
    flags = here.ran(["pkg-config", "--cflags", "--libs", "yieldpoint-mpi"], folder).stdout.split()
    if here.did(f"{kind}: pkg-config: builds", "cc", "-std=gnu17", "sums.c", "-o", "sums", *flags, cwd=folder):
        check_passes(tap, f"{kind}: pkg-config", os.path.join(folder, "sums"), here.stage)


def check_meson(tap, kind, here):
    folder = here.with_files(f"meson-{kind}", {"meson.build": MESON})
    if here.did(f"{kind}: meson: configures", "meson", "setup", "build", cwd=folder) and \
            here.did(f"{kind}: meson: builds", "ninja", "-C", "build", cwd=folder):
        check_passes(tap, f"{kind}: meson", os.path.join(folder, "build", "sums"), here.stage)


def prefix_of(stage):
    return os.path.dirname(os.path.dirname(os.path.dirname(stage.path("/yieldpoint/yieldpoint.h"))))


def check_cmake(tap, kind, here):
    if shutil.which("cmake") is None:
        tap.skip(f"{kind}: CMake", "no cmake")
        return
    place = f"-DCMAKE_PREFIX_PATH={prefix_of(here.stage)}"
    for language, source in (("C", "sums.c"), ("CXX", "sums.cc")):
        name = f"{kind}: CMake, {language}"
        listing = CMAKE.format(language=language, source=source, components="COMPONENTS mpi" if language == "C" else "")
        folder = here.with_files(f"cmake-{language}-{kind}", {"CMakeLists.txt": listing}, source)
        if here.did(f"{name}: configures", "cmake", "-B", "build", place, cwd=folder) and \
                here.did(f"{name}: builds", "cmake", "--build", "build", cwd=folder) and language == "C":
            for program in ("sums", "by-target"):
                check_passes(tap, f"{name}: {program}", os.path.join(folder, "build", program), here.stage)


def check_refused(tap, here):
    """What CMake cannot give is an error that says why."""
    if shutil.which("cmake") is None:
        tap.skip("CMake: another MPI", "no cmake")
        return
    place = f"-DCMAKE_PREFIX_PATH={prefix_of(here.stage)}"
    made_for = here.stage.path("/cmake/yieldpoint/yieldpointMPI.cmake")
    with open(made_for) as file:
        other = "mpicc.mpich" if "built for Open MPI" in file.read() else "mpicc.openmpi"
    for components, name in (("COMPONENTS mpi", "required"), ("", "yieldpoint_add_suite(... MPI)")):
        if shutil.which(other) is None:
            tap.skip(f"CMake: another MPI, {name}", f"no {other}")
            continue
        folder = here.with_files("other-" + str(len(components)), {
            "CMakeLists.txt": CMAKE.format(language="C", source="sums.c", components=components)})
        done = here.ran(["cmake", "-B", "build", place, f"-DMPI_C_COMPILER={other}"], folder)
        said = " ".join(done.stderr.split())
        tap.check(done.returncode != 0 and "yieldpoint-mpi was built for " in said and "is another MPI's" in said,
                  f"CMake: another MPI, {name}", done.stdout + done.stderr)
    folder = here.with_files("component", {
        "CMakeLists.txt": CMAKE.format(language="C", source="sums.c", components="COMPONENTS gpu")})
    done = here.ran(["cmake", "-B", "build", place], folder)
    tap.check(done.returncode != 0 and "no component 'gpu'" in done.stderr, "CMake: another component", done.stdout + done.stderr)
    os.rename(made_for, made_for + ".away")
    folder = here.with_files("without", {
        "CMakeLists.txt": CMAKE.format(language="C", source="sums.c", components="COMPONENTS mpi")})
    done = here.ran(["cmake", "-B", "build", place], folder)
    tap.check(done.returncode != 0 and "no yieldpoint-mpi beside" in done.stderr, "CMake: a Yieldpoint without MPI",
              done.stdout + done.stderr)
    os.rename(made_for + ".away", made_for)


def check_mpi(tap, kind, stage, root, folder):
    reason = reason_without(stage)
    if reason is not None:
        tap.skip(f"{kind}: MPI", reason)
        return
    here = Folder(tap, stage, os.path.join(folder, "mpi"), source_of(root))
    check_pkg_config(tap, kind, here)
    check_meson(tap, kind, here)
    check_cmake(tap, kind, here)
    if kind == "static":
        check_refused(tap, here)
