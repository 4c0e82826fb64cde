/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader's side of a sequence lock.
 */
#include "daemon/broker/worker/board.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/atomics.h"
#include "common/fdutil.h"

#define TRIES                                                                           \
    100 /* the writer needs microseconds; one that is stopped in between never finishes \
         */

const struct wire_board *board_open(int fd, int *err) {
    void *map;

    *err = fdutil_check_sealed(fd, sizeof(struct wire_board));
    if (*err < 0) return NULL;
    map = mmap(NULL, sizeof(struct wire_board), PROT_READ, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) return map;
    *err = -errno;
    return NULL;
}

void board_close(const struct wire_board *b) {
    if (b) munmap((void *)b, sizeof(*b));
}

bool board_read(const struct wire_board *b, struct wire_board *out) {
    for (int i = 0; b && i < TRIES; i++) {
        uint64_t before = atom_load_acquire(&b->seq);

        if (before & 1) {
            atom_pause();
            continue;
        }
        memcpy((char *)out + sizeof(out->seq), (const char *)b + sizeof(b->seq),
               sizeof(*b) - sizeof(b->seq));
        atom_fence(); /* the copy is complete before the sequence is checked again */
        if (atom_load_acquire(&b->seq) != before) continue;
        if (out->lane_count > WIRE_LANES) out->lane_count = WIRE_LANES;
        out->policy.lane[sizeof(out->policy.lane) - 1] = '\0';
        out->policy.kernel[sizeof(out->policy.kernel) - 1] = '\0';
        out->policy.control[sizeof(out->policy.control) - 1] = '\0';
        return true;
    }
    return false;
}
