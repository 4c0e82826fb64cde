/* SPDX-License-Identifier: Apache-2.0
 *
 * Any sequence of records against a whole worker, on a device that checks its calls. No operation
 * leaves the client's windows, no promise of device.h is broken, and the client's memory matches
 * its bookkeeping. A neighbour in its lane runs its iterations undisturbed, and after both detach
 * nothing of them is left.
 *
 * Input: {u8 bytes, u8 op, body}...; sequence numbers are corrected on seven of eight ordered
 * records, so that the fuzzer gets deep. Operations from MORE_OPS on have the rest of their number
 * before the body. Between records, the client makes descriptors of its own or the neighbour's
 * segments, and closes them.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/worker/client.h"
#include "daemon/worker/memory/memory_check.h"
#include "daemon/worker/segments/segment.h"
#include "proto/wire/record.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define MORE_OPS 28u
#define FILES 2u /* files that the client sent */
#define FILE_BYTES (1u << 20)
#define DESCRIPTORS 8u
#define PEER_ENDED 709u /* CUDA_ERROR_CONTEXT_IS_DESTROYED */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct wirebench *bench;
static struct wireclient *client, *neighbour;
static struct dev_ops ops;
static int descriptors[DESCRIPTORS]; /* descriptors of segments; -1: none */

static bool within(const struct wireclient *c, uint64_t addr, uint64_t bytes) {
    const struct wire_windows *w = &c->windows;
    uint64_t dev_end = w->dev_base + w->alloc_bytes + w->module_bytes;
    uint64_t host_end = w->host_base + w->host_bytes, end = addr + bytes;
    bool dev = addr >= w->dev_base && end <= dev_end;
    bool host = addr >= w->host_base && end <= host_end;
    return end >= addr && (dev || host);
}

static void inside(uint64_t addr, uint64_t bytes) {
    if (!within(client, addr, bytes) && !within(neighbour, addr, bytes)) abort();
}

/* Counts copies and fills, which are checked here, as an operation that touches nothing. */
static int checked_copy(struct dev_queue *queue, const struct dev_copy *c, struct dev_op *op) {
    inside(c->dst, record_extent(c->width_bytes, c->height, c->depth, c->dst_pitch, c->dst_slice));
    inside(c->src, record_extent(c->width_bytes, c->height, c->depth, c->src_pitch, c->src_slice));
    static const struct dev_copy nothing = {.height = 0, .depth = 0};
    return fakedev.copy(queue, &nothing, op);
}

static int checked_memset(struct dev_queue *queue, const struct dev_memset *m, struct dev_op *op) {
    inside(m->dst, record_extent(m->width_elems * m->elem_bytes, m->height, 1, m->pitch, 0));
    static const struct dev_memset nothing = {.height = 0};
    return fakedev.memset(queue, &nothing, op);
}

/* Arrays are emulated in memory or, every other time, provided by the device. */
static void begin(bool arrays) {
    ops = arrays ? fakedev_arrays : fakedev;
    ops.copy = checked_copy;
    ops.memset = checked_memset;
    if (!bench) {
        struct worker_config config = {.ops = &ops,
                                       .policy = {.exclusive = -1, .swap = -1, .inflight_cap = 4}};
        config.policy = (struct policy_config){.exclusive = -1, .swap = -1, .max_lanes = 1};
        config.policy.lease_ns = 1000000;
        bench = wirebench_start_as(&config);
    }
    struct wire_job job = {.flags = WIRE_JOB_RESERVED, .ephemeral_bytes = 2 * FAKEDEV_GRANULARITY};
    neighbour = wireclient_attach_as(bench, &job, 0);
    client = wireclient_attach_as(bench, &job, 0);
    wireclient_kernels(neighbour, "kern");
    wireclient_mem(neighbour, WIRE_MEM_BACK, WIRECLIENT_EPHEMERAL, 2 * FAKEDEV_GRANULARITY);
    struct wire_segment made = {.bytes = 2 * FAKEDEV_GRANULARITY}, told = {.segment = 0};
    wireclient_send(neighbour, WIRE_MEM_MAKE, 0, true, &made, sizeof(made), NULL, 0);
    wireclient_send(neighbour, WIRE_MEM_EXPORT, 0, true, &told, sizeof(told), NULL, 0);
    struct wire_signal signal = {.signal = 0};
    wireclient_send(neighbour, WIRE_SIGNAL_MAKE, 0, true, &signal, sizeof(signal), NULL, 0);
    wireclient_kernels(client, "kern fault hang refuse say big");
    wireclient_create_stream(client, 1, 0);
    wireclient_create_stream(client, 2, WIRE_STREAM_NONBLOCKING);
    memcpy(client->host, "FAKE again", 11);
    memcpy(client->host + 8192, &(struct wire_node){.enabled = 1, .grid = {2, 3, 1}},
           sizeof(struct wire_node));
    for (uint32_t i = 0; i < FILES; i++)
        wireclient_file(client, i, fdutil_memfd("file", FILE_BYTES, 0), 0);
    for (uint32_t i = 0; i < DESCRIPTORS; i++)
        descriptors[i] = -1;
    fakedev_forget_launches(bench->worker->dev);
    fakedev_hold(bench->worker->dev, true);
}

/* Returns a word of the first exported key, of memory or of a signal. */
static uint64_t key_word(uint64_t which) {
    const struct list *exported = &bench->worker->shared.segments.exported,
                      *signals = &bench->worker->signals.list;
    if (which & 2 && !list_empty(signals))
        return list_entry(signals->next, struct signal, link)->key[which & 1];
    if (list_empty(exported)) return 0;
    return list_entry(exported->next, struct segment, link)->key[which & 1];
}

