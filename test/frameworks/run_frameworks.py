#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs real, unmodified frameworks under `salusctl run` on the software GPU: each case in a process of its own, with a
daemon of its own, and with its numbers compared with the CPU's.

Needs `make all`. Frameworks come from the Python package registry, in the versions of versions.toml, into
$BUILD/frameworks; one that cannot be installed is reported and counted as skipped. The exit status is 1 when a result
is wrong, a case hangs or crashes, or a case that was right (results.json) no longer is.
"""
import argparse
import json
import os
import sys
import tempfile

import folders
import report
import running
import tree
from running import VERDICTS

sys.path.insert(0, os.path.join(folders.HERE, "..", "e2e", "lib"))
from harness import BUILD

BAD = ["wrong", "crashed", "hangs"]


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", action="append", metavar="FRAMEWORK", help="run only this framework; may be repeated")
    p.add_argument("--case", action="append", metavar="NAME", help="run only cases with this text in their name; may be repeated")
    p.add_argument("--list", action="store_true", help="list the cases, and run nothing")
    p.add_argument("--json", metavar="FILE", help="write all results to FILE")
    p.add_argument("--keep", action="store_true", help="store each result in results.json at once, and write docs/frameworks.md")
    p.add_argument("--docs", action="store_true", help="write docs/frameworks.md from results.json, and run nothing")
    p.add_argument("--check-docs", action="store_true", help="check that docs/frameworks.md follows from results.json")
    return p.parse_args()


def chosen(asked):
    """Returns [(framework, its requested cases)]; those for the self-test must be requested by name."""
    every = folders.read()
    unknown = set(asked.only or []) - set(every)
    if unknown:
        sys.exit(f"frameworks: there is no {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    picked = [f for f in every.values() if (f.name in asked.only if asked.only else not f.by_name)]
    parts = asked.case or [""]
    both = [(f, [c for c in running.cases_in(f.source()) if any(p in c.name for p in parts)]) for f in picked]
    return [(f, cases) for f, cases in both if cases]


def say(framework, record, path):
    title = f"{framework.name}.{record['case']}"
    print(f"{record['verdict']:8} {title:32} {record['seconds']:6.1f} s {record['launches']:8} launches "
          f"{record['answers']:6} round trips", flush=True)
    if record["line"]:
        print(f"         {record['line'][:3000]}\n         all of it: {path}", flush=True)


def write_down(framework, record):
    """Writes the output of a case into its own log file, in place of the previous one."""
    path = os.path.join(BUILD, "frameworks", "logs", f"{framework.name}.{record['case']}")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(record["output"] + record["errors"])
    return path


def run_all(framework, cases, python, kept):
    """Returns a record for each case. Caches of compiled kernels are empty at first; the cases share them."""
    records = []
    with tempfile.TemporaryDirectory(prefix="salus-frameworks-") as home:
        for case in cases:
            record = {**running.run(framework, case, python, home), **tree.recorded()}
            say(framework, record, write_down(framework, record))
            records.append(record)
            if kept:
                keep(framework, record)
    return records


def table(done, skipped):
    print(f"\n{'framework':18} {'version':24} {'capability':10} " + " ".join(f"{v:>8}" for v in VERDICTS))
    for framework, records in done:
        counts = [sum(r["verdict"] == v for r in records) for v in VERDICTS]
        print(f"{framework.title:18.18} {framework.version:24} {framework.capability or '9.0':10} "
              + " ".join(f"{n:8}" for n in counts))
    for framework, why in skipped:
        print(f"SKIPPED {framework.title}: {why}")


def keep(framework, record):
    """Stores the record at once, since all cases take hours: into results.json in the order of versions.toml, and into
    the page."""
    results = report.load()
    names = [c.name for c in running.cases_in(framework.source())]
    results[framework.name] = report.merge(results, framework, [record], names)
    report.save({name: results[name] for name in folders.read() if name in results})
    report.write_page()


def failures(before, done):
    """`before`: the recorded results before the run."""
    for framework, records in done:
        for name in report.regressions(before, framework, records):
            yield f"{framework.name}.{name} was right"
        for record in records:
            if record["verdict"] in BAD:
                yield f"{framework.name}.{record['case']} {record['verdict']}"


def run_frameworks(asked):
    before, done, skipped = report.load(), [], []
    for framework, cases in chosen(asked):
        try:
            python = folders.python_of(framework, os.path.join(BUILD, "frameworks"))
        except folders.Unavailable as why:
            skipped.append((framework, why))
            continue
        done.append((framework, run_all(framework, cases, python, asked.keep)))
    table(done, skipped)
    if asked.json:
        with open(asked.json, "w") as f:
            json.dump({f.name: records for f, records in done}, f, indent=1)
    failed = sorted(set(failures(before, done)))
    for line in failed:
        print(f"failed: {line}")
    total = sum(len(records) for _, records in done)
    print(f"frameworks: {total} cases, {len(failed)} failed, {len(skipped)} frameworks skipped")
    return 1 if failed else 0


def check_docs():
    text, wanted = report.page_now()
    if text != wanted:
        print("docs/frameworks.md is not as results.json has it: make frameworks-docs")
    return int(text != wanted)


def list_all(asked):
    for framework, cases in chosen(asked):
        for case in cases:
            print(f"{framework.name:12} {case.name:24} {case.about}")


def main():
    asked = arguments()
    if asked.list:
        list_all(asked)
    elif asked.docs:
        report.write_page()
    elif asked.check_docs:
        return check_docs()
    else:
        return run_frameworks(asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
