# SPDX-License-Identifier: Apache-2.0
"""C as tokens. A mutant's old text is searched for as tokens, so that neither line breaks nor comments matter."""

import re
from functools import lru_cache
from typing import NamedTuple

SKIP = r"\s+ | \\\n | //[^\n]* | /\*.*?\*/"
WORD = r"""
    (?:u8|[LuU])?"(?:\\.|[^"\\\n])*" | (?:[LuU])?'(?:\\.|[^'\\\n])*'
  | [A-Za-z_]\w* | \.?\d(?:[eEpP][+-]|[.\w])*
  | <<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | <= | >= | == | != | && | \|\| | [-+*/%&|^]= | \#\# | \S
"""
TOKEN = re.compile(f"(?P<skip>{SKIP})|(?P<word>{WORD})", re.X | re.S)
OPERATOR = re.compile(r"[-+*/%&|^<>=!.#]")


class Token(NamedTuple):
    word: str
    begin: int  # position of its first character in the text
    end: int


@lru_cache(maxsize=512)
def tokens(text):
    return [Token(m["word"], m.start(), m.end()) for m in TOKEN.finditer(text) if m["word"]]


def words(text):
    return [t.word for t in tokens(text)]


def find(where, what, begin=0, end=None):
    """Yields every index from begin on at which the words `what` occur in the words `where`, before end."""
    end = len(where) if end is None else end
    return [i for i in range(begin, end - len(what) + 1)
            if where[i] == what[0] and where[i:i + len(what)] == what]


def _closing(where, begin, opens, closes):
    """Returns the index of the bracket that closes the one at begin."""
    depth = 0
    for i in range(begin, len(where)):
        depth += (where[i] == opens) - (where[i] == closes)
        if depth == 0:
            return i
    return len(where) - 1


def _macro_end(text, toks, begin):
    """Returns the index after the last token of the directive that contains toks[begin]."""
    end = begin + 1
    while end < len(toks) and not re.search(r"(?<!\\)\n", text[toks[end - 1].end:toks[end].begin]):
        end += 1
    return end


def bodies(text, toks, name):
    """Returns the definitions of `name`, as pairs of token indices: a function, a macro, or an object that is
    initialised with braces."""
    where, found, depth = [t.word for t in toks], [], 0
    for i, word in enumerate(where):
        depth += (word == "{") - (word == "}")
        if word != name:
            continue
        if where[max(0, i - 2):i] == ["#", "define"]:
            found.append((i, _macro_end(text, toks, i)))
        elif depth == 0 and where[i + 1:i + 2] == ["("]:
            brace = _closing(where, i + 1, "(", ")") + 1
            if where[brace:brace + 1] == ["{"]:
                found.append((i, _closing(where, brace, "{", "}") + 1))
        elif depth == 0 and where[i + 1:i + 2] in (["["], ["="]):
            brace = next((k for k in range(i, len(where)) if where[k] in "{;"), i)
            if where[brace] == "{":
                found.append((i, _closing(where, brace, "{", "}") + 1))
    return found


def glue(before, new, after):
    """Returns `new`, with a space at an end where it would join with its neighbour."""
    def runs_on(a, b):
        return bool(re.match(r"\w\w", a + b)) or bool(OPERATOR.match(a) and OPERATOR.match(b))
    if not new:
        return "" if before.isspace() or after.isspace() else " "
    return " " * runs_on(before, new[0]) + new + " " * runs_on(new[-1], after)
