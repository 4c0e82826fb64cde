/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies all that a worker has of its client, for the next worker.
 */
#include "test/lib/worker/succession.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/device/device_recovery.h"

struct succession succession_begin(const struct worker_config *config, const struct wire_job *job) {
    struct succession r = {.config = *config, .b = wirebench_start_as(config)};
    r.c = job ? wireclient_attach_as(r.b, job, 0) : wireclient_attach(r.b);
    return r;
}

void succession_end(struct succession *r) {
    wireclient_detach(r->c);
    wireclient_free(r->c);
    wirebench_stop(r->b);
}

struct client *succession_client(const struct succession *r) {
    return client_find(r->b->worker, r->c->job_id);
}

/* A copy of the descriptor's memory with its present contents. */
static int copy_of(int fd) {
    struct stat s;
    static char buf[1 << 16];
    cr_assert_eq(fstat(fd, &s), 0);
    int to = fdutil_memfd("copy", (uint64_t)s.st_size, 1);
    cr_assert_geq(to, 0);
    for (off_t at = 0; (at = lseek(fd, at, SEEK_DATA)) >= 0;) {
        off_t hole = lseek(fd, at, SEEK_HOLE);
        for (ssize_t n; at < hole; at += n) {
            size_t want = (size_t)(hole - at) < sizeof(buf) ? (size_t)(hole - at) : sizeof(buf);
            n = pread(fd, buf, want, at);
            cr_assert(n > 0 && pwrite(to, buf, (size_t)n, at) == n);
        }
    }
    return to;
}

static int64_t blocks_of(int fd) {
    struct stat s;
    cr_assert_eq(fstat(fd, &s), 0);
    return s.st_blocks;
}

/* Skips pages that were never written. */
static int copy_of_page(const void *page, size_t bytes) {
    static const char zeros[4096];
    const char *from = page;
    int to = fdutil_memfd("page", bytes, 1);
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros);
        if (!memcmp(from + at, zeros, n)) continue;
        cr_assert_eq(pwrite(to, from + at, n, (off_t)at), (ssize_t)n);
    }
    return to;
}

static void remap_submission(struct wireclient *c, int fd) {
    munmap(c->sub, sizeof(*c->sub));
    c->sub = mmap(NULL, sizeof(*c->sub), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(c->sub, MAP_FAILED);
}

static void meet(struct succession *r, int fds[5]) {
    struct wireclient *c = r->c;
    struct wire_worker_msg msg = {.kind = WIRE_RESTORE,
                                  .job_id = c->job_id,
                                  .windows = c->windows,
                                  .job = c->job,
                                  .name = "scripted"};
    int completion = -1;
    remap_submission(c, fds[0]);
    cr_assert_eq(fdutil_send(r->b->sock, &msg, sizeof(msg), fds, 5), 0);
    cr_assert(wirebench_hear(r->b, &msg, &completion));
    cr_assert_eq(msg.kind, WIRE_ATTACHED);
    snprintf(r->refused, sizeof(r->refused), "%s", msg.result ? msg.text : "");
    if (msg.result) return;
    munmap((void *)(uintptr_t)c->com, sizeof(*c->com));
    c->com = mmap(NULL, sizeof(*c->com), PROT_READ, MAP_SHARED, completion, 0);
    cr_assert_neq(c->com, MAP_FAILED);
    r->before = blocks_of(fds[3]);
    r->after = blocks_of(completion);
    fdutil_close(&completion);
    c->tx.mem = &c->sub->ring;
    c->tx.credit = &c->com->credit;
    msg.kind = WIRE_RESTORED;
    cr_assert_eq(fdutil_send(r->b->sock, &msg, sizeof(msg), NULL, 0), 0);
}

void succession_next(struct succession *r) {
    const struct client *c = succession_client(r);
    int fds[] = {copy_of_page(r->c->sub, sizeof(*r->c->sub)), copy_of(c->files.window),
                 dup(r->c->doorbell), copy_of_page(r->c->com, sizeof(*r->c->com)),
                 copy_of(c->recovery_state.fd)};
    int memory =
        copy_of(dev_soft.recovery->memory_fd(r->b->worker->dev)); /* the next worker owns it */
    wirebench_stop(r->b);
    struct worker_config config = r->config;
    config.device.memory_fd = memory;
    r->b = r->c->bench = wirebench_start_as(&config);
    meet(r, fds);
    for (int i = 0; i < 5; i++)
        fdutil_close(&fds[i]);
    if (!r->refused[0]) wirebench_run(r->b);
}
