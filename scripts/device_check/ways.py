# SPDX-License-Identifier: Apache-2.0
"""Ways to run a program: on the plain driver, under NVIDIA's MPS, under Salus. Each gives the environment in which a
program is started, and cleans up after itself."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e", "lib"))
import harness


class NotHere(Exception):
    """The way does not exist on this machine; the text tells why."""


def plain_environment(**more):
    """This script's own environment: under `salusctl run` everything goes through one more level of Salus."""
    return dict(os.environ, CUDA_MODULE_LOADING="EAGER", **more)


def nest():
    """From here on, the driver that Salus loads is our own library, a client of a daemon on the software GPU; the
    started tests know that too."""
    harness.NESTED = harness.Daemon.nests = True
    os.environ["SALUS_TEST_NESTED"] = "1"


def on_software(*options):
    return harness.Soft("--device", "soft", "--device-memory", "256MiB", *options)


class Native:
    """Programs without any sharing: several at once share the GPU by time slices."""
    name = "native"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def environment(self, **job):
        return plain_environment()


class Salus:
    """A private daemon. `job`: settings of a job, as in its environment (priority=10, persistent="1GiB")."""
    broken = None  # why a daemon did not start: it retries for long before it reports that, and would do so each time

    def __init__(self, name, device, *options):
        self.name = name
        self.daemon = self.make(device, options)

    @staticmethod
    def make(device, options):
        if harness.NESTED:  # the harness chooses the device and its part
            return harness.Daemon(*options)
        if device == "soft":
            return on_software(*options)
        return harness.Daemon("--device", device, *options)

    def __enter__(self):
        kind = type(self)
        if kind.broken:
            raise NotHere(kind.broken)
        try:
            self.daemon.boot()
        except AssertionError as e:
            last = [line for line in str(e).splitlines() if line.strip()][-1]
            kind.broken = f"the daemon does not start: {last[-300:]}"
            raise NotHere(kind.broken) from None
        return self

    def __exit__(self, *_):
        try:
            self.daemon.__exit__()
        except AssertionError as e:
            print(f"device-check: {e}", file=sys.stderr)

    def environment(self, **job):
        told = {f"SALUS_{k.upper()}": str(v) for k, v in job.items()}
        return self.daemon.environment(CUDA_MODULE_LOADING="EAGER", SALUS_MARK="1", **told)

    def worker(self):
        """Returns the process that owns the device; None: there is none at the moment. Does not use ps, which a machine
        may lack."""
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    comm, rest = f.read().split("(", 1)[1].rsplit(")", 1)
            except (OSError, IndexError):
                continue
            if name.isdigit() and comm.startswith("salus-gpu") and int(rest.split()[1]) == self.daemon.process.pid:
                return int(name)
        return None

    def policy(self, kernel=None, lane=None):
        """Changes the settings of the running daemon, so that all ways are compared in one daemon."""
        args = (["--lane", lane] if lane else []) + (["--kernel", kernel] if kernel else [])
        self.daemon.ctl("policy", "set", *args)


class StandIn(Salus):
    """Without a GPU, a second daemon on the software GPU replaces the driver. The figures mean nothing, but the
    checksums must be equal."""
    broken = None

    def __init__(self):
        super().__init__("native", "soft")

    @staticmethod
    def make(device, options):
        return on_software(*options)

    def environment(self, **job):
        return super().environment(**{k: v for k, v in job.items() if k in ("persistent", "ephemeral")})


class Mps:
    """NVIDIA's multi-process service, started only for this script in a folder of its own."""
    name = "mps"

    def __enter__(self):
        self.control = shutil.which("nvidia-cuda-mps-control")
        if not self.control:
            raise NotHere("there is no nvidia-cuda-mps-control")
        self.folder = tempfile.mkdtemp(prefix="mps-")
        self.env = {"CUDA_MPS_PIPE_DIRECTORY": self.folder, "CUDA_MPS_LOG_DIRECTORY": self.folder}
        try:
            started = subprocess.run([self.control, "-d"], env=plain_environment(**self.env), timeout=30,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except (OSError, subprocess.SubprocessError) as e:
            self.__exit__()
            raise NotHere(f"MPS does not start: {e}") from None
        if started.returncode:
            self.__exit__()
            raise NotHere(f"MPS does not start: exit {started.returncode} {started.stdout.strip()[-300:]}")
        time.sleep(1)
        return self

    def __exit__(self, *_):
        try:
            subprocess.run([self.control], input="quit\n", env=plain_environment(**self.env), timeout=30, text=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except (OSError, subprocess.SubprocessError) as e:
            print(f"device-check: MPS does not end: {e}", file=sys.stderr)
        shutil.rmtree(self.folder, ignore_errors=True)

    def environment(self, **job):
        return plain_environment(**self.env)


def device_is_built(device):
    """Asks this salusd for the device. Returns (True if it has one, its message)."""
    salusd = harness.tool("salusd")
    try:
        done = subprocess.run([salusd, "--device", device, "--check-config"], stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    except (OSError, subprocess.SubprocessError) as e:
        return False, str(e)
    return done.returncode == 0, done.stdout.strip()[-300:]
