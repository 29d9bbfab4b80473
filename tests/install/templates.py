"""The jobs that `yieldpoint init --ci` writes: linted, and every script of theirs run in a project with the installed
Yieldpoint, with stand-ins for the package manager and the network alone.

usage: templates.py SOURCE_ROOT BUILD_DIRECTORY"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from installed import Installed  # noqa: E402
from program import ENVIRONMENT, rows  # noqa: E402
from tap import Tap  # noqa: E402

RULES = "{extends: default, rules: {line-length: {max: 120}, document-start: disable, truthy: {check-keys: false}}}"
OWN = {"make": ("Makefile", "all:\n"), "meson": ("meson.build", "project('own', 'c')\n"),
       "cmake": ("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(own C)\n")}
# The case of a GPU is skipped where there is none: the job is green all the same.
GPU = '\nYP_TEST(first, on_gpu, .tags = "gpu", .devices = "cuda")\n{\n    yp_expect(t, yp_device(t) != NULL, "no device");\n}\n'

# Stand-ins. The network serves what earlier jobs kept, and the comments there are; what it is told is in `told`.
APT = '#!/bin/sh\necho "apt-get $*" >>"$PLACE/told"\n'
GH = r"""#!/usr/bin/env python3
import json, os, shutil, subprocess, sys
place, words = os.environ["PLACE"], sys.argv[1:]
open(place + "/told", "a").write("gh " + " ".join(words) + "\n")
def put(answer):
    query = words[words.index("--jq") + 1]
    sys.exit(subprocess.run(["jq", "-r", query], input=json.dumps(answer), text=True).returncode)
def comments():
    return json.load(open(place + "/comments")) if os.path.exists(place + "/comments") else []
def comment(number, file):
    known = [c for c in comments() if c["id"] != number]
    json.dump(known + [{"id": number, "body": open(file).read()}], open(place + "/comments", "w"))
if words[:2] == ["api", "repos/own/project"]:
    put({"default_branch": "main"})
if words[0] == "api" and "/actions/artifacts?name=" in words[1]:
    name = words[1].split("name=")[1].split("&")[0]
    kept = os.path.isdir(f"{place}/artifacts/{name}")
    def of(run, branch, head):
        return {"expired": False, "workflow_run": {"id": run, "head_branch": branch, "head_repository_id": head,
                                                   "repository_id": 1}}
    # The first ones are of a fork and of another branch.
    put({"artifacts": [of(7, "main", 2), of(8, "topic", 1)] + ([of(9, "main", 1)] if kept else [])})
if words[:3] == ["run", "download", "9"]:
    name, to = words[words.index("--name") + 1], words[words.index("--dir") + 1]
    shutil.copytree(f"{place}/artifacts/{name}", to, dirs_exist_ok=True)
elif words[:1] == ["api"] and "/issues/5/comments" in words[1]:
    put(comments())
elif words[:4] == ["api", "--method", "PATCH", "repos/own/project/issues/comments/31"]:
    assert words[words.index("--field") + 1] == "body=@comment.md"
    comment(31, "comment.md")
elif words[:3] == ["pr", "comment", "5"]:
    comment(31, words[words.index("--body-file") + 1])
else:
    sys.exit(f"gh: unexpected: {words}")
"""
CURL = r"""#!/usr/bin/env python3
import json, os, shutil, sys
place, words = os.environ["PLACE"], sys.argv[1:]
open(place + "/told", "a").write("curl " + " ".join(words) + "\n")
url = next(w for w in words if w.startswith("https://"))
def after(name):
    return words[words.index(name) + 1] if name in words else None
def comments():
    return json.load(open(place + "/comments")) if os.path.exists(place + "/comments") else []
if "/jobs/artifacts/main/raw/history/history.db?job=" in url:
    kept = f"{place}/artifacts/{url.split('job=')[1]}/history/history.db"
    assert after("--header") == "JOB-TOKEN: of the job"
    if not os.path.exists(kept):
        sys.exit(22)
    shutil.copy(kept, after("--output"))
