/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a recording: whatever it says, the scheduler keeps its invariants (replay_run asks
 * for them after each step), and what is wrong with the text is said. Checkpoints are believed once
 * their hash is right, which no input that the fuzzer makes up is; salus-sim believes them in a
 * sandbox (test_sim_replay).
 */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/sched/record/replay.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static FILE *null;
    struct replay r = {.any_build = true};
    FILE *in = size ? fmemopen((void *)data, size, "r") : NULL;

    if (!null && !(null = fopen("/dev/null", "w"))) abort();
    if (!in) return 0;
    if (replay_run(&r, in, null) >= REPLAY_DAMAGED && !*r.why) abort();
    fclose(in);
    return 0;
}
