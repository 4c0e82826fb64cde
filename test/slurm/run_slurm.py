#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests Salus on Slurm: clusters of two nodes on this machine, each with its own salusd on software GPUs, and real
programs in sbatch jobs.

    test/slurm/run_slurm.py [--list] [NAME-PART...]
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import ENDED, PLACER, SHORT, Cluster, free_ports, processes_with

from harness import BUILD, CHECKSUM, ROOT, Skipped, program, run_tests, tool, wait_for
from run_gpus import contains, equal, script

TRAIN = f"exec {program('train')} 30"


def checksum(c, job):
    found = CHECKSUM.search(c.output(job))
    if not found:
        raise AssertionError(f"job {job} printed no checksum:\n{c.output(job)}\n{c.show(job)}")
    return found.group(2)


def test_a_job_runs_in_a_lane_of_its_node():
    with Cluster() as c:
        first = c.sbatch(TRAIN, "--gres=salus:1", "--salus-class=be", "--salus-mem=64MiB", "-w", "n2")
        equal(c.ended(first)["JobState"], "COMPLETED", f"the job, which said {c.output(first)}")
        equal([n.name for n in c.nodes if n.history()], ["n2"], "nodes whose salusd had a job")
        had = c.nodes[1].history()[0]
        equal((had["name"], had["how"]), (f"slurm-{first}", "done"), "the job there")
        second = c.sbatch(TRAIN, "--gres=salus:1", "-w", "n1")
        c.ended(second)
        equal(checksum(c, first), checksum(c, second), "results on two nodes")


ASK = ("--gres=salus:1", "--salus-mem=64MiB")


def once(c, number, pause=0):
    """Returns a job's script that writes a line when it begins and one when it ends, each time that the job runs."""
    return f"echo {number} begins >>{c.dir}/lines; sleep {pause}; {program('train')} 30 && echo {number} ends >>{c.dir}/lines"


def lines(c, word):
    try:
        return sorted(int(line.split()[0]) for line in c.read("lines").splitlines() if line.endswith(word))
    except FileNotFoundError:
        return []


def states(c, jobs):
    return [c.show(j)["JobState"] for j in jobs]


def test_the_placer_puts_jobs_where_they_hurt_least():
    """Two jobs that each fill a GPU go to two nodes, unlike Slurm's own choice; the third goes beside the smaller
    one."""
    with Cluster(wait=300) as c:
        c.report()
        c.start_placer()
        jobs = [c.sbatch("sleep 60", *ASK, "--salus-util=90%"), c.sbatch("sleep 60", *ASK, "--salus-util=20%")]
        wait_for("both run", lambda: states(c, jobs) == ["RUNNING"] * 2, SHORT)
        first, second = (c.show(j)["NodeList"] for j in jobs)
        equal({first, second}, {"n1", "n2"}, "nodes of two jobs")
        third = c.sbatch(TRAIN, *ASK, "--salus-util=30%")
        equal(c.ended(third)["NodeList"], second, "node of the third")
        checksum(c, third)


def test_the_job_gets_the_gpu_that_was_chosen():
    with Cluster(nodes=1, gpus=2, wait=300) as c:
        c.report()
        c.start_placer()
        jobs = [c.sbatch(f"{program('train')} 30 && sleep 60", *ASK, "--salus-util=90%") for _ in range(2)]
        wait_for("each GPU had a job", lambda: sorted(h["gpu"] for h in c.nodes[0].history()) == [0, 1], SHORT)
        equal(sorted(c.show(j)["AdminComment"].split("gpu=")[1].split()[0] for j in jobs), ["0", "1"], "GPUs in notes")


def test_the_same_script_with_and_without_a_placer():
    """Without a placer, or without the script that waits for one, Slurm chooses the node, and the GRES counts."""
    results = []
    for wait in (None, 2, 300):
        with Cluster(wait=wait, shares=1) as c:
            c.report()
            if wait == 300:
                c.start_placer()
            jobs = [c.sbatch(TRAIN, *ASK, "--salus-class=be") for _ in range(4)]
            equal([c.ended(j)["JobState"] for j in jobs], ["COMPLETED"] * 4, f"jobs with a wait of {wait}")
            results += [checksum(c, j) for j in jobs]
            equal(["on n" in c.show(j)["AdminComment"] if wait else None for j in jobs],
                  [None if wait is None else wait == 300] * 4, "jobs that the placer placed")
    equal(len(set(results)), 1, "different results")


def test_jobs_may_wait_for_a_placer_for_ever():
    with Cluster(wait=0) as c:
        c.report()
        job = c.sbatch(TRAIN, *ASK)
        time.sleep(3)
        equal(c.show(job)["JobState"], "PENDING", "a job without a placer")
        c.start_placer()
        equal(c.ended(job)["JobState"], "COMPLETED", "a job with one")


def test_features_that_only_slurm_understands_wait_for_nobody():
    """With a live placer, and though jobs would wait for one for ever, these are left to Slurm."""
    with Cluster(wait=0) as c:
        for node, feature in (("n1", "a"), ("n2", "b")):
            c.command("scontrol", "update", f"NodeName={node}", f"AvailableFeatures={feature}", f"ActiveFeatures={feature}")
        c.report()
        c.start_placer()
        for features, free in (("[a|b]", True), ("b*1", True), ("a|b", False), ("b", False)):
            job = c.sbatch(TRAIN, *ASK, "-C", features)
            equal(c.ended(job)["JobState"], "COMPLETED", f"a job with -C {features}")
            equal(("free=1" in c.show(job)["AdminComment"], " on n" in c.show(job)["AdminComment"]), (free, not free), f"the note of one with -C {features}")


def test_more_cpus_than_a_node_has_are_slurms_affair():
    """Slurm takes two nodes for a job that names no number of nodes, though jobs would wait for the placer for ever."""
    with Cluster(wait=0) as c:
        c.report()
        c.start_placer()
        wide = c.sbatch("srun sleep 600", *ASK, "-n", "6")
        wait_for("it runs", lambda: states(c, [wide]) == ["RUNNING"], SHORT)
        equal((c.show(wide)["NumNodes"], "free=1" in c.show(wide)["AdminComment"]), ("2", True), "its nodes, and its note")


