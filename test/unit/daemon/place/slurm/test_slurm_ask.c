/* SPDX-License-Identifier: Apache-2.0
 *
 * The request of a job, and the note of it that Slurm stores: as options, as text, and parsed
 * again.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/place/slurm/ask.h"
#include "daemon/place/slurm/gres.h"
#include "daemon/place/slurm/job_note.h"

static char why[ASK_WHY_BYTES];

Test(slurm_ask, options_fill_it_in) {
    struct ask a = {0};

    cr_expect_eq(ask_set(&a, ASK_CLASS, "service", why), 0);
    cr_expect_eq(ask_set(&a, ASK_MEM, "3GiB", why), 0);
    cr_expect_eq(ask_set(&a, ASK_PERSISTENT, "1GiB", why), 0);
    cr_expect_eq(ask_set(&a, ASK_SLO, "20ms", why), 0);
    cr_expect_eq(ask_set(&a, ASK_UTIL, "12.5%", why), 0);
    cr_expect_eq(ask_check(&a, why), 0);
    cr_expect_eq(a.class, ASK_SERVICE);
    cr_expect_eq(a.mem_bytes, 3ull << 30);
    cr_expect_eq(a.persistent_bytes, 1ull << 30);
    cr_expect_eq(a.slo_ns, 20000000);
    cr_expect_eq(a.util_milli, 125);
}

Test(slurm_ask, bad_values_are_named) {
    static const struct {
        enum ask_option option;
        const char *value, *why;
    } cases[] = {
        {ASK_CLASS, "be ", "--salus-class: 'be ' is not service, training or be"},
        {ASK_MEM, "x", "--salus-mem: 'x' is not a size such as 4GiB"},
        {ASK_MEM, "0", "--salus-mem: 0 is out of range"},
        {ASK_MEM, "65TiB", "--salus-mem: 65TiB is out of range"},
        {ASK_PERSISTENT, "-1", "--salus-persistent: '-1' is not a size such as 4GiB"},
        {ASK_SLO, "20", "--salus-slo: '20' is not a time with its unit, such as 20ms"},
        {ASK_UTIL, "100.1%", "--salus-util: 100.1% is out of range"},
        {ASK_UTIL, "50", "--salus-util: '50' is not a percentage such as 40%"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ask a = {0};
        cr_expect_eq(ask_set(&a, cases[i].option, cases[i].value, why), -EINVAL);
        cr_expect_str_eq(why, cases[i].why);
    }
}

Test(slurm_ask, parts_must_fit_together) {
    struct ask part = {.persistent_bytes = 1}, more = {.mem_bytes = 1, .persistent_bytes = 2},
               slo = {.slo_ns = 1}, all = {.mem_bytes = 7};

    cr_expect_eq(ask_check(&part, why), -EINVAL);
    cr_expect_str_eq(why, "--salus-persistent needs --salus-mem, which contains it");
    cr_expect_eq(ask_check(&more, why), -EINVAL);
    cr_expect_eq(ask_check(&slo, why), -EINVAL);
    cr_expect_str_eq(why, "--salus-slo needs --salus-class=service, and the class is training");
    cr_expect_eq(ask_check(&all, why), 0);
    cr_expect_eq(all.persistent_bytes, 7, "without a word of it, nothing is shared in turns");
}

Test(slurm_ask, text_comes_back) {
    struct ask a = {ASK_BEST_EFFORT, 5ull << 30, 1ull << 30, 0, 333}, b;
    char text[ASK_TEXT_BYTES], again[ASK_TEXT_BYTES];

    ask_print(&a, text, sizeof(text));
    cr_expect_str_eq(text, "class=be mem=5368709120 persistent=1073741824 slo=0 util=333");
    cr_expect_eq(ask_parse(&b, text), 0);
    ask_print(&b, again, sizeof(again));
    cr_expect_str_eq(again, text);
    cr_expect_eq(ask_parse(&b, "class=be later=7 word"), 0, "words of a newer plugin");
    cr_expect_eq(b.class, ASK_BEST_EFFORT);
}

Test(slurm_ask, text_that_is_none_is_refused) {
    static const char *const texts[] = {"class=urgent",
                                        "mem=1GiB",
                                        "mem=99999999999999999",
                                        "mem=-1",
                                        "util=1001",
                                        "class=be slo=5",
                                        "mem=10 persistent=11",
                                        "persistent=11",
                                        "mem=18446744073709551616"};
    char too_long[ASK_TEXT_BYTES + 1];
    struct ask a;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_expect_eq(ask_parse(&a, texts[i]), -EINVAL, "%s", texts[i]);
        cr_expect(a.mem_bytes == 0 && a.util_milli == 0 && a.class == 0, "nothing of it is taken");
    }
    memset(too_long, ' ', sizeof(too_long));
    too_long[ASK_TEXT_BYTES] = '\0';
    cr_expect_eq(ask_parse(&a, too_long), -EINVAL);
}

Test(slurm_ask, words_are_those_of_salusctl) {
    struct ask service = {ASK_SERVICE, 3, 1, 5, 0}, bare = {ASK_BEST_EFFORT, 0, 0, 0, 900};
    struct ask_words w;

    ask_words(&service, &w);
    cr_assert_eq(w.count, 8);
    cr_expect_str_eq(w.text[1], "1", "a service goes before the others");
    cr_expect_str_eq(w.text[2], "--persistent");
    cr_expect_str_eq(w.text[3], "1");
    cr_expect_str_eq(w.text[4], "--ephemeral");
    cr_expect_str_eq(w.text[5], "2", "what is not persistent");
    cr_expect_str_eq(w.text[7], "5ns");
    ask_words(&bare, &w);
    cr_assert_eq(w.count, 2, "nothing of memory is said where nothing is known");
    cr_expect_str_eq(w.text[1], "-1");
}

/* ---- notes ----------------------------------------------------------------------------------- */

