#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The runner of tutorials notices commands that fail and output that differs."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run_tutorials
from run_tutorials import Wrong, follow


def page(*parts):
    """Returns a page of blocks: (info string, content)."""
    return "# A page\n\n" + "\n".join(f"```{info}\n{content}\n```\n" for info, content in parts)


class Runner(unittest.TestCase):
    def wrong(self, text, words):
        with self.assertRaisesRegex(Wrong, words):
            follow(text)

    def test_commands_run_in_their_order_in_one_shell_and_an_empty_folder(self):
        follow(page(("sh", "ls; x=5; echo one >file"), ("text", ""), ("sh", "cat file; echo $x"), ("text", "one\n5")))

    def test_a_command_that_fails_is_noticed(self):
        self.wrong(page(("sh", "true"), ("sh", "false"), ("sh", "true")), "end with status 1:\nfalse")
        self.wrong(page(("sh", "no-such-program")), "status 127")

    def test_output_that_differs_is_noticed(self):
        self.wrong(page(("sh", "echo a"), ("text", "b")), "lacks this line:\nb")
        self.wrong(page(("sh", "echo a; echo b"), ("text", "b\na")), "lacks this line:\na")
        self.wrong(page(("sh", "echo ab"), ("text", "a")), "lacks this line")
        self.wrong(page(("sh", "echo a 5"), ("text", "a x")), "lacks this line")

    def test_numbers_blanks_and_left_out_lines_match(self):
        follow(page(("sh", "echo 'took  17.25 s of 1,000'; echo other; echo end"), ("text", "took 3 s of 9\n...\nend")))

    def test_numbers_within_words_count(self):
        self.wrong(page(("sh", "echo p99 5 ms"), ("text", "p50 3 ms")), "lacks this line")
        self.wrong(page(("sh", "echo 0x12ab"), ("text", "0x12ac")), "lacks this line")

    def test_output_of_another_block_does_not_count(self):
        self.wrong(page(("sh", "echo a"), ("sh", "echo b"), ("text", "a")), "lacks this line:\na")

    def test_errors_are_output(self):
        follow(page(("sh", "echo gone >&2"), ("text", "gone")))

    def test_what_is_missing_is_left_out_and_said(self):
        said = []
        follow(page(("sh", "true"), ("sh pigs_that_fly", "false")), said.append)
        self.assertEqual(len(said), 1)
        self.assertIn("pigs_that_fly", said[0])

    def test_a_page_without_commands_is_an_error(self):
        self.wrong(page(("text", "a")), "no commands")

    def test_commands_that_do_not_end_are_ended(self):
        patience, run_tutorials.PATIENCE_S = run_tutorials.PATIENCE_S, 0.2
        try:
            self.wrong(page(("sh", "sleep 1000")), "do not end")
        finally:
            run_tutorials.PATIENCE_S = patience

    def test_the_page_s_programs_are_the_built_ones(self):
        follow(page(("sh", "command -v salusctl; test -f $SALUS/Makefile"), ("text", os.path.join(run_tutorials.BUILD, "salusctl"))))


if __name__ == "__main__":
    unittest.main()