def test_waiting_is_put_off_as_long_as_there_is_a_placer():
    """Both nodes are full. Without a placer, Slurm would get the job after 4 s."""
    with Cluster(wait=4, shares=1) as c:
        c.report()
        c.start_placer()
        full = [c.sbatch("sleep 600", *ASK) for _ in range(2)]
        wait_for("nodes are full", lambda: states(c, full) == ["RUNNING"] * 2, SHORT)
        job = c.sbatch(TRAIN, *ASK)
        time.sleep(8)
        equal((c.show(job)["JobState"], c.show(job)["Reason"]), ("PENDING", "BeginTime"), "the third job")
        c.command("scancel", str(full[0]))
        equal(c.ended(job)["JobState"], "COMPLETED", "the third job, when there is room")
        contains(c.show(job)["AdminComment"], "on n", "its note")


def test_held_and_dependent_jobs_are_left_alone():
    with Cluster(wait=300) as c:
        c.report()
        c.start_placer()
        first = c.sbatch("sleep 4", *ASK)
        after = c.sbatch(TRAIN, *ASK, f"--dependency=afterok:{first}")
        held = c.sbatch(TRAIN, *ASK, "--hold")
        late = c.sbatch(TRAIN, *ASK, "--begin=now+3600")
        wait_for("the first runs", lambda: states(c, [first]) == ["RUNNING"], SHORT)
        time.sleep(1)
        equal([" on " in c.show(j).get("AdminComment", "") for j in (after, held, late)], [False] * 3, "jobs that were placed")
        equal(c.ended(after)["JobState"], "COMPLETED", "the one that waited for another")
        contains(c.show(after)["AdminComment"], " on n", "its note")
        c.command("scontrol", "release", str(held))
        equal(c.ended(held)["JobState"], "COMPLETED", "the one that was held, once released")
        contains(c.show(held)["AdminComment"], " on n", "its note")
        equal(c.show(late)["JobState"], "PENDING", "the one that begins later")


def test_who_waits_for_a_licence_keeps_no_share_from_others():
    """One licensed job runs at a time. The shares of the waiting ones are free for jobs that need no licence."""
    with Cluster(wait=300, more="Licenses=one:1") as c:
        c.report()
        c.start_placer()
        licensed = [c.sbatch("sleep 600", *ASK, "-L", "one:1") for _ in range(12)]
        wait_for("one runs", lambda: states(c, licensed).count("RUNNING") == 1, SHORT)
        began = time.monotonic()
        equal(c.ended(c.sbatch("true", *ASK))["JobState"], "COMPLETED", "one without a licence")
        equal(time.monotonic() - began < 30, True, "it has not waited for patience")
        first = licensed[states(c, licensed).index("RUNNING")]
        c.command("scancel", str(first))
        licensed.remove(first)
        wait_for("the next one runs", lambda: states(c, licensed).count("RUNNING") == 1, SHORT)


def test_what_is_held_stays_so_while_it_is_put_off():
    """The job is held for longer than WAIT. Once released, the placer places it like others."""
    with Cluster(wait=2) as c:
        c.report()
        c.start_placer()
        held = c.sbatch(TRAIN, *ASK, "--hold")
        time.sleep(5)
        equal((c.show(held)["JobState"], c.show(held)["Reason"], c.show(held)["Priority"]), ("PENDING", "JobHeldUser", "0"), "a job that is held")
        c.command("scontrol", "release", str(held))
        equal(c.ended(held)["JobState"], "COMPLETED", "once released")
        contains(c.show(held)["AdminComment"], " on n", "its note")


def test_a_placer_that_is_killed_goes_on():
    with Cluster(wait=300, shares=2) as c:
        c.report()
        jobs = []
        for i in range(16):
            if i % 4 == 0:
                c.start_placer()
            jobs.append(c.sbatch(once(c, i), *ASK))
            time.sleep(0.2)
            if i % 4 == 3:
                c.placer.kill()
                c.placer.wait()
        c.start_placer()
        for j in jobs:
            equal(c.ended(j)["JobState"], "COMPLETED", "each job")
        equal(lines(c, "begins"), list(range(16)), "jobs that began")
        equal(lines(c, "ends"), list(range(16)), "jobs that ended")


def test_a_node_that_dies_has_its_jobs_queued_again_elsewhere():
    """The node's slurmd, its jobs' processes and its salusd all die at once."""
    with Cluster(wait=300, node_timeout=5) as c:
        c.report()
        c.start_placer("--patience", "5s", "--stale", "3600s")
        job = c.sbatch(f"echo 1 begins >>{c.dir}/lines; [ $SLURM_RESTART_COUNT ] || sleep 600; {TRAIN}", *ASK)
        wait_for("it runs", lambda: states(c, [job]) == ["RUNNING"] and lines(c, "begins"), SHORT)
        node = next(n for n in c.nodes if n.name == c.show(job)["NodeList"])
        c.kill_node(node)
        equal(c.ended(job, seconds=120)["JobState"], "COMPLETED", "the job")
        equal(lines(c, "begins"), [1, 1], "its beginnings")
        equal(c.show(job)["Restarts"], "1", "its restarts")
        equal(c.show(job)["NodeList"] != node.name, True, "another node")


def test_a_slurmd_that_is_killed_and_started_again_loses_nothing():
    with Cluster(wait=300) as c:
        c.report()
        c.start_placer()
        jobs = [c.sbatch(once(c, i, 4), *ASK) for i in range(6)]
        # slurmctld would miss a job that was only sent to the node after a minute, and then queue it again.
        wait_for("all have begun", lambda: lines(c, "begins") == list(range(6)), SHORT)
        for node in c.nodes:
            node.kill("slurmd")
            node.start_slurmd()
        for j in jobs:
            equal(c.ended(j)["JobState"], "COMPLETED", "each job")
        equal(lines(c, "begins"), list(range(6)), "jobs that began")
        equal(lines(c, "ends"), list(range(6)), "jobs that ended")


