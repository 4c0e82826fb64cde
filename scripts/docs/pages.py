# SPDX-License-Identifier: Apache-2.0
"""The documents of the tree, with their links and the anchors of their headings."""
import os
import posixpath
import re
import subprocess
import unicodedata

FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^ *\2`* *$", re.M | re.S)
COMMENT = re.compile(r"<!--.*?-->", re.S)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.S)
LINK = re.compile(r"\]\((<[^>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)")
TAG = re.compile(r"<(?:a|img)\b[^>]*?\b(?:href|src)=\"([^\"]*)\"")
DEFINED = re.compile(r"^ {0,3}\[[^\]]+\]:\s+(\S+)", re.M)
OWN_ANCHOR = re.compile(r"<a\b[^>]*?\b(?:id|name)=\"([^\"]*)\"")
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*?)[ \t#]*$", re.M)
OUTSIDE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.I)


def listed(root):
    """Paths of the tree's files, also of new ones that git does not ignore."""
    said = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    return sorted(p for p in said.split("\n") if p and os.path.isfile(os.path.join(root, p)))


def blanked(found):
    """As many line breaks as the text has, so that lines keep their numbers."""
    return "\n" * found[0].count("\n")


def prose(text):
    """The text without code and comments."""
    return CODE.sub(blanked, COMMENT.sub(blanked, FENCE.sub(blanked, text)))


def links(text):
    """[(line, target)] of a document."""
    text = prose(text)
    found = [(m.start(1), m[1].strip("<>")) for pattern in (LINK, TAG, DEFINED) for m in pattern.finditer(text)]
    return [(text.count("\n", 0, at) + 1, target) for at, target in sorted(found)]


def slug(heading):
    """The anchor that GitHub and MyST make of a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    text = unicodedata.normalize("NFC", re.sub(r"[`*]", "", text)).lower().strip()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    """The anchors of a document: of its headings, and its own."""
    text, found, seen = COMMENT.sub(blanked, FENCE.sub(blanked, text)), set(), {}
    for m in HEADING.finditer(text):
        name = slug(m[1])
        seen[name] = seen.get(name, -1) + 1
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
    return found | set(OWN_ANCHOR.findall(text))


def resolve(page, target):
    """(path in the tree, anchor) of a relative link; None: it leads outside."""
    if OUTSIDE.match(target):
        return None
    path, _, anchor = target.partition("#")
    return (posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page), anchor


def title(text):
    found = HEADING.search(COMMENT.sub("", text))
    return re.sub(r"`", "", found[1]) if found else ""
