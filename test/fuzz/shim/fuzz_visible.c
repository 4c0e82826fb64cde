/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as CUDA_VISIBLE_DEVICES, and any set of GPUs: the entries are terminated and of one
 * kind, and each visible GPU exists and is listed once.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/process/visible.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define GPUS 5
#define BYTES_OF_ONE 5

static void expect_sound(const struct visible *v) {
    bool listed = v->kind == VISIBLE_NUMBERS || v->kind == VISIBLE_UUIDS;

    if (v->kind == VISIBLE_ANY || v->count > VISIBLE_MAX || listed != (v->count > 0)) abort();
    for (uint32_t i = 0; i < v->count; i++) {
        const char *uuid = v->entries[i].uuid;

        if (!memchr(uuid, 0, UUID_TEXT_BYTES)) abort();
        if (v->kind == VISIBLE_UUIDS && !uuid_may_begin(uuid)) abort();
    }
}

static void expect_each_once(const uint32_t *found, uint32_t n) {
    uint32_t seen = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (found[i] >= GPUS || seen & 1u << found[i]) abort();
        seen |= 1u << found[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct visible_gpu gpus[GPUS] = {0};
    uint32_t order[GPUS], found[VISIBLE_MAX];
    struct visible v;
    char *text;

    for (int i = 0; i < GPUS && size >= BYTES_OF_ONE; i++) {
        gpus[i].known = data[0] & 1;
        memcpy(gpus[i].uuid, data + 1, 2);
        gpus[i].pci_bus = data[3];
        gpus[i].pci_slot = data[4];
        data += BYTES_OF_ONE;
        size -= BYTES_OF_ONE;
    }
    text = malloc(size + 1);
    if (!text) abort();
    memcpy(text, data, size);
    text[size] = '\0';
    visible_parse(text, &v);
    free(text);
    expect_sound(&v);
    visible_order_by_pci(gpus, GPUS, order);
    expect_each_once(order, GPUS);
    if (v.count) expect_each_once(found, visible_match(&v, gpus, order, GPUS, found));
    return 0;
}
