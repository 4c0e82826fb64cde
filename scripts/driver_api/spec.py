# SPDX-License-Identifier: Apache-2.0
"""Reads proto/driver.api, and rejects errors in it with their line."""

import hashlib
import re

CLASSES = ("local", "cached", "async", "sync", "hand", "unsupported")
EXPORTS = 688  # entry points of the driver of CUDA 13.5; a spec with fewer records is rejected
KEYWORDS = ("name", "class", "args", "text", "same", "twin", "since")


class Call:
    """One record. `same` and `twin_of` are names until link() replaces them with Calls."""

    def __init__(self, number, export, line, section):
        self.number, self.export, self.line, self.section = number, export, line, section
        self.keys = {}  # keyword -> (value, line)
        self.base = None
        self.since = 0
        self.cls = None
        self.args = None  # list of (type, name); [] for none; None when unsupported
        self.text = ""
        self.same = None
        self.twin_of = None
        self.variant = None  # "ptds" or "ptsz" of a twin
        self.twin = None  # the twin of this call

    def supported(self):
        return self.cls != "unsupported"

    def forwarded(self):
        """Returns the export that a generated definition calls, or None when there is none."""
        if not self.supported():
            return None
        if self.same:
            return self.same
        if self.twin_of and any(t == "CUstream" for t, _ in self.args):
            return self.twin_of
        return None


class Own:
    """An export that is not part of the driver's API."""

    def __init__(self, export, line):
        self.export, self.line = export, line
        self.keys = {}
        self.text = ""


class Spec:
    def __init__(self, path):
        self.path = path
        self.calls = []
        self.own = []
        self.errors = []
        self.by_export = {}

    def error(self, line, message):
        self.errors.append((line, message))


# ---- reading ------------------------------------------------------------------------------------


def read(path):
    spec = Spec(path)
    section = None
    call = None
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    for number, raw in enumerate(lines, 1):
        line = raw.split("#", 1)[0].rstrip()
        if not line:
            continue
        words = line.split(None, 1)
        value = words[1].strip() if len(words) > 1 else ""
        if line[0].isspace():
            if call is None:
                spec.error(number, "an indented line outside of a record")
            else:
                add_keyword(spec, call, words[0], value, number)
        elif words[0] == "section":
            section, call = value, None
        elif words[0] == "call":
            call = begin_call(spec, value, number, section)
        elif words[0] == "own":
            call = begin_own(spec, value, number)
        else:
            spec.error(number, f'"{words[0]}" begins neither a section nor a call')
            call = None
    for call in spec.calls:
        finish_call(spec, call)
    for own in spec.own:
        finish_own(spec, own)
    link(spec)
    check_whole(spec)
    return spec


def begin_call(spec, value, line, section):
    m = re.fullmatch(r"([1-9][0-9]*) (cu[A-Za-z0-9_]+)", value)
    if not m:
        spec.error(line, f'"call {value}" is not "call NUMBER EXPORT"')
        return None
    call = Call(int(m.group(1)), m.group(2), line, section)
    if section is None:
        spec.error(line, f"{call.export} stands before the first section")
    if call.number > 0xFFFF:
        spec.error(line, f"{call.export} has number {call.number}, above 65535")
    spec.calls.append(call)
    return call


def begin_own(spec, value, line):
    if not re.fullmatch(r"(?!cu[A-Z])[A-Za-z]\w*", value):
        spec.error(line, f'"own {value}" does not name an export of our own')
        return None
    if any(own.export == value for own in spec.own):
        spec.error(line, f"{value} already has a record")
    spec.own.append(Own(value, line))
    return spec.own[-1]


def finish_own(spec, own):
    for word in sorted(own.keys.keys() - {"text"}):
        spec.error(own.keys[word][1], f'"{word}" does not belong into the own record {own.export}')
    if "text" not in own.keys:
        spec.error(own.line, f'{own.export} has no "text"')
    else:
        parse_text(spec, own, *own.keys["text"])


def add_keyword(spec, call, word, value, line):
    if word not in KEYWORDS:
        spec.error(line, f'unknown keyword "{word}" in {call.export}')
    elif word in call.keys:
        spec.error(line, f'"{word}" is there twice in {call.export}')
    elif not value:
        spec.error(line, f'"{word}" of {call.export} has no value')
    else:
        call.keys[word] = (value, line)


def finish_call(spec, call):
    """Turns the keywords of one record into fields."""
    kind = "twin" if "twin" in call.keys else "same" if "same" in call.keys else "plain"
    wanted = {
        "plain": {"name", "class", "text"},
        "same": {"name", "same"},
        "twin": {"twin", "since"},
    }[kind]
    optional = {"args"} if kind == "plain" else set()
    for word in sorted(wanted - call.keys.keys()):
        spec.error(call.line, f'{call.export} has no "{word}"')
    for word in sorted(call.keys.keys() - wanted - optional):
        spec.error(
            call.keys[word][1], f'"{word}" does not belong into the {kind} record {call.export}'
        )
    for word in sorted((wanted | optional) & call.keys.keys()):
        value, line = call.keys[word]
        {
            "name": parse_name,
            "class": parse_class,
            "args": parse_args,
            "text": parse_text,
            "same": parse_same,
            "twin": parse_twin,
            "since": parse_since,
        }[word](spec, call, value, line)
    if kind == "plain" and call.cls:
        if call.supported() and "args" not in call.keys:
            spec.error(call.line, f'{call.export} is of class {call.cls} but has no "args"')
        if not call.supported() and "args" in call.keys:
            spec.error(call.keys["args"][1], f'{call.export} is unsupported but has "args"')