def test_without_its_salusd_a_node_gets_no_job():
    """The job that was sent there is queued again and begins elsewhere. The node returns with its salusd."""
    with Cluster(wait=300) as c:
        c.report()
        c.start_placer("--patience", "3s")
        c.nodes[0].kill("salusd")
        busy = c.sbatch("sleep 600", *ASK, "--salus-util=90%", "-w", "n2")
        wait_for("n2 is busy", lambda: states(c, [busy]) == ["RUNNING"], SHORT)
        job = c.sbatch(once(c, 1), *ASK, "--salus-util=20%")
        equal(c.ended(job)["JobState"], "COMPLETED", "the job")
        equal((c.show(job)["NodeList"], lines(c, "begins")), ("n2", [1]), "its node, and its beginnings")
        wait_for("n1 is drained", lambda: c.states()["n1"] == "drained", SHORT)
        contains(c.command("scontrol", "-o", "show", "node", "n1").stdout, "Reason=salus: no salusd answers", "n1")
        c.nodes[0].start_salusd()
        wait_for("salusd is back", c.nodes[0].salus_ready, SHORT)
        c.report(c.nodes[0])
        wait_for("n1 is back", lambda: c.states()["n1"] == "idle", SHORT)
        equal(c.ended(c.sbatch(TRAIN, *ASK, "-w", "n1"))["JobState"], "COMPLETED", "a job there")


def test_a_salusd_that_dies_under_a_job_ends_it_once():
    with Cluster(wait=300) as c:
        c.report()
        c.start_placer()
        job = c.sbatch(f"echo 1 begins >>{c.dir}/lines; {program('train')} 10000000 && echo 1 ends >>{c.dir}/lines", *ASK)
        node = wait_for("it trains", lambda: next((n for n in c.nodes if json.loads(n.ctl("--json", "job", "list").stdout)["jobs"]), None), SHORT)
        node.kill("salusd")
        equal(c.ended(job)["JobState"], "FAILED", "the job")
        equal((lines(c, "begins"), lines(c, "ends")), ([1], []), "its beginnings and ends")


# A salusctl whose salusd answers the first prolog and is down for the task and for every later request.
FLAPS = """
case "$*" in
*status) if [ -e {d}/gone ]; then rm {d}/gone; exit 1; fi; [ -e {d}/once ] || touch {d}/once {d}/gone ;;
*environment*) if [ -e {d}/gone ]; then echo "salusctl: no salusd answers" >&2; exit 1; fi ;;
esac
exec {ctl} "$@"
"""


def test_a_salusd_that_dies_between_prolog_and_task_gives_the_job_back():
    with tempfile.TemporaryDirectory() as folder:
        ctl = script(os.path.join(folder, "ctl"), FLAPS.format(d=folder, ctl=tool("salusctl")))
        with Cluster(wait=300, plugin=f"salusctl={ctl}") as c:
            c.report()
            c.start_placer("--patience", "3s")
            job = c.sbatch(once(c, 1), *ASK)
            equal(c.ended(job)["JobState"], "COMPLETED", f"the job, which said {c.output(job)}")
            equal((lines(c, "begins"), c.show(job)["Restarts"]), ([1], "1"), "its beginnings, and its restarts")


# A salusctl whose salusd is down in the prolog, which lasts until the node is drained.
SLOW = """
case "$*" in *status) touch {d}/asked; while [ ! -e {d}/drained ]; do sleep 0.1; done; exit 1 ;; esac
exec {ctl} "$@"
"""


def test_a_node_that_somebody_drained_stays_so():
    """An administrator drains the node while the prolog asks its salusd, which is down. The administrator's reason
    stays, and no report resumes the node."""
    with tempfile.TemporaryDirectory() as folder:
        ctl = script(os.path.join(folder, "ctl"), SLOW.format(d=folder, ctl=tool("salusctl")))
        with Cluster(nodes=1, plugin=f"salusctl={ctl}") as c:
            job = c.sbatch("true", *ASK)
            wait_for("the prolog asks", lambda: os.path.exists(os.path.join(folder, "asked")), SHORT)
            c.command("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=a fan")
            script(os.path.join(folder, "drained"), "")
            wait_for("the job is queued again", lambda: c.show(job).get("Restarts") == "1" and states(c, [job]) == ["PENDING"], SHORT)
            contains(c.command("scontrol", "-o", "show", "node", "n1").stdout, "Reason=a fan", "n1")
            c.report()
            equal(c.states()["n1"], "drained", "n1 after a report")


def test_bad_options_are_refused_where_they_are_typed():
    with Cluster(wait=300) as c:
        for words, why in (("--salus-class=urgent", "--salus-class: 'urgent' is not service, training or be"),
                           ("--salus-mem=lots", "--salus-mem: 'lots' is not a size such as 4GiB"),
                           ("--salus-mem=0", "--salus-mem: 0 is out of range"),
                           ("--salus-mem=900TiB", "--salus-mem: 900TiB is out of range"),
                           ("--salus-persistent=1GiB", "--salus-persistent needs --salus-mem"),
                           ("--salus-mem=1GiB --salus-persistent=2GiB", "--salus-persistent is more than --salus-mem"),
                           ("--salus-slo=20ms", "--salus-slo needs --salus-class=service, and the class is training"),
                           ("--salus-class=service --salus-slo=20", "--salus-slo: '20' is not a time with its unit"),
                           ("--salus-util=120%", "--salus-util: 120% is out of range"),
                           ("--salus-model=/nowhere", "--salus-model: the file '/nowhere' cannot be read"),
                           ("--salus-model=/tmp", "--salus-model: the file '/tmp' cannot be read")):
            done = c.submit(TRAIN, "--gres=salus:1", *words.split(), check=False)
            equal(done.returncode != 0, True, f"sbatch {words} fails")
            contains(done.stderr, why, f"sbatch {words}")
        equal(c.command("squeue", "-h").stdout, "", "jobs")


