# SPDX-License-Identifier: Apache-2.0
"""Runs each probe by itself and keeps its answer, whatever happens to the probe."""
import contextlib
import glob
import json
import os

import device_check.machine as machine
import device_check.processes as processes

# The most valuable first; other probes found in the folder come last.
ORDER = ["sandbox", "device_facts", "exported_memory", "map_cost", "reserved_addresses", "blocking", "completion",
         "host_register", "module_variables", "context_cost", "after_fault", "green_contexts", "launch_threads",
         "private_tables", "kernel_printf", "priorities", "child_grids", "shfl_absent", "vector_tearing", "handles",
         "endless"]
DESCRIBE = "describe"  # not a probe: it prints an object of its own form
MOST_S = 90


def names(folder):
    there = {os.path.basename(p) for p in glob.glob(os.path.join(folder, "*")) if os.access(p, os.X_OK) and os.path.isfile(p)}
    there.discard(DESCRIBE)
    return [n for n in ORDER if n in there] + sorted(there - set(ORDER)), [n for n in ORDER if n not in there]


def described(check, env):
    """Returns the driver's description of its device, or the error."""
    try:
        process = processes.Process([check.probe(DESCRIBE)], env)
    except OSError as e:
        return {"error": e.strerror}
    status = process.wait(check.seconds(60))
    try:
        return json.loads("\n".join(process.out))
    except ValueError as e:
        return {"error": f"status {status}: {e}", "said": process.err[-5:]}


def part(check, part):
    part.found("machine", machine.facts())
    folder = os.path.dirname(check.probe("x"))
    there, lacking = names(folder)
    for name in lacking:
        part.found(name, {"how": "missing", "answer": "was not built", "figures": {}})
    with contextlib.ExitStack() as stack:
        way = stack.enter_context(check.native())
        env = check.environment(way.environment())
        part.found(DESCRIBE, described(check, env))
        for name in there:
            result = processes.ask([os.path.join(folder, name)], env, check.seconds(MOST_S))
            part.found(name, result)
            part.row(name, result["how"], note=result["answer"])
            if not machine_is_well(check, env, part, name, result):
                return


def machine_is_well(check, env, part, name, result):
    """Returns whether the device still serves programs after a probe that died or hangs; if not, going on is
    useless."""
    if result["how"] not in ("hangs", "crashed"):
        return True
    facts = processes.ask([check.probe("device_facts")], env, check.seconds(60))
    if facts["how"] == "answered":
        return True
    part.row("the device answers no more", None, note=f"after {name}: {facts['answer']}")
    return False
