/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to the broker.
 */
#include "daemon/worker/link/broker_link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "proto/cuda/cuda_abi.h"

/* The socket may be non-blocking and the broker briefly busy; it reads, or it dies. A message
 * without descriptors also waits while the system lacks memory. */
static int send_bytes(int fd, const void *msg, size_t bytes, const int *fds, int nfds) {
    for (;;) {
        int err = fdutil_send(fd, msg, bytes, fds, nfds);
        if (err != -EAGAIN && (nfds > 0 || !fdutil_scarce(err))) return err;
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        poll(&p, 1, 1000);
        if (err != -EAGAIN) usleep(1000);
    }
}

static int send_msg(int fd, const struct wire_worker_msg *msg, const int *fds, int nfds) {
    return send_bytes(fd, msg, sizeof(*msg), fds, nfds);
}

/* When the broker ends with unread messages of ours, the socket reports a reset. */
bool broker_link_closed(int result) {
    return result == 0 || result == -EPIPE || result == -ECONNRESET;
}

void broker_link_lost(struct broker_link *l, uint32_t kind, int err) {
    if (!broker_link_closed(err))
        log_error("worker",
                  "event=broker-lost kind=%u error=%s text=\"the worker cannot send to the broker, "
                  "so it ends\"",
                  kind, err_name(err));
    l->over = true;
}

void broker_link_say(struct broker_link *l, const struct wire_worker_msg *msg) {
    int err = send_msg(l->fd, msg, NULL, 0);
    if (err) broker_link_lost(l, msg->kind, err);
}

int broker_link_give(struct broker_link *l, const struct wire_worker_msg *msg, const int *fds,
                     int nfds) {
    int err = send_msg(l->fd, msg, fds, nfds);
    if (err && !fdutil_scarce(err)) broker_link_lost(l, msg->kind, err);
    return fdutil_scarce(err) ? err : 0;
}

int broker_link_keep(void *link, uint64_t id, int fd) {
    struct broker_link *l = link;
    const struct wire_part msg = {.kind = WIRE_PART, .id = id};
    if (id >= WIRE_PARTS) return -EINVAL;
    int err = send_bytes(l->fd, &msg, sizeof(msg), &fd, 1);
    int lost = fdutil_scarce(err) ? send_bytes(l->fd, &msg, sizeof(msg), NULL, 0) : err;
    if (lost) broker_link_lost(l, WIRE_PART, lost);
    return err;
}

/* ---- messages -------------------------------------------------------------------------------- */

static uint32_t flags_of(const struct dev_info *d) {
    return (d->runs_code ? WIRE_DEVICE_CODE : 0u) | (d->host_hidden ? WIRE_DEVICE_HOST : 0u) |
           (d->plain ? WIRE_DEVICE_PLAIN : 0u) | (d->arrays ? WIRE_DEVICE_ARRAYS : 0u) |
           (d->whole ? WIRE_DEVICE_WHOLE : 0u) | (d->maps ? WIRE_DEVICE_MAPS : 0u) |
           (d->clusters ? WIRE_DEVICE_CLUSTERS : 0u);
}

void broker_link_describe(struct wire_device *out, const struct dev_info *d,
                          const struct description *described) {
    const struct description *s = described;
    *out = (struct wire_device){
        .memory_bytes = d->memory_bytes,
        .granularity_bytes = d->granularity_bytes,
        .sm_count = d->sm_count,
        .cc_major = d->cc_major,
        .cc_minor = d->cc_minor,
        .threads_per_sm = d->threads_per_sm,
        .blocks_per_sm = d->blocks_per_sm,
        .regs_per_sm = d->regs_per_sm,
        .shared_per_sm_bytes = d->shared_per_sm_bytes,
        .shared_per_block_bytes = d->shared_per_block_bytes,
        .shared_optin_bytes = d->shared_optin_bytes,
        .shared_reserved_bytes = d->shared_reserved_bytes,
        .clock_khz = d->clock_khz,
        .mem_clock_khz = d->mem_clock_khz,
        .mem_bus_bits = d->mem_bus_bits,
        .l2_bytes = d->l2_bytes,
        .library_capability = d->library_capability,
        .flags = flags_of(d),
        .driver_index = d->has_index ? d->index + 1 : 0,
        .pci_domain = (uint32_t)description_attribute(s, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
        .pci_bus = (uint32_t)description_attribute(s, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
        .pci_slot = (uint32_t)description_attribute(s, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID),
    };
    memcpy(out->name, d->name, sizeof(out->name));
    memcpy(out->uuid, d->uuid, sizeof(out->uuid));
}

int broker_link_ready(int broker_fd, const struct dev_info *info,
                      const struct description *described, const struct broker_link_fds *fds,
                      int result, const char *text) {
    struct wire_worker_msg msg = {.kind = WIRE_READY, .result = result, .pid = getpid()};
    if (info) broker_link_describe(&msg.device, info, described);
    snprintf(msg.text, sizeof(msg.text), "%s", text);
    if (!fds) return send_msg(broker_fd, &msg, NULL, 0);
    const int given[] = {fds->board, fds->memory};
    msg.flags = fds->adopted ? WIRE_READY_ADOPTED : 0;
    return send_msg(broker_fd, &msg, given, fds->memory >= 0 ? 2 : 1);
}

void broker_link_beat(struct broker_link *l) {
    struct wire_worker_msg msg = {.kind = WIRE_BEAT, .pid = getpid()};
    broker_link_say(l, &msg);
}

static void say_end(struct broker_link *l, enum wire_worker_kind kind, uint32_t job_id, int err,
                    const char *why) {
    struct wire_worker_msg msg = {.kind = kind, .job_id = job_id, .result = err};
    snprintf(msg.text, sizeof(msg.text), "%s", why);
    broker_link_say(l, &msg);
}

void broker_link_resumed(struct broker_link *l, uint32_t job_id, int err) {
    say_end(l, WIRE_RESUMED, job_id, err, "");
}

void broker_link_expelled(struct broker_link *l, uint32_t job_id, const char *why) {
    say_end(l, WIRE_EXPELLED, job_id, ERR_PROTOCOL, why);
}

void broker_link_refused(struct broker_link *l, uint32_t job_id, const char *why) {
    say_end(l, WIRE_REFUSED, job_id, ERR_NO_MEMORY, why);
}
