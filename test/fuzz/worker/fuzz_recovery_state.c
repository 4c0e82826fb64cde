/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a recovery state. The input overwrites the header and the start of the log of a
 * valid one. Bit 0 of its first byte keeps the header valid, bit 1 makes entries' lengths fit, so
 * that the fuzzer gets past the first checks. If recovery_open accepts the state, then tidying,
 * walking and promising succeed on it, and it stays valid.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/recovery/module_reservation.h"
#include "daemon/worker/recovery/record_log_tidy.h"
#include "daemon/worker/recovery/recovery_state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PAGES 8u
#define HEAD                                                                             \
    128u /* bytes of the header that are the input's: all but the streams' words, nearly \
          */

static int64_t promised;

static int promise(struct dev *dev, uint64_t id) {
    (void)dev;
    if (id % 16 == 15) return -1;
    promised++;
    return 0;
}

static void renounce(struct dev *dev, uint64_t id) {
    (void)dev;
    (void)id;
    promised--;
}

static const struct dev_recovery_ops recovery = {.chunk_promise = promise,
                                                 .chunk_renounce = renounce};
static const struct dev_ops ops = {.recovery = &recovery};

/* Gives each entry the tail that its record needs, as far as the input reaches. */
static void fit(struct log *l, uint64_t end) {
    for (uint64_t at = 0, next; at + sizeof(struct log_entry) + sizeof(struct log_placed) <= end;
         at = next) {
        struct log_entry *e = (void *)(l->memory + at);
        if (e->bytes > 4096) return;
        e->bytes = e->bytes < sizeof(struct wire_record) ? sizeof(struct log_placed) : e->bytes;
        e->tail_bytes = record_log_record(e)->op == RECORD_LOG_PLACED
                            ? e->tail_bytes % 8 * sizeof(struct dev_granule)
                            : record_log_tail_bytes(record_log_record(e));
        if (e->tail_bytes > end) return;
        next = at + sizeof(*e) + ((e->bytes + 7ull) & ~7ull) + ((e->tail_bytes + 7) & ~7ull);
        if (next > end) return;
        atomic_store(&l->header->end, next);
    }
}

static void lay(struct recovery_state *e, const uint8_t *data, size_t size, unsigned how) {
    size_t head = how & 1 ? 0 : size < HEAD ? size : HEAD;
    memcpy(e->header, data, head);
    memcpy(e->log.memory, data + head, size - head);
    if (how & 1) atomic_store(&e->header->log.end, (size - head) & ~7ull);
    if (how & 2) fit(&e->log, size - head);
}

static void check(struct recovery_state *e) {
    static _Atomic uint64_t done[WIRE_STREAMS];
    const struct log_state state = {.stream_done = done, .deferred_done = 3};
    uint64_t at = 0;
    promised = 0;
    if (module_reservation_make(&e->log, &ops, NULL) == 0)
        module_reservation_release(&e->log, &ops, NULL);
    if (promised) abort();
    record_log_ring_next(&e->log);
    if (record_log_tidy(&e->log, &state) || !record_log_whole(&e->log)) abort();
    while (record_log_at(&e->log, at, &at)) {
    }
    if (at != atomic_load(&e->header->log.end)) abort();
    recovery_lacks(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct recovery_state made, found;
    if (size < 1) return 0;
    if (recovery_create(&made, PAGES)) abort();
    lay(&made, data + 1, size - 1, data[0]);
    if (recovery_open(&found, PAGES, dup(made.fd)) == 0) check(&found);
    recovery_close(&found);
    recovery_close(&made);
    return 0;
}
