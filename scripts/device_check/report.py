# SPDX-License-Identifier: Apache-2.0
"""The results: stored in one file that is complete after every step, and shown as a table with the goals."""
import json
import os
import time

FORMAT = 1

# name of a row: (goal in words, whether a value meets it)
GOALS = {
    "compute: time against native": ("≤ 1.01", lambda v: v <= 1.01),
    "copy, pinned: time against native": ("≤ 1.01", lambda v: v <= 1.01),
    "copy, pageable: time against native": ("≤ 1.01", lambda v: v <= 1.01),
    "launch-bound: time a launch against native": ("≤ 0.75", lambda v: v <= 0.75),
    "launch-bound, 5 us of CPU between: against native": ("≤ 1.00", lambda v: v <= 1.0),
    "two trainings, pack: throughput against MPS": ("≥ 1.00", lambda v: v >= 1.0),
    "p99 beside training under slack, of alone": ("≤ 1.05", lambda v: v <= 1.05),
    "lane switch": ("≤ 20 us", lambda v: v <= 20),
    "worker killed: jobs served again": ("≤ 5 s", lambda v: v <= 5),
    "training under torch: checksum": ("equal", lambda v: v == "equal"),
    "end to end: failed": ("0", lambda v: v == 0),
    "endings: failed": ("0", lambda v: v == 0),
    "checksums that differ": ("0", lambda v: v == 0),
}


class Report:
    """`folder`: the folder for the files; None: no files."""

    def __init__(self, folder, about):
        self.folder = folder
        self.data = {"format": FORMAT, "begun": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "about": about,
                     "parts": {}, "complete": False}
        self.save()

    def save(self):
        if not self.folder:
            return
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, "device-check.json")
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump(self.data, f, indent=1, ensure_ascii=False)
            f.flush()
            os.fsync(f.fileno())
        os.replace(path + ".new", path)
        for name, text in (("table.txt", self.table()), ("table.md", self.markdown())):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
                f.write(text + "\n")

    def part(self, name):
        return Part(self, self.data["parts"].setdefault(name, {"state": "begun", "rows": [], "found": {}}))

    def markdown(self):
        """Returns the table for docs/results."""
        lines = []
        for name, part in self.data["parts"].items():
            lines += [f"## {name}", ""] + ([f"{part['state']}: {part.get('why', '')}", ""] if part["state"] != "done" else [])
            lines += ["| | figure | goal | |", "|---|---|---|---|"]
            for row in part["rows"]:
                goal = row.get("goal", "") + {True: ", met", False: ", **missed**", None: ""}[row.get("met")]
                lines.append(f"| {cell(row['what'])} | {shown(row)} | {goal} | {cell(row.get('note', ''))} |")
            lines.append("")
        return "\n".join(lines)

    def rows(self):
        return [(name, row) for name, part in self.data["parts"].items() for row in part["rows"]]

    def missed(self):
        return [row for _, row in self.rows() if row.get("met") is False]

    def table(self):
        """Returns the table with fixed columns: name, figure, goal, verdict."""
        lines = [f"{'part':11} {'what':54} {'figure':>28}  goal"]
        lines.append("-" * 110)
        for name, part in self.data["parts"].items():
            for row in part["rows"]:
                met = {True: "met", False: "MISSED", None: ""}[row.get("met")]
                lines.append(f"{name:11} {row['what'][:54]:54} {shown(row):>28}  {row.get('goal', ''):8} {met}")
                if row.get("note"):
                    lines.append(f"{'':11}   {row['note']}")
            if part["state"] != "done":
                lines.append(f"{name:11} {part['state']}{': ' + part['why'] if part.get('why') else ''}")
        return "\n".join(lines)


class Part:
    """One part's place in the report; each call writes the file again."""

    def __init__(self, report, data):
        self.report, self.data, self.begin = report, data, time.monotonic()

    def row(self, what, value, unit="", note=None, spread=None):
        row = {"what": what, "value": value, "unit": unit}
        if spread:
            row["spread"] = [round(s, 6) for s in spread]
        if note:
            row["note"] = " ".join(note.split())
        if what in GOALS:
            row["goal"], meets = GOALS[what]
            row["met"] = bool(meets(value)) if value is not None and self.report.data["about"].get("counts") else None
        self.data["rows"].append(row)
        self.report.save()

    def found(self, key, value):
        self.data["found"][key] = value
        self.report.save()

    def end(self, state, why=None):
        """Ends the part as done, skipped, out of time, or failed."""
        self.data["state"], self.data["seconds"] = state, round(time.monotonic() - self.begin, 1)
        if why:
            self.data["why"] = why
        self.report.save()


def cell(text):
    return text.replace("|", "/").replace("<", "&lt;")


def shown(row):
    v = row["value"]
    if v is None:
        return "-"
    text = f"{v:.4g}" if isinstance(v, float) else str(v)
    if row.get("spread"):
        text += f" ({row['spread'][0]:.4g}..{row['spread'][1]:.4g})"
    return (text + " " + row["unit"]).strip()
