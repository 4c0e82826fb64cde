/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks for a name in what the driver would choose of an image. A name is looked for as bytes: to
 * be wrong about one that only contains it costs a little time and nothing else.
 */
#include "daemon/device/cuda/cuda_prints.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/image/fatbin.h"

static const char name[] = "vprintf";

static bool names_it(const void *bytes, size_t count) {
    return memmem(bytes, count, name, sizeof(name) - 1) != NULL;
}

static bool entry_prints(const struct fatbin_entry *e) {
    unsigned char *bytes = NULL;
    size_t count = 0;
    if (!(e->flags & (FATBIN_LZ4 | FATBIN_ZSTD)))
        return names_it(e->payload, (size_t)e->payload_bytes);
    bool prints = fatbin_unpack(e, &bytes, &count) != 0 || names_it(bytes, count);
    free(bytes);
    return prints;
}

/* Machine code that this GPU may run. */
static bool is_own(const struct fatbin_entry *e, uint32_t capability) {
    return e->kind == FATBIN_ELF && e->target <= capability && e->target / 10 == capability / 10;
}

/* Of machine code or, where there is none for this GPU, of anything else. */
static bool fatbin_prints(struct fatbin f, uint32_t capability, bool own) {
    struct fatbin_entry e;
    int more;
    while ((more = fatbin_next(&f, &e)) > 0)
        if (is_own(&e, capability) == own &&
            (e.kind == FATBIN_LTO || (e.kind != FATBIN_ELF || own ? entry_prints(&e) : false)))
            return true;
    return more < 0;
}

static bool has_own(struct fatbin f, uint32_t capability) {
    struct fatbin_entry e;
    while (fatbin_next(&f, &e) > 0)
        if (is_own(&e, capability)) return true;
    return false;
}

bool cuda_prints(const void *image, size_t bytes, uint32_t capability) {
    const unsigned char *at = image;
    struct fatbin f;
    if (fatbin_open(&f, at, bytes)) return names_it(image, bytes);
    for (size_t left = bytes; !fatbin_open(&f, at, left); at += f.span, left -= f.span)
        if (fatbin_prints(f, capability, has_own(f, capability))) return true;
    return false;
}
