"""What a revision is: the files that git has of it, all that the working tree holds, and tests from outside.

usage: gate_git.py YIELDPOINT"""

import glob
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from program import run  # noqa: E402
from tap import Tap  # noqa: E402

# No case is in it, so that both sides are built and nothing is run.
FILES = {"yieldpoint.ini": "[gate]\nsetup = true\nbuild = cp {source}/suite {build}/suite\nsuites = suite\n",
         "suite": "#!/bin/sh\nexit 5\n"}
UNSELECTED, INTERNAL, USAGE = 5, 3, 4
SETTINGS = {"user.name": "a", "user.email": "a@b", "protocol.file.allow": "always", "advice.detachedHead": "false"}
ENVIRONMENT = {"GIT_CONFIG_COUNT": str(len(SETTINGS)), "LC_ALL": "C"}
for at, (key, value) in enumerate(SETTINGS.items()):
    ENVIRONMENT |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}


def git(path, *words):
    done = subprocess.run(["git", "-C", path, *words], capture_output=True, text=True, env=os.environ | ENVIRONMENT)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stderr}")
    return done.stdout.strip()


def write(path, name, text):
    whole = os.path.join(path, name)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    with open(whole, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def commit(path, message, **files):
    for name, text in files.items():
        write(path, name, text)
    git(path, "add", "-A")
    git(path, "commit", "-q", "--allow-empty", "-m", message)


def make(folder, name, *options, **files):
    path = os.path.join(folder, name)
    git(folder, "init", "-q", "-b", "main", *options, path)
    for file, text in FILES.items():
        write(path, file, text)
    os.chmod(os.path.join(path, "suite"), 0o755)
    commit(path, "first", **files)
    return path


def gate(yieldpoint, path, *words, mortal=False):
    """`mortal`: what may not be read cannot be, by root either."""
    less = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if mortal and os.geteuid() == 0 else []
    return run(*less, yieldpoint, "gate", *words, cwd=path, env=ENVIRONMENT)


def source_of(yieldpoint, tap, path, head, what):
    """The directory of the head's sources, built beside the same head."""
    shutil.rmtree(os.path.join(path, ".yieldpoint"), ignore_errors=True)
    done = gate(yieldpoint, path, "--base", head, "--head", head)
    places = glob.glob(os.path.join(path, ".yieldpoint/gate/*/source"))
    tap.check(done.code == UNSELECTED and len(places) == 1, f"{what}: is built", done)
    return places[0] if places else path


def read(source, name):
    try:
        with open(os.path.join(source, name), encoding="utf-8", newline="") as file:
            return file.read()
    except OSError:
        return None


def objects(*paths):
    return sum(len(files) for path in paths for _, _, files in os.walk(os.path.join(path, ".git", "objects")))


def with_submodule(folder, name):
    """A project with a submodule in a submodule, all of them in hubs that are named by relative addresses."""
    at = os.path.join(folder, name)
    os.mkdir(at)
    for repository in ("inner", "lib", "super"):
        git(at, "init", "-q", "--bare", "-b", "main", f"hub/{repository}.git")
    inner = make(at, "inner", file="inner 1")
    git(inner, "push", "-q", "../hub/inner.git", "main")
    for above, below in (("lib", "inner"), ("super", "lib")):
        path = make(at, above, file=f"{above} 1")
        git(path, "remote", "add", "origin", os.path.join(at, "hub", above + ".git"))
        git(path, "submodule", "add", "-q", f"../{below}.git", f"the {below}")
        git(path, "submodule", "update", "-q", "--init", "--recursive")
        commit(path, f"with {below}")
        git(path, "push", "-q", "origin", "main")
    return os.path.join(at, "super"), os.path.join(at, "hub")


def check_worktree(tap, yieldpoint, folder):
    r, _ = with_submodule(folder, "worktree")
    lib, inner = os.path.join(r, "the lib"), os.path.join(r, "the lib", "the inner")
    odd = 'a "quoted"\nname'
    commit(r, "files", **{"gone": "", "becomes/file": "", "mode": "", ".gitattributes": "text eol=crlf\n",
                          "text": "a\n", odd: "1"})
    os.unlink(os.path.join(r, "gone"))
    shutil.rmtree(os.path.join(r, "becomes"))
    os.symlink("the lib", os.path.join(r, "becomes"))
    os.chmod(os.path.join(r, "mode"), 0o755)
    for path, name, text in ((r, odd, "2"), (r, "text", "neither\nfiltered\n"), (lib, "file", "lib 2"),
                             (lib, "new", "n"), (lib, ".gitignore", "ignored"), (lib, "ignored", "i"),
                             (inner, "file", "inner 2")):
        write(path, name, text)
    nested = os.path.join(r, "nested")
    git(r, "init", "-q", nested)
    write(nested, "file", "nested")
    repositories = (r, os.path.join(r, ".git/modules/the lib"), nested)
    before = objects(*repositories), git(r, "status", "--porcelain"), git(lib, "status", "--porcelain")
    source = source_of(yieldpoint, tap, r, "WORKTREE", "the working tree")
    got = {name: read(source, name) for name in (odd, "text", "the lib/file", "the lib/new", "the lib/ignored",
                                                 "the lib/the inner/file", "nested/file", "gone", "becomes/file")}
    tap.equal(got, {odd: "2", "text": "neither\nfiltered\n", "the lib/file": "lib 2", "the lib/new": "n",
                    "the lib/ignored": None, "the lib/the inner/file": "inner 2", "nested/file": "nested",
                    "gone": None, "becomes/file": "lib 2"}, "all that it holds is in it")
    tap.check(os.access(os.path.join(source, "mode"), os.X_OK) and
              os.readlink(os.path.join(source, "becomes")) == "the lib", "modes and links too")
    tap.equal((objects(*repositories), git(r, "status", "--porcelain"), git(lib, "status", "--porcelain")), before,
              "nothing is written to its repositories")
    tap.equal(glob.glob(os.path.join(r, ".yieldpoint/gate/snapshot*")), [], "no snapshot is left")
    commit(lib, "not pushed")
    again = gate(yieldpoint, r, "--base", "WORKTREE", "--head", "WORKTREE")
    tap.check("building" not in again.err, "the same files are the same build, committed or not", again)
    write(inner, "file", "inner 3")
    again = gate(yieldpoint, r, "--base", "WORKTREE", "--head", "WORKTREE")
    tap.check("building WORKTREE" in again.err, "other files in a submodule are another one", again)
    for name, wanted in (("nested", "could not open directory 'nested/"), ("text", "Permission denied")):
        os.chmod(os.path.join(r, name), 0)
        done = gate(yieldpoint, r, "--base", "HEAD", "--head", "WORKTREE", mortal=True)
        tap.check(done.code in (USAGE, INTERNAL) and wanted in done.err and "WORKTREE (" not in done.err,
                  f"what cannot be read is named: {name}", done)
        os.chmod(os.path.join(r, name), 0o755)
    git(r, "submodule", "deinit", "-q", "-f", "the lib")
    write(lib, "file", "what git does not see")
    done = gate(yieldpoint, r, "--base", "HEAD", "--head", "WORKTREE")
    tap.check(done.code == USAGE and "the lib is a submodule that is not checked out" in done.err,
              "files that git does not see are named", done)


def check_submodules(tap, yieldpoint, folder):
    r, hub = with_submodule(folder, "submodules")
    clone = os.path.join(folder, "submodules", "clone")
    git(folder, "clone", "-q", os.path.join(hub, "super.git"), clone)
    source = source_of(yieldpoint, tap, clone, "HEAD", "submodules by relative addresses")
    tap.equal([read(source, f"{p}file") for p in ("", "the lib/", "the lib/the inner/")],
              ["super 1", "lib 1", "inner 1"], "submodules in submodules")
    commit(os.path.join(r, "the lib"), "not pushed", file="lib 2")
    commit(r, "lib 2")
    os.rename(hub, hub + " away")
    source = source_of(yieldpoint, tap, r, "HEAD", "a submodule's commit that was never pushed")
    tap.equal([read(source, f"{p}file") for p in ("the lib/", "the lib/the inner/")], ["lib 2", "inner 1"],
              "it comes from the repository that has it")
    done = gate(yieldpoint, clone, "--base", "HEAD", "--head", "HEAD")
    tap.check(done.code == UNSELECTED and "building" not in done.err, "what is built stays", done)
    shutil.rmtree(os.path.join(clone, ".yieldpoint"))
    done = gate(yieldpoint, clone, "--base", "HEAD", "--head", "HEAD")
    tap.check(done.code == INTERNAL and "cannot be checked out" in done.err and "does not exist" in done.err,
              "one that is nowhere: not built without it", done)


def check_partial(tap, yieldpoint, folder):
    whole = make(folder, "whole", file="1")
    commit(whole, "second", file="2")
    git(whole, "config", "uploadpack.allowFilter", "true")
    clone = os.path.join(folder, "blobless")
    git(folder, "clone", "-q", "--filter=blob:none", "file://" + whole, clone)
    source = source_of(yieldpoint, tap, clone, "HEAD~1", "a partial clone")
    tap.equal(read(source, "file"), "1", "what it lacks is fetched")
    tap.equal(git(clone, "rev-list", "--objects", "--missing=print", "HEAD~1").count("\n?"), 1, "not by the clone")
    git(clone, "config", "remote.origin.url", "../whole")
    source = source_of(yieldpoint, tap, clone, "HEAD~1", "a server by a relative path")
    tap.equal(read(source, "file"), "1", "it is found")
    os.rename(whole, whole + " away")
    shutil.rmtree(os.path.join(clone, ".yieldpoint"))
    done = gate(yieldpoint, clone, "--base", "HEAD~1", "--head", "HEAD")
    tap.check(done.code == INTERNAL and "cannot be checked out" in done.err and "away" not in done.err and
              glob.glob(os.path.join(clone, ".yieldpoint/gate/*/source")) == [], "what cannot be had: no build", done)
    git(clone, "config", "--remove-section", "remote.origin")
    done = gate(yieldpoint, clone, "--base", "HEAD~1", "--head", "HEAD")
    tap.check(done.code == INTERNAL and "that it has no content of:\nfile\n" in done.err,
              "a file that git leaves out is named", done)


def check_kinds(tap, yieldpoint, folder):
    r = make(folder, "sha256", "--object-format=sha256", file="1")
    tap.equal(read(source_of(yieldpoint, tap, r, "HEAD", "SHA-256"), "file"), "1", "SHA-256: its files")
    write(r, "file", "2")
    tap.equal(read(source_of(yieldpoint, tap, r, "WORKTREE", "SHA-256, WORKTREE"), "file"), "2", "SHA-256: the tree")

    r = make(folder, "filtered")
    git(r, "config", "filter.rot.clean", "tr a-y b-z")
    git(r, "config", "filter.rot.smudge", "tr b-z a-y")
    write(r, ".git/info/attributes", "also filter=rot\n")
    commit(r, "filtered", **{".gitattributes": "file filter=rot\n", "file": "abc", "also": "abc"})
    source = source_of(yieldpoint, tap, r, "HEAD", "a filter")
    tap.equal((git(r, "cat-file", "blob", "HEAD:file"), read(source, "file"), read(source, "also")),
              ("bcd", "abc", "abc"), "filters and attributes of the repository")
    hook = os.path.join(r, ".git/hooks/post-checkout")
    write(r, ".git/hooks/post-checkout", "#!/bin/sh\ntouch hooked\n")
    os.chmod(hook, 0o755)
    git(r, "config", "core.hooksPath", os.path.dirname(hook))
    tap.equal(read(source_of(yieldpoint, tap, r, "HEAD", "hooks"), "hooked"), None, "but no hooks")

    bare = os.path.join(folder, "bare.git")
    git(folder, "clone", "-q", "--bare", r, bare)
    shutil.copy(os.path.join(r, "yieldpoint.ini"), bare)
    tap.equal(read(source_of(yieldpoint, tap, bare, "HEAD", "a bare repository"), "file"), "bcd", "bare: its files")
    done = gate(yieldpoint, bare, "--base", "HEAD", "--head", "WORKTREE")
    tap.check(done.code == USAGE and "is a bare repository: it has no files" in done.err, "bare: no WORKTREE", done)
    tree = os.path.join(folder, "tree")
    git(bare, "worktree", "add", "-q", tree)
    write(tree, "file", "of the tree")
    tap.equal(read(source_of(yieldpoint, tap, tree, "WORKTREE", "a worktree of it"), "file"), "of the tree",
              "a worktree of it: its files")

    shallow = os.path.join(folder, "shallow")
    git(folder, "clone", "-q", "--depth=1", "file://" + r, shallow)
    tap.equal(read(source_of(yieldpoint, tap, shallow, "HEAD", "a shallow clone"), "file"), "bcd", "shallow: its files")


def check_names(tap, yieldpoint, folder):
    r = make(folder, "names", file="1")
    commit(r, "the second one", file="2")
    commit(r, "third", file="3")
    for name in (":/second", "HEAD^{/second}", "HEAD~1", "@{1}"):
        tap.equal(read(source_of(yieldpoint, tap, r, name, name), "file"), "2", f"{name}: its files")
    done = gate(yieldpoint, r, "--base", ":/nothing of that kind")
    tap.check(done.code == USAGE and "there is no such commit" in done.err, ":/ of no commit", done)
    done = run(yieldpoint, "bisect", "work.c::sum", "--good", ":/first", "--bad", ":/third", cwd=r, env=ENVIRONMENT)
    tap.check(done.code == UNSELECTED and "there is no such case" in done.err, "bisect takes such names", done)
    if os.geteuid() != 0:
        return
    for above, _, files in os.walk(r):
        for path in (above, *(os.path.join(above, name) for name in files)):
            os.lchown(path, 12345, 12345)
    done = gate(yieldpoint, r, "--base", "HEAD")
    tap.check(done.code == USAGE and "dubious ownership" in done.err and "safe.directory" in done.err,
              "another owner's: why, and what helps", done)


def check_outside(tap, yieldpoint, folder):
    """Commits without tests: sources from outside, at one path for all revisions, and in the build's key."""
    def ini(*lines):
        write(r, "yieldpoint.ini", "\n".join(["[gate]", *lines, "suites = suite", ""]))

    def built(tests, *words):
        """What both builds were made of, the paths they were told, and what the gate said."""
        done = gate(yieldpoint, r, "--base", "HEAD~1", "--head", "HEAD", *words)
        places = [line for line in done.err.splitlines() if line.startswith("building ")]
        newest = sorted(glob.glob(os.path.join(r, ".yieldpoint/gate/*/build")), key=os.path.getmtime)[-len(places):]
        tap.check(done.code == UNSELECTED, f"{tests}: is built", done)
        return (len(places), {read(p, "mark") for p in newest if places}, {read(p, "where") for p in newest}, done)

    r = make(folder, "no tests", code="1")
    commit(r, "second", code="2")
    tests = os.path.join(folder, "outside")
    for name, text in (("suite", FILES["suite"]), ("deep/mark", "1"), (".git/config", "of a repository")):
        write(tests, name, text)
    os.chmod(os.path.join(tests, "suite"), 0o755)
    os.symlink("deep/mark", os.path.join(tests, "mark"))
    build = ("build = cp {tests}/suite {tests}/mark {build}; printf %s {tests} > {build}/where; "
             "ls -A {tests} > {build}/all")
    ini("tests = ../outside", build)
    count, marks, paths, done = built("tests =")
    tap.equal((count, marks, len(paths)), (2, {"1"}, 1), "both revisions have them, at the same path")
    path = paths.pop()
    tap.check(path.endswith("/tests") and path.startswith(os.path.join(r, ".yieldpoint/gate/")), "a copy of them", path)
    places = glob.glob(os.path.join(r, ".yieldpoint/gate/*/build"))
    tap.equal([read(p, "all") for p in places], ["deep\nmark\nsuite\n"] * 2, "without what is git's")
    logs = "".join(read("", p) for p in glob.glob(os.path.join(r, ".yieldpoint/gate/*.log")))
    tap.check("$ cp " in logs and "meson" not in logs, "build = without setup = runs no meson", logs)
    tap.equal(built("the same")[0], 0, "the same tests: the same builds")
    write(tests, "deep/mark", "2")
    count, marks, others, _ = built("changed")
    tap.equal((count, marks, others != {path}), (2, {"2"}, True), "changed tests: built anew")
    write(tests, "deep/mark", "1")
    tap.equal(built("changed back")[0], 0, "changed back: the builds that were there")
    half = os.path.dirname(path)
    for name in ("made", "tests/deep/mark"):
        os.unlink(os.path.join(half, name))
    tap.equal(built("half removed")[0], 0, "a copy that was removed by half: the same place")
    tap.equal([read(half, name) for name in ("tests/deep/mark", "tests/mark")], ["1", "1"], "and it is whole again")
    command = (f"mkdir -p .yieldpoint/gate/snapshot-$$-0/tests/deep; exec {shlex.quote(yieldpoint)} gate "
               "--base HEAD~1 --head HEAD")
    done = run("sh", "-c", command, cwd=r, env=ENVIRONMENT)
    tap.check(done.code == UNSELECTED and glob.glob(os.path.join(r, ".yieldpoint/gate/snapshot*")) == [],
              "what a killed process of the same number left is no hindrance", done)
    os.rename(half + ".lock", half + ".away")
    os.mkdir(half + ".lock")
    done = gate(yieldpoint, r, "--base", "HEAD~1", "--head", "HEAD")
    tap.check(done.code == INTERNAL and f"{half}.lock: Is a directory" in done.err and
              glob.glob(os.path.join(r, ".yieldpoint/gate/snapshot*")) == [], "no lock: nothing is left", done)
    done = run(yieldpoint, "bisect", "work.c::sum", "--good", "HEAD~1", "--bad", "HEAD", cwd=r, env=ENVIRONMENT)
    tap.check(done.code == INTERNAL and "Is a directory" in done.err, "nor does it fail like a command line in bisect", done)
    os.rmdir(half + ".lock")
    os.rename(half + ".away", half + ".lock")
    os.rename(os.path.join(tests, "deep"), os.path.join(tests, "deeper"))
    os.unlink(os.path.join(tests, "mark"))
    os.symlink("deeper/mark", os.path.join(tests, "mark"))
    tap.equal(built("another name")[0], 2, "another name: built anew")
    os.chmod(os.path.join(tests, "deeper/mark"), 0o755)
    tap.equal(built("another mode")[0], 2, "a file that can be run now: built anew")
    write(r, "own/suite", FILES["suite"])
    write(r, "own/mark", "own")
    os.chmod(os.path.join(r, "own/suite"), 0o755)
    tap.equal(built("--tests", "--tests", "own")[:2], (2, {"own"}), "--tests counts before tests =")
    tap.equal(glob.glob(os.path.join(r, ".yieldpoint/gate/snapshot*")), [], "no half of a copy is left")
    ini("tests = ../outside", build, "keep = 2")
    built("keep")
    tap.equal(len(glob.glob(os.path.join(r, ".yieldpoint/gate/tests-*/"))), 2, "keep: of the copies, too")
    ini("tests = ../outside/suite", "build = cp {tests}/suite {build}; ls {tests} > {build}/mark")
    tap.equal(built("a file")[:2], (2, {"suite\n"}), "one file alone")

    def refused(what, wanted, *words, command="gate"):
        done = run(yieldpoint, command, *(words or ("--base", "HEAD")), cwd=r, env=ENVIRONMENT)
        tap.check(done.code == USAGE and wanted in done.err and done.out == "", f"refused: {what}", done)
        tap.equal(glob.glob(os.path.join(r, ".yieldpoint/gate/snapshot*")), [], f"refused: {what}: nothing is left")

    refused("nothing there", "nowhere: No such file or directory; a directory of test sources", "--base", "HEAD",
            "--tests", "nowhere")
    bisect = ("work.c::sum", "--good", "HEAD~1", "--bad", "HEAD", "--tests", "nowhere")
    refused("nothing there, by bisect", "nowhere: No such file or directory", *bisect, command="bisect")
    refused("reproduce without --rev", "--tests: nothing is built without --rev", "last", "--tests", "own",
            command="reproduce")
    os.symlink("/nowhere", os.path.join(r, "own/link"))
    refused("a link to nowhere", "own/link: this link leads nowhere", "--base", "HEAD", "--tests", "own")
    os.unlink(os.path.join(r, "own/link"))
    os.symlink("..", os.path.join(r, "own/link"))
    refused("a circle", "this link leads to a directory above it", "--base", "HEAD", "--tests", "own")
    os.mkdir(os.path.join(r, "empty"))
    refused("no file", "empty: there is no file in it", "--base", "HEAD", "--tests", "empty")
    ini("build = cp {tests}/suite {build}")
    refused("{tests} of nothing", "{tests} in a command, but no tests =")
    ini("tests = own", "build = cp suite {build}")
    refused("tests that nothing uses", "no command uses them")
    ini("tests =", "build = cp suite {build}")
    refused("an empty path", "yieldpoint.ini:2: tests is a directory of test sources, or one of them")
    write(r, "yieldpoint.ini", "[gate]\nbuild = cp suite {build}\n")
    refused("build without meson and suites", "was not built by meson, which would tell its suites")


def main(yieldpoint):
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_worktree, check_submodules, check_partial, check_kinds, check_names, check_outside):
            tap.run(check.__name__, check, tap, yieldpoint, folder)
    tap.done()


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
