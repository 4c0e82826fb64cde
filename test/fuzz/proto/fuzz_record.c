/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as one record: validation neither reads outside them nor accepts a record that it must
 * reject.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/wire/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void accepted(const void *rec, uint32_t bytes) {
    const struct wire_launch *l = rec;
    const struct wire_copy *c = rec;
    const struct wire_func_get *f = rec;
    if (l->rec.stream >= WIRE_STREAMS) abort();
    switch (l->rec.op) {
    case WIRE_LAUNCH:
        if (bytes != sizeof(*l) + l->param_bytes || l->func >= WIRE_FUNCS) abort();
        if ((uint64_t)l->block[0] * l->block[1] * l->block[2] - 1 >= 1024) abort();
        break;
    case WIRE_COPY: {
        unsigned __int128 end = (unsigned __int128)(c->depth - 1) * c->dst_slice * (c->depth > 1) +
                                (unsigned __int128)(c->height - 1) * c->dst_pitch * (c->height > 1);
        if (end + c->width_bytes + c->dst > UINT64_MAX) abort();
        break;
    }
    case WIRE_MEM_MAKE:
    case WIRE_MEM_SHOW:
    case WIRE_MEM_SHARE: {
        const struct wire_segment *s = rec;
        if (s->segment >= WIRE_SEGMENTS || !s->bytes || s->addr + s->bytes < s->addr) abort();
        break;
    }
    case WIRE_VALUE_WAIT:
    case WIRE_VALUE_WRITE: {
        const struct wire_value *v = rec;
        if (v->addr % v->bytes || v->addr + v->bytes < v->addr || v->bytes > 8) abort();
        if (v->bytes < 8 && v->value >> 8 * v->bytes) abort();
        break;
    }
    case WIRE_TEXTURE: {
        const struct wire_texture *t = rec;
        if (record_texture_bytes(t) + t->addr < t->addr || t->levels == 0 || t->levels > 16)
            abort();
        break;
    }
    case WIRE_TEXTURE_REF: {
        const struct wire_texture_ref *t = rec;
        const char *name = (const char *)(t + 1);
        if (bytes != sizeof(*t) + t->name_bytes || strlen(name) + 1 != t->name_bytes) abort();
        if (t->bound && record_texture_bytes(&t->texture) + t->texture.addr < t->texture.addr)
            abort();
        break;
    }
    case WIRE_ARRAY_MAKE: {
        const struct wire_array *a = rec;
        struct array_shape shape;
        uint32_t levels = record_array_levels(a);
        if (!record_array_shape(a, &shape) || levels > ARRAY_LAYOUT_LEVELS) abort();
        if (array_layout_bytes(&shape, levels) + a->addr < a->addr) abort();
        break;
    }
    case WIRE_TENSOR_MAP: {
        const struct tensor_ask *a = &((const struct wire_tensor_map *)rec)->ask;
        if (a->kind < TENSOR_ADDRESS && (!a->rank || a->rank > TENSOR_MAP_RANK)) abort();
        break;
    }
    case WIRE_FUNC_GET:
        if (strlen((const char *)(f + 1)) + 1 != f->name_bytes) abort();
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char why[96];
    if (size > RING_RECORD_MAX) return 0;
    /* exact size, so that a read beyond it is detected */
    void *rec = malloc(size ? size : 1);
    if (!rec) return 0;
    memcpy(rec, data, size);
    if (record_check(rec, (uint32_t)size, why, sizeof(why)) == 0)
        accepted(rec, (uint32_t)size);
    else if (strlen(why) >= sizeof(why) || !why[0])
        abort();
    free(rec);
    return 0;
}
