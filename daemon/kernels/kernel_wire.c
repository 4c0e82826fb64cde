/* SPDX-License-Identifier: Apache-2.0
 *
 * Layout of the memfd that the broker sends to the worker: a head, the hints, the profiles.
 */
#include "daemon/kernels/kernel_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/kernels/kernel_text.h"

#define MAGIC 0x6b53414cu /* "LASk" */

struct head {
    uint32_t magic, hints, profiles, pad;
};

_Static_assert(sizeof(struct kernel_wire_batch) != sizeof(struct wire_worker_msg), "told apart");
_Static_assert(offsetof(struct kernel_wire_batch, kind) == offsetof(struct wire_worker_msg, kind),
               "");

bool kernel_wire_is_batch(const union kernel_wire_message *m, size_t bytes) {
    return bytes >= kernel_wire_batch_bytes(0) && m->batch.kind == WIRE_PROFILES &&
           m->batch.count <= KERNEL_WIRE_BATCH && bytes == kernel_wire_batch_bytes(m->batch.count);
}

static size_t hints_end(uint64_t hints) {
    return sizeof(struct head) + hints * sizeof(struct kernel_profile_hint);
}

static size_t whole(uint64_t hints, uint64_t profiles) {
    return hints_end(hints) + profiles * sizeof(struct kernel_profile);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void fill(unsigned char *map, const struct kernel_set *s, const struct head *h,
                 const uint32_t *order) {
    unsigned char *at = map + hints_end(h->hints);

    memcpy(map, h, sizeof(*h));
    if (h->hints) memcpy(map + sizeof(*h), s->hints, h->hints * sizeof(*s->hints));
    for (uint32_t i = 0; i < h->profiles; i++, at += sizeof(*s->items))
        memcpy(at, &s->items[order[i]], sizeof(*s->items));
}

int kernel_wire_pack(const struct kernel_set *s, bool profiles) {
    struct head h = {MAGIC, s->hint_count, profiles ? s->count : 0, 0};
    size_t bytes = whole(h.hints, h.profiles);
    uint32_t *order = kernel_set_order(s);
    int fd = order ? fdutil_memfd("salus-kernels", bytes, 1) : -ENOMEM;
    void *map = MAP_FAILED;
    int err = fd < 0 ? fd : 0;

    if (err == 0) map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (err == 0 && map == MAP_FAILED) err = -errno;
    if (err == 0) {
        fill(map, s, &h, order);
        munmap(map, bytes);
        err = fdutil_seal_readonly(fd);
    }
    free(order);
    if (err < 0 && fd >= 0) fdutil_close(&fd);
    return err < 0 ? err : fd;
}

int kernel_wire_text(const struct kernel_set *s) {
    struct buf b;
    int fd = -ENOMEM;

    buf_init(&b);
    kernel_text_print(s, &b);
    if (!b.failed) fd = fdutil_memfd("salus-kernels", b.len, 1);
    if (fd >= 0 && pwrite(fd, b.data, b.len, 0) != (ssize_t)b.len) {
        fdutil_close(&fd);
        fd = -EIO;
    }
    buf_finish(&b);
    if (fd >= 0) fdutil_seal_readonly(fd);
    return fd;
}

/* ---- reading --------------------------------------------------------------------------------- */

int kernel_wire_open(struct kernel_wire *k, int fd) {
    struct head h;
    struct stat st;
    void *map;

    *k = (struct kernel_wire){0};
    if (fdutil_check_sealed(fd, sizeof(h)) < 0 || fstat(fd, &st) < 0) return -EINVAL;
    map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) return -ENOMEM;
    memcpy(&h, map, sizeof(h));
    *k = (struct kernel_wire){map, (size_t)st.st_size, h.hints, h.profiles};
    if (h.magic == MAGIC && h.hints <= KERNEL_SET_HINTS_MAX && h.profiles <= KERNEL_SET_MAX &&
        k->bytes == whole(h.hints, h.profiles))
        return 0;
    kernel_wire_close(k);
    return -EINVAL;
}

void kernel_wire_close(struct kernel_wire *k) {
    if (k->map) munmap((void *)k->map, k->bytes);
    *k = (struct kernel_wire){0};
}

void kernel_wire_hint(const struct kernel_wire *k, uint32_t i, struct kernel_profile_hint *out) {
    memcpy(out, k->map + hints_end(i), sizeof(*out));
}

void kernel_wire_profile(const struct kernel_wire *k, uint32_t i, struct kernel_profile *out) {
    memcpy(out, k->map + whole(k->hints, i), sizeof(*out));
}
