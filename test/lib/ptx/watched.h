/* SPDX-License-Identifier: Apache-2.0
 *
 * Holds launches to the accesses that daemon/device/touch predicts: only the predicted memory is
 * mapped for them, so that any other access is an illegal address. Writes outside the predicted
 * ranges are found by comparing memory before and after.
 */
#ifndef TEST_LIB_WATCHED_H
#define TEST_LIB_WATCHED_H

#include <stdbool.h>

#include "daemon/device/device.h"
#include "daemon/device/soft/instructions/ptx_ir.h"
#include "daemon/device/soft/launch/ranges.h"

struct watched {
    bool known;
    char why[256]; /* the reason why the launch is not watched */
    bool reads_all, reads_variables;
    struct ranges *reads, *writes;
    const struct ranges *all; /* ranges of the launch being watched */
    unsigned char *before;    /* contents of those ranges before the launch */
};

/* True if this process may watch another launch: it watches the first SALUS_TEST_WATCHED, 40 by
 * default. Some launches take as long to watch as a hundred to run. */
bool watched_wanted(void);

/* Analyses a launch; watched_finish follows. */
void watched_look(struct watched *w, const struct ptx_func *f, const struct dev_launch *launch);
void watched_finish(struct watched *w);

/* True if the launch can be repeated: it reads nothing that it writes. */
bool watched_harmless(const struct watched *w);

/* Returns those ranges of `all` that the launch may touch; `variables` are the ranges of the
 * module's variables. The caller frees the result; `all` must stay until watched_end. */
struct ranges *watched_begin(struct watched *w, const struct ranges *all,
                             const struct ranges *variables);
/* Called after the launch. False: it wrote outside its ranges, at `*at`. */
bool watched_end(const struct watched *w, uint64_t *at);
/* Makes the current contents the ones that watched_end and watched_same compare with. */
void watched_keep(struct watched *w);
/* False: memory, in any range, differs from those contents, first at *at. */
bool watched_same(const struct watched *w, uint64_t *at);

#endif
