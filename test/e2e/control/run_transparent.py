#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that `salusctl run` is transparent: signals, exit statuses, job control of a terminal, descriptors and
everything else that a process inherits are as without it. Programs built with a sanitizer start, and so do programs for
which the user preloads libraries. Directories that are full or not writable are skipped.

    test/e2e/control/run_transparent.py [--list] [NAME-PART...]
"""
import contextlib
import os
import pty
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, PATIENCE, ROOT, Skipped, Soft, run_tests, tool, wait_for
from probe import NOT_TAKEN

PROBE = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "probe.py")]
# a stop signal discards a pending SIGCONT, and SIGCONT discards pending stop signals
STOPS = {signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT}
EVERY = [n for n in range(1, signal.SIGRTMAX + 1) if n not in NOT_TAKEN]


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def environment(**more):
    env = {k: v for k, v in os.environ.items() if k not in ("SALUS_RUN_DIR", "LD_PRELOAD", "LD_LIBRARY_PATH")}
    return dict(env, SALUS_LIB_DIR=os.path.join(BUILD, "shim"), **more)


@contextlib.contextmanager
def launchers():
    """Yields the words before a command: for an existing daemon, and for a private one. Ends every process that a
    failed test has left."""
    with Soft() as d:
        try:
            yield {"daemon": [tool("salusctl"), "--run-dir", d.run_dir, "run", "-q", "--"],
                   "private": [tool("salusctl"), "run", "-q", "--private", "--"]}
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
            started.clear()


started = []


def start(command, **more):
    more = {"env": environment(), "stdin": subprocess.DEVNULL, **more}
    started.append(subprocess.Popen(command, text=True, stdout=subprocess.PIPE, **more))
    return started[-1]


def pid_of(process):
    word, pid = process.stdout.readline().split()
    equal(word, "pid", "the first word")
    return int(pid)


def taken(process):
    """Returns the number and code of the next signal that the command took."""
    line = process.stdout.readline()
    if not line:
        raise AssertionError(f"the command ended: {process.wait()}")
    return tuple(int(word) for word in line.split())


def finish(process, *want):
    equal(process.communicate(timeout=PATIENCE)[0], "", "what it still says")
    equal(process.returncode, *want or (0,), "status")


# ---- signals -------------------------------------------------------------------------------------

def sent_comes_once(send, numbers):
    """The command gets each signal exactly once that send(pid, number) sends. SIGUSR2 to salusctl alone ends the
    series."""
    with launchers() as ways:
        for name, launcher in ways.items():
            p = start([*launcher, *PROBE, "signals"], process_group=0)
            pid_of(p)
            for number in numbers:
                send(p.pid, number)
                equal(taken(p)[0], number, f"{name}: signal {number} of {p.pid}")
            os.kill(p.pid, signal.SIGUSR2)
            equal(taken(p)[0], signal.SIGUSR2, f"{name}: what comes next")
            finish(p)


def test_every_signal_is_passed_on_once():
    sent_comes_once(os.kill, [n for n in EVERY if n != signal.SIGUSR2])


def test_a_signal_for_the_whole_group_comes_once():
    """A signal for the whole process group, as from a shell's `kill %1` or a notebook's interrupt: the command gets it
    from the sender only."""
    sent_comes_once(os.killpg, [n for n in EVERY if n not in STOPS | {signal.SIGUSR2}])


def test_a_queued_signal_keeps_its_code():
    libc = __import__("ctypes").CDLL(None, use_errno=True)
    with launchers() as ways:
        p = start([*ways["daemon"], *PROBE, "signals"])
        pid_of(p)
        for number in (signal.SIGRTMIN, signal.SIGUSR1):
            equal(libc.sigqueue(p.pid, int(number), None), 0, "sigqueue")
            equal(taken(p), (number, -1), "number and SI_QUEUE")
        os.kill(p.pid, signal.SIGUSR2)
        taken(p)
        finish(p)


def test_exit_statuses_are_the_commands():
    with launchers() as ways:
        for name, launcher in ways.items():
            for status in (0, 1, 2, 3, 6, 37, 124, 126, 127, 128, 137, 139, 255):
                equal(subprocess.run([*launcher, *PROBE, "exit", str(status)], env=environment(), timeout=PATIENCE).returncode, status, name)
            for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT, signal.SIGUSR1, signal.SIGRTMIN):
                equal(subprocess.run([*launcher, *PROBE, "die", str(int(number))], env=environment(), timeout=PATIENCE).returncode,
                      -number, f"{name}: ended by signal {number}")
        shell = subprocess.run(["sh", "-c", '"$@"; echo $?', "sh", *ways["daemon"], *PROBE, "die", "11"],
                               env=environment(), stdout=subprocess.PIPE, text=True)
        equal(shell.stdout.split()[-1], "139", "as a shell says it")


def test_the_caller_ignores_its_children():
    """With SIGCHLD ignored no parent learns of its child's end, unless it resets the signal for itself."""
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    with launchers() as ways:
        for name, launcher in ways.items():
            for status in (0, 37):
                done = subprocess.run([*launcher, *PROBE, "exit", str(status)], env=environment(), preexec_fn=ignore, timeout=PATIENCE)
                equal(done.returncode, status, f"{name}: exit status")
            done = subprocess.run([*launcher, *PROBE, "facts"], preexec_fn=ignore, stdout=subprocess.PIPE, text=True,
                                  env=environment(PROBE_GROUP="0", PROBE_SESSION="0"), timeout=PATIENCE)
            equal(f"ignored [{int(signal.SIGCHLD)}]" in done.stdout, True, f"{name}: the command ignores them:\n{done.stdout}")