elif url.startswith("https://gitlab/api/projects/3/merge_requests/5/notes"):
    assert after("--header") == "PRIVATE-TOKEN: of the project"
    if after("--request") is None:
        print(json.dumps(comments()))
    else:
        new = after("--request") == "POST" and url.endswith("/notes")
        assert new or after("--request") == "PUT" and url.endswith("/notes/31"), words
        assert after("--data-urlencode") == "body@comment.md"
        json.dump([{"id": 31, "body": open("comment.md").read()}], open(place + "/comments", "w"))
else:
    sys.exit(f"curl: unexpected: {words}")
"""


def write(path, text, executable=False):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    if executable:
        os.chmod(path, 0o755)


def read(path):
    with open(path) as file:
        return file.read()


class Names:
    """Names of an expression; one that is not there is null."""

    def __init__(self, values):
        self.values = values

    def __getattr__(self, name):
        found = self.values.get(name)
        return Names(found) if isinstance(found, dict) or found is None else found

    def __eq__(self, other):
        return not isinstance(other, (str, bool))

    def __bool__(self):
        return bool(self.values)


Names.values = {}


def github_value(text, names):
    """An expression of GitHub Actions, of the operators and functions that the template has."""
    text = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or ")).replace("\n", " ")
    return eval(text.strip(), {}, names)  # noqa: S307: it is ours


def github_text(text, names):
    return re.sub(r"\$\{\{(.*?)\}\}", lambda m: str(github_value(m.group(1), names)), str(text), flags=re.S)


def gitlab_value(text, variables):
    text = re.sub(r"\$(\w+)", lambda m: repr(variables.get(m.group(1))), text)
    return eval(text.replace("&&", " and ").replace("||", " or "), {})  # noqa: S307: it is ours


class Project:
    """A repository with `yieldpoint init --ci`, its origin, and what its jobs left."""

    def __init__(self, tap, stage, parent, build, ci):
        self.tap, self.build, self.ci, self.log = tap, build, ci, ""
        self.name = f"{build}, {ci}"
        self.place = tempfile.mkdtemp(dir=parent)
        self.folder = os.path.join(self.place, "project")
        shims = os.path.join(self.place, "bin")
        for name, text in (("apt-get", APT), ("gh", GH), ("curl", CURL)):
            write(os.path.join(shims, name), text, executable=True)
        command = os.path.dirname(stage.path("/bin/yieldpoint"))
        self.environment = {**ENVIRONMENT, **{k: stage.environment[k] for k in ("PKG_CONFIG_PATH", "LD_LIBRARY_PATH")},
                            "CMAKE_PREFIX_PATH": os.path.dirname(command), "PLACE": self.place,
                            "PATH": os.pathsep.join([shims, command, os.environ["PATH"]]),
                            "GIT_CONFIG_GLOBAL": os.path.join(self.place, "gitconfig"), "CC": "cc"}
        write(self.environment["GIT_CONFIG_GLOBAL"], "[user]\n\tname = a\n\temail = a@b.c\n")
        self.git("init", "-q", "-b", "main", self.folder, cwd=self.place)
        write(self.path(OWN[build][0]), OWN[build][1])
        self.init = subprocess.run(["yieldpoint", "init", "--ci", ci], cwd=self.folder, capture_output=True, text=True,
                                   env=self.environment)
        if build == "meson":
            write(self.path("meson.build"), OWN[build][1] + "subdir('perf')\n")
        write(self.path("perf/suite.c"), read(self.path("perf/suite.c")) + GPU)
        self.commit("a first suite")
        self.git("clone", "-q", "--bare", self.folder, os.path.join(self.place, "origin.git"), cwd=self.place)
        self.git("remote", "add", "origin", os.path.join(self.place, "origin.git"))
        self.git("fetch", "-q", "origin")

    def path(self, name):
        return os.path.join(self.folder, name)

    def git(self, *words, cwd=None):
        return subprocess.run(["git", *words], cwd=cwd or self.folder, env=self.environment, check=True,
                              capture_output=True, text=True).stdout.strip()

    def commit(self, message):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def edit(self, old, new):
        text = read(self.path("perf/suite.c"))
        assert old in text
        write(self.path("perf/suite.c"), text.replace(old, new))
        self.commit(new)

    def clean(self):
        """As a runner's checkout is."""
        self.git("clean", "-qffdx")

    def shell(self, text, variables):
        write(os.path.join(self.place, "script"), text)
        done = subprocess.run(["sh", "-e", os.path.join(self.place, "script")], cwd=self.folder, capture_output=True,
                              text=True, env={**self.environment, **variables}, stdin=subprocess.DEVNULL, timeout=600)
        self.log += f"$ {text}\n{done.stdout}{done.stderr}[{done.returncode}]\n"
        return done.returncode

    def keep(self, artifact, paths, strip):
        """As upload-artifact does with one file, or GitLab with paths."""
        for path in filter(None, paths.split("\n")):
            if os.path.exists(self.path(path)):
                to = os.path.join(self.place, "artifacts", artifact, os.path.basename(path) if strip else path)
                os.makedirs(os.path.dirname(to), exist_ok=True)
                shutil.copy(self.path(path), to)

    def show(self):
        print(self.log, file=sys.stderr)

    def artifact(self, *names):
        return os.path.join(self.place, "artifacts", *names)

    def comments(self):
        path = os.path.join(self.place, "comments")
        return json.loads(read(path)) if os.path.exists(path) else []


