/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serve/worker/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"

static int post(int sock, struct serve_wire_msg *m, int fd) {
    m->magic = SERVE_WIRE_MAGIC;
    m->version = SERVE_WIRE_VERSION;
    return fdutil_send(sock, m, sizeof(*m), &fd, fd >= 0);
}

int batch_send_word(int sock, enum serve_wire_kind kind) {
    struct serve_wire_msg m = {.kind = (uint16_t)kind};

    return post(sock, &m, -1);
}

/* ---- a batch --------------------------------------------------------------------------------- */

static void convert(struct serve_memory_tensor *out, const struct tensor *t, uint32_t request) {
    *out = (struct serve_memory_tensor){.request = request,
                                        .name = t->name,
                                        .type = t->type,
                                        .rank = t->rank,
                                        .data = t->data,
                                        .bytes = t->bytes};
    if (t->rank <= SERVE_WIRE_MAX_RANK) memcpy(out->shape, t->shape, t->rank * sizeof(t->shape[0]));
}

/* All of them as one list, to be freed; NULL: no memory. */
static struct serve_memory_tensor *gather(const struct batch_request *requests, uint32_t count,
                                          uint32_t *total) {
    struct serve_memory_tensor *all;
    uint32_t next = 0;

    *total = 0;
    for (uint32_t i = 0; i < count; i++)
        *total += requests[i].count;
    all = calloc(*total + 1u, sizeof(*all));
    for (uint32_t i = 0; all && i < count; i++)
        for (uint32_t k = 0; k < requests[i].count; k++)
            convert(&all[next++], &requests[i].inputs[k], i);
    return all;
}

int batch_send(int sock, uint64_t number, const struct batch_request *requests, uint32_t count,
               struct serve_memory_why *why) {
    struct serve_wire_msg m = {.kind = SERVE_WIRE_BATCH, .number = number, .requests = count};
    uint32_t total;
    struct serve_memory_tensor *all = gather(requests, count, &total);
    int err, fd = all ? serve_memory_make(all, total, count, &m.bytes, why) : -ENOMEM;

    free(all);
    if (!all) serve_memory_say(why, "out of memory");
    if (fd < 0) return fd;
    err = post(sock, &m, fd);
    if (err) serve_memory_say(why, "its program cannot be told: %s", strerror(-err));
    fdutil_close(&fd);
    return err;
}

/* ---- what comes ------------------------------------------------------------------------------ */

static const char *complain(const struct serve_wire_msg *m, int bytes, int fd) {
    if (bytes != (int)sizeof(*m) || m->magic != SERVE_WIRE_MAGIC) return "it sent garbage";
    if (m->version != SERVE_WIRE_VERSION) return "its library is of another version";
    if ((m->kind == SERVE_WIRE_DONE) != (fd >= 0))
        return fd >= 0 ? "it sent a descriptor that nobody asked for"
                       : "it sent an answer without its memory";
    if (!memchr(m->text, 0, sizeof(m->text))) return "it sent a text without an end";
    return NULL;
}

enum batch_got batch_receive(int sock, struct serve_wire_msg *m, int *fd, const char **why) {
    int fds = 1, n = fdutil_recv(sock, m, sizeof(*m), fd, &fds);

    if (fds != 1) *fd = -1;
    if (n == -EAGAIN) return BATCH_NOTHING;
    if (n == 0 || n == -ECONNRESET) return BATCH_END;
    *why = n < 0 ? "it sent garbage" : NULL;
    if (n > 0 && fds == FDUTIL_LOST) return BATCH_SCARCE;
    if (n > 0) *why = complain(m, n, *fd);
    if (!*why) return BATCH_MESSAGE;
    fdutil_close(fd);
    return BATCH_GARBAGE;
}
