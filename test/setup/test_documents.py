#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The checks of links and of drawings, with bad documents and changed code; manual pages as Markdown; faults of a built
site. Run by make check-setup."""
import os
import re
import unittest

import documents
import manual
import pages
from documents import read, script, tree, write

PAGES = {
    "README.md": "# Top\n\n[a](docs/a.md) [b](docs/a.md#second--part) [folder](docs) ![p](docs/p.svg) [out](https://x.y/z)\n",
    "docs/a.md": "# A\n\n## Second — `part`\n\n## Twice\n\n## Twice\n\n[up](../README.md#top) [again](#twice-1)\n"
                 "\n```\n[code](no.md)\n```\n\n`[code](no.md)` <!-- [gone](no.md) -->\n",
    "docs/p.svg": "<svg/>",
}
BAD_LINKS = [  # page, text behind it, complaint
    ("README.md", "[x](docs/none.md)", "README.md:5: links to docs/none.md: there is no file or folder docs/none.md"),
    ("docs/a.md", "[x](none.md)", "there is no file or folder docs/none.md"),
    ("docs/a.md", "[x](../../README.md)", "there is no file or folder ../README.md"),
    ("docs/a.md", "[x](#third)", "docs/a.md has no heading with this anchor"),
    ("docs/a.md", "[x](#twice-2)", "docs/a.md has no heading with this anchor"),
    ("README.md", "[two\nlines](docs/a.md#none)", "docs/a.md has no heading with this anchor"),
    ("README.md", "![x](docs/q.svg)", "there is no file or folder docs/q.svg"),
    ("README.md", '<img src="docs/q.svg">', "there is no file or folder docs/q.svg"),
    ("README.md", "[x][y]\n\n[y]: docs/none.md", "there is no file or folder docs/none.md"),
]


class Links(unittest.TestCase):
    def test_good_ones(self):
        with tree(PAGES) as root:
            self.assertEqual(list(script("check-links").problems(root)), [])

    def test_bad_ones(self):
        for page, text, complaint in BAD_LINKS:
            with self.subTest(text), tree({**PAGES, page: PAGES[page] + "\n" + text + "\n"}) as root:
                found = list(script("check-links").problems(root))
                self.assertEqual(len(found), 1, found)
                self.assertIn(complaint, found[0])

    def test_slugs_are_those_of_github(self):
        for heading, want in [("A `b_c` — d", "a-b_c--d"), ("What's 1.5?", "whats-15"), ("[x](y.md) z", "x-z")]:
            self.assertEqual(pages.slug(heading), want)


CHANGED = [  # file, old, new, complaint
    ("docs/drawings/memory.dot", "rankdir=LR", "rankdir=TB", "memory.svg is of another source"),
    ("daemon/broker/clients/client.h", "CLIENT_HELLO, ", "CLIENT_HELLO, CLIENT_NEW, ", "enum client_state has CLIENT_NEW"),
    ("daemon/broker/worker/worker.h", "WORKER_TRYING, ", "", "WORKER_TRYING is drawn"),
    ("daemon/broker/worker/worker.h", "enum worker_state {", "enum worker_stage {", "has no enum worker_state"),
    ("proto/wire/wire.h", "uint64_t host_base;", "uint64_t host_base, more_base;", "struct wire_windows has more_base"),
    ("daemon/broker/clients/handshake.c", "c->state = CLIENT_OFFERED;", ";", "says that offer stores CLIENT_OFFERED"),
    ("daemon/broker/clients/places.c", "void places_give(struct clients *clients) {\n",
     "void places_give(struct clients *clients) {\n    clients->state = CLIENT_WAITING;\n",
     "places_give stores CLIENT_WAITING, and no edge says so"),
    ("daemon/worker/stream/op.c", "op->state = OP_QUEUED;", "", "says that take stores OP_QUEUED"),
    ("daemon/broker/jobs/report_job.c", 'return "moving";', 'return "away";', "returns away"),
    ("daemon/sched/sched.h", "SCHED_REFUSE,", "SCHED_TURN_AWAY,", "SCHED_REFUSE is not in daemon/sched/sched.h"),
    ("docs/architecture.md", "\n| `ring_pop` |", "\n| `ring_take` |", "ring_pop() is not in the table"),
    ("docs/architecture.md", "| `chan_sweep` | `daemon", "| `x` | y | | |\n| `chan_sweeps` | `daemon", "chan_sweep() is not"),
    ("daemon/worker/stages.def", "STAGE(sweep,", "STAGE(sweeping,", "has no stage sweep"),
]


class Drawings(unittest.TestCase):
    """A copy of the files that the drawings are held to, each changed in turn."""

    def setUp(self):
        self.files = {}
        for name in os.listdir(os.path.join(documents.ROOT, "docs", "drawings")):
            path = "docs/drawings/" + name
            self.files[path] = read(path)
            picture = "docs/images/" + os.path.splitext(name)[0] + ".svg"
            self.files[picture] = read(picture)
            for _, rule in script("check-drawings").RULE.findall(self.files[path]):
                named = re.search(r"[\w./-]+/[\w.-]+", rule)[0]
                if os.path.isfile(os.path.join(documents.ROOT, named)):
                    self.files[named] = read(named)
        # Folders in which states change.
        for folder in ("daemon/broker", "daemon/worker"):
            for at, _, names in os.walk(os.path.join(documents.ROOT, folder)):
                for name in names:
                    path = os.path.relpath(os.path.join(at, name), documents.ROOT)
                    if name.endswith((".c", ".h")):
                        self.files[path] = read(path)

    def test_as_they_are(self):
        with tree(self.files) as root:
            self.assertEqual(list(script("check-drawings").problems(root)), [])

    def test_changed_code_is_found(self):
        with tree(self.files) as root:
            for path, old, new, complaint in CHANGED:
                with self.subTest(path=path, new=new):
                    self.assertIn(old, self.files[path])
                    write(root, path, self.files[path].replace(old, new, 1))
                    found = list(script("check-drawings").problems(root))
                    self.assertTrue(any(complaint in f for f in found), found)
                    write(root, path, self.files[path])

    def test_a_drawing_held_to_nothing(self):
        with tree({"docs/drawings/x.dot": "digraph { a -> b; }\n"}) as root:
            self.assertIn("docs/drawings/x.dot: no comment says what holds it to the code",
                          list(script("check-drawings").problems(root)))


class Manual(unittest.TestCase):
    def test_marks_terms_and_examples(self):
        page = manual.markdown("x(1)\n\n# NAME\n\nx - a \\_b\\_ *c_d*\n\n*--e* _F_\n\tText that is _two\n\tlines_ long.\n\n"
                               "\tMore [of] it.\n\nPlain.\n\n\t$ x --e <f>\n\n```\n*raw*\n```\n")
        self.assertEqual(page, "# x(1)\n\n\n## Name\n\nx - a \\_b\\_ <strong>c\\_d</strong>\n\n"
                               "<strong>--e</strong> <em>F</em>\n: Text that is <em>two\n  lines</em> long.\n\n"
                               "  More \\[of\\] it.\n\nPlain.\n\n```text\n$ x --e <f>\n```\n\n```text\n*raw*\n```\n")

    def test_tables(self):
        page = manual.markdown("x(1)\n\n[[ *0*\n:[ done\n   well\n|  *1*, *2*\n:  failed\n\nEnd.\n")
        self.assertEqual(page, "# x(1)\n\n\n<strong>0</strong>\n: done\n  well\n\n"
                               "<strong>1</strong>, <strong>2</strong>\n: failed\n\n\nEnd.\n")
        with self.assertRaises(ValueError):
            manual.markdown("x(1)\n\n[[ a\n:[ b\n:  c\n\n")

    def test_every_page_closes_its_marks(self):
        folder = os.path.join(documents.ROOT, "docs", "man")
        for name in os.listdir(folder):
            page = manual.markdown(read("docs/man/" + name))
            for mark in ("strong", "em"):
                self.assertEqual(page.count(f"<{mark}>"), page.count(f"</{mark}>"), name)


FAULTY_SITE = [  # text of a page, complaint
    ('<a href="none.html">x</a>', "a.html links to none.html, which is not there"),
    ('<a href="b.html#none">x</a>', "a.html links to b.html#none, which has no such anchor"),
    ('<img src="none.svg">', "a.html links to none.svg, which is not there"),
    ('<script src="https://cdn.example/x.js"></script>', "a.html loads https://cdn.example/x.js from another site"),
    ('<link rel="stylesheet" href="//fonts.example/x.css">', "a.html loads //fonts.example/x.css from another site"),
]


class Site(unittest.TestCase):
    def test_good_site(self):
        with tree({"a.html": '<a href="b.html#x">b</a> <a href="https://x.y">out</a>', "b.html": '<p id="x">'}) as root:
            self.assertEqual(list(script("site").faults(root)), [])

    def test_faults(self):
        for text, complaint in FAULTY_SITE:
            with self.subTest(text), tree({"a.html": text, "b.html": ""}) as root:
                self.assertEqual(list(script("site").faults(root)), [complaint])

    def test_fonts_of_a_style_sheet(self):
        with tree({"a.css": "@font-face { src: url('https://fonts.example/x.woff') }"}) as root:
            self.assertEqual(list(script("site").faults(root)), ["a.css loads https://fonts.example/x.woff from another site"])


if __name__ == "__main__":
    unittest.main()