def test_a_predictor_says_what_a_model_needs():
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.onnx")
        with open(model, "w") as f:
            f.write("a model")
        says = script(os.path.join(folder, "says"), '[ -r "$1" ] && echo "mem=104857600 persistent=52428800 util=250"\n')
        with Cluster(wait=300, plugin=f"predictor={says}") as c:
            c.report()
            c.start_placer()
            job = c.sbatch(TRAIN, "--gres=salus:1", f"--salus-model={model}", "--salus-util=40%")
            equal(c.ended(job)["JobState"], "COMPLETED", "the job")
            contains(c.show(job)["AdminComment"], "mem=104857600 persistent=52428800 slo=0 util=400", "its note")
            script(says, "echo nothing at all=1; exit 3\n")
            done = c.submit(TRAIN, "--gres=salus:1", f"--salus-model={model}")
            contains(done.stderr, "cannot be predicted", "sbatch whose predictor fails")
            equal(c.ended(int(done.stdout))["JobState"], "COMPLETED", "the job without a prediction")


def test_the_predictor_asks_salusctl():
    """Tests the predictor script of config/slurm, which reads `salusctl predict --json`; a model's name may be any
    text."""
    with tempfile.TemporaryDirectory() as folder:
        ctl = script(os.path.join(folder, "ctl"), '''[ "$*" = 'predict --json --batch 32 m","persistent_bytes":9' ] || exit 1
cat <<'END'
{"model":"m\\",\\"persistent_bytes\\":9","batch":32,"utilisation":0.7934,"persistent_bytes":214958080,"ephemeral_bytes":9771050598,
"memory":{"parameters_bytes":1}}
END
''')
        argv = [os.path.join(ROOT, "config/slurm/salus-predictor"), 'm","persistent_bytes":9']
        env = {**os.environ, "SALUSCTL": ctl, "SALUS_BATCH": "32"}
        done = subprocess.run(argv, env=env, text=True, stdout=subprocess.PIPE)
        equal((done.returncode, done.stdout), (0, "mem=9986008678 persistent=214958080 util=793\n"), "a prediction")
        done = subprocess.run(argv, env={**env, "SALUS_BATCH": "1"}, text=True, stdout=subprocess.PIPE)
        equal((done.returncode, done.stdout), (1, ""), "none")


def test_a_node_that_reports_nonsense_is_named_and_gets_nothing():
    with Cluster(wait=300) as c:
        c.report()
        for text in ("salus:1 {", "salus:2 {\"schema\":1,\"gpus\":[{\"id\":0,\"state\":\"ready\",\"memory_bytes\":-5}]}",
                     "salus:3 " + "[" * 4000, "salus:x"):
            c.report(c.nodes[0], text=text)
            c.start_placer()
            jobs = [c.sbatch(TRAIN, *ASK, "--salus-util=90%") for _ in range(2)]
            for j in jobs:
                equal((c.ended(j)["JobState"], c.show(j)["NodeList"]), ("COMPLETED", "n2"), f"a job beside {text[:40]!r}")
            c.placer.terminate()
            c.placer.wait()
        named = [line for line in c.read("placer.log").splitlines() if "event=nonsense node=n1" in line]
        equal(len(named), 4, "times that the node is named")


def test_a_name_that_can_be_no_jobs_takes_no_node_away():
    """A user chooses a program's name. Whatever the name, the node is still reported, and so is the job beside it."""
    with Cluster(nodes=1, wait=300) as c:
        c.report()
        c.start_placer()
        names = ("slurm-99999999999", "slurm-4294967296", "slurm-007", "slurm-" + "9" * 30)
        job = c.sbatch("\n".join(f"SALUS_JOB_NAME={name} {program('train')} 10000000 &" for name in names) +
                       f"\n{program('train')} 10000000", *ASK)
        wait_for("all train", lambda: len(json.loads(c.nodes[0].ctl("--json", "job", "list").stdout)["jobs"]) == len(names) + 1, SHORT)
        c.report()
        report = c.command("scontrol", "-o", "show", "node", "n1").stdout
        equal(re.findall(r'"id":(\d+),"uid"', report), [str(job)], f"jobs of the report {report}")
        equal(c.ended(c.sbatch("true", *ASK))["JobState"], "COMPLETED", "a job there")
        equal("event=nonsense" in c.read("placer.log"), False, "the node is named")


def test_slurm_decides_where_a_user_may_go():
    """Partitions, exclusions and features limit the placer's choice; a job that fits nowhere waits."""
    with Cluster(wait=300, partitions="PartitionName=one Nodes=n1 State=UP\nPartitionName=shut Nodes=n2 State=UP AllowGroups=nogroup") as c:
        c.report()
        c.start_placer()
        busy = c.sbatch("sleep 600", *ASK, "--salus-util=100%", "-w", "n1")
        wait_for("n1 is busy", lambda: states(c, [busy]) == ["RUNNING"], SHORT)
        for words, node in ((("-p", "one"), "n1"), (("-x", "n2"), "n1"), (("-x", "n1"), "n2"), ((), "n2")):
            equal(c.ended(c.sbatch(TRAIN, *ASK, *words))["NodeList"], node, f"node of a job with {words}")
        big = c.sbatch(TRAIN, "--gres=salus:1", "--salus-mem=2GiB")
        wait_for("that is said", lambda: f"event=nowhere job={big}" in c.read("placer.log"), SHORT)
        equal(c.show(big)["JobState"], "PENDING", "a job that no GPU has the memory for")


def test_slurm_itself_has_the_nodes_report():
    with Cluster(wait=300, more="HealthCheckProgram={d}/health\nHealthCheckInterval=1\nHealthCheckNodeState=ANY") as c:
        c.start_placer()
        job = c.sbatch(TRAIN, *ASK)
        equal(c.ended(job)["JobState"], "COMPLETED", "the job")
        contains(c.show(job)["AdminComment"], " on n", "its note")


def test_what_is_measured_counts():
    """Both jobs announce little. The first one's use is measured as high, so the third job goes to the second's
    node."""
    with Cluster(wait=300) as c:
        c.report()
        c.start_placer()
        trains = c.sbatch(f"exec {program('train')} 10000000", *ASK, "--salus-util=1%")
        wait_for("it runs", lambda: states(c, [trains]) == ["RUNNING"], SHORT)
        sleeps = c.sbatch("sleep 600", *ASK, "--salus-util=2%", "-x", c.show(trains)["NodeList"])
        wait_for("both run", lambda: states(c, [trains, sleeps]) == ["RUNNING"] * 2, SHORT)

        def demand():
            jobs = [j for n in c.nodes for j in json.loads(n.ctl("--json", "job", "list").stdout)["jobs"]]
            return jobs and jobs[0]["demand_milli"] > 100

        wait_for("what it uses is measured", demand, SHORT)
        c.report()
        third = c.sbatch("true", *ASK, "--salus-util=99%")
        equal(c.ended(third)["NodeList"], c.show(sleeps)["NodeList"], "node of the third")


