/* SPDX-License-Identifier: Apache-2.0
 *
 * The board's page, and policies in fixed width.
 */
#include "daemon/worker/link/board.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "common/fdutil.h"

int board_create(struct board *b) {
    b->fd = fdutil_memfd("salus-board", sizeof(*b->page), 1);
    if (b->fd < 0) return b->fd;
    void *page = mmap(NULL, sizeof(*b->page), PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
    if (page == MAP_FAILED) return -errno;
    b->page = page;
    return fdutil_seal_readonly(b->fd);
}

void board_destroy(struct board *b) {
    if (b->page) munmap(b->page, sizeof(*b->page));
    b->page = NULL;
    fdutil_close(&b->fd);
}

_Static_assert(sizeof(((struct wire_policy_config *)0)->lane) == SCHED_NAME_BYTES,
               "the same names");

/* ---- policies ---------------------------------------------------------------------------------
 */

void board_from_policy(struct wire_policy_config *out, const struct policy_config *policy) {
    *out = (struct wire_policy_config){0};
#define X(field, ...) out->field = (int64_t)policy->field;
    POLICY_KNOBS(X)
#undef X
    memcpy(out->lane, policy->lane, sizeof(out->lane));
    memcpy(out->kernel, policy->kernel, sizeof(out->kernel));
}

int board_to_policy(struct policy_config *out, const struct wire_policy_config *policy) {
    if (!memchr(policy->lane, 0, sizeof(policy->lane)) ||
        !memchr(policy->kernel, 0, sizeof(policy->kernel)))
        return -EINVAL;
    *out = (struct policy_config){0};
    memcpy(out->lane, policy->lane, sizeof(out->lane));
    memcpy(out->kernel, policy->kernel, sizeof(out->kernel));
#define X(field, ...)                                     \
    out->field = (__typeof__(out->field))(policy->field); \
    if ((int64_t)out->field != policy->field) return -EINVAL;
    POLICY_KNOBS(X)
#undef X
    return 0;
}
