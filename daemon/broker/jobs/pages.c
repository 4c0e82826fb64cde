/* SPDX-License-Identifier: Apache-2.0
 *
 * All pages are created, or none.
 */
#include "daemon/broker/jobs/pages.h"

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

static size_t submission_bytes(void) {
    return (sizeof(struct wire_submission) + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

void pages_init(struct pages *p) {
    *p = (struct pages){.submission_fd = -1, .doorbell_fd = -1, .host_fd = -1};
}

int pages_create(struct pages *p, uint64_t host_bytes) {
    void *map;
    int err;

    err = fdutil_memfd("salus-submission", submission_bytes(), 0);
    if (err < 0) return err;
    p->submission_fd = err;
    err = fdutil_memfd("salus-host", host_bytes, 0);
    if (err < 0) goto undo;
    p->host_fd = err;
    p->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->doorbell_fd < 0) goto undo_errno;
    map = mmap(NULL, submission_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, p->submission_fd, 0);
    if (map == MAP_FAILED) goto undo_errno;
    p->submission = map;
    return 0;
undo_errno:
    err = -errno;
undo:
    pages_finish(p);
    return err;
}

void pages_close_fds(struct pages *p) {
    fdutil_close(&p->submission_fd);
    fdutil_close(&p->doorbell_fd);
}

void pages_finish(struct pages *p) {
    pages_close_fds(p);
    fdutil_close(&p->host_fd);
    if (p->submission) munmap(p->submission, submission_bytes());
    p->submission = NULL;
}

uint64_t pages_pinned(const struct pages *p) {
    struct stat st;

    if (p->host_fd < 0 || fstat(p->host_fd, &st) < 0) return 0;
    return (uint64_t)st.st_blocks * 512;
}

/* Wakes the client's threads. A thread that is about to park has set client_sleeping and reads
 * `word` once more. */
static void tell_threads(struct wire_submission *s, _Atomic uint32_t *word, uint32_t value) {
    atom_store_release(word, value);
    atom_exchange(&s->client_sleeping, 0);
    syscall(SYS_futex, &s->client_sleeping, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void pages_lose(struct pages *p, int err) {
    if (p->submission) tell_threads(p->submission, &p->submission->lost, (uint32_t)-err);
}

void pages_move(struct pages *p, uint32_t number) {
    if (p->submission) tell_threads(p->submission, &p->submission->moved, number);
}

int pages_map_completion(int fd, const struct wire_completion **out) {
    void *map;

    if (fdutil_scarce(fd)) return fd;
    if (fd < 0 || fdutil_check_sealed(fd, sizeof(struct wire_completion)) < 0) return -EINVAL;
    map = mmap(NULL, sizeof(**out), PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return -errno;
    *out = map;
    return 0;
}

void pages_unmap_completion(const struct wire_completion *c) {
    if (c) munmap((void *)c, sizeof(*c));
}
