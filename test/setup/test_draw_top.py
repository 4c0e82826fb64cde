# SPDX-License-Identifier: Apache-2.0
"""Tests that the README's picture of `salusctl top` shows the text unchanged, and has the current columns. Run by make
check-setup."""

import html
import importlib.machinery
import importlib.util
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def drawer():
    loader = importlib.machinery.SourceFileLoader("draw_top", os.path.join(ROOT, "scripts", "docs", "draw-top"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("draw_top", loader))
    loader.exec_module(module)
    return module


def lines_of(svg):
    return [html.unescape(m) for m in re.findall(r"<text[^>]*>(.*?)</text>", svg)]


class Picture(unittest.TestCase):
    def test_text_is_kept(self):
        text = "GPU 0 <a> & \"b\"\n  *     1 x\n"
        self.assertEqual(lines_of(drawer().svg(text)), text.rstrip("\n").split("\n"))

    def test_a_longer_line_makes_it_wider(self):
        widths = [int(re.search(r'width="(\d+)"', drawer().svg("x" * n))[1]) for n in (10, 100)]
        self.assertLess(widths[0], widths[1])

    def test_the_drawn_one_has_the_columns_of_today(self):
        with open(os.path.join(ROOT, "daemon", "ctl", "verbs", "top_draw.c")) as f:
            columns = re.findall(r'"([A-Z/]+)"', re.search(r'"ID", "NAME".*?;', f.read(), re.S)[0])
        with open(os.path.join(ROOT, "docs", "images", "top.svg")) as f:
            lines = lines_of(f.read())
        self.assertIn(columns, [line.split() for line in lines])
        self.assertTrue(any("service" in line for line in lines) and any("training" in line for line in lines))


if __name__ == "__main__":
    unittest.main()