# -- GitHub ---------------------------------------------------------------------------------------

class Github(Project):
    file = ".github/workflows/perf.yml"
    history = ("perf-history", "history.db")

    def run(self, event, fork=False, gpu=False, branch="main"):
        """{job: whether it was green} of an event; `log` has what was printed."""
        self.log = ""
        workflow = yaml.safe_load(read(self.path(self.file)))
        assert event in workflow[True], event  # `on` is YAML's word for true
        request = {"number": 5, "base": {"sha": "of the base"}, "head": {"repo": {
            "full_name": "of/a fork" if fork else "own/project"}}} if event == "pull_request" else None
        self.names = {"github": Names({"event_name": event, "repository": "own/project", "token": "a token",
                                       "base_ref": "main", "ref_name": branch, "event": {
                                           "pull_request": request, "repository": {"default_branch": "main"}}}),
                      "vars": Names({"YIELDPOINT_GPU": "yes"} if gpu else {}), "cancelled": lambda: False,
                      "always": lambda: True}
        green = {}
        for name, job in workflow["jobs"].items():
            # A job with a status function runs also when those before it have failed; ours alone has `needs`.
            self.names["needs"] = Names({n: {"result": {True: "success", False: "failure"}.get(green.get(n), "skipped")}
                                         for n in workflow["jobs"]})
            if github_value(job.get("if", "True"), self.names):
                green[name] = self.job(job, {**workflow["env"], **job.get("env", {})})
        return green

    def job(self, job, variables):
        self.clean()
        summary = os.path.join(self.place, "summary")
        variables = {**{k: github_text(v, self.names) for k, v in variables.items()}, "GITHUB_STEP_SUMMARY": summary}
        right = True
        for step in job["steps"]:
            if not (github_value(step["if"], self.names) and ("always()" in step["if"] or right) if "if" in step
                    else right):
                continue
            if "run" in step:
                right = self.shell(github_text(step["run"], self.names), variables) == 0 and right
            elif step["uses"].startswith("actions/upload-artifact@"):
                self.keep(step["with"]["name"], step["with"]["path"], strip=True)
            elif step["uses"].startswith("actions/download-artifact@"):
                shutil.copytree(self.artifact(step["with"]["name"]), self.folder, dirs_exist_ok=True)
            else:
                assert step["uses"].startswith("actions/checkout@"), step
        return right

    def on_push(self):
        return self.run("push")

    def on_schedule(self):
        return self.run("schedule")

    def on_request(self):
        return self.run("pull_request", branch="5/merge")

    def on_gpu(self):
        return self.run("push", gpu=True)


# -- GitLab ---------------------------------------------------------------------------------------

