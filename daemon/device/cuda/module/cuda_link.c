/* SPDX-License-Identifier: Apache-2.0
 *
 * A unit that consists of PTX is passed as PTX: in a fatbin the driver needs more of an entry's
 * header than is known of it (a worker died of that with driver 580.159).
 */
#include "daemon/device/cuda/module/cuda_link.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "daemon/device/soft/image/fatbin.h"

/* Reads the length of a fatbin from its header of 16 bytes. */
static size_t bytes_of(const void *unit) {
    const struct {
        uint32_t magic;
        uint16_t version, header_bytes;
        uint64_t bytes;
    } *head = unit;
    return head->header_bytes + (size_t)head->bytes;
}

/* The only entry of a unit, if it is PTX. */
static bool is_text(const void *unit, size_t bytes, struct fatbin_entry *e) {
    struct fatbin f;
    struct fatbin_entry more;
    return !fatbin_open(&f, unit, bytes) && fatbin_next(&f, e) > 0 && e->kind == FATBIN_PTX &&
           fatbin_next(&f, &more) == 0;
}

static CUresult add(const struct driver *d, CUlinkState link, const void *unit) {
    size_t bytes = bytes_of(unit), length = 0;
    struct fatbin_entry e;
    unsigned char *text = NULL;
    if (!is_text(unit, bytes, &e))
        return d->cuLinkAddData_v2(link, CU_JIT_INPUT_FATBINARY, (void *)(uintptr_t)unit, bytes,
                                   NULL, 0, NULL, NULL);
    int err = fatbin_unpack(&e, &text, &length);
    if (err) return err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
    CUresult r = d->cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, text, length + 1, NULL, 0, NULL, NULL);
    free(text);
    return r;
}

CUresult cuda_link_load(const struct driver *d, const void *const *units, CUjit_option *options,
                        void **values, unsigned int count, CUmodule *out) {
    CUlinkState link;
    void *image;
    size_t bytes;
    CUresult r = d->cuLinkCreate_v2(count, options, values, &link);
    if (r) return r;
    for (; !r && *units; units++)
        r = add(d, link, *units);
    if (!r) r = d->cuLinkComplete(link, &image, &bytes);
    if (!r) r = d->cuModuleLoadDataEx(out, image, 0, NULL, NULL);
    CUresult dropped = d->cuLinkDestroy(link);
    return r ? r : dropped;
}
