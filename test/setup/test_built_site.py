#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The site that `make site` built in SITE has every document, and small trees with a fault each are refused. Run by make
check-site."""
import os
import subprocess
import sys
import unittest

import documents
import pages
from documents import script, tree

SITE = os.path.abspath(os.environ.get("SITE", "build/site"))


def small_tree():
    """The pages that the navigation names, with a title each."""
    named = [p for _, patterns in script("site").READERS for p in patterns if "*" not in p and not p.endswith("index.md")]
    return {**{p: f"# {p}\n" for p in named}, "README.md": "# Top\n", "docs/adr/0001-x.md": "# X\n",
            "docs/results/x.md": "# X\n", "docs/man/x.1.scd": "x(1)\n\n# NAME\n\nx - *y*\n"}


BAD = [  # text of the top page, a part of the complaint
    ("\n[x](docs/none.md)\n", "none.md"),
    ("\n[x](docs/adr/0001-x.md#none)\n", "0001-x"),
    ("\n[x](#none)\n", "none"),
    ("\n![x](docs/none.svg)\n", "none.svg"),
]


class Built(unittest.TestCase):
    def test_every_document_is_a_page(self):
        site = script("site")
        for path in pages.listed(documents.ROOT):
            if site.is_page(path) or (path.startswith("docs/man/") and path.endswith(".scd")):
                self.assertTrue(os.path.isfile(os.path.join(SITE, site.staged(path)[:-len("md")] + "html")), path)

    def test_options_are_found(self):
        """Dashes are not made one, and the search knows manual pages."""
        with open(os.path.join(SITE, "docs", "man", "salusd.8.html")) as f:
            self.assertIn("--check-config", f.read())
        with open(os.path.join(SITE, "searchindex.js")) as f:
            self.assertIn("docs/man/salusd.8", f.read())


class Faults(unittest.TestCase):
    def build(self, files):
        with tree(files) as root:
            done = subprocess.run([sys.executable, os.path.join(documents.DOCS, "site"), os.path.join(root, "out"), root],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def test_a_good_tree(self):
        status, said = self.build(small_tree())
        self.assertEqual(status, 0, said)

    def test_bad_links(self):
        for text, complaint in BAD:
            with self.subTest(text):
                status, said = self.build({**small_tree(), "README.md": "# Top\n" + text})
                self.assertNotEqual(status, 0)
                self.assertIn(complaint, said)

    def test_a_page_that_the_navigation_names(self):
        files = small_tree()
        del files["docs/isolation.md"]
        status, said = self.build(files)
        self.assertNotEqual(status, 0)
        self.assertIn("there is no page docs/isolation.md", said)


if __name__ == "__main__":
    unittest.main()
