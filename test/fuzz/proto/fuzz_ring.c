/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the memory of a ring: the consumer stays within the ring and its own buffer, and
 * terminates. The input is spread over the ring. Its first byte says how many slots hold a valid
 * header (the word that the consumer expects), so that the fuzzer gets past the first slot.
 */
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/wire/record.h"
#include "proto/wire/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ring_memory memory;
static unsigned char record[RING_RECORD_MAX + 8];

static void fill(const uint8_t *data, size_t size) {
    memset(&memory, 0, sizeof(memory));
    size_t slots = size / RING_SLOT_BYTES + 1;
    for (size_t i = 0; i < slots && i < RING_SLOTS; i++) {
        size_t at = i * RING_SLOT_BYTES,
               n = size - at < RING_SLOT_BYTES ? size - at : RING_SLOT_BYTES;
        memcpy((unsigned char *)&memory + at, data + at, n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    _Atomic uint64_t credit = 0;
    struct ring_rx rx;
    char why[96];
    if (size < 1 || size > sizeof(memory)) return 0;
    unsigned honest = data[0];
    fill(data + 1, size - 1);
    for (unsigned i = 0; i < honest; i++)
        memory.slots[i].word = (1ull << 16) | (memory.slots[i].word & 127);
    ring_rx_init(&rx, &memory, &credit);
    for (unsigned n = 0; n <= RING_SLOTS; n++) {
        int bytes = ring_pop(&rx, record, RING_RECORD_MAX);
        if (bytes <= 0) return 0;
        if (bytes > (int)RING_RECORD_MAX) abort();
        record_check(record, (uint32_t)bytes, why, sizeof(why));
    }
    abort(); /* one lap cannot hold more records than slots */
}
