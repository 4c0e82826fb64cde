/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/runtime/runtime.h"

#include <errno.h>
#include <string.h>

#include "common/atomics.h"
#include "daemon/device/soft/runtime/heap.h"

#define NAME_BYTES 64 /* name of an error, in the client's memory */
#define TEXT_BYTES 128
#define ALIGN 64

static const struct {
    uint32_t number;
    char name[NAME_BYTES], text[TEXT_BYTES];
} errors[] = {
#define X(name, number, word, text) {number, word, text},
    RUNTIME_ERRORS(X)
#undef X
        {UINT32_MAX, "unrecognized error code", "unrecognized error code"},
};

#define ERRORS (sizeof(errors) / sizeof(errors[0]))

uint64_t runtime_room(uint32_t pending_limit) {
    return sizeof(errors) + (uint64_t)pending_limit * RUNTIME_PARAMS_BYTES;
}

int runtime_init(struct runtime *r, uint64_t lo, uint64_t hi) {
    r->texts = lo;
    memcpy((void *)(uintptr_t)lo, errors, sizeof(errors));
    r->params = heap_create((lo + sizeof(errors) + ALIGN - 1) & ~(uint64_t)(ALIGN - 1), hi);
    return r->params ? 0 : -ENOMEM;
}

void runtime_finish(struct runtime *r) {
    heap_destroy(r->params);
    r->params = NULL;
}

void runtime_set_limits(struct runtime *r, const struct runtime_limits *limits) {
    atom_store_relaxed(&r->stack_bytes, limits->stack_bytes);
    atom_store_relaxed(&r->text_bytes, limits->text_bytes);
    atom_store_relaxed(&r->heap_bytes, limits->heap_bytes);
    atom_store_relaxed(&r->pending_limit, limits->pending);
}

struct runtime_limits runtime_get_limits(struct runtime *r) {
    return (struct runtime_limits){
        atom_load_relaxed(&r->stack_bytes), atom_load_relaxed(&r->text_bytes),
        atom_load_relaxed(&r->heap_bytes), atom_load_relaxed(&r->pending_limit)};
}

void runtime_extend(struct runtime *r, uint64_t lo, uint64_t hi) {
    heap_extend(r->params, lo, hi);
}

/* Rounds up to powers of two, beginning at the alignment: the heap aligns such pieces to their
 * size. */
static uint64_t room_for(uint64_t bytes) {
    uint64_t room = ALIGN;
    while (room < bytes)
        room *= 2;
    return room;
}

enum runtime_error runtime_take(struct runtime *r, uint64_t bytes, uint64_t *addr) {
    if (bytes > RUNTIME_PARAMS_MAX) return RUNTIME_OUT_OF_RESOURCES;
    if (atom_add_relaxed(&r->pending, 1) >= atom_load_relaxed(&r->pending_limit)) {
        atom_sub_relaxed(&r->pending, 1);
        return RUNTIME_PENDING_COUNT;
    }
    *addr = heap_alloc(r->params, room_for(bytes));
    if (*addr) return RUNTIME_SUCCESS;
    atom_sub_relaxed(&r->pending, 1);
    return RUNTIME_OUT_OF_RESOURCES;
}

void runtime_give(struct runtime *r, uint64_t addr) {
    if (!addr) return;
    heap_free(r->params, addr);
    atom_sub_relaxed(&r->pending, 1);
}

static size_t find_error(uint32_t number) {
    size_t i = 0;
    while (i < ERRORS - 1 && errors[i].number != number)
        i++;
    return i;
}

uint64_t runtime_error_name(const struct runtime *r, uint32_t error) {
    const char *name = errors[find_error(error)].name;
    return r->texts + (uint64_t)(name - (const char *)errors);
}

uint64_t runtime_error_text(const struct runtime *r, uint32_t error) {
    const char *text = errors[find_error(error)].text;
    return r->texts + (uint64_t)(text - (const char *)errors);
}