def parse_version(spec, call, value, line):
    if (
        not re.fullmatch(r"[1-9][0-9]*", value)
        or int(value) % 10
        or not 2000 <= int(value) < 100000
    ):
        spec.error(
            line, f'"{value}" of {call.export} is not a CUDA version (1000 * major + 10 * minor)'
        )
        return 0
    return int(value)


def parse_name(spec, call, value, line):
    words = value.split()
    if len(words) != 2 or not words[0].startswith("cu"):
        spec.error(line, f'"name {value}" of {call.export} is not "name BASE VERSION"')
        return
    call.base = words[0]
    call.since = parse_version(spec, call, words[1], line)


def parse_since(spec, call, value, line):
    call.since = parse_version(spec, call, value, line)


def parse_class(spec, call, value, line):
    if value not in CLASSES:
        spec.error(
            line, f'{call.export} has unknown class "{value}" (one of: {", ".join(CLASSES)})'
        )
        return
    call.cls = value


def parse_args(spec, call, value, line):
    call.args = []
    if value == "void":
        return
    for arg in value.split(","):
        m = re.fullmatch(
            r"\s*((?:const )?[A-Za-z_][A-Za-z0-9_ ]*?)\s*((?:\*\s*(?:const )?)*)(\w+)\s*", arg
        )
        if not m or not (m.group(2) or " " in arg.strip()):
            spec.error(line, f'"{arg.strip()}" in {call.export} is not "TYPE NAME"')
            continue
        stars = m.group(2).strip()
        call.args.append((m.group(1) + (" " + stars if stars else ""), m.group(3)))
    names = [name for _, name in call.args]
    for name in sorted({n for n in names if names.count(n) > 1}):
        spec.error(line, f"{call.export} has two arguments {name}")


def parse_text(spec, call, value, line):
    if not value.endswith("."):
        spec.error(line, f"the text of {call.export} is not a sentence that ends with a full stop")
    call.text = value


def parse_same(spec, call, value, line):
    call.same = value


def parse_twin(spec, call, value, line):
    words = value.split()
    if len(words) != 2 or words[0] not in ("ptds", "ptsz"):
        spec.error(line, f'"twin {value}" of {call.export} is not "twin ptds|ptsz EXPORT"')
        return
    call.variant, call.twin_of = words
    if call.export != f"{words[1]}_{words[0]}":
        spec.error(line, f"{call.export} cannot be the {words[0]} twin of {words[1]}")


# ---- all records together -----------------------------------------------------------------------


def link(spec):
    numbers = {}
    for call in spec.calls:
        first = spec.by_export.setdefault(call.export, call)
        if first is not call:
            spec.error(call.line, f"{call.export} already has a record in line {first.line}")
        first = numbers.setdefault(call.number, call)
        if first is not call:
            spec.error(
                call.line,
                f"number {call.number} of {call.export} already is that of {first.export}",
            )
    for call in spec.calls:
        word = "same" if call.same else "twin" if call.twin_of else None
        if word:
            link_one(spec, call, word)
    for call in spec.calls:  # a twin may stand for a call that itself borrows
        if isinstance(call.twin_of, Call) and call.twin_of.same:
            borrow(call, call.twin_of)


def link_one(spec, call, word):
    name = call.same or call.twin_of
    line = call.keys[word][1]
    call.same = call.twin_of = None
    other = spec.by_export.get(name)
    if other is None:
        spec.error(line, f"{call.export} refers to {name}, which has no record")
    elif word in other.keys or other is call:
        spec.error(line, f"{call.export} refers to {name}, which is itself a {word}")
    elif word == "same":
        call.same = other
        borrow(call, other)
        if not call.supported():
            spec.error(
                line, f"{call.export} is the same as {name}, which is unsupported: give it a class"
            )
    else:
        call.twin_of, other.twin = other, call
        call.base = other.base
        borrow(call, other)


def borrow(call, other):
    call.cls, call.args, call.text = other.cls, other.args, other.text


def check_whole(spec):
    rows = {}
    for call in spec.calls:
        if call.twin_of or not call.base:
            continue
        first = rows.setdefault((call.base, call.since), call)
        if first is not call:
            spec.error(
                call.line,
                f"{call.export} and {first.export} both answer to {call.base} {call.since}",
            )
    if len(spec.by_export) != EXPORTS:
        spec.error(1, f"{len(spec.by_export)} exports have a record, not {EXPORTS}")


def spec_hash(spec):
    """Returns a 64-bit hash of everything that the two sides must agree on: numbers, exports,
    names, classes, arguments."""
    h = hashlib.sha256()
    for c in sorted(spec.calls, key=lambda c: c.number):
        h.update(f"{c.number} {c.export} {c.base} {c.since} {c.cls} {c.args}\n".encode())
    return int.from_bytes(h.digest()[:8], "big")
