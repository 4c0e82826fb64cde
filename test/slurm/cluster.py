# SPDX-License-Identifier: Apache-2.0
"""A Slurm cluster on this machine: slurmctld, and for each node a slurmd and a salusd of its own with single-threaded
software GPUs. Everything is in a private directory and runs as the calling user, without systemd, cgroups or, by
default, a database. `with Cluster(nodes=2) as c: c.sbatch(...)` leaves nothing behind, whatever happens inside."""
import glob
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "test", "e2e", room) for room in ("lib", "sharing")]
from harness import BUILD, ROOT, cuda_lib_dir, tool, wait_for

# A signal that ends the test also ends the cluster.
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))



def ours(name):
    """Returns the program that the environment names, such as a mutant, or ours."""
    mutant = os.environ.get("SALUS_TEST_SLURM", "")
    return mutant if os.path.basename(mutant) == name else os.path.join(BUILD, "slurm", name)


PLUGIN, PLACER = ours("salus.so"), ours("salus-placer")
EXAMPLES = os.path.join(ROOT, "config", "slurm")
SHORT = 60  # seconds: longer waits fail
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY"}

CONF = """
ClusterName=salus
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={d}/munge.sock
CredType=cred/munge
SlurmctldPort={port}
SlurmctldPidFile={d}/slurmctld.pid
SlurmdPidFile={d}/slurmd.%n.pid
SlurmdSpoolDir={d}/spool.%n
StateSaveLocation={d}/state
SlurmctldLogFile={d}/slurmctld.log
SlurmdLogFile={d}/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc={d}/ended
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout={node_timeout}
MessageTimeout=10
KillWait=2
MinJobAge=3600
SchedulerParameters=nohold_on_prolog_fail,sched_interval=1,bf_interval=1,batch_sched_delay=0
GresTypes=salus
PlugStackConfig={d}/plugstack.conf
{more}
NodeName={name}[1-{nodes}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs={cpus} RealMemory=8000 Gres=salus:{shares}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
{partitions}
"""

# Adds slurmdbd and a MariaDB, which listens only on a socket in the private directory.
ACCOUNTING = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={d}/munge.sock
AccountingStorageTRES=gres/salus
"""
DBD_CONF = """
AuthType=auth/munge
AuthInfo=socket={d}/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser={user}
PidFile={d}/slurmdbd.pid
LogFile={d}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=salus
"""

# The script for HealthCheckProgram={d}/health, which gets a nearly empty environment.
HEALTH = """#!/bin/sh
export SLURM_CONF={conf} SALUSCTL={ctl} SALUS_RUN_DIR={dir}/salus.$SLURMD_NODENAME
exec {report}
"""


def free_ports(count):
    """Returns the first of `count` consecutive ports that are free now."""
    for first in range(18000 + os.getpid() % 997 * 16, 60000, 64):
        held = []
        try:
            for port in range(first, first + count):
                s = socket.socket()
                held.append(s)
                s.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for s in held:
                s.close()
    raise AssertionError("no ports are free")


def processes_with(word):
    """Finds our processes that have the word on their command line or in their environment, wherever they are in the
    process tree."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/environ", "rb") as environment:
                if word.encode() in line.read() + environment.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rsplit(")", 1)[1].split()[1])
    except OSError:
        return -1


def name_of(pid):
    with open(f"/proc/{pid}/comm") as f:
        return f.read().strip()