def test_who_kills_salusctl_kills_the_command():
    with launchers() as ways:
        for name, launcher in ways.items():
            p = start([*launcher, *PROBE, "stubborn"])
            child = pid_of(p)
            others = [int(pid) for pid in children(p.pid)]
            equal(child in others, True, f"{name}: children {others}")
            p.kill()
            p.wait()
            wait_for(f"{name}: all processes of it are gone", lambda: not any(map(lives, others)))
            p.stdout.close()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return f.read().split()


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


# ---- a terminal ----------------------------------------------------------------------------------

class Terminal:
    """An interactive shell on a terminal of its own."""

    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], dict(environment(), PS1="ready> ", HISTFILE=""))
        self.text = ""
        self.until("ready> ")

    def until(self, pattern):
        """Reads until the output matches this regular expression; returns the output."""
        while not (found := re.search(pattern, self.text)):
            if not select.select([self.fd], [], [], PATIENCE)[0]:
                raise AssertionError(f"the terminal never shows {pattern!r} behind {self.text!r}")
            self.text += os.read(self.fd, 4096).decode(errors="replace")
        before, self.text = self.text[:found.end()], self.text[found.end():]
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def test_job_control_of_a_terminal():
    with launchers() as ways:
        for name, launcher in ways.items():
            t = Terminal()
            t.type(" ".join([*launcher, *PROBE, "signals"]) + "\n")
            t.until(r"pid \d+")
            t.type("\x03")  # the terminal sends the signal to the whole group
            t.until(r"2 128\r\n")
            t.type("\x1c")
            equal("2 128" in t.until(r"3 128\r\n"), False, f"{name}: ^C came again")
            t.type("\x03")
            t.until(r"2 128\r\n")
            os.system(f"kill -USR2 {subprocess.getoutput(f'pgrep -P {t.pid}').split()[0]}")
            t.until("ready> ")
            t.type("echo status=$?\n")
            t.until("status=0\r\n")
            t.until("ready> ")
            # A command with the default action for ^Z: the shell must see its job as stopped, and continue it.
            t.type(" ".join([*launcher, "sh", "-c", "'echo be''gun; read x; echo got $x; exit 5'"]) + "\n")
            t.until("begun\r\n")
            t.type("\x1a")
            t.until("Stopped")
            t.until("ready> ")
            t.type("fg\n")
            t.until("salusctl")
            t.type("word\n")
            t.until("got word")
            t.until("ready> ")
            t.type("echo status=$?\n")
            t.until("status=5\r\n")
            t.close()