class Gitlab(Project):
    file = "perf/gitlab-ci.yml"
    history = ("perf", "history/history.db")

    def run(self, **variables):
        self.log = ""
        jobs = yaml.safe_load(read(self.path(self.file)))
        green = {}
        given = {"CI_API_V4_URL": "https://gitlab/api", "CI_PROJECT_ID": "3", "CI_DEFAULT_BRANCH": "main",
                 "CI_JOB_TOKEN": "of the job", **variables}
        for name, job in jobs.items():
            if name.startswith("."):
                continue
            for parent in [job["extends"]] if isinstance(job["extends"], str) else job["extends"]:
                job = {**jobs[parent], **job}
            rule = next((r for r in job["rules"] if gitlab_value(r["if"], given)), None)
            if rule is not None:
                green[name] = self.job(name, job, {**given, **job["variables"], **rule.get("variables", {})})
        return green

    def job(self, name, job, variables):
        self.clean()
        right = self.shell("\n".join(job["before_script"] + job["script"]), variables) == 0
        self.shell("\n".join(job.get("after_script", [])), variables)
        self.keep(name, "\n".join(job["artifacts"]["paths"]), strip=False)
        junit = job["artifacts"].get("reports", {}).get("junit")
        if junit:
            self.keep("perf-report", junit, strip=True)
        return right

    def on_push(self):
        return self.run(CI_PIPELINE_SOURCE="push")

    def on_schedule(self):
        return self.run(CI_PIPELINE_SOURCE="schedule")

    def on_request(self):
        return self.run(CI_PIPELINE_SOURCE="merge_request_event", CI_MERGE_REQUEST_IID="5",
                        CI_MERGE_REQUEST_DIFF_BASE_SHA=self.git("rev-parse", "origin/main"),
                        YIELDPOINT_TOKEN="of the project")

    def on_gpu(self):
        return self.run(CI_PIPELINE_SOURCE="push", YIELDPOINT_GPU="yes")


# -- the checks -----------------------------------------------------------------------------------

def lint(tap, project):
    for name in (project.file, ".gitlab-ci.yml"):
        if os.path.exists(project.path(name)):
            done = subprocess.run(["yamllint", "--strict", "-d", RULES, project.path(name)], capture_output=True, text=True)
            tap.check(done.returncode == 0, f"{project.name}: yamllint: {os.path.basename(name)}", done.stdout)
    done = subprocess.run(["shellcheck", project.path("perf/ci.sh")], capture_output=True, text=True)
    tap.check(done.returncode == 0, f"{project.name}: shellcheck: ci.sh", done.stdout)


def kept(project):
    """Cases of each run in the history that the jobs keep."""
    found = {}
    path = project.artifact(*project.history)
    for row in rows(path, "SELECT run_id, case_id FROM result") if os.path.exists(path) else []:
        found.setdefault(row["run_id"], set()).add(row["case_id"].split("::")[-1])
    return sorted(map(sorted, found.values()))


def check_jobs(tap, project):
    name = project.name
    lint(tap, project)
    tap.equal(project.on_push(), {"perf": True}, f"{name}: a push is green") or project.show()
    tap.equal(kept(project), [["checksum[small]"]], f"{name}: ran what is not slow, and kept it")
    tap.check("no history of" in project.log and os.path.exists(project.artifact("perf-report", "report.xml")),
              f"{name}: the first time; JUnit", project.log)
    tap.equal(project.on_schedule(), {"perf": True}, f"{name}: the night is green") or project.show()
    tap.equal(kept(project), [["checksum[large]", "checksum[small]"], ["checksum[small]"]],
              f"{name}: ran the slow ones, too, beside the history of before")
    tap.equal(project.on_gpu(), {"perf": True, "gpu": True}, f"{name}: a GPU's job") or project.show()
    tap.check("1 skipped" in project.log, f"{name}: without a GPU", project.log)

    wanted = {"gate", "comment"} if project.ci == "github" else {"gate"}
    write(project.path("notes.txt"), "a change that costs nothing\n")
    project.commit("notes")
    tap.equal(project.on_request(), {job: True for job in wanted}, f"{name}: an innocent request is green") or project.show()
    first = project.comments()
    project.edit("yp_alloc(t, n)", "yp_alloc(t, 2 * n)")
    tap.equal(project.on_request(), {job: job == "comment" for job in wanted}, f"{name}: one that takes more memory is red")
    second = project.comments()
    tap.check(len(first) == 1 == len(second) and "nothing is worse" not in second[0]["body"] and
              "checksum" in second[0]["body"] and "KiB" in second[0]["body"] and "KiB" not in first[0]["body"] and
              second[0]["body"].startswith("<!-- "),
              f"{name}: the comment says what, in the place of the one before", f"{first}\n{second}\n{project.log}")

    project.edit("160 * YP_KIB", "YP_KIB")
    tap.equal(project.on_push(), {"perf": False}, f"{name}: a budget that is not met is red")
    tap.check("at most 1.0 KiB" in project.log and ["checksum[small]"] in kept(project) and len(kept(project)) > 2,
              f"{name}: and its history is kept all the same", f"{kept(project)}\n{project.log}")


