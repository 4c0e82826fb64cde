/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters come in any order, each with its ordinal. A kernel's list is accepted only if every
 * ordinal below the count occurs once.
 */
#include "daemon/device/soft/image/nvinfo.h"

#include <errno.h>
#include <stdlib.h>

#include "common/err.h"
#include "daemon/device/soft/image/le.h"

#define NVINFO_HEADER_BYTES 4
#define NVINFO_SIZED 4 /* the format whose value is a length */
#define NVINFO_PARAM_RECORD_BYTES 12
#define NVINFO_MAX_BLOCK 1024 /* threads; the limit of any GPU */

void nvinfo_open(struct nvinfo *n, const void *section, size_t bytes) {
    n->at = section;
    n->end = bytes ? n->at + bytes : n->at;
}

int nvinfo_next(struct nvinfo *n, struct nvinfo_record *r) {
    size_t left = (size_t)(n->end - n->at);
    if (left == 0) return 0;
    if (left < NVINFO_HEADER_BYTES) return ERR_INVALID_IMAGE;
    *r = (struct nvinfo_record){
        .format = n->at[0],
        .attribute = n->at[1],
        .value = le_16(n->at + 2),
        .data = n->at + NVINFO_HEADER_BYTES,
    };
    if (r->format < 1 || r->format > NVINFO_SIZED) return ERR_INVALID_IMAGE;
    if (r->format == NVINFO_SIZED) r->bytes = r->value;
    if (r->bytes > left - NVINFO_HEADER_BYTES) return ERR_INVALID_IMAGE;
    n->at += NVINFO_HEADER_BYTES + r->bytes;
    return 1;
}

static bool is_param(const struct nvinfo_record *r) {
    return (r->attribute == NVINFO_PARAM || r->attribute == NVINFO_PARAM_LARGE) &&
           r->format == NVINFO_SIZED;
}

static uint32_t block_threads(const struct nvinfo_record *r) {
    if (r->bytes < 12) return 0;
    uint64_t n = 1;
    for (int i = 0; i < 3; i++) {
        n *= le_32(r->data + 4 * i);
        if (n > NVINFO_MAX_BLOCK) return NVINFO_MAX_BLOCK;
    }
    return (uint32_t)n;
}

/* Counts the parameters that the section describes, and reads the other facts. */
static int survey(struct image_kernel *k, struct nvinfo n, uint32_t *params) {
    struct nvinfo_record r;
    int more;
    *params = 0;
    while ((more = nvinfo_next(&n, &r)) > 0) {
        if (is_param(&r)) {
            if (r.bytes < NVINFO_PARAM_RECORD_BYTES) return ERR_INVALID_IMAGE;
            ++*params;
        } else if (r.attribute == NVINFO_PARAM_BYTES && r.format != NVINFO_SIZED) {
            k->param_bytes = r.value;
        } else if (r.attribute == NVINFO_MAX_THREADS || r.attribute == NVINFO_REQ_THREADS) {
            uint32_t threads = block_threads(&r);
            if (threads) k->max_threads = threads;
        }
    }
    return more;
}

static int fill(struct image_kernel *k, struct nvinfo n) {
    struct nvinfo_record r;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < k->param_count; i++)
        k->params[i].offset = UINT32_MAX;
    while (nvinfo_next(&n, &r) > 0) {
        if (!is_param(&r)) continue;
        uint32_t ordinal = le_16(r.data + 4), size = le_32(r.data + 8);
        if (ordinal >= k->param_count || k->params[ordinal].offset != UINT32_MAX) break;
        k->params[ordinal].offset = le_16(r.data + 6);
        k->params[ordinal].bytes = r.attribute == NVINFO_PARAM ? size >> 18 : size;
        if (k->params[ordinal].bytes > UINT16_MAX) break;
        seen++;
    }
    return seen == k->param_count ? 0 : ERR_INVALID_IMAGE;
}

int nvinfo_kernel(struct image_kernel *k, const void *section, size_t bytes) {
    struct nvinfo n;
    uint32_t params;
    nvinfo_open(&n, section, bytes);
    int err = survey(k, n, &params);
    if (err) return err;
    free(k->params);
    k->param_count = 0;
    k->params = calloc(params ? params : 1, sizeof(*k->params));
    if (!k->params) return -ENOMEM;
    k->param_count = params;
    return fill(k, n);
}