def is_pending(pid, number=signal.SIGCHLD):
    """Returns True while the process has been sent the signal and has not taken it."""
    with open(f"/proc/{pid}/status") as f:
        masks = [line.split()[1] for line in f if line.startswith(("SigPnd", "ShdPnd"))]
    return any(int(mask, 16) >> (number - 1) & 1 for mask in masks)


def test_a_stop_and_a_continuation_for_salusctl_alone():
    with launchers() as ways:
        for name, launcher in ways.items():
            p = start([*launcher, "sh", "-c", "echo pid $$; while :; do sleep 0.05; done"], process_group=0)
            child = pid_of(p)

            def state(pid):
                with open(f"/proc/{pid}/stat") as f:
                    return f.read().rsplit(")", 1)[1].split()[0]

            os.kill(p.pid, signal.SIGTSTP)
            wait_for(f"{name}: both stand", lambda: (state(child), state(p.pid)) == ("T", "T"))
            os.kill(p.pid, signal.SIGCONT)
            wait_for(f"{name}: both go on", lambda: "T" not in (state(child), state(p.pid)))
            for _ in range(20):  # stopped and continued by another process that does not know of salusctl
                os.kill(child, signal.SIGSTOP)
                wait_for(f"{name}: salusctl has heard", lambda: state(child) == "T" and not is_pending(p.pid))
                os.kill(child, signal.SIGCONT)
            os.kill(p.pid, signal.SIGTERM)
            finish(p, -signal.SIGTERM)


# ---- inheritance ---------------------------------------------------------------------------------

def test_a_command_inherits_what_its_caller_has():
    def prepare():
        os.setpgid(0, 0)
        os.umask(0o027)
        os.nice(3)
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(1, 17)
        signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD])
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.environ["PROBE_GROUP"] = str(os.getpgrp())

    def facts(launcher):
        # The group exists only after the start, so a shell passes it on.
        command = ["sh", "-c", 'PROBE_GROUP=$$; PROBE_SESSION=$(ps -o sid= -p $$); export PROBE_GROUP PROBE_SESSION; exec "$@"',
                   "sh", *launcher, *PROBE, "facts"]
        done = subprocess.run(command, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                              preexec_fn=prepare, close_fds=False, timeout=PATIENCE)
        equal(done.returncode, 0, done.stdout)
        return done.stdout

    with launchers() as ways:
        direct = facts([])
        equal("group True session True" in direct, True, direct)
        for name, launcher in ways.items():
            equal(facts(launcher), direct, name)


def test_a_pipe_ends_when_the_command_closes_it():
    """The pipe ends although neither salusctl nor its private daemon has ended."""
    with launchers() as ways:
        for name, launcher in ways.items():
            reader, writer = os.pipe()
            p = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{reader} {reader}<&- {writer}>&-', "sh", *launcher, *PROBE, "eof"],
                                 env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, pass_fds=(reader, writer))
            os.close(reader)
            equal(select.select([p.stdout], [], [], PATIENCE)[0], [p.stdout], f"{name}: standard output has ended")
            equal(p.stdout.read(1), b"", f"{name}: standard output")
            equal(p.poll(), None, f"{name}: it runs")
            try:
                os.set_blocking(p.stdin.fileno(), False)
                for _ in range(100):
                    os.write(p.stdin.fileno(), b"x" * 65536)
                raise AssertionError(f"{name}: standard input has a reader")
            except BrokenPipeError:
                pass
            os.write(writer, b"x")
            os.close(writer)
            equal(p.wait(PATIENCE), 0, name)
            p.stdout.close()
            with contextlib.suppress(BrokenPipeError):
                p.stdin.close()


# ---- sanitizers, and preloaded libraries of the user -------------------------------------------

SANITIZED = 7  # exit status of sanitized.c


def build_sanitized(folder, compiler, *flags):
    toolkit = subprocess.run([os.path.join(ROOT, "scripts", "find-nvcc"), "--home"], text=True, check=True, stdout=subprocess.PIPE).stdout.strip()
    program = os.path.join(folder, "-".join([compiler, *flags]).replace("=", "-"))
    subprocess.run([compiler, "-g", "-O1", *flags, "-isystem", os.path.join(toolkit, "include"), "-o", program,
                    os.path.join(ROOT, "test", "e2e", "clients", "sanitized.c"), "-ldl"], check=True)
    return program


