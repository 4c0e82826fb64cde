/* SPDX-License-Identifier: Apache-2.0
 *
 * A refusal has the form of a wire_offer, as for jobs.
 */
#include "shim/process/question.h"

#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "shim/process/dial.h"

#define HEAD_BYTES offsetof(struct wire_view, processes)

static int check_refusal(const void *msg, size_t bytes) {
    struct wire_offer o;

    if (bytes != sizeof(o)) return ERR_PROTOCOL;
    memcpy(&o, msg, sizeof(o));
    return o.magic == WIRE_MAGIC && o.result < 0 ? o.result : ERR_PROTOCOL;
}

/* Checks the contents of an answer whose length is right. */
static int check_facts(struct wire_view *v) {
    if (v->device.memory_bytes == 0 || v->used_bytes > v->device.memory_bytes) return ERR_PROTOCOL;
    if (v->busy_permille > 1000 || v->device.pci_bus > 255 || v->device.pci_slot > 31)
        return ERR_PROTOCOL;
    for (uint32_t i = 0; i < v->process_count; i++)
        if (v->processes[i].pid <= 0 || v->processes[i].busy_permille > 1000) return ERR_PROTOCOL;
    v->device.name[sizeof(v->device.name) - 1] = '\0';
    return 0;
}

int question_check(const void *msg, size_t bytes, struct wire_view *out) {
    if (bytes < HEAD_BYTES || bytes > sizeof(*out)) return check_refusal(msg, bytes);
    memcpy(out, msg, bytes);
    if (out->magic != WIRE_QUESTION_MAGIC) return check_refusal(msg, bytes);
    if (out->major != WIRE_MAJOR) return ERR_VERSION;
    if (out->process_count > WIRE_VIEW_PROCESSES ||
        bytes != HEAD_BYTES + out->process_count * sizeof(out->processes[0]))
        return ERR_PROTOCOL;
    return check_facts(out);
}

static int ask(int sock, uint32_t gpu, struct wire_view *out) {
    struct wire_question q = {
        .magic = WIRE_QUESTION_MAGIC, .major = WIRE_MAJOR, .minor = WIRE_MINOR, .gpu = gpu};
    union {
        struct wire_view view;
        struct wire_offer refusal;
    } msg;
    int err = fdutil_send(sock, &q, sizeof(q), NULL, 0);

    if (err && err != -EPIPE)
        return err; /* -EPIPE: refused before the query was sent; the answer has the reason */
    int n = fdutil_recv(sock, &msg, sizeof(msg), NULL, NULL);
    if (n <= 0) return n ? n : ERR_BROKER_LOST;
    return question_check(&msg, (size_t)n, out);
}

int question_ask(uint32_t gpu, struct wire_view *out) {
    int saved = errno, sock = dial_broker();
    int err = sock < 0 ? sock : ask(sock, gpu, out);

    fdutil_close(&sock);
    errno = saved;
    return err;
}