def wants(number, mib, host_us=0, ephemeral=2):
    """Returns the command of a program that keeps `mib` of device memory and takes `ephemeral` MiB in an iteration,
    whatever its job requested."""
    return f"exec {program('paced')} {number} {10000 if host_us else 3} 0 {host_us} {mib} {ephemeral}"


def test_who_lacked_memory_comes_back_with_more():
    """A job fills most of the only GPU. A job beside it that requested too little fails; queued again with its true
    need, it goes to a GPU with that much."""
    with Cluster(wait=300) as c:
        c.command("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=later")
        c.report()
        c.start_placer()
        fills = c.sbatch(wants(1, 600, 100000), "--gres=salus:1", "--salus-mem=620MiB")
        wait_for("its memory is taken", lambda: any(j["memory_bytes"] > 600 << 20 for j in json.loads(
            c.nodes[0].ctl("--json", "job", "list").stdout)["jobs"]), SHORT)
        c.report()
        asks = f"sh -c 'echo $SALUS_PERSISTENT >>{c.dir}/asked.$SLURM_JOB_ID'"
        little, never = (c.sbatch(f"{asks}; srun {asks}; {wants(2, 600)}", *ASK, option) for option in ("--requeue", "--no-requeue"))
        for job in (little, never):
            equal(c.ended(job)["JobState"], "FAILED", f"a job beside it, which said {c.output(job)}")
        had = wait_for("salusd knows how they ended", lambda: len(c.nodes[0].history()) == 2 and c.nodes[0].history()[0], SHORT)
        equal((had["refusals"], had["refused_bytes"], had["needed_bytes"] >> 20 in range(600, 620)), (1, 600 << 20, True), "its end")
        c.command("scontrol", "update", "NodeName=n2", "State=RESUME")
        c.report()
        done = wait_for("it completes", lambda: c.show(little)["JobState"] == "COMPLETED" and c.show(little), SHORT)
        equal((done["NodeList"], done["Restarts"]), ("n2", "1"), "where it came to, and how often")
        checksum(c, little)
        comment = dict(word.split("=", 1) for word in done["AdminComment"].split() if "=" in word)
        equal((int(comment["mem"]) >> 20 in range(750, 780), comment["more"]), (True, "1"), f"what its note has: {done['AdminComment']}")
        equal(c.read(f"asked.{little}").split(), [str(64 << 20)] * 2 + [comment["persistent"]] * 2, "what salusd was told by the script and by a step, each time")
        contains(c.read("placer.log"), f"event=again job={little} node=n1 needed_bytes=", "the placer's log")
        equal((c.show(never)["JobState"], f"job={never} node=n1 needed" in c.read("placer.log")), ("FAILED", False), "who may not come back")
        equal(states(c, [fills]), ["RUNNING"], "who was there before")


def test_nobody_comes_back_for_ever():
    """A job that needs more than any GPU has is not tried again. A job that fails with all that it needs stays
    failed."""
    with Cluster(nodes=1, wait=300) as c:
        c.report()
        c.start_placer()
        huge = c.sbatch(wants(1, 700, ephemeral=700), *ASK)
        equal(c.ended(huge)["JobState"], "FAILED", "who wants more than there is")
        wait_for("salusd knows how it ended", c.nodes[0].history, SHORT)
        c.report()
        wait_for("the placer has said so", lambda: f"event=lacks job={huge} " in c.read("placer.log"), SHORT)
        fills = c.sbatch(wants(2, 600, 100000), "--gres=salus:1", "--salus-mem=620MiB", "--salus-class=be")
        wait_for("its memory is taken", lambda: any(j["memory_bytes"] > 600 << 20 for j in json.loads(
            c.nodes[0].ctl("--json", "job", "list").stdout)["jobs"]), SHORT)
        liar = c.sbatch(f"{program('paced')} 3 1 0 0 600 2; exit 1", *ASK)
        equal(c.ended(liar)["JobState"], "FAILED", "the first time")
        wait_for("salusd knows how it ended", lambda: len(c.nodes[0].history()) == 2, SHORT)
        c.report()
        wait_for("it waits for more", lambda: " more=1 " in c.show(liar)["AdminComment"], SHORT)
        c.command("scancel", str(fills))
        wait_for("it has failed again", lambda: c.show(liar)["JobState"] == "FAILED", SHORT)
        wait_for("both are known", lambda: len(c.nodes[0].history()) == 4, SHORT)
        c.report()
        time.sleep(3)
        equal((c.show(liar)["JobState"], c.show(liar)["Restarts"]), ("FAILED", "1"), "who had what it needed, and failed all the same")


def test_a_placer_that_ended_while_it_queued_a_job_again():
    """The job is queued and its note is unchanged: the next placer takes it up from there."""
    with Cluster(wait=300) as c:
        c.report()
        c.start_placer()
        fills = [c.sbatch(wants(1, 600, 100000), "--gres=salus:1", "--salus-mem=620MiB", "--salus-util=90%") for _ in range(2)]
        wait_for("both GPUs are full", lambda: all(any(j["memory_bytes"] > 600 << 20 for j in json.loads(
            n.ctl("--json", "job", "list").stdout)["jobs"]) for n in c.nodes), SHORT)
        job = c.sbatch(wants(2, 600), *ASK)
        node = next(n for n in c.nodes if n.name == c.ended(job)["NodeList"])
        wait_for("salusd knows how it ended", node.history, SHORT)
        c.placer.terminate()
        c.placer.wait()
        c.command("scontrol", "requeue", str(job))
        c.command("scontrol", "update", f"JobId={job}", "StartTime=now+1hour")
        contains(c.show(job)["AdminComment"], f" mem=67108864 persistent=67108864 slo=0 util=0 begin=0 wait=300; on {node.name} ", "its note")
        c.report()
        c.start_placer()
        wait_for("it has more", lambda: " mem=786432000 " in c.show(job)["AdminComment"], SHORT)
        c.command("scancel", *map(str, fills))
        equal((c.ended(job)["JobState"], c.show(job)["Restarts"]), ("COMPLETED", "1"), "the job")