def expect_sanitized(command, what, **env):
    done = subprocess.run(command, env=environment(**env), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
    equal((done.returncode, done.stdout), (SANITIZED, ""), what)


def sanitized_run(compiler, *sanitizers):
    """Runs several times, since addresses are random in each run."""
    with tempfile.TemporaryDirectory() as folder, launchers() as ways:
        for sanitizer in sanitizers:
            program = build_sanitized(folder, compiler, "-fsanitize=" + sanitizer)
            for name, launcher in ways.items():
                for i in range(4 if name == "daemon" else 1):
                    expect_sanitized([*launcher, program], f"{compiler}, {sanitizer}, {name}, run {i}")


def test_programs_with_a_sanitizer_of_gcc():
    sanitized_run("gcc", "address", "thread", "undefined", "leak")


def test_programs_with_a_sanitizer_of_clang():
    if not shutil.which("clang"):
        raise Skipped("there is no clang")
    sanitized_run("clang", "address", "thread", "memory", "undefined")


def test_two_programs_with_a_sanitizer_at_a_time():
    """Sanitizer programs can use only a small address range, and each of the two must get its own part of it."""
    with tempfile.TemporaryDirectory() as folder, launchers() as ways:
        program = build_sanitized(folder, "gcc", "-fsanitize=thread")
        both = [start([*ways["daemon"], program, "wait"], stderr=subprocess.STDOUT, stdin=subprocess.PIPE) for _ in range(2)]
        for p in both:
            equal(p.stdout.readline(), "ready\n", "output")
        for p in both:
            finish(p, SANITIZED)


def test_a_program_with_asan_is_not_the_command_itself():
    """The sanitizer program is a child of a script, which may set the sanitizer's options itself."""
    with tempfile.TemporaryDirectory() as folder, launchers() as ways:
        program = build_sanitized(folder, "gcc", "-fsanitize=address")
        for name, launcher in ways.items():
            expect_sanitized([*launcher, "sh", "-c", f"{program}; exit $?"], name)
            expect_sanitized([*launcher, "env", "-u", "LD_PRELOAD", "-u", "ASAN_OPTIONS", program], f"{name}, without what run sets")
            expect_sanitized([*launcher, program], f"{name}, with options", ASAN_OPTIONS="halt_on_error=1:detect_leaks=0")


def test_options_of_a_sanitizer_are_kept():
    with launchers() as ways:
        def seen(options, **env):
            done = subprocess.run([*ways["daemon"], "sh", "-c", "echo $ASAN_OPTIONS"], env=environment(ASAN_OPTIONS=options, **env),
                                  stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
            return done.stdout.strip()

        equal(seen("detect_leaks=0"), "detect_leaks=0:verify_asan_link_order=0", "beside the user's")
        equal(seen("verify_asan_link_order=1"), "verify_asan_link_order=1", "the user's own")


PRELOADED = """
#include <dlfcn.h>
#include <stdio.h>
int cuInit(unsigned flags) {
    int (*next)(unsigned) = (int (*)(unsigned))dlsym(RTLD_NEXT, "cuInit");
    printf("a tool's cuInit\\n");
    return next ? next(flags) : 999;
}
"""
INITIALISES = "import ctypes; print(ctypes.CDLL(None).cuInit(0), flush=True)"


def test_libraries_that_the_user_preloads_come_first():
    """A preloaded tool that wraps a driver function is called first, and finds our function behind its own."""
    with tempfile.TemporaryDirectory() as folder, launchers() as ways:
        with open(os.path.join(folder, "tool.c"), "w") as f:
            f.write(PRELOADED)
        tools = os.path.join(folder, "libtool.so")
        subprocess.run(["gcc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", tools, os.path.join(folder, "tool.c"), "-ldl"], check=True)
        for name, launcher in ways.items():
            done = subprocess.run([*launcher, sys.executable, "-c", INITIALISES], env=environment(LD_PRELOAD=tools), stdout=subprocess.PIPE,
                                  text=True, timeout=PATIENCE)
            equal(sorted(done.stdout.split("\n")), ["", "0", "a tool's cuInit"], name)


def test_the_runtime_of_asan_preloaded_for_an_interpreter():
    """An interpreter with libasan preloaded, as an extension built with ASan needs."""
    asan = subprocess.run(["gcc", "-print-file-name=libasan.so"], text=True, stdout=subprocess.PIPE).stdout.strip()
    with launchers() as ways:
        for name, launcher in ways.items():
            done = subprocess.run([*launcher, sys.executable, "-c", INITIALISES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=PATIENCE,
                                  env=environment(LD_PRELOAD=os.path.realpath(asan), ASAN_OPTIONS="detect_leaks=0:verify_asan_link_order=1"))
            equal((done.stdout, done.returncode), ("0\n", 0), f"{name}: {done.stderr}")


# ---- directories that are not writable -----------------------------------------------------------

def in_namespace(script, **env):
    """Runs a shell script with private mounts."""
    command = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-m"]
    if subprocess.run([*command, "mount", "-t", "tmpfs", "none", "/mnt"], stderr=subprocess.DEVNULL).returncode:
        raise Skipped("nothing can be mounted here")
    return subprocess.run([*command, "sh", "-ec", script], env=environment(**env), text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE)


FULL = "mount -t tmpfs -o size=64k none {0}; ! cat /dev/zero 2>/dev/null >{0}/zeros; "
READ_ONLY = "mount -t tmpfs -o ro none {0}; "
RUN_PRIVATE = f"{tool('salusctl')} run -q --private -- "


def test_full_and_read_only_directories_are_passed_over():
    with tempfile.TemporaryDirectory(dir=BUILD) as folder, tempfile.TemporaryDirectory() as small:
        program = build_sanitized(folder, "gcc")
        for mounts, env, want in (
                (FULL.format("/tmp"), {}, "/dev/shm/salus-"),
                (READ_ONLY.format("/tmp"), {}, "/dev/shm/salus-"),
                (READ_ONLY.format(small), {"TMPDIR": small}, "/tmp/salus-"),
                (FULL.format(small), {"XDG_RUNTIME_DIR": small}, "/tmp/salus-"),
                ("mount -t tmpfs none /mnt; " + FULL.format("/tmp"), {"TMPDIR": "/mnt"}, "/mnt/salus-")):
            done = in_namespace(mounts + RUN_PRIVATE + f"sh -c 'echo $SALUS_RUN_DIR; exec {program}'", **{"XDG_RUNTIME_DIR": "", **env})
            equal((done.returncode, done.stdout.startswith(want), done.stderr), (SANITIZED, True, ""), f"{mounts}{env}: {done.stdout}{done.stderr}")


def test_where_no_directory_can_be_written_each_is_named():
    with tempfile.TemporaryDirectory() as small:
        mounts = READ_ONLY.format("/dev/shm") + FULL.format(small) + f"mount --bind {small} /tmp; "
        env = {"XDG_RUNTIME_DIR": "", "TMPDIR": "/nonexistent"}
        done = in_namespace(mounts + RUN_PRIVATE + "true", **env)
        equal((done.returncode, done.stderr),
              (1, "salusctl: no directory can hold a private salusd: XDG_RUNTIME_DIR is not set; TMPDIR=/nonexistent: No such file or directory; "
               "/tmp: No space left on device; /dev/shm: Read-only file system; set TMPDIR to a directory that you can write to\n"), "what is said")
        done = in_namespace(mounts + f"{tool('salusctl')} doctor --private true", **env)
        equal((done.returncode, "/tmp: No space left on device" in done.stderr), (1, True), done.stderr)


def test_doctor_keeps_its_notes_where_there_is_room():
    with tempfile.TemporaryDirectory() as small:
        done = in_namespace(FULL.format(small) + f"{tool('salusctl')} doctor --private true", TMPDIR=small)
        equal(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
