/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines as users write them, and the job names that they give.
 */
#include "shim/process/title.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits words at blanks; "~" stands for a blank in a word. */
static size_t split(const char *text, char *words) {
    size_t n = strlen(text) + 1;
    for (size_t i = 0; i < n; i++)
        words[i] = text[i] == ' ' ? '\0' : text[i] == '~' ? ' ' : text[i];
    return n;
}

static void named(const char *text, const char *name) {
    char words[512], out[TITLE_BYTES];
    title_of(words, split(text, words), out);
    cr_expect_str_eq(out, name, "%s: '%s'", text, out);
}

Test(shim_title, pythons_scripts_and_modules) {
    named("python train.py", "train.py");
    named("/usr/bin/python3.11 -u /home/me/train.py --epochs 3", "train.py");
    named("python3 -W ignore -X dev a/b.py", "b.py");
    named("python3 -Wignore -Xdev -OO -sE b.py", "b.py");
    named("python -m pkg.mod --lr 1", "pkg.mod");
    named("python -um pkg.mod train.py", "pkg.mod");
    named("python -mpkg.mod", "pkg.mod");
    named("python3.13t --check-hash-based-pycs always x.py", "x.py");
    named("python -- -odd.py", "-odd.py");
    named("pypy3 x.py", "x.py");
    named("python3 /usr/lib/torch/compile_worker/__main__.py --workers=4", "compile_worker");
    named("python3 __main__.py", "__main__.py");
    named("python3 my~script.py", "my script.py");
}

Test(shim_title, other_interpreters) {
    named("bash run.sh a b", "run.sh");
    named("bash -eo pipefail ./run.sh", "run.sh");
    named("/bin/sh -x run.sh", "run.sh");
    named("node --max-old-space-size=4096 -r dotenv server.js", "server.js");
    named("nodejs --require x a/server.js", "server.js");
    named("julia --project=. -t 4 -O3 sim.jl", "sim.jl");
    named("julia --threads auto sim.jl", "sim.jl");
    named("Rscript --vanilla fit.R", "fit.R");
    named("/usr/lib/R/bin/exec/R --no-echo --no-restore --file=fit.R --args x", "fit.R");
    named("R -f fit.R", "fit.R");
    named("perl -w -Mfeature=say -I lib run.pl", "run.pl");
    named("ruby -ropenssl run.rb", "run.rb");
}

Test(shim_title, without_a_script_there_is_no_better_name) {
    named("python", "");
    named("python3 -i", "");
    named("python3 -", "");
    named("python -c import~torch x.py", "");
    named("bash -lc python~train.py x", "");
    named("node -e 1 x.js", "");
    named("julia -E 1+1 x.jl", "");
    named("perl -ne print x", "");
    named("R --args x", "");
    named("python -m", "");
    named("python -W", "");
    named("train a.py", "");
    named("pythonic a.py", "");
    named("nodes a.js", "");
    named("shed a.sh", "");
    named("", "");
}

/* Memory after the words is not read; a truncated word is ignored. */
Test(shim_title, every_cut_is_read_to_its_end_alone) {
    char words[64], out[TITLE_BYTES];
    size_t n = split("python -X dev -um pkg.mod", words);
    for (size_t cut = 0; cut < n; cut++) {
        char *copy = malloc(cut + 1);
        memcpy(copy, words, cut);
        title_of(copy, cut, out);
        cr_expect_str_eq(out, "", "%zu bytes: '%s'", cut, out);
        free(copy);
    }
    char far[300] = "python\0";
    memset(far + 7, 'x', 200);
    title_of(far, 7 + 201, out);
    cr_expect_eq(strlen(out), TITLE_BYTES - 1);
}

Test(shim_title, children_of_multiprocessing_are_called_as_their_parents) {
    char words[512];
    size_t n =
        split("python3 -c from~multiprocessing.spawn~import~spawn_main;~spawn_main() x", words);
    cr_expect(title_is_parents(words, n));
    n = split("python3 -s -c from~multiprocessing.forkserver~import~main", words);
    cr_expect(title_is_parents(words, n));
    n = split("python3 -c import~torch", words);
    cr_expect_not(title_is_parents(words, n));
    n = split("echo from~multiprocessing.spawn~import~x", words);
    cr_expect_not(title_is_parents(words, n));
}

Test(shim_title, the_users_name_wins) {
    char out[TITLE_BYTES];
    title_self(out);
    cr_expect_str_eq(out, program_invocation_short_name);
    setenv("SALUS_JOB_NAME", "mine", 1);
    title_self(out);
    cr_expect_str_eq(out, "mine");
    setenv("SALUS_JOB_NAME", "", 1);
    title_self(out);
    cr_expect_str_eq(out, program_invocation_short_name);
}