def test_srun_is_placed_too():
    """A step of a batch job may also request something else than its job."""
    with Cluster(wait=300) as c:
        c.report()
        c.start_placer()
        done = c.command("srun", *ASK, "--salus-class=be", "sh", "-c", f"echo $SALUS_PRIORITY $SALUS_PERSISTENT; {TRAIN}")
        contains(done.stdout, "-1 67108864\n", "what the task finds")
        contains(done.stdout, "train checksum", "what it says")
        had = [h["name"] for n in c.nodes for h in n.history()]
        equal(had, ["slurm-1"], "jobs of the daemons")
        contains(c.show(1)["AdminComment"], " on n", "its note")
        batch = c.sbatch("echo $SALUS_PRIORITY; srun --salus-class=service --salus-slo=20ms sh -c 'echo $SALUS_PRIORITY $SALUS_SLO'",
                         *ASK, "--salus-class=be")
        c.ended(batch)
        equal(c.output(batch).split(), ["-1", "1", "20000000ns"], "classes of the job and of its step")


def tasks(c, array, count):
    return [c.show(f"{array}_{i}") for i in range(count)]


def test_tasks_of_an_array_are_placed():
    """Each task is placed like a job of its own: once, with its own note, on the GPU that is best then."""
    with Cluster(wait=300) as c:
        c.report()
        c.start_placer()
        pair = c.sbatch("sleep 600", *ASK, "--salus-util=90%", "--array=0-1")
        wait_for("both run", lambda: [t["JobState"] for t in tasks(c, pair, 2)] == ["RUNNING"] * 2, SHORT)
        equal(sorted(t["NodeList"] for t in tasks(c, pair, 2)), ["n1", "n2"], "nodes of two tasks")
        c.command("scancel", str(pair))
        many = c.sbatch(f"echo $SLURM_ARRAY_TASK_ID begins >>{c.dir}/lines; {TRAIN}", *ASK, "--salus-util=40%", "--array=0-11")
        for i in range(12):
            equal(c.ended(f"{many}_{i}")["JobState"], "COMPLETED", f"task {i}")
        equal(lines(c, "begins"), list(range(12)), "tasks that began")
        equal([" on n" in t["AdminComment"] for t in tasks(c, many, 12)], [True] * 12, "tasks with a note")
        contains(c.read("placer.log"), f"event=place job={many}_11 node=n", "the log")


def test_an_array_keeps_its_own_limit():
    """Four tasks run one at a time, although the waiting ones wait for longer than WAIT."""
    with Cluster(wait=4) as c:
        c.report()
        c.start_placer()
        job = c.sbatch(f"echo $SLURM_ARRAY_TASK_ID begins >>{c.dir}/lines; sleep 3", *ASK, "--array=0-3%1")
        most = 0
        while any(t["JobState"] not in ENDED for t in tasks(c, job, 4)):
            most = max(most, sum(t["JobState"] == "RUNNING" for t in tasks(c, job, 4)))
            time.sleep(0.2)
        equal((most, lines(c, "begins")), (1, list(range(4))), "tasks at a time, and all of them")
        equal([" on n" in t["AdminComment"] for t in tasks(c, job, 4)], [True] * 4, "tasks with a note")


def test_an_array_without_a_placer_is_slurms():
    with Cluster(wait=2) as c:
        job = c.sbatch(f"echo $SLURM_ARRAY_TASK_ID begins >>{c.dir}/lines; {TRAIN}", *ASK, "--array=1,4-6")
        for i in (1, 4, 5, 6):
            equal(c.ended(f"{job}_{i}")["JobState"], "COMPLETED", f"task {i}")
        equal(lines(c, "begins"), [1, 4, 5, 6], "tasks that began")


def test_what_slurm_placed_counts():
    """A job on several nodes, a job on a named node and a job in a reservation: other jobs do not get the GPU shares
    that these hold."""
    with Cluster(nodes=4, wait=300) as c:
        c.report()
        c.start_placer()
        wide = c.sbatch("srun sleep 600", *ASK, "--salus-util=90%", "-N2", "-w", "n1,n2")
        named = c.sbatch("sleep 600", *ASK, "--salus-util=90%", "-w", "n3")
        wait_for("both run", lambda: states(c, [wide, named]) == ["RUNNING"] * 2, SHORT)
        jobs = [c.sbatch("sleep 600", *ASK, "--salus-util=50%") for _ in range(2)]
        wait_for("they run", lambda: states(c, jobs) == ["RUNNING"] * 2, SHORT)
        equal([c.show(j)["NodeList"] for j in jobs], ["n4", "n4"], "nodes of two jobs beside them")
        c.command("scancel", *map(str, jobs))
        c.command("scontrol", "create", "reservation", "ReservationName=ours", "Nodes=n4", "Users=" + c.user, "StartTime=now", "Duration=60",
                  "Flags=IGNORE_JOBS")
        reserved = c.sbatch("sleep 600", *ASK, "--salus-util=10%", "--reservation=ours")
        wait_for("it runs", lambda: states(c, [reserved]) == ["RUNNING"], SHORT)
        equal(c.show(reserved)["NodeList"], "n4", "node of a job in the reservation")
        began = time.monotonic()
        beside = c.ended(c.sbatch("true", *ASK, "--salus-util=10%"))
        equal((beside["NodeList"] != "n4", time.monotonic() - began < 30), (True, True), "a job without it, and no patience is lost")


