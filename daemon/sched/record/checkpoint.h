/* SPDX-License-Identifier: Apache-2.0
 *
 * A scheduler's state as bytes, and as lines of a recording, so that a recording can begin in the
 * middle: a flat copy of its blocks (core/sched_memory.h). Only the very build that wrote a
 * checkpoint can read it, which a hash of the scheduler's sources ensures. It is restored only if
 * its own hash matches, because its contents are not validated. A forged checkpoint can have the
 * right hash, and crash or take over the program that restores it: salus-sim does that in a
 * sandbox.
 *
 *   checkpoint BYTES BUILD HASH
 *   :HEX       32 bytes, fewer in the last line
 *   0 N        N lines of zeroes
 */
#ifndef DAEMON_SCHED_RECORD_CHECKPOINT_H
#define DAEMON_SCHED_RECORD_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/sched.h"

#define CHECKPOINT_LINE 32u /* bytes per line */

struct checkpoint {
    unsigned char *data; /* NULL: none */
    size_t bytes, cap;
};

void checkpoint_finish(struct checkpoint *c);
/* Copies the scheduler between two steps, replacing the previous copy. Returns 0 or -ENOMEM.
 * Allocates only when it needs more memory than ever before. */
int checkpoint_take(struct checkpoint *c, const struct sched *s);
/* Creates the scheduler that was copied. Returns 0, -ENOMEM, or -EINVAL for another build's or a
 * damaged checkpoint. */
int checkpoint_restore(const struct checkpoint *c, struct sched **out);

/* The hash of this build's scheduler. */
const char *checkpoint_build(void);
uint64_t checkpoint_hash(const struct checkpoint *c);

/* Writes the line that begins at byte *at, with its newline, at most CHECKPOINT_TEXT bytes, and
 * advances *at. Returns its length; 0: no more lines. */
#define CHECKPOINT_TEXT 128u
size_t checkpoint_line(const struct checkpoint *c, size_t *at, char *out);

/* Begins to read a checkpoint. Returns 0, or -EINVAL if the line is not "checkpoint ...". Sets
 * `build`, `hash` and `bytes`, the size, to what the line claims. */
#define CHECKPOINT_BUILD 32u /* including the terminator */
int checkpoint_read_head(struct checkpoint *c, const char *line, char build[CHECKPOINT_BUILD],
                         uint64_t *hash, size_t *bytes);
/* Reads a line of a checkpoint of `bytes`. Returns 0; 1 if the line is not part of a checkpoint;
 * -EINVAL if it is malformed or exceeds the size; -ENOMEM. */
int checkpoint_read_line(struct checkpoint *c, const char *line, size_t bytes);

#endif