class Node:
    """A slurmd and its salusd."""

    def __init__(self, cluster, name, gpus, memory):
        self.cluster, self.name, self.gpus, self.memory = cluster, name, gpus, memory
        self.run_dir = os.path.join(cluster.dir, "salus." + name)
        self.salusd = self.slurmd = None
        os.makedirs(self.run_dir)
        os.makedirs(os.path.join(cluster.dir, "spool." + name))
        self.config = os.path.join(self.run_dir, "salus.conf")
        with open(self.config, "w") as f:
            f.write(f"[gpu]\ngpus = {gpus}\ndevice = soft\ndevice_threads = 1\ndevice_memory = {memory}\n"
                    "[schedule]\nunknown_memory = 64MiB\n")

    def start_salusd(self):
        with open(os.path.join(self.run_dir, "log"), "ab") as log:
            self.salusd = subprocess.Popen([tool("salusd"), "--foreground", "--run-dir", self.run_dir, "--config", self.config],
                                           stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def salus_ready(self):
        if self.salusd.poll() is not None:
            with open(os.path.join(self.run_dir, "log"), errors="replace") as f:
                raise AssertionError(f"{self.name}: salusd ended:\n{f.read()[-3000:]}")
        done = self.ctl("--json", "status")
        return done.returncode == 0 and json.loads(done.stdout)["status"]["gpus_ready"] == self.gpus

    def ctl(self, *words):
        return subprocess.run([tool("salusctl"), "--run-dir", self.run_dir, *words], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=SHORT)

    def history(self):
        return json.loads(self.ctl("--json", "history").stdout)["history"]

    def start_slurmd(self):
        self.slurmd = self.cluster.start(["slurmd", "-D", "-N", self.name, "-f", self.cluster.conf], f"slurmd.{self.name}.out")

    def kill(self, what):
        p = getattr(self, what)
        p.kill()
        p.wait()


class Cluster:
    """Options are keys of CONF. `name`: the first part of the nodes' names; `more`, `partitions`: lines of slurm.conf;
    `wait`: WAIT of job_submit.lua (None: jobs do not wait for a placer); `plugin`: words of plugstack.conf;
    `accounting`: start slurmdbd."""

    def __init__(self, nodes=2, gpus=1, memory="1GiB", shares=4, cpus=4, wait=None, more="", partitions="", plugin="",
                 node_timeout=10, accounting=False, name="n"):
        self.dir = tempfile.mkdtemp(prefix="ss-", dir="/tmp")  # a short path, for there are sockets in it
        os.chmod(self.dir, 0o755)
        self.conf = os.path.join(self.dir, "slurm.conf")
        self.env = {**os.environ, "SLURM_CONF": self.conf, "XDG_STATE_HOME": "/nonexistent"}
        self.children, self.placer = [], None
        self.nodes = [Node(self, f"{name}{i + 1}", gpus, memory) for i in range(nodes)]
        os.makedirs(os.path.join(self.dir, "state"))
        first = free_ports(nodes + 2)
        more = more.replace("{d}", self.dir)
        self.user, self.accounting = pwd.getpwuid(os.getuid()).pw_name, accounting
        if accounting:
            more += ACCOUNTING.format(d=self.dir, port=first + nodes + 1)
            self.write("slurmdbd.conf", DBD_CONF.format(d=self.dir, port=first + nodes + 1, user=self.user))
            os.chmod(os.path.join(self.dir, "slurmdbd.conf"), 0o600)
        self.write("health", HEALTH.format(conf=self.conf, ctl=tool("salusctl"), dir=self.dir, report=os.path.join(EXAMPLES, "salus-report")))
        os.chmod(os.path.join(self.dir, "health"), 0o755)
        if wait is not None:
            more += "\nJobSubmitPlugins=lua"
            with open(os.path.join(EXAMPLES, "job_submit.lua")) as f:
                self.write("job_submit.lua", f.read().replace("local WAIT = 300", f"local WAIT = {wait}"))
        self.write("slurm.conf", CONF.format(user=self.user, d=self.dir, port=first, first=first + 1,
                                             last=first + nodes, nodes=nodes, cpus=cpus, shares=shares, more=more,
                                             partitions=partitions, node_timeout=node_timeout, name=name))
        self.write("gres.conf", f"Name=salus Count={shares} Flags=CountOnly\n")
        self.write("plugstack.conf", f"required {PLUGIN} salusctl={tool('salusctl')} run_dir={self.dir}/salus.%n {plugin}\n")

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w") as f:
            f.write(text)

    def read(self, name):
        with open(os.path.join(self.dir, name), errors="replace") as f:
            return f.read()

    def start(self, argv, log):
        with open(os.path.join(self.dir, log), "ab") as out:
            p = subprocess.Popen(argv, env=self.env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                 start_new_session=True)
        self.children.append(p)
        return p

    def start_slurmctld(self):
        self.slurmctld = self.start(["slurmctld", "-D", "-f", self.conf], "slurmctld.out")

    def start_slurmdbd(self):
        data, sock = os.path.join(self.dir, "db"), os.path.join(self.dir, "db.sock")
        self.command("mariadb-install-db", "--no-defaults", f"--user={self.user}", f"--datadir={data}",
                     "--auth-root-authentication-method=normal", "--skip-test-db")
        self.start(["/usr/sbin/mariadbd", "--no-defaults", f"--user={self.user}", f"--datadir={data}", f"--socket={sock}",
                    "--skip-networking"], "mariadb.log")
        wait_for("MariaDB", lambda: os.path.exists(sock), SHORT)
        self.start(["/usr/bin/env", f"MYSQL_UNIX_PORT={sock}", "/usr/sbin/slurmdbd", "-D"], "slurmdbd.out")
        wait_for("slurmdbd", lambda: self.command("sacctmgr", "-n", "list", "cluster", check=False).returncode == 0, SHORT)
        self.command("sacctmgr", "-i", "add", "cluster", "salus")

    def __enter__(self):
        try:
            self.boot()
        except BaseException:
            self.__exit__(Exception)
            raise
        return self

    def boot(self):
        key = os.path.join(self.dir, "munge.key")
        with open(os.open(key, os.O_CREAT | os.O_WRONLY, 0o400), "wb") as f:
            f.write(os.urandom(128))
        names = {"socket": "munge.sock", "key-file": "munge.key", "pid-file": "munged.pid", "log-file": "munged.log",
                 "seed-file": "munged.seed"}
        self.start(["/usr/sbin/munged", "--foreground", "--force", "--num-threads=4",
                    *(f"--{k}={self.dir}/{v}" for k, v in names.items())], "munged.out")
        for node in self.nodes:
            node.start_salusd()
        wait_for("munged", lambda: os.path.exists(os.path.join(self.dir, "munge.sock")), SHORT)
        if self.accounting:
            self.start_slurmdbd()
        self.start_slurmctld()
        for node in self.nodes:
            node.start_slurmd()
        for node in self.nodes:
            wait_for(f"salusd of {node.name}", node.salus_ready, SHORT)
        wait_for("nodes are idle", lambda: self.states() == {n.name: "idle" for n in self.nodes}, SHORT)

    def __exit__(self, kind, *_):
        if kind:
            self.show_logs()
        mine = [n.salusd for n in self.nodes if n.salusd] + self.children
        for p in mine:
            if p.poll() is None:
                p.terminate()
        for p in mine:
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()
        wait_for("all processes of the cluster end", self.kill_all, SHORT)
        shutil.rmtree(self.dir, ignore_errors=True)

    def kill_all(self):
        """Kills steps and their processes. Returns True once there are none."""
        left = processes_with(self.dir)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not left

    def show_logs(self):
        for path in sorted(glob.glob(os.path.join(self.dir, "*.log"))):
            with open(path, errors="replace") as f:
                text = f.read()[-1500:]
            if text.strip():
                print(f"---- {os.path.basename(path)}\n{text}", flush=True)

    def kill_node(self, node):
        """Kills everything on the node, as if its power were cut."""
        node.kill("slurmd")
        node.kill("salusd")
        ours = processes_with(self.dir)
        # excludes those of another cluster's n1
        steps = [p for p in processes_with(f"SLURMD_NODENAME={node.name}\0") if p in ours]
        for pid in [parent_of(p) for p in steps] + steps:  # slurmstepd first, which would report how they ended
            try:
                if pid in steps or name_of(pid) == "slurmstepd":
                    os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, FileNotFoundError):
                pass

    # ---- the placer, and the nodes' reports to it

    def start_placer(self, *options):
        """Starts the placer. The tests send the nodes' reports themselves, since HealthCheckProgram runs only every few
        seconds."""
        self.placer = self.start([PLACER, "--interval", "100ms", *options], "placer.log")

    def report(self, *nodes, text=None):
        """Reports like config/slurm/salus-report on each node; with `text`, reports that text."""
        for node in nodes or self.nodes:
            if text is None:
                self.command(os.path.join(EXAMPLES, "salus-report"),
                             env={"SALUSCTL": tool("salusctl"), "SALUS_RUN_DIR": node.run_dir, "SLURMD_NODENAME": node.name})
            else:
                self.command("scontrol", "update", f"NodeName={node.name}", f"Extra={text}")

    # ---- asking Slurm

    def command(self, *argv, check=True, env=None, cwd=None, user=None):
        done = subprocess.run(argv, env={**self.env, **(env or {})}, cwd=cwd or self.dir, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SHORT, user=user, group=user,
                              extra_groups=[] if user else None)
        if check and done.returncode:
            raise AssertionError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr}")
        return done

    def states(self):
        lines = self.command("sinfo", "-h", "-N", "-o", "%N %T", check=False).stdout.split("\n")
        return {n: s.rstrip("*") for n, s in (line.split() for line in lines if line)}

    def script(self, text):
        """Returns a job's script with the path to CUDA's runtime, which the test programs need."""
        fd, path = tempfile.mkstemp(dir=self.dir, suffix=".sh")
        with os.fdopen(fd, "w") as f:
            f.write(f"#!/bin/sh\nexport LD_LIBRARY_PATH=$LD_LIBRARY_PATH:{cuda_lib_dir()}\n{text}\n")
        os.chmod(path, 0o755)
        return path

    def submit(self, text, *options, check=True, env=None, user=None):
        return self.command("sbatch", "--parsable", "-o", os.path.join(self.dir, "out.%j"), *options, self.script(text),
                            check=check, env=env, user=user)

    def sbatch(self, text, *options, **more):
        """Submits a job. Returns its number."""
        return int(self.submit(text, *options, **more).stdout)

    def show(self, job):
        """Returns slurmctld's fields of the job."""
        text = self.command("scontrol", "-o", "show", "job", str(job)).stdout
        fields = dict(word.split("=", 1) for word in text.split() if "=" in word)
        if "AdminComment=" in text:
            fields["AdminComment"] = text.split("AdminComment=", 1)[1].split(" StdErr=")[0].strip()
        return fields

    def output(self, job):
        try:
            return self.read(f"out.{job}")
        except FileNotFoundError:
            return ""

    def ended(self, *jobs, seconds=SHORT):
        """Waits until the jobs have ended. Returns the fields of the last one."""
        for job in jobs:
            wait_for(f"job {job} ends", lambda: self.show(job)["JobState"] in ENDED, seconds)
        return self.show(jobs[-1])