def test_sacct_has_shares():
    """Jobs that the placer placed, and one that Slurm placed; skipped without slurmdbd."""
    with Cluster(wait=300, accounting=True) as c:
        c.report()
        c.start_placer()
        jobs = [c.sbatch(TRAIN, f"--gres=salus:{n}", "--salus-mem=64MiB", *more) for n, more in ((1, ()), (3, ()), (2, ("-w", "n2")))]
        jobs.append(c.sbatch("true"))
        for j in jobs:
            equal(c.ended(j)["JobState"], "COMPLETED", "each job")

        def said(j):
            line = c.command("sacct", "-nXP", "-j", str(j), "-o", "state,alloctres").stdout.strip()
            return line.startswith("COMPLETED|") and dict(word.split("=") for word in line.split("|")[1].split(",")).get("gres/salus", "0")

        equal([wait_for(f"sacct knows job {j}", lambda: said(j), SHORT) for j in jobs], ["1", "3", "2", "0"], "shares of each job")


def test_slurmctld_is_killed():
    with Cluster(wait=300, shares=2) as c:
        c.report()
        c.start_placer("--stale", "3600s")
        jobs = [c.sbatch("sleep 4; " + once(c, i), *ASK) for i in range(8)]
        wait_for("some run", lambda: states(c, jobs).count("RUNNING") == 4, SHORT)
        saved, now = os.path.join(c.dir, "state", "job_state"), time.time()
        wait_for("slurmctld has saved them", lambda: os.path.exists(saved) and os.path.getmtime(saved) > now, SHORT)
        c.slurmctld.kill()
        c.slurmctld.wait()
        time.sleep(1)
        c.start_slurmctld()
        wait_for("slurmctld answers", lambda: c.command("squeue", check=False).returncode == 0, SHORT)
        for j in jobs:
            equal(c.ended(j)["JobState"], "COMPLETED", "each job")
        equal(lines(c, "begins"), list(range(8)), "jobs that began")


# A salusctl that kills slurmctld in a job's prolog, so that the plugin gets no answer from slurmctld after it.
KILLS = """
case "$*" in *status) [ ! -e {d}/slurmctld ] || kill -9 $(cat {d}/slurmctld); rm -f {d}/slurmctld ;; esac
exec {ctl} "$@"
"""


def test_the_gres_alone_is_enough_without_slurmctld():
    with tempfile.TemporaryDirectory() as folder:
        ctl = script(os.path.join(folder, "ctl"), KILLS.format(d=folder, ctl=tool("salusctl")))
        with Cluster(wait=0, plugin=f"salusctl={ctl}", more="SlurmctldTimeout=300") as c:
            c.report()
            c.start_placer()
            with open(os.path.join(folder, "slurmctld"), "w") as f:
                f.write(str(c.slurmctld.pid))
            job = c.sbatch(TRAIN, "--gres=salus:1")
            wait_for("slurmctld is killed", lambda: c.slurmctld.poll() is not None, SHORT)
            wait_for("the job has printed", lambda: CHECKSUM.search(c.output(job)), SHORT)
            wait_for("salusd knows of its end", lambda: any(n.history() for n in c.nodes), SHORT)
            equal([had["name"] for n in c.nodes for had in n.history()], [f"slurm-{job}"], "jobs under Salus")


NOBODY = 65534


def needs_root():
    """Only root can act as another user."""
    if os.getuid():
        raise Skipped("needs root")


def test_nobody_gets_round_slurm():
    """Another user may not use every partition, nor write notes or reports."""
    needs_root()
    nobody = NOBODY
    with Cluster(wait=300, partitions="PartitionName=theirs Nodes=n2 State=UP AllowGroups=root") as c:
        c.report()
        c.start_placer()
        done = c.submit("true", *ASK, "-p", "theirs", "-o", "/dev/null", check=False, user=nobody)
        contains(done.stderr, "User's group not permitted to use this partition", "sbatch")
        job = c.sbatch("sleep 600", "--gres=salus:1", "--salus-mem=2GiB", "-o", "/dev/null", user=nobody)
        for what in ("AdminComment=salus: class=service; on n2 gpu=0 at=1", "Partition=theirs"):
            done = c.command("scontrol", "update", f"JobId={job}", what, check=False, user=nobody)
            equal(done.returncode != 0, True, f"{what} is refused")
        done = c.command("scontrol", "update", "NodeName=n1", "Extra=salus:1 {}", check=False, user=nobody)
        equal(done.returncode != 0, True, "a report by somebody is refused")


def test_nobody_is_placed_where_he_may_not_go():
    """The user's two nodes are worse than the one that is closed to them; the placer takes one of the two all the
    same."""
    needs_root()
    with Cluster(nodes=3, wait=300, partitions="PartitionName=mine Nodes=n[1-2]\nPartitionName=theirs Nodes=n3 AllowGroups=root") as c:
        c.report()
        c.start_placer("--patience", "3s")
        busy = [c.sbatch("sleep 600", *ASK, "--salus-util=100%", "-w", f"n{n}") for n in (1, 2)]
        wait_for("two nodes are busy", lambda: states(c, busy) == ["RUNNING"] * 2, SHORT)
        quiet = ("-o", "/dev/null", "--salus-util=90%")
        job = c.sbatch("true", *ASK, *quiet, "-p", "mine", user=NOBODY)
        equal((c.ended(job)["JobState"], c.show(job)["NodeList"] in ("n1", "n2")), ("COMPLETED", True), "a job of nobody's")
        both = c.submit("true", *ASK, *quiet, "-p", "mine,theirs", check=False, user=NOBODY)
        if both.returncode == 0:
            equal((c.ended(int(both.stdout))["JobState"], c.show(int(both.stdout))["NodeList"] in ("n1", "n2")), ("COMPLETED", True),
                  "one for both partitions")
        # The same within a partition: nodes that are reserved for others.
        c.command("scontrol", "create", "reservation", "ReservationName=theirs", "Nodes=n2", "Users=root", "StartTime=now", "Duration=60",
                  "Flags=IGNORE_JOBS")
        wait_for("the node is reserved", lambda: "RESERVED" in c.command("scontrol", "-o", "show", "node", "n2").stdout, SHORT)
        done = c.submit("true", *ASK, *quiet, "-p", "mine", "--reservation=theirs", check=False, user=NOBODY)
        contains(done.stderr, "Access denied to requested reservation", "sbatch")
        job = c.sbatch("true", *ASK, *quiet, "-p", "mine", user=NOBODY)
        equal((c.ended(job)["JobState"], c.show(job)["NodeList"]), ("COMPLETED", "n1"), "a job beside the reservation")
        # Even if a placer put the job there, Slurm would not start it.
        c.placer.terminate()
        c.placer.wait()
        job = c.sbatch("true", *ASK, *quiet, "-p", "mine", user=NOBODY)
        c.command("scontrol", "update", f"JobId={job}", "ReqNodeList=n2", "StartTime=now",
                  f"AdminComment=salus: class=be begin=0 wait=300; on n2 gpu=0 at={int(time.time())}")
        time.sleep(4)
        equal(c.show(job)["JobState"], "PENDING", "a job that is put on a reserved node")


