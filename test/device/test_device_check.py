# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/device-check in its reduced form, with the software GPU as the driver and Salus nested on it.
Every probe gives its known answer, every program computes the same in every way, and a probe's failure is always
reported and never stops the others.

    BUILD=build test/device/test_device_check.py [unittest's arguments]
"""
import contextlib
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import xml.dom.minidom

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
sys.dont_write_bytecode = True
from device_check import figures, pack, picture, probes, processes, randoms, suites, ways
from device_check.report import Report

DEVICE_CHECK = os.path.join(ROOT, "scripts", "device-check")
BUILD = os.environ.get("BUILD", "build")
PATIENCE = float(os.environ.get("SALUS_TEST_PATIENCE", "600"))

# The answers of the software GPU and our libcuda.so.1. A change of one must show here.
KNOWN = {
    "sandbox": r"^(\d+) of \1 work|^\d+ of \d+ work; not:(?!.*needed)",
    "device_facts": r"^Salus software GPU, ",
    "exported_memory": r"^(kept in all|lost after:)",  # memory without an owner is freed, see ADR 0014
    "map_cost": r"^mapped again in ",
    "reserved_addresses": r" of 6 as asked for",
    "blocking": r"^(none waits|these wait:(?!.*(cuMemMap|cuMemUnmap|cuMemSetAccess|cuMemCreate|cuMemRelease|cuModuleLoadData"
                r"|cuStreamCreate|cuEventCreate|cuDeviceGet|cuMemsetD32Async|cuMemAlloc ))) ?",
    "completion": r"^soonest by \w+",
    "host_register": r"^registered in ",
    "module_variables": r"^\d of 6 at equal addresses",
    "context_cost": r" ms from dlopen",
    "after_fault": r"^the fault is CUDA_ERROR_ILLEGAL_ADDRESS",
    "green_contexts": r"^\d shares made, .* variables of the primary context are the same$",
    "launch_threads": r" ns a launch by one thread",
    "private_tables": r"6 of 6 questions answered$",
    "kernel_printf": r"^stream_synchronize: yes; context_synchronize: yes",
    "priorities": r"^\d levels; ",
    "child_grids": r"tail 20; too many: 69 in the kernel, 0 at the host$",
    "shfl_absent": r"^as on the software GPU: 0$",
    "vector_tearing": r"^no load was torn$",
    "handles": r"^16 chunks and no end, 16 streams, 16 events$",
    "endless": r"^it ends; ",
}
NEED_NVCC = ("child_grids", "shfl_absent", "vector_tearing")


def script(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, stat.S_IRWXU)
    return path


def answer(ok="true", text="yes", figures_="{}"):
    return f"""echo '{{"probe": "p", "question": "q", "answer": "{text}", "figures": {figures_}, "ok": {ok}}}'\n"""


class FakeWay:
    name = "fake"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def environment(self, **_):
        return dict(os.environ)


class FakeCheck:
    """The parts of a Check that the tests need, with its own probes and without a device."""

    def __init__(self, folder, seconds=60.0):
        self.folder, self.report, self.most = folder, Report(os.path.join(folder, "out"), {"counts": False}), seconds
        self.reduced = True

    def probe(self, name):
        return os.path.join(self.folder, "probes", name)

    def native(self):
        return FakeWay()

    def environment(self, env):
        return env

    def seconds(self, most):
        return min(most, self.most)


def quietly(function, *args):
    """Returns its value, and what it printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        found = function(*args)
    return found, out.getvalue()


class Verdicts(unittest.TestCase):
    """A probe that does not answer is reported with its kind of failure."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def ask(self, text, seconds=20.0):
        return processes.ask([script(self.folder, "p", text)], dict(os.environ), seconds)

    def test_an_answer(self):
        found = self.ask("echo chatter\n" + answer(figures_='{"a": {"value": 2, "unit": "ns"}}'))
        self.assertEqual((found["how"], found["answer"], processes.value(found, "a")), ("answered", "yes", 2))

    def test_no(self):
        self.assertEqual(self.ask(answer(ok="false", text="failed: x") + "exit 1")["how"], "failed")
        self.assertEqual(self.ask(answer(ok="false", text="cannot be asked: x") + "exit 1")["how"], "refused")

    def test_a_crash_keeps_what_was_said(self):
        found = self.ask("echo 'figure a 3 ns' >&2\necho 'fact b some words' >&2\nkill -SEGV $$\n")
        self.assertEqual((found["how"], found["answer"]), ("crashed", "died of SIGSEGV"))
        self.assertEqual(found["figures"], {"a": {"value": 3, "unit": "ns"}, "b": "some words"})

    def test_a_crash_behind_an_answer_is_a_crash(self):
        self.assertEqual(self.ask(answer() + "kill -ABRT $$\n")["how"], "crashed")

    def test_a_hang_ends_with_all_that_it_started(self):
        mark = os.path.join(self.folder, "pid")
        begin = time.monotonic()
        found = self.ask(f"echo 'figure a 3 ns' >&2\nsleep 1000 & echo $! > {mark}\nwait\n", seconds=1.0)
        self.assertEqual((found["how"], processes.value(found, "a")), ("hangs", 3))
        self.assertLess(time.monotonic() - begin, PATIENCE)
        with open(mark, encoding="utf-8") as f:
            pid = int(f.read())
        end = time.monotonic() + PATIENCE
        while self.runs(pid):
            self.assertLess(time.monotonic(), end, f"{pid} is still there")
            time.sleep(0.01)

    @staticmethod
    def runs(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                return "Z" not in f.read().split()[2]
        except (FileNotFoundError, ProcessLookupError):
            return False

    def test_garbage(self):
        whole = answer()
        for text in ("echo nonsense\n", "true\n", "echo '{\"probe\": '\n", whole + whole, answer(figures_="3"),
                     answer(ok='"yes"'), "echo '{\"probe\": \"p\"}'\n", "head -c 100000 /dev/urandom\n", "exit 3\n"):
            self.assertEqual(self.ask(text)["how"], "garbage", text)

    def test_a_program_that_is_not_there(self):
        self.assertEqual(processes.ask([os.path.join(self.folder, "none")], {}, 5)["how"], "missing")

    def test_one_that_misbehaves_does_not_stop_the_rest(self):
        os.mkdir(os.path.join(self.folder, "probes"))
        for name, text in {"device_facts": answer(), "map_cost": "kill -SEGV $$\n", "blocking": "sleep 1000\n",
                           "completion": "echo ?\n", "endless": answer(text="last")}.items():
            script(os.path.join(self.folder, "probes"), name, text)
        check = FakeCheck(self.folder, seconds=1.0)
        quietly(probes.part, check, check.report.part("probes"))
        with open(os.path.join(self.folder, "out", "device-check.json"), encoding="utf-8") as f:
            found = json.load(f)["parts"]["probes"]["found"]
        self.assertEqual({n: found[n]["how"] for n in ("device_facts", "map_cost", "blocking", "completion", "endless")},
                         {"device_facts": "answered", "map_cost": "crashed", "blocking": "hangs",
                          "completion": "garbage", "endless": "answered"})
        self.assertEqual(found["sandbox"]["how"], "missing")

    def test_a_device_that_is_gone_ends_the_probes(self):
        os.mkdir(os.path.join(self.folder, "probes"))
        state = os.path.join(self.folder, "gone")
        facts = f"[ -e {state} ] && sleep 1000\n" + answer()
        for name, text in {"device_facts": facts, "map_cost": f"touch {state}\nkill -SEGV $$\n",
                           "endless": answer()}.items():
            script(os.path.join(self.folder, "probes"), name, text)
        check = FakeCheck(self.folder, seconds=1.0)
        part = check.report.part("probes")
        quietly(probes.part, check, part)
        self.assertNotIn("endless", part.data["found"])
        self.assertEqual(part.data["rows"][-1]["what"], "the device answers no more")


class Judgement(unittest.TestCase):
    def check(self):
        from device_check.check import Check
        check = Check.__new__(Check)
        check.sums, check.differ = {}, []
        return check

    def result(self, checksum):
        return {"how": "answered", "answer": "", "figures": {"checksum": checksum}}

    def test_another_checksum_is_noticed(self):
        check = self.check()
        for sums in ("aa", "aa"):
            check.judge(FakeWay(), "copy", (1, 2), self.result(sums))
        self.assertEqual(check.differ, [])
        check.judge(FakeWay(), "copy", (1, 3), self.result("bb"))  # other arguments
        self.assertEqual(check.differ, [])
        check.judge(FakeWay(), "copy", (1, 2), self.result("ab"))
        self.assertEqual(len(check.differ), 1)

    def test_goals(self):
        report = Report(None, {"counts": True})
        part = report.part("overhead")
        part.row("compute: time against native", 1.005)
        part.row("compute: time against native", 1.02)
        part.row("lane switch", None, "us")
        part.row("something without a goal", 5.0)
        self.assertEqual([r.get("met") for _, r in report.rows()], [True, False, None, None])
        self.assertIn("MISSED", report.table())

    def test_no_goal_is_met_where_figures_mean_nothing(self):
        report = Report(None, {"counts": False})
        report.part("overhead").row("compute: time against native", 1.0)
        self.assertIsNone(report.rows()[0][1]["met"])

    def test_outcomes_of_a_suite(self):
        lines = ["ok   test_a (1.2 s)", "FAIL test_b", "Traceback", "SKIPPED test_c: why", "ok then", "failed: test_b"]
        self.assertEqual(suites.outcomes(lines), {"test_a": "ok", "test_b": "failed", "test_c": "skipped"})

    def test_ratios_are_of_the_least(self):
        runs = {"a": [{"figures": {"t": {"value": v}}} for v in (9.0, 2.0)],
                "b": [{"figures": {"t": {"value": v}}} for v in (4.0, 8.0)], "c": []}
        report = Report(None, {"counts": True})
        part = report.part("x")
        figures.ratio(part, "r", runs, ("a", "b"), "t")
        figures.ratio(part, "none", runs, ("a", "c"), "t")
        self.assertEqual([r["value"] for _, r in report.rows()], [0.5, None])
        self.assertEqual(report.rows()[0][1]["spread"], [0.25, 2.25])

    def test_gaps_between_iterations(self):
        same, other = figures.gaps([(0, 1000), (3000, 4000), (4500, 5000)], [(6000, 9000), (8000, 9500)])
        self.assertEqual((same, other), ([2.0, 0.5], [1.0]))

    def test_a_picture_is_a_picture(self):
        report = Report(None, {"counts": True, "gpu": {"name": "a <b> & c"}})
        part = report.part("x")
        part.row("compute: time against native", 1.5, note="<&>")
        part.row("p99, slack & more", 120.0, "us")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.svg")
            picture.draw(report, path)
            shown = xml.dom.minidom.parse(path)
        self.assertEqual(len(shown.getElementsByTagName("rect")), 3)

    def test_mps_is_started_and_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            script(folder, "nvidia-cuda-mps-control", f"echo \"$1\" >> {log}\n[ $# = 0 ] && cat >> {log}\nexit 0\n")
            path = os.environ["PATH"]
            try:
                os.environ["PATH"] = folder + ":" + path
                with ways.Mps() as mps:
                    inside = mps.environment()["CUDA_MPS_PIPE_DIRECTORY"]
                    self.assertTrue(os.path.isdir(inside))
                with open(log, encoding="utf-8") as f:
                    self.assertEqual(f.read().split(), ["-d", "quit"])
                self.assertFalse(os.path.exists(inside))
                script(folder, "nvidia-cuda-mps-control", "echo cannot; exit 1\n")
                with self.assertRaisesRegex(ways.NotHere, "cannot"):
                    ways.Mps().__enter__()
                os.environ["PATH"] = "/nonexistent"
                with self.assertRaises(ways.NotHere):
                    ways.Mps().__enter__()
            finally:
                os.environ["PATH"] = path


def unexpected(found):
    """{probe: answer} of those probes whose answer differs from the known one."""
    return {name: f"{found[name]['how']}: {found[name]['answer']}" for name, want in KNOWN.items()
            if not (name in NEED_NVCC and found[name]["how"] == "missing")
            and (found[name]["how"] != "answered" or not re.search(want, found[name]["answer"])
                 or not found[name]["figures"])}


def run(*args, cwd=ROOT, env=None, seconds=PATIENCE):
    return subprocess.run([sys.executable, os.path.join(cwd, "scripts", "device-check"), *args], cwd=cwd, text=True,
                          env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=seconds, check=False)


def load(folder):
    with open(os.path.join(folder, "device-check.json"), encoding="utf-8") as f:
        return json.load(f)


class Randoms(unittest.TestCase):
    def told(self, found, may):
        report = Report(None, {"counts": False})
        randoms.told(report.part("random"), "x", found, may)
        return {row["what"]: row for _, row in report.rows()}

    def test_known_ones_are_kernels_that_there_are(self):
        there = {(os.path.basename(e).split(".")[0], k) for e, _ in randoms.programs() for k in randoms.names(e)}
        self.assertEqual(len(there), 293)
        self.assertLess(set(randoms.known()), there)

    def test_what_a_program_says(self):
        found = randoms.Found()
        self.assertIsNone(found.take("7", "e", ["differs: seed 7 kernel k03 gives 00000000000000aa", "i: 40 kernels, 1 differ"], 1))
        self.assertEqual((found.differ, found.ran), ({("7", "k03"): "00000000000000aa"}, 40))
        self.assertEqual(found.take("8", "e", ["differs: k05 gives CUDA error 719", "stopped: k05"], 3), "k05")
        self.assertIn("719", found.differ["8", "k05"])
        self.assertIsNone(found.take("9", "e", ["differs: cuInit gives CUDA error 100"], 1))
        self.assertIn("100", found.differ["9", "all"])

    def test_only_what_is_known_may_differ(self):
        found, may = randoms.Found(), {("7", "k03"): "sums in another order"}
        found.ran, found.differ = 40, {("7", "k03"): "aa"}
        rows = self.told(found, may)
        self.assertEqual((rows["x: failed"]["value"], rows["x: differ as is known of hardware"]["value"]), (0, 1))
        found.differ["7", "k04"] = "bb"
        rows = self.told(found, may)
        self.assertEqual((rows["x: failed"]["value"], rows["x: failed"]["note"]), (1, "7 k04"))

    def test_another_result_is_noticed(self):
        """A program of which two results differ; the run continues after a kernel that cannot be launched."""
        with ways.StandIn() as way, tempfile.TemporaryDirectory() as folder:
            expected, image = randoms.programs()[0]
            with open(expected, encoding="utf-8") as f:
                lines = f.read().split("\n")
            for n, kernel in ((4, "k03"), (8, "k07")):
                words = lines[n].split()
                self.assertEqual(words[0], kernel)
                lines[n] = " ".join(words[:-1] + ["1"])
            words = lines[6].split()
            lines[6] = " ".join(words[:5] + ["5000"] + words[6:])  # threads of k05
            other = os.path.join(folder, os.path.basename(expected))
            with open(other, "w", encoding="utf-8") as f:
                f.write("\n".join(lines))
            found, check = randoms.Found(), FakeCheck(folder)
            randoms.run(check, way, other, image, found)
            seed = os.path.basename(expected).split(".")[0]
            self.assertEqual(set(found.differ), {(seed, "k03"), (seed, "k05"), (seed, "k07")})
            self.assertEqual(found.ran, 40)


class Reduced(unittest.TestCase):
    """Runs everything once."""

    @classmethod
    def setUpClass(cls):
        cls.out = tempfile.TemporaryDirectory()
        cls.done = run("--reduced", "--no-build", "--minutes", "20", "--out", cls.out.name)
        cls.found = load(cls.out.name)

    @classmethod
    def tearDownClass(cls):
        cls.out.cleanup()

    def rows(self, part):
        return {r["what"]: r for r in self.found["parts"][part]["rows"]}

    def test_it_ends_well(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout[-6000:])
        self.assertTrue(self.found["complete"])
        self.assertEqual({p: d["state"] for p, d in self.found["parts"].items() if d["state"] != "done"}, {})

    def test_programs_hold_on_the_driver_alone(self):
        rows = self.rows("natives")
        self.assertGreater(rows["programs on the driver alone: passed"]["value"], 5)
        self.assertEqual(rows["programs on the driver alone: failed"]["value"], 0, self.found["parts"]["natives"]["found"])

    def test_probes_answer_what_is_known(self):
        found = self.found["parts"]["probes"]["found"]
        other = unexpected(found)
        if "blocking" in other:  # a machine without a free processor seems to wait: tries again, with a longer limit
            with ways.StandIn() as way:
                found["blocking"] = processes.ask([os.path.join(ROOT, BUILD, "device", "blocking")], dict(
                    way.environment(), PROBE_SMALL="1", PROBE_PATIENCE_MS="20000"), PATIENCE)
            other = unexpected(found)
        self.assertEqual(other, {})
        self.assertEqual(set(found) - {"machine", "describe"}, set(KNOWN), "a probe without a known answer")
        self.assertEqual(found["describe"].get("name"), "Salus software GPU", found["describe"])

    def test_another_answer_is_noticed(self):
        """For each probe, a wrong answer in place of its own."""
        for name, wrong in {"shfl_absent": "4 of 32 lanes differ from the software GPU", "endless": "it does not end; x",
                            "vector_tearing": "3 loads were torn", "kernel_printf": "stream_synchronize: no; x",
                            "blocking": "these wait: cuMemFree cuMemMap", "handles": "15 chunks, 16 streams, 16 events",
                            "private_tables": "9 of 11 tables, 5 of 6 questions answered",
                            "sandbox": "19 of 20 work; not: eventfd_epoll (needed)",
                            "after_fault": "a store to address 16 was no error",
                            "green_contexts": "2 shares made, 2 held to; functions and variables of the primary context are "
                                              "not the same"}.items():
            found = dict(self.found["parts"]["probes"]["found"])
            found[name] = dict(found[name], how="answered", answer=wrong)
            self.assertEqual(list(unexpected(found)), [name])
        found["device_facts"] = dict(found["device_facts"], how="crashed")
        self.assertIn("device_facts", unexpected(found))

    def test_each_probe_is_described(self):
        with open(os.path.join(ROOT, "scripts/device-probes/README.md"), encoding="utf-8") as f:
            described = set(re.findall(r"^\| `(\w+)(?:\.cu)?` \|", f.read(), re.M))
        self.assertEqual(described, set(KNOWN))

    def test_figures_there_are(self):
        whole = self.rows("whole")
        self.assertGreaterEqual(whole["checksums compared"]["value"], 7)
        self.assertEqual(whole["checksums that differ"]["value"], 0)
        for part, what in (("overhead", "compute: time against native"),
                           ("overhead", "launch-bound: time a launch against native"),
                           ("overhead", "copy, pinned: time against native"),
                           ("overhead", "copy, pageable: time against native"),
                           ("colocation", "p99, time-sliced"), ("colocation", "p99, slack"), ("colocation", "p99, orion"),
                           ("colocation", "p99, fair"), ("colocation", "p99, fifo"),
                           ("colocation", "p99 beside training under slack, of alone"),
                           ("packing", "two trainings, pack: of one alone"),
                           ("packing", "two trainings, time-sliced: of one alone"),
                           ("faults", "illegal address beside two trainings, native: go on"),
                           ("switch", "lane switch"), ("faults", "worker killed: jobs served again"),
                           ("e2e", "end to end: passed"), ("random", "random programs, native: kernels"),
                           ("random", "random programs under Salus: kernels")):
            with self.subTest(what):
                self.assertIsNotNone(self.rows(part)[what]["value"], self.rows(part)[what])

    def test_salus_is_on_the_real_drivers_device(self):
        self.assertEqual(self.found["about"]["salus_device"], "cuda")

    def test_bystanders_go_on(self):
        """The rows of the real driver's device lose their context, and go back to savepoints."""
        rows = self.rows("faults")
        for way in ("native", "salus"):
            row = rows[f"illegal address beside two trainings, {way}: go on"]
            self.assertEqual(row["value"], 2, row)
            self.assertTrue(row["note"].endswith("at their ends: answered, answered"), row)

    def test_table_and_picture(self):
        with open(os.path.join(self.out.name, "table.txt"), encoding="utf-8") as f:
            self.assertIn("lane switch", f.read())
        xml.dom.minidom.parse(os.path.join(self.out.name, "picture.svg"))


class Ended(unittest.TestCase):
    """When killed or out of time, the check keeps its results so far."""

    def test_killed(self):
        for how in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(how), tempfile.TemporaryDirectory() as out, \
                    tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as run_dirs:  # processes that cannot remove their own directory
                p = subprocess.Popen([DEVICE_CHECK, "--reduced", "--no-build", "--only", "probes", "--out", out],
                                     start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=run_dirs))
                self.wait_for(lambda: os.path.exists(os.path.join(out, "device-check.json"))
                              and len(load(out)["parts"].get("probes", {}).get("found", {})) > 3)
                (p.send_signal if how == signal.SIGTERM else lambda s: os.killpg(p.pid, s))(how)
                self.assertEqual(p.wait(PATIENCE), 143 if how == signal.SIGTERM else -9)
                found = load(out)
                self.assertFalse(found["complete"])
                self.assertEqual(found["parts"]["probes"]["found"]["sandbox"]["how"], "answered")

    def wait_for(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_out_of_time(self):
        with tempfile.TemporaryDirectory() as out:
            done = run("--reduced", "--no-build", "--only", "switch,packing", "--minutes", "0.02", "--out", out)
            self.assertEqual(done.returncode, 0, done.stdout)
            found = load(out)
        self.assertTrue(found["complete"])
        self.assertEqual({p: d["state"] for p, d in found["parts"].items()},
                         {"switch": "out of time", "packing": "out of time", "whole": "done"})

    def test_parts_that_there_are_not(self):
        done = run("--only", "nonsense")
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown part 'nonsense'", done.stdout)


class Packed(unittest.TestCase):
    """The package is small enough, and runs where it is unpacked, without anything of this tree."""

    def test_it_travels(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.tar")
            status, said = quietly(pack.write, path)
            self.assertEqual(status, 0, said)
            self.assertLess(os.path.getsize(path), pack.LIMIT)
            with tarfile.open(path) as tar:
                self.assertLess(sum(m.size for m in tar), pack.LIMIT)
                tar.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(folder)
            tree, out = os.path.join(folder, pack.NAME), os.path.join(folder, "out")
            env = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"}
            done = run("--reduced", "--only", "random,overhead", "--minutes", "20", "--out", out, cwd=tree, env=env)
            self.assertEqual(done.returncode, 0, done.stdout)
            found = load(out)
            rows = {r["what"]: r["value"] for r in found["parts"]["overhead"]["rows"]}
            self.assertIsNotNone(rows["compute: time against native"])
            self.assertEqual([d["state"] for d in found["parts"].values()], ["done", "done", "done"])
            # The libraries are those of the package.
            self.assertTrue([n for n in os.listdir(os.path.join(tree, "lib")) if n.startswith("libuv")])

    def test_what_does_not_fit_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path, built = os.path.join(folder, "p.tar"), pack.BUILT
            try:
                pack.BUILT = ["salusctl"]  # one program is enough
                status, said = quietly(lambda: pack.write(path, limit=1 << 16))
            finally:
                pack.BUILT = built
            self.assertEqual(status, 1)
            self.assertIn("MiB do not travel: ", said)
            self.assertFalse(os.path.exists(path))


if __name__ == "__main__":
    unittest.main()
