"""A recipe for Conan 2: `conan create .` makes the package of this checkout (docs/outside.md). The libraries that
Yieldpoint uses are the system's: `ci/setup --for build` installs them."""

import os
import re

from conan import ConanFile
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfig
from conan.tools.layout import basic_layout
from conan.tools.meson import Meson, MesonToolchain


class Yieldpoint(ConanFile):
    name = "yieldpoint"
    license = "Apache-2.0"
    description = "stress and performance tests in C"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"command": [True, False], "mpi": [True, False]}
    default_options = {"command": True, "mpi": False}
    exports_sources = "*", "!build/*", "!.git/*", "!.yieldpoint/*"

    def set_version(self):
        self.version = re.search("version: '(.*?)'", load(self, os.path.join(self.recipe_folder, "meson.build"))).group(1)

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def layout(self):
        basic_layout(self)

    def generate(self):
        toolchain = MesonToolchain(self)
        toolchain.project_options.update({
            "tests": "false", "suites": "false", "models": "disabled", "cuda": "disabled",
            "command": "true" if self.options.command else "false",
            "mpi": "enabled" if self.options.mpi else "disabled"})
        toolchain.extra_cflags.append("-Wno-error")  # with whatever compiler its user has
        toolchain.generate()

    def build(self):
        meson = Meson(self)
        meson.configure()
        meson.build()

    def package(self):
        Meson(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # CMake's own files have yieldpoint_add_suite(), too.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.components["yieldpoint"].builddirs = [os.path.join("lib", "cmake", "yieldpoint")]
        for name in ("yieldpoint", "yieldpoint-heap") + (("yieldpoint-mpi",) if self.options.mpi else ()):
            self._describe(name, load(self, os.path.join(self.package_folder, "lib", "pkgconfig", name + ".pc")))

    def _describe(self, name, pc):
        """What programs need, from the file that pkg-config would read."""
        fields = dict(re.findall(r"^(\w+): *(.*)$", pc, re.M))
        words = fields["Libs"].split()
        libraries = [word[2:] for word in words if word.startswith("-l")]
        part = self.cpp_info.components[name]
        part.set_property("pkg_config_name", name)
        part.libs = [library for library in libraries if library.startswith("yieldpoint")]
        part.system_libs = [library for library in libraries if not library.startswith("yieldpoint")] + ["pthread"]
        part.exelinkflags = [word for word in words if word.startswith("-Wl,")]
        part.cflags = part.cxxflags = [word for word in fields["Cflags"].split() if not word.startswith("-I")]
        for required in re.findall(r"([\w-]+)(?: *>= *[\d.]+)?", fields.get("Requires", "")):
            if required == "yieldpoint":
                part.requires = [required]
            elif required == "ompi-c":  # the system's MPI, in a folder of its own
                mpi = PkgConfig(self, required)
                part.includedirs += mpi.includedirs
                part.libdirs += mpi.libdirs
                part.system_libs += mpi.libs
            else:
                part.system_libs.append({"libcjson": "cjson"}.get(required, required))
