# SPDX-License-Identifier: Apache-2.0
"""The mutants of a room are the sections of test/mutants/<room>.mutants, in the order of their names:

    [name]
    wrong: the fault, in a sentence
    file: daemon/worker/residency/credit.c
    test: test_residency at_once
    in: credit_request
    - if (!k->granted) return
    + if (0) return

wrong   may continue in lines that begin with two spaces.
file    the file that is changed.
unit    for a header: the sources that are compiled with it.
test    the test that must fail with the mutant; of several lines, each must. A unit test and a part
        of a case's name, or one of PROOFS (prove.py) with its argument.
hangs   yes: the test may run into its time limit; otherwise that proves nothing.
in      the function, macro or table of the next change.
-, +    the old text and the new one, of any number of lines; a blank line ends the change.

The old text is searched for as tokens of C, and must occur exactly once: in the file, or in the part that
`in` names."""

import glob
import os
import re

from mutation.tokens import bodies, find, glue, tokens, words

FOLDER = "test/mutants"
SUFFIX = ".mutants"
KEYS = ("wrong", "file", "unit", "test", "hangs", "in")


class Bad(Exception):
    """A mutant that cannot be made; the text tells why."""


class Hunk:
    def __init__(self, inside):
        self.inside, self.old, self.new = inside, [], []

    def text(self):
        """Returns the new text. Directives keep their lines."""
        return ("\n" if any(n.lstrip().startswith("#") for n in self.new) else " ").join(self.new)


class Mutant:
    def __init__(self, name, text):
        self.name = name
        self.wrong, self.file, self.hangs = "", "", False
        self.units, self.tests, self.hunks = [], [], []
        self._read(text)
        self.units = self.units or [self.file]

    def _read(self, text):
        hunk, inside = None, None
        for line in text.split("\n"):
            key, _, value = line.partition(": ")
            if line.startswith(("-", "+")):
                if hunk is None or (line[0] == "-" and hunk.new):
                    hunk, inside = Hunk(inside), None
                    self.hunks.append(hunk)
                (hunk.old if line[0] == "-" else hunk.new).append(line[2:])
                continue
            hunk = None
            if key in KEYS:
                inside = value if key == "in" else self._set(key, value)
            elif line.startswith("  ") and self.wrong and not self.file:
                self.wrong += " " + line.strip()
            elif line and not line.startswith("#"):
                raise Bad(f"not understood: {line}")
        missing = [k for k in ("file", "tests", "hunks") if not getattr(self, k)]
        if missing:
            raise Bad(f"without {', '.join(missing)}")

    def _set(self, key, value):
        if key in ("test", "unit"):
            getattr(self, key + "s").append(value)
        elif key == "hangs":
            self.hangs = value == "yes"
        else:
            setattr(self, key, value)

    def apply(self, text):
        """Returns `text`, the text of self.file, with the fault in it."""
        toks = tokens(text)
        where = [t.word for t in toks]
        edits = sorted(((*_place(self.file, text, toks, where, h), h) for h in self.hunks),
                       key=lambda e: e[:2])
        if any(a[1] > b[0] for a, b in zip(edits, edits[1:])):
            raise Bad(f"the changes in {self.file} overlap")
        if all(where[a:b] == words(h.text()) for a, b, h in edits):
            raise Bad("changes nothing")
        for begin, end, hunk in reversed(edits):
            text = _replace(text, toks, begin, end, hunk.text())
        return text


def _replace(text, toks, begin, end, new):
    """Returns `text` with `new` in place of its tokens [begin, end); no adjacent token may change."""
    a, b = toks[begin].begin, toks[end - 1].end
    new = glue(text[a - 1:a] or " ", new, text[b:b + 1] or " ")
    before, after = toks[max(0, begin - 1)].begin if begin else a, toks[end].end if end < len(toks) else b
    if words(text[before:a] + new + text[b:after]) != words(text[before:a]) + words(new) + words(text[b:after]):
        raise Bad(f"runs into what is beside it: {new}")
    return text[:a] + new + text[b:]


def _place(path, text, toks, where, hunk):
    """Returns (begin, end) of the tokens that the hunk replaces."""
    old = words("\n".join(hunk.old))
    shown = " ".join(hunk.old)
    if not old:
        raise Bad("new text without old")
    spans = [(0, len(where))]
    if hunk.inside:
        spans = bodies(text, toks, hunk.inside)
        if len(spans) != 1:
            raise Bad(f"{hunk.inside} is defined {len(spans)} times in {path}")
    hits = find(where, old, *spans[0])
    if len(hits) != 1:
        place = f"{hunk.inside} in {path}" if hunk.inside else path
        found = "not found" if not hits else f"found {len(hits)} times"
        raise Bad(f"old text {found} in {place}: {shown}")
    return hits[0], hits[0] + len(old)


def sections(text):
    """Returns [(name, text)] of a room's file. Comments precede the first section, and begin each section."""
    parts = re.split(r"^\[(.*)\]$", text, flags=re.M)
    return list(zip(parts[1::2], parts[2::2]))


def read_room(path):
    """Returns ([mutants], [complaints]) of one file."""
    room, mutants, bad = path[len(FOLDER) + 1:-len(SUFFIX)], [], []
    with open(path) as f:
        found = sections(f.read())
    names = [name for name, _ in found]
    bad += [f"{path}: [{b}] does not come behind [{a}]" for a, b in zip(names, names[1:]) if a >= b]
    for name, text in found:
        try:
            mutants.append(Mutant(f"{room}/{name}", text))
        except Bad as e:
            bad.append(f"{path}: [{name}]: {e}")
    return mutants, bad


def read_all():
    """Returns ([mutants], [complaints]) of all rooms, in the order of their names."""
    rooms = [read_room(path) for path in sorted(glob.glob(f"{FOLDER}/*{SUFFIX}"))]
    return [m for mutants, _ in rooms for m in mutants], [b for _, bad in rooms for b in bad]


def choose(mutants, wanted):
    """Returns the mutants of a room, of a name, or of the file or folder that they change; all if none is named."""
    def is_meant(m, w):
        w = w.rstrip("/")
        parts = (m.name, m.file)
        return m.name.split("/")[-1] == w or any(p == w or p.startswith(w + "/") for p in parts)
    unknown = [w for w in wanted if not any(is_meant(m, w) for m in mutants)]
    if unknown:
        raise Bad(f"no mutant is, or changes, {' or '.join(unknown)}")
    return [m for m in mutants if not wanted or any(is_meant(m, w) for w in wanted)]


def check(mutant, sources):
    """Returns the complaints about a mutant that cannot be run. sources: texts by path, filled here."""
    for path in [mutant.file, *mutant.units]:
        if path not in sources:
            if not os.path.isfile(path):
                raise Bad(f"there is no {path}")
            with open(path) as f:
                sources[path] = f.read()
    if any(not u.endswith(".c") for u in mutant.units):
        raise Bad("a header needs a line unit: a source that is compiled with it")
    mutant.apply(sources[mutant.file])
    if not re.search(r"\w", mutant.wrong):
        raise Bad("does not say what is wrong in it")
