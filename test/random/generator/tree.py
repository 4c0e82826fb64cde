# SPDX-License-Identifier: Apache-2.0
"""The tree of a program: text with holes, so that the emitter and the reducer need not know every construct.

A part is text or another node."""
import re

INDENT = "    "


class Node:
    def __init__(self, *parts):
        self.parts = list(parts)

    def text(self):
        return "".join(p if isinstance(p, str) else p.text() for p in self.parts)

    def nodes(self):
        """This node and all nodes below it, parents first."""
        yield self
        for p in self.parts:
            if isinstance(p, Node):
                yield from p.nodes()


class Expr(Node):
    """An expression without side effects; `type` is the type of a possible replacement."""

    def __init__(self, type_, *parts):
        super().__init__(*parts)
        self.type = type_


class Stmt(Node):
    """One statement; its blocks are among its parts."""

    def blocks(self):
        return [p for p in self.parts if isinstance(p, Block)]


class Block(Node):
    """Statements, each of which can be left out."""

    def text(self):
        return "{\n" + "\n".join(s.text() for s in self.parts) + "\n}"

    def add(self, *parts):
        self.parts.append(Stmt(*parts))


class Part(Node):
    """A definition at file level that others use by name: a function, a type, a table."""

    def __init__(self, name, *parts):
        super().__init__(*parts)
        self.name = name


def used_parts(parts, text):
    """The elements of `parts` that `text` or another used part names; parts use only earlier ones."""
    used = []
    for part in reversed(parts):
        if re.search(rf"\b{part.name}\b", text):
            used.append(part)
            text += part.text()
    return used[::-1]


def indented(text):
    """Indents the lines by the braces around them."""
    out, depth = [], 0
    for line in text.split("\n"):
        line = line.strip()
        inner = depth - (1 if line.startswith("}") else 0)
        out.append(INDENT * inner + line if line and not line.startswith("#") else line)
        depth += line.count("{") - line.count("}")
    return "\n".join(out)
