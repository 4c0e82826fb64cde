/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds launches to what daemon/device/touch says of them: they see no other memory than that, so
 * that whatever else they touch is an illegal address; and what they changed of it is looked for
 * elsewhere.
 */
#ifndef TEST_LIB_WATCHED_H
#define TEST_LIB_WATCHED_H

#include <stdbool.h>

#include "daemon/device/device.h"
#include "daemon/device/soft/instructions/ptx_ir.h"
#include "daemon/device/soft/launch/ranges.h"

struct watched {
    bool known;
    char why[256]; /* it is not */
    bool reads_all, reads_variables;
    struct ranges *reads, *writes;
    const struct ranges *all; /* a launch's that is being watched */
    unsigned char *before;    /* what is in those */
};

/* Whether one more launch of this process is to be: the first SALUS_TEST_WATCHED are, 40 by
 * default; some take as long to look at as a hundred take to run. */
bool watched_wanted(void);

/* watched_finish follows. */
void watched_look(struct watched *w, const struct ptx_func *f, const struct dev_launch *launch);
void watched_finish(struct watched *w);

/* It could be done again: it reads nothing of what it writes. */
bool watched_harmless(const struct watched *w);

/* Those of `all` that it may touch; `variables` are where those of the module lie. The caller's;
 * `all` stays until watched_end. */
struct ranges *watched_begin(struct watched *w, const struct ranges *all,
                             const struct ranges *variables);
/* It ran. False: it wrote elsewhere, to `*at`. */
bool watched_end(const struct watched *w, uint64_t *at);
/* What is there now is what there was; `keep`: what is there now is to be. */
void watched_keep(struct watched *w);
bool watched_same(const struct watched *w, uint64_t *at);

#endif
