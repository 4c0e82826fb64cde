/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts as measured with nvcc 13.0 (shim/code/fatbin.c is the counterpart).
 */
#include "daemon/device/cuda/module/cuda_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u
#define UNITS_MAX 65536u

struct fatbin {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes; /* size behind the header */
};

/* Length of the fatbin there, with its header; 0: there is none, or it does not end within `left`.
 */
static size_t length_at(const unsigned char *at, size_t left) {
    struct fatbin f;
    if (left < sizeof(f)) return 0;
    memcpy(&f, at, sizeof(f));
    if (f.magic != FATBIN_MAGIC || f.header_bytes < sizeof(f)) return 0;
    return f.bytes <= left - f.header_bytes && f.header_bytes <= left
               ? f.header_bytes + (size_t)f.bytes
               : 0;
}

static int add_unit(struct cuda_image *i, const void *unit, uint32_t count) {
    const void **more = realloc(i->list, (count + 2) * sizeof(*more));
    if (!more) return -ENOMEM;
    i->list = more;
    more[count] = unit;
    more[count + 1] = NULL;
    return 0;
}

/* Alignment may leave a few bytes behind the last fatbin. */
static int split(struct cuda_image *i, size_t first, size_t bytes) {
    const unsigned char *at = i->bytes;
    uint32_t count = 0;
    for (size_t done = first; bytes - done >= sizeof(struct fatbin);) {
        size_t length = length_at(at + done, bytes - done);
        if (!length || count == UNITS_MAX) return ERR_INVALID_IMAGE;
        int err = add_unit(i, at + done, count++);
        if (err) return err;
        done += length;
    }
    i->units = count > 0;
    i->parts = i->units && first == sizeof(struct fatbin);
    i->wrapper = (struct cuda_wrapper){WRAPPER_MAGIC, 2, i->bytes, i->list};
    return 0;
}

int cuda_image_open(struct cuda_image *i, const void *image, size_t bytes) {
    *i = (struct cuda_image){.bytes = malloc(bytes + 1)};
    if (!i->bytes) return -ENOMEM;
    memcpy(i->bytes, image, bytes);
    ((char *)i->bytes)[bytes] = '\0';
    size_t first = length_at(i->bytes, bytes);
    int err = first ? split(i, first, bytes) : 0;
    if (err) cuda_image_close(i);
    return err;
}

void cuda_image_close(struct cuda_image *i) {
    free(i->bytes);
    free(i->list);
    *i = (struct cuda_image){0};
}
