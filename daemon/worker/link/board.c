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

_Static_assert(sizeof(((struct wire_choice *)0)->lane) == SCHED_NAME_BYTES, "the same names");

/* ---- choices --------------------------------------------------------------------------------- */

void board_from_choice(struct wire_choice *out, const struct sched_choice *choice) {
    *out = (struct wire_choice){0};
#define X(field, ...) out->field = (int64_t)choice->field;
    CHOICE_NUMBERS(X)
#undef X
    memcpy(out->lane, choice->lane, sizeof(out->lane));
    memcpy(out->kernel, choice->kernel, sizeof(out->kernel));
}

int board_to_choice(struct sched_choice *out, const struct wire_choice *choice) {
    if (!memchr(choice->lane, 0, sizeof(choice->lane)) ||
        !memchr(choice->kernel, 0, sizeof(choice->kernel)))
        return -EINVAL;
    *out = (struct sched_choice){0};
    memcpy(out->lane, choice->lane, sizeof(out->lane));
    memcpy(out->kernel, choice->kernel, sizeof(out->kernel));
#define X(field, ...)                                     \
    out->field = (__typeof__(out->field))(choice->field); \
    if ((int64_t)out->field != choice->field) return -EINVAL;
    CHOICE_NUMBERS(X)
#undef X
    return 0;
}