Test(slurm_ask, notes_come_back) {
    struct note a = {.ask = {.class = ASK_SERVICE, .mem_bytes = 9, .persistent_bytes = 4},
                     .begin = 1790000000,
                     .wait_s = 300,
                     .node = "n3",
                     .gpu = 2,
                     .at = 1790000100,
                     .tried = "n1,n2"},
                b;
    char text[NOTE_BYTES];

    note_print(&a, text, sizeof(text));
    cr_expect_str_eq(text, "salus: class=service mem=9 persistent=4 slo=0 util=0 begin=1790000000 "
                           "wait=300; on n3 gpu=2 at=1790000100 tried=n1,n2");
    cr_expect_eq(note_parse(&b, text), 0);
    cr_expect_eq(b.ask.class, ASK_SERVICE);
    cr_expect_eq(b.begin, 1790000000);
    cr_expect_eq(b.wait_s, 300);
    cr_expect_str_eq(b.node, "n3");
    cr_expect_eq(b.gpu, 2);
    cr_expect_eq(b.at, 1790000100);
    cr_expect_str_eq(b.tried, "n1,n2");
}

Test(slurm_ask, a_note_without_a_node_has_none) {
    struct note a;

    cr_expect_eq(note_parse(&a, "salus: class=be begin=0 wait=0; tried=n1"), 0);
    cr_expect_str_eq(a.node, "");
    cr_expect_eq(a.gpu, NOTE_ANY_GPU);
    cr_expect_str_eq(a.tried, "n1");
    cr_expect_eq(note_parse(&a, "salus: class=be free=1"), 0);
    cr_expect(a.free);
}

Test(slurm_ask, comments_of_others_are_none_and_nonsense_is_refused) {
    static const char *const texts[] = {
        "salus: class=be wait=never",        "salus: class=be; on n1",
        "salus: class=be; on n1 gpu=x at=1", "salus: class=be; on n1 gpu=4294967295 at=1",
        "salus: class=be; on  gpu=1 at=1",   "salus: class=be begin=-1",
        "salus: class=be begin=9223372037"};
    struct note a;

    cr_expect_eq(note_parse(&a, NULL), -ENOENT);
    cr_expect_eq(note_parse(&a, "my comment"), -ENOENT);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        cr_expect_eq(note_parse(&a, texts[i]), -EINVAL, "%s", texts[i]);
}

Test(slurm_ask, tried_nodes_are_whole_words) {
    struct note a = {0};

    note_try(&a, "n10");
    note_try(&a, "n2");
    note_try(&a, "n2");
    cr_expect_str_eq(a.tried, "n10,n2");
    cr_expect(note_tried(&a, "n10"));
    cr_expect(!note_tried(&a, "n1"));
    for (int i = 100; i < 999; i++) {
        char name[8];
        snprintf(name, sizeof(name), "node%d", i);
        note_try(&a, name);
        cr_assert_lt(strlen(a.tried), sizeof(a.tried));
        cr_assert(note_tried(&a, name), "%s", name);
    }
}

/* ---- GRES ------------------------------------------------------------------------------------ */

Test(slurm_ask, gres_are_counted) {
    static const struct {
        const char *list;
        uint32_t count;
    } cases[] = {{"gres:salus:2", 2},
                 {"gres:gpu:1,gres:salus", 1},
                 {"salus:4", 4},
                 {"salus:a:2(S:0-1,3)", 2},
                 {"gres/salus=3", 3},
                 {"salusx:4", 0},
                 {"gpu:4,salus:a:1,salus:b:2", 3},
                 {"", 0},
                 {NULL, 0},
                 {"gres:salus:big", 1},
                 {"nosalus:3", 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        cr_expect_eq(gres_count(cases[i].list, "salus"), cases[i].count, "%s", cases[i].list);
}
