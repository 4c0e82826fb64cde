/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the memory of a batch: an accepted batch is sound, and stays the same when it is
 * written and read again; a rejected one gives a reason.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/serve/serve_memory.h"
#include "proto/serve/serve_memory_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Sums all bytes, so that each is read. */
static uint64_t touch(const struct serve_memory_tensor *t) {
    const uint8_t *p = t->data;
    uint64_t sum = strlen(t->name);

    for (uint64_t i = 0; i < t->bytes; i++)
        sum += p[i];
    return sum;
}

static void expect_sound(const struct serve_memory *m, const uint8_t *at, size_t bytes) {
    struct serve_memory_why why;
    uint32_t next = 0;

    for (uint32_t i = 0; i < m->groups_count; i++) {
        if (m->groups[i].first != next || m->groups[i].count == 0) abort();
        next += m->groups[i].count;
    }
    if (next != m->tensors_count || m->tensors_count == 0) abort();
    for (uint32_t i = 0; i < m->tensors_count; i++) {
        const struct serve_memory_tensor *t = &m->tensors[i];
        const uint8_t *data = t->data;
        if (t->request >= m->requests || serve_memory_check(t, &why)) abort();
        if (data < at || data + t->bytes > at + bytes || (uintptr_t)data % 64) abort();
        if (serve_memory_get(m, t->request, t->name) != t) abort();
        (void)touch(t);
    }
}

static void again(const struct serve_memory *m) {
    struct serve_memory_why why;
    struct serve_memory n;
    uint64_t bytes;
    int fd = serve_memory_make(m->tensors, m->tensors_count, m->requests, &bytes, &why);

    if (fd < 0) abort();
    if (serve_memory_open(&n, fd, bytes, &why)) abort();
    close(fd);
    if (n.tensors_count != m->tensors_count || n.groups_count != m->groups_count) abort();
    for (uint32_t i = 0; i < m->tensors_count; i++) {
        const struct serve_memory_tensor *t = &m->tensors[i];
        const struct serve_memory_tensor *u = serve_memory_get(&n, t->request, t->name);
        if (!u || u->bytes != t->bytes || u->type != t->type || u->rank != t->rank) abort();
        if (memcmp(u->shape, t->shape, sizeof(t->shape)) || touch(u) != touch(t)) abort();
    }
    serve_memory_finish(&n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct serve_memory_why why = {""};
    struct serve_memory m;
    uint8_t *at = NULL;

    /* A copy of the exact size, so that a read beyond it is detected. */
    if (posix_memalign((void **)&at, 64, size ? size : 1)) return 0;
    memcpy(at, data, size);
    int err = serve_memory_read(&m, at, size, &why);
    if (!err != !*why.text) abort();
    if (!err) {
        expect_sound(&m, at, size);
        again(&m);
        serve_memory_finish(&m);
    }
    free(at);
    return 0;
}
