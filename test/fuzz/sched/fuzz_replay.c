/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a recording: the scheduler keeps its invariants (replay_run checks them after each
 * step), and errors in the text are reported. Checkpoints are trusted once their hash is right,
 * which the fuzzer cannot produce; salus-sim reads them in a sandbox (test_sim_replay).
 */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/sched/record/replay.h"

/* NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name. */
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
