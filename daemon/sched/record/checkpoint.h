/* SPDX-License-Identifier: Apache-2.0
 *
 * A scheduler's state as bytes, and as lines of a recording, so that a recording can begin in the
 * middle: a flat copy of its blocks (core/sched_memory.h). It means something to the very build
 * that wrote it alone, which is told by a hash of the scheduler's sources; and it is only ever put
 * back when its own hash agrees, for nothing in it is checked. Whoever makes one up can give it the
 * right hash, and may crash or take over who puts it back: salus-sim does that in a sandbox.
 *
 *   checkpoint BYTES BUILD HASH
 *   :HEX       32 bytes, fewer in the last one
 *   0 N        so many lines of zeroes
 */
#ifndef DAEMON_SCHED_RECORD_CHECKPOINT_H
#define DAEMON_SCHED_RECORD_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/sched.h"

#define CHECKPOINT_LINE 32u /* bytes of a line */

struct checkpoint {
    unsigned char *data; /* NULL: none */
    size_t bytes, cap;
};

void checkpoint_finish(struct checkpoint *c);
/* A copy of the scheduler between two steps, in place of what was there: 0 or -ENOMEM. Allocates
 * only where it needs more room than ever before. */
int checkpoint_take(struct checkpoint *c, const struct sched *s);
/* The scheduler that was copied. 0, -ENOMEM, or -EINVAL: it is another build's, or damaged. */
int checkpoint_restore(const struct checkpoint *c, struct sched **out);

/* Which build of the scheduler this is. */
const char *checkpoint_build(void);
uint64_t checkpoint_hash(const struct checkpoint *c);

/* The next line from byte *at on, its end included, at most CHECKPOINT_TEXT; 0: there is no more.
 */
#define CHECKPOINT_TEXT 128u
size_t checkpoint_line(const struct checkpoint *c, size_t *at, char *out);

/* Begins to read one: 0, -ENOMEM, or -EINVAL: the line is not "checkpoint ...". `build` and `hash`:
 * what it says of itself. */
#define CHECKPOINT_BUILD 32u /* with its end */
int checkpoint_read_head(struct checkpoint *c, const char *line, char build[CHECKPOINT_BUILD],
                         uint64_t *hash, size_t *bytes);
/* A line behind it: 0, 1: not of a checkpoint; -EINVAL, -ENOMEM. */
int checkpoint_read_line(struct checkpoint *c, const char *line, size_t bytes);

#endif
