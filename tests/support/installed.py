"""An installed tree that lies elsewhere than its prefix, as a project beside it finds it."""

import os
import subprocess


class Installed:
    """Of `build`, which has what is installed; below `folder`."""

    def __init__(self, build, folder):
        self.done = subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", folder],
                                   capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.folder = folder
        self.ok = self.done.returncode == 0
        self.files = sorted(os.path.join(top, name) for top, _, names in os.walk(folder) for name in names)
        self.pkgconfig = sorted({os.path.dirname(path) for path in self.files if path.endswith("/yieldpoint.pc")})
        self.libraries = [os.path.dirname(path) for path in self.pkgconfig]
        for path in self.files:
            if path.endswith(".pc"):
                self._move(path)
        given = os.environ.get("PKG_CONFIG_PATH")
        self.environment = {**os.environ, "PKG_CONFIG_PATH": os.pathsep.join(
            self.pkgconfig + ([given] if given else [])), "LD_LIBRARY_PATH": os.pathsep.join(
                self.libraries + ([os.environ["LD_LIBRARY_PATH"]] if "LD_LIBRARY_PATH" in os.environ else []))}

    def _move(self, path):
        """The file says where it was meant to lie; tell the compiler where it lies now."""
        with open(path) as text:
            moved = text.read().replace("prefix=/", f"prefix={self.folder}/", 1)
        with open(path, "w") as text:
            text.write(moved)

    def path(self, end):
        """The one installed file whose path ends so; None: there is none, or more than one."""
        found = [path for path in self.files if path.endswith(end)]
        return found[0] if len(found) == 1 else None
