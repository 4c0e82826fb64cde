/* SPDX-License-Identifier: Apache-2.0
 *
 * Exit handlers run in the reverse order of their registration.
 */
#include "shim/connection/process_exit.h"

#include <stdlib.h>

#include "common/atomics.h"

static _Atomic uint32_t registered;
static _Atomic bool begun, over;

static void note_exit(void) {
    atom_store_release(&begun, true);
}

void process_exit_watch(uint32_t holders) {
    uint32_t there = atom_load_relaxed(&registered);

    while (there < holders)
        if (atom_cas(&registered, &there, there + 1)) {
            atexit(note_exit);
            return;
        }
}

static void note_end(void) {
    atom_store_release(&over, true);
}

void process_exit_watch_end(void) {
    atexit(note_end);
}

bool process_exit_over(void) {
    return atom_load_acquire(&over);
}

bool process_exit_begun(void) {
    return atom_load_acquire(&begun);
}
