# SPDX-License-Identifier: Apache-2.0
"""Mutants of scripts/check-prose. Each makes the check miss one kind of error, and the script's self-test must then
fail on the examples in test/proofs/prose. Run by make check-setup."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "scripts", "check-prose")

MUTANTS = [  # text of the script, replacement
    ("return bool(BEGINS.match(words)) and", "return False and"),
    ("(?:what|whatever|", "(?:"),
    ("|of|those|that", ""),
    ("|behind|besides?", ""),
    ("its|theirs?", "xyz"),
    ("re.I)\nALLOWED", ")\nALLOWED"),
    ("and not ALLOWED.match(words)", ""),
    ("|\"(?:\\\\.|[^\"\\\\\\n])*\"", ""),
    ("if m[0].startswith(\"//\"):", "if False:"),
    ("elif m[0].startswith(\"/*\"):", "elif False:"),
    ("if alone and last == (line - 1, column):", "if False:"),
    ("if token.type == tokenize.COMMENT:", "if False:"),
    ("and ast.get_docstring(node):", "and False:"),
    ("return hash_comments", "return None"),
    ("number == 1 and line.startswith(\"#!\")", "False"),
    ("pieces.append((number, m.end(1), False, m[2]))", "pass"),
    ("words = MARKED.sub(\" \", words)", ""),
    ("found += [(\"words\", number, w) for w in retired_words(line, rules)]", "pass"),
    ("found += [(\"words\", line, w) for w in retired_words(words, rules)]", "pass"),
    ("if path in HELP_FILES:", "if False:"),
    ("COLUMNS, CELL, ENTRIES = 100, 120, 60", "COLUMNS, CELL, ENTRIES = 110, 120, 60"),
    ("COLUMNS, CELL, ENTRIES = 100, 120, 60", "COLUMNS, CELL, ENTRIES = 100, 130, 60"),
    ("COLUMNS, CELL, ENTRIES = 100, 120, 60", "COLUMNS, CELL, ENTRIES = 100, 120, 61"),
    ("code = not code", "pass"),
    ("and not line.startswith((\"    \", \"\\t\"))", ""),
    ("if have > listed:", "if False:"),
    ("elif listed - have > listed / 10:", "elif False:"),
]


def fails(text):
    """Returns True if the self-test of a check-prose with this text fails."""
    scope = {"__name__": "check_prose", "__file__": SCRIPT}
    exec(compile(text, SCRIPT, "exec"), scope)
    try:
        scope["self_test"]()
    except SystemExit as end:
        return "self-test failed" in str(end)
    return False


def main():
    with open(SCRIPT, encoding="utf-8") as f:
        text = f.read()
    missed = ["the unchanged script fails"] if fails(text) else []
    for old, new in MUTANTS:
        if text.count(old) != 1:
            missed.append(f"{old!r} is there {text.count(old)} times")
        elif not fails(text.replace(old, new)):
            missed.append(f"{old!r} can be {new!r}")
    for m in missed:
        print(f"MISSED  check-prose: {m}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