def check_first_request(tap, project):
    """The request that brings the suite has a base without one."""
    project.git("checkout", "-q", "--orphan", "other")
    project.git("rm", "-q", "-r", "--cached", "perf")
    project.git("commit", "-q", "-m", "before")
    project.git("push", "-q", "-f", "origin", "other:main")
    project.git("checkout", "-q", "-f", "main")
    green = project.on_request()
    tap.check(green and all(green.values()) and "no suite yet" in project.comments()[0]["body"],
              f"{project.name}: a base without a suite passes", f"{green}\n{project.log}")


def check_install(tap, root, stage, parent):
    """Where there is no Yieldpoint: cloned, built, installed. Without the optimisation that takes long to compile."""
    project = Github(tap, stage, parent, "make", "github")
    source, to, meson = project.path("../yieldpoint"), project.path("../stage"), shutil.which("meson")
    if subprocess.run(["git", "clone", "-q", root, source], capture_output=True).returncode != 0:
        tap.skip("installs Yieldpoint", "the sources are no checkout")
        return
    project.git("checkout", "-q", "-B", "v1", cwd=source)
    write(project.path("../bin/meson"), f"""#!/bin/sh
[ "$1" = setup ] && set -- "$@" -Doptimization=0 -Dcuda=disabled -Dprefix=/usr
exec {meson} "$@"
""", executable=True)
    # Whatever Yieldpoint is installed here is to stay unseen.
    path = [p for p in project.environment["PATH"].split(os.pathsep) if not os.path.exists(os.path.join(p, "yieldpoint"))]
    code = project.shell("sh perf/ci.sh install", {
        "PATH": os.pathsep.join([path[0], to + "/usr/bin", *path[1:]]), "DESTDIR": to, "PACKAGES": "make jq",
        "YIELDPOINT_SOURCE": "file://" + source, "YIELDPOINT_VERSION": "v1"})
    tap.check(code == 0 and os.path.exists(to + "/usr/include/yieldpoint/yieldpoint.h") and
              re.search(r"^yieldpoint \d", project.log, re.M), "installs Yieldpoint", project.log)
    tap.check("apt-get install -y --no-install-recommends ca-certificates git make jq\n" in read(project.path("../told")),
              "and the project's packages", read(project.path("../told")))


def main(root, build):
    tap = Tap()
    with tempfile.TemporaryDirectory() as parent:
        stage = Installed(build, os.path.join(parent, "stage"))
        if not tap.check(stage.ok, "installs", stage.done.stdout + stage.done.stderr):
            tap.done()
        pairs = [("make", Github), ("make", Gitlab), ("meson", Github), ("meson", Gitlab)]
        if any(path.lower().endswith(("/yieldpointconfig.cmake", "/yieldpoint-config.cmake")) for path in stage.files):
            pairs += [("cmake", Github), ("cmake", Gitlab)]

        def check(build, kind):
            project = kind(tap, stage, parent, build, kind.__name__.lower())
            if tap.check(project.init.returncode == 0, f"{project.name}: init", project.init.stderr):
                check_jobs(tap, project)
        tap.beside(*((f"{build}, {kind.__name__}", check, build, kind) for build, kind in pairs),
                   ("the first request", lambda: check_first_request(tap, Github(tap, stage, parent, "make", "github"))),
                   ("install", check_install, tap, root, stage, parent))
    tap.done()


main(*sys.argv[1:])