/* Small numbers become offsets into the windows, so that valid addresses occur. */
static void relocate(unsigned char *body, size_t bytes) {
    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        uint64_t word;
        memcpy(&word, body + at, 8);
        if (word >> 56 == 0xd5) word = client->windows.dev_base + (word & 0xffffffff);
        if (word >> 56 == 0xe5) word = key_word(word);
        if (word >> 56 == 0xa5) word = client->windows.host_base + (word & 0xffffffff);
        memcpy(body + at, &word, 8);
    }
}

static void put(const uint8_t *body, uint8_t bytes, uint8_t op) {
    _Alignas(8) unsigned char rec[sizeof(struct wire_record) + 256] = {0};
    struct wire_record *r = (struct wire_record *)rec;
    r->op = op & 31;
    if (r->op == MORE_OPS && bytes) {
        r->op = (uint16_t)(MORE_OPS + (*body++ & 31));
        bytes--;
    }
    memcpy(rec + sizeof(*r), body, bytes);
    relocate(rec + sizeof(*r), bytes);
    r->stream = (op >> 5) & 3;
    if (record_ordered(r->op) && (op & 128) == 0) r->seq = ++client->seq[r->stream];
    if (!record_ordered(r->op)) r->ticket = ++client->ticket;
    /* if the ring is full, the record is lost */
    ring_push(&client->tx, rec, (uint32_t)sizeof(*r) + bytes, NULL, 0);
}

/* The client may be expelled meanwhile. */
static void keep(struct wireclient *wc, uint32_t segment, int *fd) {
    int pair[2];
    uint64_t ticket = ++wc->ticket;
    struct wire_worker_msg msg = {
        .kind = WIRE_KEEP,
        .job_id = wc->job_id,
        .file = {WIRE_KEEP_MAGIC, segment, (uint32_t)(ticket % WIRE_REPLIES), 0, ticket}};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) abort();
    if (fdutil_send(bench->sock, &msg, sizeof(msg), &pair[1], 1) < 0) abort();
    close(pair[1]);
    *fd = pair[0];
    do
        if (!wirebench_hear(bench, &msg, NULL)) abort();
    while (msg.kind != WIRE_FILED);
}

static void keep_or_close(uint8_t what) {
    int *fd = &descriptors[what % DESCRIPTORS];
    if (*fd >= 0)
        fdutil_close(fd);
    else
        keep(what & 8 ? neighbour : client, what >> 4, fd);
}

/* The worker notices each. */
static void close_descriptors(void) {
    for (uint32_t i = 0; i < DESCRIPTORS; i++)
        fdutil_close(&descriptors[i]);
    for (int i = 0; i < 10000 && bench->worker->shared.keepers.count; i++) {
        usleep(500);
        wirebench_run(bench);
    }
    if (bench->worker->shared.keepers.count || bench->worker->shared.segments.alone_bytes ||
        !list_empty(&bench->worker->shared.segments.exported))
        abort();
}

static void check_memory(const struct wireclient *wc) {
    const struct client *c = client_find(bench->worker, wc->job_id);
    const char *broken = c && c->memory ? memory_check(c->memory) : NULL;
    if (!broken) return;
    fprintf(stderr, "memory: %s\n", broken);
    abort();
}

/* Records the neighbour's signal, and waits for it, whichever client recorded it. */
static void neighbour_iterates(void) {
    struct wire_event_record e = {.signal = 1};
    struct wire_stream_wait w = {.on = WIRE_ON_SIGNAL};
    wireclient_send(neighbour, WIRE_EVENT_RECORD, 0, false, &e, sizeof(e), NULL, 0);
    wireclient_send(neighbour, WIRE_STREAM_WAIT, 0, false, &w, sizeof(w), NULL, 0);
    wireclient_launch(neighbour, 0, 0, 1);
    wireclient_say(neighbour, WIRE_ITERATION);
}

static void end(void) {
    const char *what;
    wirebench_run(bench);
    fakedev_finish_all(bench->worker->dev);
    wirebench_run(bench);
    check_memory(client);
    check_memory(neighbour);
    wireclient_detach(client);
    uint32_t fault = wireclient_fault(neighbour);
    /* the neighbour may wait for a signal that the client recorded */
    if (fault && fault != PEER_ENDED) abort();
    wireclient_detach(neighbour);
    close_descriptors();
    if (fakedev_violations(bench->worker->dev, &what) || fakedev_spaces(bench->worker->dev) ||
        bench->worker->load.inflight || ops.mem_used(bench->worker->dev) ||
        bench->worker->boundaries.held)
        abort();
    wireclient_free(client);
    wireclient_free(neighbour);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    begin(size & 1);
    while (size >= 2) {
        uint8_t bytes = data[0], op = data[1];
        if (bytes > size - 2) bytes = (uint8_t)(size - 2);
        if ((op & 31) == 31) { /* time passes */
            wirebench_run(bench);
            fakedev_finish(bench->worker->dev, bytes);
            check_memory(client);
        } else if ((op & 31) == 29) {
            neighbour_iterates();
        } else if ((op & 31) == 30 && op & 128) {
            keep_or_close(bytes);
        } else if ((op & 31) == 30) {
            atom_store_release(&client->sub->callbacks_done,
                               atom_load_relaxed(&client->sub->callbacks_done) + bytes);
        } else {
            put(data + 2, bytes, op);
        }
        data += 2 + bytes;
        size -= 2u + bytes;
    }
    end();
    return 0;
}
