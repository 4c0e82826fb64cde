/* SPDX-License-Identifier: Apache-2.0
 *
 * A memory that follows the struct is copied once by the kernel, with the message. A memfd costs
 * each end about eight more system calls, but is not copied.
 */
#include "proto/serve/serve_message.h"
#include "proto/serve/serve_memory_make.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"

_Static_assert(offsetof(struct serve_message, behind) % SERVE_WIRE_ALIGN == 0, "aligned");

struct serve_message *serve_message_create(void) {
    void *msg = NULL;

    return posix_memalign(&msg, SERVE_WIRE_ALIGN, sizeof(struct serve_message)) ? NULL : msg;
}

/* ---- sending --------------------------------------------------------------------------------- */

static void stamp(struct serve_wire_msg *m) {
    m->magic = SERVE_WIRE_MAGIC;
    m->version = SERVE_WIRE_VERSION;
}

int serve_message_send(int sock, struct serve_wire_msg *m) {
    stamp(m);
    return fdutil_send(sock, m, sizeof(*m), NULL, 0);
}

static int post(int sock, const struct serve_wire_msg *m, const struct serve_memory_parcel *p) {
    if (!p->message) return fdutil_send(sock, m, sizeof(*m), &p->fd, 1);
    memcpy(p->message, m, sizeof(*m));
    return fdutil_send(sock, p->message, sizeof(*m) + p->bytes, NULL, 0);
}

int serve_message_send_memory(int sock, struct serve_wire_msg *m,
                              const struct serve_memory_tensor *tensors, uint32_t count,
                              struct serve_memory_why *why) {
    struct serve_memory_parcel p;
    int err = serve_memory_pack(&p, tensors, count, m->requests, why);

    if (err) return err;
    stamp(m);
    m->bytes = p.bytes;
    err = post(sock, m, &p);
    /* net.core.wmem_default may be so low that a socket rejects such a message. */
    if (err == -EMSGSIZE && p.message) {
        err = serve_memory_parcel_close(&p);
        if (!err) err = post(sock, m, &p);
    }
    if (err) serve_memory_say(why, "the other end cannot be told: %s", strerror(-err));
    serve_memory_parcel_finish(&p);
    return err;
}

/* ---- receiving ------------------------------------------------------------------------------- */

static const char *memory_fault(const struct serve_wire_msg *m, uint64_t behind, int fd) {
    if (fd < 0 && behind == 0) return "a message without its memory";
    if (fd >= 0 && behind > 0) return "a memory in two ways";
    if (fd < 0 && behind != m->bytes) return "a message that is longer or shorter than it says";
    return NULL;
}

const char *serve_message_fault(const struct serve_message *msg, int bytes, int fd) {
    const struct serve_wire_msg *m = &msg->m;
    uint64_t behind = (uint64_t)bytes - sizeof(*m);

    if (bytes < (int)sizeof(*m) || bytes > (int)sizeof(*msg) || m->magic != SERVE_WIRE_MAGIC)
        return "garbage";
    if (m->version != SERVE_WIRE_VERSION) return "a message of another version";
    if (!memchr(m->text, 0, sizeof(m->text))) return "a text without an end";
    if (m->kind == SERVE_WIRE_BATCH || m->kind == SERVE_WIRE_DONE)
        return memory_fault(m, behind, fd);
    if (fd >= 0) return "a descriptor that nobody asked for";
    return behind ? "more than its message" : NULL;
}

enum serve_message_got serve_message_receive(int sock, struct serve_message *msg, int *fd,
                                             const char **why) {
    int fds = 1, n = fdutil_recv(sock, msg, sizeof(*msg), fd, &fds);

    if (fds != 1) *fd = -1;
    if (n == -EAGAIN) return SERVE_MESSAGE_NOTHING;
    if (n == 0 || n == -ECONNRESET) return SERVE_MESSAGE_END;
    if (n > 0 && fds == FDUTIL_LOST) return SERVE_MESSAGE_SCARCE;
    *why = n < 0 ? "garbage" : serve_message_fault(msg, n, *fd);
    if (!*why) return SERVE_MESSAGE_SOUND;
    fdutil_close(fd);
    return SERVE_MESSAGE_BAD;
}

int serve_message_open(struct serve_memory *memory, const struct serve_message *msg, int fd,
                       int kept, struct serve_memory_why *why) {
    if (fd >= 0) return serve_memory_open(memory, fd, msg->m.bytes, why);
    if (kept) return serve_memory_read(memory, msg->behind, msg->m.bytes, why);
    return serve_memory_copy(memory, msg->behind, msg->m.bytes, why);
}