def test_nobody_writes_his_own_note():
    """A user with their own plugin can pass any text to job_submit.lua; words of a note in it have no effect."""
    needs_root()
    with Cluster(wait=300) as c:
        c.report()
        os.makedirs(os.path.join(c.dir, "forged"))
        c.write("forged.conf", f"required {os.path.join(BUILD, 'slurm', 'forge.so')}\n")
        c.write("forged/slurm.conf", c.read("slurm.conf").replace(f"PlugStackConfig={c.dir}/plugstack.conf", f"PlugStackConfig={c.dir}/forged.conf"))
        c.write("forged/gres.conf", c.read("gres.conf"))
        for forged, note in (("class=be; on n2 gpu=0 at=9999999999 tried=n1", "salus: class=be begin=0 wait=300"),
                             ("class=be free=1 wait=1 begin=9", "salus: class=be begin=0 wait=300"),
                             ("mem=67108864 util=900 slo=-;mem=1", "salus: mem=67108864 util=900 begin=0 wait=300"),
                             ("class=" + "a" * 400, "salus:  begin=0 wait=300")):
            job = c.sbatch("true", "--gres=salus:1", "-o", "/dev/null", user=NOBODY,
                           env={"SLURM_CONF": os.path.join(c.dir, "forged/slurm.conf"), "FORGED": forged})
            equal(c.show(job)["AdminComment"], note, f"the note of a job that says {forged[:60]!r}")


def test_a_model_is_read_as_its_user():
    """The predictor reads no file that the user cannot read."""
    needs_root()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        says = script(os.path.join(folder, "says"), 'read -r first <"$1" && echo "mem=104857600 util=$(($(id -u) % 1000))"\n')
        os.chmod(says, 0o755)
        for name, mode in (("theirs", 0o600), ("everybodys", 0o644)):
            with open(os.path.join(folder, name), "w") as f:
                f.write("a model\n")
            os.chmod(f.name, mode)
        os.symlink("theirs", os.path.join(folder, "link"))
        with Cluster(wait=300, plugin=f"predictor={says}") as c:
            for name in ("theirs", "link"):
                done = c.submit("true", "--gres=salus:1", f"--salus-model={folder}/{name}", check=False, user=NOBODY)
                contains(done.stderr, "cannot be read", f"sbatch with {name}")
            equal(c.command("squeue", "-h").stdout, "", "jobs")
            job = c.sbatch("true", "--gres=salus:1", "-o", "/dev/null", f"--salus-model={folder}/everybodys", user=NOBODY)
            contains(c.show(job)["AdminComment"], f"util={NOBODY % 1000}", "what a predictor says that runs as nobody")
            os.chmod(os.path.join(folder, "everybodys"), 0o600)


def test_the_pages_name_every_option():
    with open(os.path.join(ROOT, "docs/man/salus-placer.8.scd")) as f:
        page = f.read()
    for option in re.findall(r"^  (--[a-z-]+)", subprocess.run([PLACER, "--help"], text=True, stdout=subprocess.PIPE).stdout, re.M):
        contains(page + "*--help*", f"*{option}*", "salus-placer.8")
    with open(os.path.join(ROOT, "docs/man/salus-slurm.7.scd")) as f:
        page = f.read()
    with Cluster(nodes=1) as c:
        options = re.findall(r"(--salus-[a-z]+)=", c.command("sbatch", "--help").stdout)
    equal(len(options), 6, "options of sbatch")
    for option in options:
        contains(page, f"*{option}=*", "salus-slurm.7")


# 1 on a machine that lacks Debian's packages and make, which the test then installs.
FRESH = os.environ.get("SALUS_TEST_FRESH") == "1"


def blocks(section):
    """Returns the page's commands and the outputs that they print."""
    with open(os.path.join(ROOT, "docs/slurm.md")) as f:
        return re.findall(r"^```\n(.*?)^```$", f.read().split(section + "\n" if section == "## Accounting" else section)[1], re.M | re.S)[:2]


def test_the_page_is_followed_to_the_letter():
    """Follows docs/slurm.md in another folder and with other ports. Debian's packages and make are installed already,
    unless SALUS_TEST_FRESH is 1."""
    typed, printed = (a + b for a, b in zip(blocks("## Two nodes"), blocks("## Accounting")))
    folder, port = tempfile.mkdtemp(prefix="ss-", dir="/tmp"), free_ports(4)
    if not FRESH:
        typed = re.sub(r"^(scripts/setup|make).*\n", "", typed, flags=re.M)
    typed = typed.replace("/tmp/salus-slurm", folder).replace("$PWD/build", BUILD).replace("$TREE/build", BUILD)
    typed = typed.replace("16818-16819", f"{port + 1}-{port + 2}").replace("16817", str(port)).replace("16820", str(port + 3))
    typed = typed.replace("build/slurm/salus-placer", os.path.join(BUILD, "slurm/salus-placer"))
    try:
        done = subprocess.run(["bash", "-e"], input=typed + "\nkill $(jobs -p) $(cat munge.pid)\nwait\n", cwd=ROOT, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=7200 if FRESH else 3 * SHORT, start_new_session=True)
        said = done.stdout.strip()[-len(printed.strip()):] if FRESH else done.stdout.strip()  # after the output of make
        equal(said, printed.strip(), f"what is printed; errors: {done.stderr[-2000:]}")
    finally:
        for pid in processes_with(folder):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
