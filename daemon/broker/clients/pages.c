/* SPDX-License-Identifier: Apache-2.0
 *
 * Making, mapping and letting go of a client's shared memory.
 */
#include "daemon/broker/clients/pages.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"

#define PAGE_BYTES 4096u

/* The broker reads the fault, counters and what runs; all must lie in the one page it maps. */
_Static_assert(offsetof(struct wire_completion, callbacks) <= PAGE_BYTES,
               "fault, stats and running lie in the first page");

static size_t submission_bytes(void) {
    return (sizeof(struct wire_submission) + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

int pages_create(struct client *c) {
    void *map;
    int rc;

    rc = fdutil_memfd("salus-submission", submission_bytes(), 0);
    if (rc < 0) return rc;
    c->submission_fd = rc;
    rc = fdutil_memfd("salus-host", c->host_bytes, 0);
    if (rc < 0) goto undo;
    c->host_fd = rc;
    c->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->doorbell_fd < 0) goto undo_errno;
    map = mmap(NULL, submission_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, c->submission_fd, 0);
    if (map == MAP_FAILED) goto undo_errno;
    c->submission = map;
    return 0;
undo_errno:
    rc = -errno;
undo:
    pages_finish(c);
    return rc;
}

int pages_see_completion(struct attachment *a, int fd) {
    void *map;

    if (fdutil_scarce(fd)) return fd;
    if (fd < 0 || fdutil_check_sealed(fd, sizeof(struct wire_completion)) < 0) return -EINVAL;
    map = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return -errno;
    pages_forget_completion(a);
    a->completion = map;
    return 0;
}

void pages_forget_completion(struct attachment *a) {
    if (a->completion) munmap((void *)a->completion, PAGE_BYTES);
    a->completion = NULL;
}

void pages_lose(struct client *c, int err) {
    struct wire_submission *s = c->submission;

    if (!s) return;
    if (c->attachment) c->attachment->lost = err;
    atom_store_release(&s->lost, (uint32_t)-err);
    /* A thread that is about to park has set client_sleeping and looks at `lost` once more. */
    atom_exchange(&s->client_sleeping, 0);
    syscall(SYS_futex, &s->client_sleeping, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void pages_close_fds(struct client *c) {
    fdutil_close(&c->submission_fd);
    fdutil_close(&c->doorbell_fd);
}

uint64_t pages_pinned(const struct client *c) {
    struct stat st;

    if (c->host_fd < 0 || fstat(c->host_fd, &st) < 0) return 0;
    return (uint64_t)st.st_blocks * 512;
}

void pages_finish(struct client *c) {
    pages_close_fds(c);
    fdutil_close(&c->host_fd);
    if (c->submission) munmap(c->submission, submission_bytes());
    c->submission = NULL;
}
