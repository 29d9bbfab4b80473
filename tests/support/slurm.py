"""A Slurm cluster on 127.0.0.1 for tests: munged, slurmctld and some slurmd, each a process of its own, with all their
files in one directory. No daemon of the system is started or asked.

    with Cluster(nodes=2) as cluster:
        cluster.run("sinfo")                     # every command needs cluster.environment
    slurm.py COMMAND [ARGUMENT...]               # the same around one command"""

import ctypes
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")
SBIN = "/usr/sbin:/sbin"

# cred_expire: a requeued job waits as long before it starts again, 5 s at least; one that is made to start sooner may
# fail. TmpFS: two slurmd on one host otherwise take the same names below /tmp.
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SrunPortRange={first_srun}-{last_srun}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/munge.socket,cred_expire=5
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=0,sched_min_interval=0,default_queue_depth=100
PropagateResourceLimits=NONE
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
SlurmctldDebug=info
SlurmdDebug=info
ReturnToService=2
SlurmdTimeout=10
SlurmctldTimeout=10
InactiveLimit=0
KillWait=2
MinJobAge=300
CompleteWait=0
MessageTimeout=5
TCPTimeout=2
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first_node}-{last_node}] CPUs={cpus} RealMemory=1000 Gres=gpu:2 State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=NO
"""


def found(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":" + SBIN)


def missing():
    """Why there can be no cluster here; "": there can."""
    absent = [name for name in NEEDED if found(name) is None]
    if absent:
        return f"no {', '.join(absent)} here (ci/setup --for slurm)"
    return "" if os.getuid() == 0 else "munged and slurmd of a test run as root, which this is not"


def free_ports(count):
    """The first of so many in a row that nothing listens on."""
    for _ in range(100):
        first = random.randrange(20000, 30000)
        taken = []
        try:
            for port in range(first, first + count):
                taken.append(socket.socket())
                taken[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                taken[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for one in taken:
                one.close()
    raise RuntimeError("no free ports")


def until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not in {seconds} s")
        time.sleep(0.01)


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


class Cluster:
    def __init__(self, nodes=2, cpus=2):
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.cpus = cpus
        self.started = {}

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="slurm-test-", dir="/tmp")
        os.chmod(self.folder, 0o755)
        for name in ("munge", "state", "log", *(f"{kind}.{node}" for node in self.nodes for kind in ("spool", "tmp"))):
            os.mkdir(os.path.join(self.folder, name), 0o755)
        self.configuration = os.path.join(self.folder, "slurm.conf")
        path = os.environ.get("PATH", "") + ":" + SBIN
        self.environment = {**{k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "SBATCH_"))},
                            "SLURM_CONF": self.configuration, "PATH": path}
        try:
            self._configure()
            self._munge()
            self.start_controller()
            for node in self.nodes:
                self.start_node(node)
            until(lambda: len(self.run("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()) == len(self.nodes), 20,
                  "all nodes are idle")
        except BaseException:
            print(self.log(), file=sys.stderr)
            self.__exit__()
            raise
        return self

    def _configure(self):
        self.port = first = free_ports(len(self.nodes) + 61)
        with open(self.configuration, "w", encoding="utf-8") as file:
            file.write(CONFIGURATION.format(
                host=socket.gethostname().split(".")[0], user="root", folder=self.folder, port=first, nodes=len(self.nodes),
                first_node=first + 1, last_node=first + len(self.nodes), first_srun=first + len(self.nodes) + 1,
                last_srun=first + len(self.nodes) + 60, cpus=self.cpus))
        with open(os.path.join(self.folder, "gres.conf"), "w", encoding="utf-8") as file:
            for device in ("null", "zero"):  # two made-up GPUs a node
                file.write(f"NodeName=n[1-{len(self.nodes)}] Name=gpu File=/dev/{device}\n")
        with open(os.path.join(self.folder, "plugstack.conf"), "w", encoding="utf-8"):
            pass

    def _start(self, name, *words):
        """In a session of its own, so that a Ctrl-C of the test does not reach it. It ends with a test that is killed."""
        with open(os.path.join(self.folder, "log", f"{name}.out"), "ab") as out:
            self.started[name] = subprocess.Popen([found(words[0]), *words[1:]], stdin=subprocess.DEVNULL, stdout=out,
                                                  stderr=out, start_new_session=True, env=self.environment,
                                                  preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))

    def _munge(self):
        place = os.path.join(self.folder, "munge")
        with open(os.open(f"{place}/munge.key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(os.urandom(128))
        self._start("munged", "munged", "-F", "--force", f"--socket={place}/munge.socket", f"--key-file={place}/munge.key",
                    f"--pid-file={place}/munged.pid", f"--log-file={self.folder}/log/munged.log", f"--seed-file={place}/seed",
                    "--num-threads=2")
        until(lambda: os.path.exists(f"{place}/munge.socket"), 10, "munged listens")

    def start_controller(self, clean=True):
        """A slurmd that comes before it listens tries again only after a second."""
        self._start("slurmctld", "slurmctld", "-D", *(["-c"] if clean else []), "-f", self.configuration)
        until(lambda: listens(self.port), 10, "slurmctld listens")

    def start_node(self, node):
        self._start(node, "slurmd", "-D", "-N", node, "-f", self.configuration)

    def kill(self, name):
        """slurmctld, or the slurmd of a node, without a chance to say goodbye."""
        process = self.started.pop(name)
        process.kill()
        process.wait()

    def run(self, *words, check=True, timeout=60):
        done = subprocess.run([found(words[0]) or words[0], *words[1:]], capture_output=True, text=True, timeout=timeout,
                              env=self.environment, stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def log(self):
        lines = []
        for name in sorted(os.listdir(os.path.join(self.folder, "log"))):
            with open(os.path.join(self.folder, "log", name), errors="replace") as file:
                lines += [f"{name}: {line.rstrip()}" for line in file.readlines()[-10:]]
        return "\n".join(lines)

    def _left(self):
        """Processes of jobs, slurmstepd, srun: all have this SLURM_CONF in their environment. Without control groups
        nothing else finds what a killed slurmd has left."""
        mark = f"SLURM_CONF={self.configuration}".encode()
        own = set()
        pid = os.getpid()
        while pid > 1:  # a command around the test may have it, too
            own.add(pid)
            with open(f"/proc/{pid}/stat") as file:
                pid = int(file.read().rsplit(")", 1)[1].split()[1])
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) in own:
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if mark in file.read().split(b"\0"):
                        yield int(entry)
            except OSError:
                continue

    def left(self):
        """(pid, command line) of processes of jobs that are still there, without the daemons."""
        daemons = {process.pid for process in self.started.values()}
        found_ones = []
        for pid in self._left():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                continue
            if pid not in daemons and words != "" and not words.startswith("slurmctld:"):
                found_ones.append((pid, words))
        return found_ones

    def __exit__(self, *_):
        """By SIGKILL: a polite end takes seconds, to save what is deleted here."""
        for process in self.started.values():
            process.kill()
            process.wait()
        for _ in range(20):
            pids = list(self._left())
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if not pids:
                break
            time.sleep(0.05)
        shutil.rmtree(self.folder, ignore_errors=True)


def main(words):
    reason = missing()
    if reason:
        sys.exit(f"slurm.py: {reason}")
    nodes = 2
    if words and re.fullmatch(r"--nodes=\d+", words[0]):
        nodes = int(words.pop(0).split("=")[1])
    with Cluster(nodes=nodes) as cluster:
        sys.exit(subprocess.run(words or ["sinfo"], env=cluster.environment).returncode)


if __name__ == "__main__":
    main(sys.argv[1:])
