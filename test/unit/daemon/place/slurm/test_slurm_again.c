/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that ran out of memory: which of them are requeued, with how much memory, and how often.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "daemon/place/slurm/placer/memory_retry.h"

#define MIB (1ull << 20)

static struct world_node nodes[2];
static struct world w = {.nodes = nodes, .node_count = 2};
static struct world_lack lack;
static struct note next;

static void set_up(void) {
    nodes[0] = (struct world_node){
        .reported = true,
        .report = {.gpu_count = 2, .gpus = {{500 * MIB, true}, {1000 * MIB, true}}}};
    nodes[1] = (struct world_node){.report = {.gpu_count = 1, .gpus = {{4000 * MIB, true}}}};
    lack = (struct world_lack){.id = 7, .ended = true, .needed_bytes = 400 * MIB, .at_ms = 9000};
    lack.note = (struct note){.ask = {.mem_bytes = 200 * MIB, .persistent_bytes = 150 * MIB},
                              .wait_s = 300,
                              .gpu = 1,
                              .at = 8,
                              .node = "n1",
                              .tried = "n2"};
}

TestSuite(slurm_again, .init = set_up);

Test(slurm_again, it_gets_what_it_needed_and_a_quarter) {
    cr_assert_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_YES);
    cr_expect_eq(next.ask.mem_bytes, 500 * MIB);
    cr_expect_eq(next.ask.persistent_bytes, 450 * MIB, "what is of an iteration stays");
    cr_expect_eq(next.more, 1);
    cr_expect_eq(next.lacked_ms, 9000);
    cr_expect_str_eq(next.node, "", "it is to be placed");
    cr_expect_str_eq(next.tried, "n2");
    cr_expect_eq(next.wait_s, 300);
}

Test(slurm_again, who_said_nothing_has_said_it_then) {
    lack.note.ask = (struct ask){0};
    cr_assert_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_YES);
    cr_expect(next.ask.mem_bytes == 500 * MIB && next.ask.persistent_bytes == 500 * MIB);
}

Test(slurm_again, no_more_than_a_gpu_has) {
    lack.needed_bytes = 900 * MIB;
    cr_assert_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_YES);
    cr_expect_eq(next.ask.mem_bytes, 1000 * MIB, "the other node does not report");
    lack.needed_bytes = 1000 * MIB + 1;
    cr_expect_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_TOO_LARGE);
    nodes[1].reported = true;
    cr_expect_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_YES);
    nodes[0].reported = nodes[1].reported = false;
    cr_expect_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_TOO_LARGE,
                 "nothing is known of any");
}

/* Other jobs on its GPU used more memory than they had requested. */
Test(slurm_again, what_was_asked_is_not_made_less) {
    lack.note.ask.mem_bytes = 700 * MIB;
    cr_assert_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_YES);
    cr_expect(next.ask.mem_bytes == 700 * MIB && next.ask.persistent_bytes == 150 * MIB);
    cr_expect_eq(next.more, 1);
}

Test(slurm_again, an_end_counts_once) {
    cr_assert_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_YES);
    lack.note = next;
    cr_expect_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_KNOWN,
                 "it ended for something else since");
    lack.at_ms++;
    cr_expect_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_YES);
}

Test(slurm_again, three_times_and_never_more) {
    int times = 0;

    while (memory_retry_judge(&w, &lack, &next) == MEMORY_RETRY_YES && times < 100) {
        times++;
        lack.note = next;
        lack.at_ms++;
        lack.needed_bytes += MIB;
    }
    cr_expect_eq(times, 3);
    cr_expect_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_TOO_OFTEN);
}

/* After a restart, the placer reads the note that Slurm has stored as text. */
Test(slurm_again, it_is_remembered_in_the_note) {
    char text[NOTE_BYTES];
    struct note n;

    cr_assert_eq(memory_retry_judge(&w, &lack, &next), MEMORY_RETRY_YES);
    note_print(&next, text, sizeof(text));
    cr_expect_not_null(strstr(text, " wait=300 more=1 lacked=9000; tried=n2"), "%s", text);
    cr_assert_eq(note_parse(&n, text), 0);
    cr_expect(n.more == 1 && n.lacked_ms == 9000 && n.ask.mem_bytes == 500 * MIB);
    cr_expect_eq(note_parse(&n, "salus: class=be more=4294967296;"), -EINVAL);
    cr_expect_eq(note_parse(&n, "salus: class=be more=1 lacked=-1;"), -EINVAL);
}
