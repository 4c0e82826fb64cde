# SPDX-License-Identifier: Apache-2.0
"""Manual pages from scdoc(5) to Markdown: headings, bold, underlined, terms with indented text, tables, examples."""
import re

# The beginning of a table's row or of a further cell, with its alignment.
CELL = re.compile(r"([\[|:])[\[\]<>=\- ] ?(.*)")
SPECIAL = set("\\`*_[]<>#|~&$")
MARKS = {"*": "strong", "_": "em"}


def inline(text):
    """A paragraph's marks as tags, with Markdown's own characters escaped."""
    out, inside, last, i = [], None, " ", 0
    while i < len(text):
        c = text[i]
        following = text[i + 1] if i + 1 < len(text) else " "
        if c == "\\" and i + 1 < len(text):
            i, c = i + 1, following
            out.append("\\" + c if c in SPECIAL else c)
        elif c in MARKS and inside in (None, c) and (
                c == "*" or not last.isalnum() or (inside and not following.isalnum())):
            out.append(f"</{MARKS[c]}>" if inside else f"<{MARKS[c]}>")
            inside = None if inside else c
        else:
            out.append("\\" + c if c in SPECIAL else c)
        last, i = c, i + 1
    return "".join(out)


def table(lines):
    """A table of two columns as a list of definitions."""
    rows = []
    for line in lines:
        cell = CELL.fullmatch(line)
        if not cell:
            rows[-1][-1] += "\n" + line.strip()
        elif cell[1] == ":":
            rows[-1].append(cell[2])
        else:
            rows.append([cell[2]])
    for row in rows:
        if len(row) != 2:
            raise ValueError(f"a table's row has {len(row)} columns, two are understood: {row}")
    return [part for term, text in rows
            for part in (inline(term), ": " + inline(text).replace("\n", "\n  "), "")]


def markdown(text):
    """The page: its title is name(section), which is the first line of the source."""
    lines = text.split("\n")
    out, in_terms, i = [f"# {lines[0].split()[0]}", ""], False, 1
    while i < len(lines):
        line = lines[i]
        if line.startswith(";"):
            i += 1
        elif line.startswith("```"):
            end = lines.index("```", i + 1)
            out += ["```text", *lines[i + 1:end], "```"]
            i = end + 1
        elif line.startswith("#"):
            out.append("#" + re.match("#+", line)[0] + " " + inline(line.lstrip("# ")).capitalize())
            in_terms = False
            i += 1
        elif line.startswith("["):
            end = lines.index("", i)
            out += table(lines[i:end])
            i = end
        elif line.startswith("\t"):
            block = []
            while i < len(lines) and (lines[i].startswith("\t") or
                                      (not lines[i] and i + 1 < len(lines) and lines[i + 1].startswith("\t"))):
                block.append(lines[i][1:])
                i += 1
            if out[-1] or in_terms:
                # CommonMark's lists of definitions: the text begins behind a colon.
                body = inline("\n".join(block)).split("\n")
                out += [(": " if out[-1] else "  ") + body[0], *("  " + b if b else "" for b in body[1:])]
                in_terms = True
            else:
                out += ["```text", *block, "```"]
        else:
            paragraph = []
            while i < len(lines) and lines[i] and not lines[i].startswith(("\t", "#", ";", "```", "[")):
                paragraph.append(lines[i])
                i += 1
            in_terms = in_terms and not paragraph
            out += inline("\n".join(paragraph)).split("\n")
            i += not paragraph
    return "\n".join(out).rstrip() + "\n"
