/* SPDX-License-Identifier: Apache-2.0
 *
 * The board's page.
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
