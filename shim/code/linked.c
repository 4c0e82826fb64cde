/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout is a header, an empty fatbin, then the units.
 */
#include "shim/code/linked.h"

#include <string.h>

#include "shim/code/fatbin_layout.h"

struct linked {
    uint32_t magic, version;
    uint64_t bytes; /* length of the whole image */
};

static const struct fatbin_header nothing = {FATBIN_MAGIC, 1, sizeof(nothing), 0};

#define FIRST_UNIT (sizeof(struct linked) + sizeof(nothing))

static struct linked header_of(const void *image) {
    struct linked l;
    memcpy(&l, image, sizeof(l));
    return l;
}

uint64_t linked_bytes(const void *data, uint64_t most) {
    uint32_t magic = LINKED_MAGIC;
    if (most < FIRST_UNIT || memcmp(data, &magic, sizeof(magic)) != 0) return 0;
    struct linked l = header_of(data);
    return l.version == 1 && l.bytes >= FIRST_UNIT && l.bytes <= most ? l.bytes : 0;
}

const void *linked_chain(const void *image, uint64_t *bytes) {
    *bytes = header_of(image).bytes - sizeof(struct linked);
    return (const char *)image + sizeof(struct linked);
}

const void *linked_units(const void *image, uint64_t *bytes) {
    *bytes = header_of(image).bytes - FIRST_UNIT;
    return (const char *)image + FIRST_UNIT;
}

void linked_begin(struct buf *image) {
    const struct linked l = {LINKED_MAGIC, 1, 0};
    buf_append(image, &l, sizeof(l));
    buf_append(image, &nothing, sizeof(nothing));
}

void linked_append_ptx(struct buf *image, const char *text, size_t bytes, uint32_t target) {
    const struct fatbin_entry e = {.kind = FATBIN_KIND_PTX,
                                   .version = 0x101,
                                   .header_bytes = sizeof(e),
                                   .payload_bytes = bytes + 1,
                                   .target = target};
    const struct fatbin_header h = {FATBIN_MAGIC, 1, sizeof(h), sizeof(e) + e.payload_bytes};
    buf_append(image, &h, sizeof(h));
    buf_append(image, &e, sizeof(e));
    buf_append(image, text, bytes);
    buf_append(image, "", 1);
}

void linked_end(struct buf *image) {
    struct linked l = {LINKED_MAGIC, 1, image->len};
    if (!image->failed) memcpy(image->data, &l, sizeof(l));
}
