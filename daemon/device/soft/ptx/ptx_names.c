/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries are stored in order of addition and chained per bucket, newest first. So closing a scope
 * only removes the last entries: each is the head of its chain.
 */
#include "daemon/device/soft/ptx/ptx_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void ptx_names_init(struct ptx_names *t) {
    *t = (struct ptx_names){0};
    if (getrandom(&t->seed, sizeof(t->seed), GRND_NONBLOCK) != (ssize_t)sizeof(t->seed))
        t->seed = (uintptr_t)t * 0x9e3779b97f4a7c15u;
}

void ptx_names_finish(struct ptx_names *t) {
    free(t->entries);
    free(t->buckets);
    *t = (struct ptx_names){0};
}

static uint64_t hash_of(const struct ptx_names *t, const char *text, size_t len) {
    uint64_t h = t->seed ^ len;
    for (size_t i = 0; i < len; i++) {
        h = (h ^ (unsigned char)text[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h ^ h >> 32;
}

static int grow(struct ptx_names *t) {
    uint32_t cap = t->cap ? t->cap * 2 : 64;
    struct ptx_name *entries = reallocarray(t->entries, cap, sizeof(*entries));
    if (!entries) return -1;
    t->entries = entries;
    int32_t *buckets = reallocarray(t->buckets, cap, sizeof(*buckets));
    if (!buckets) return -1;
    t->buckets = buckets;
    t->cap = cap;
    t->bucket_count = cap;
    memset(buckets, 0xff, cap * sizeof(*buckets));
    for (uint32_t i = 0; i < t->count; i++) {
        int32_t *head = &buckets[entries[i].hash & (cap - 1)];
        entries[i].next = *head;
        *head = (int32_t)i;
    }
    return 0;
}

struct ptx_name *ptx_names_add(struct ptx_names *t, const char *text, size_t len, uint32_t kind,
                               void *item) {
    if (t->count == t->cap && (t->cap > INT32_MAX / 2 || grow(t))) return NULL;
    uint64_t hash = hash_of(t, text, len);
    int32_t *head = &t->buckets[hash & (t->bucket_count - 1)];
    struct ptx_name *e = &t->entries[t->count];
    *e = (struct ptx_name){
        .text = text,
        .len = (uint32_t)len,
        .depth = t->depth,
        .hash = hash,
        .next = *head,
        .kind = kind,
        .item = item,
    };
    *head = (int32_t)t->count++;
    return e;
}

struct ptx_name *ptx_names_find(const struct ptx_names *t, const char *text, size_t len) {
    if (t->count == 0) return NULL;
    uint64_t hash = hash_of(t, text, len);
    for (int32_t i = t->buckets[hash & (t->bucket_count - 1)]; i >= 0; i = t->entries[i].next) {
        struct ptx_name *e = &t->entries[i];
        if (e->hash == hash && e->len == len && memcmp(e->text, text, len) == 0) return e;
    }
    return NULL;
}

void ptx_names_open(struct ptx_names *t) {
    t->depth++;
}

void ptx_names_close(struct ptx_names *t) {
    while (t->count && t->entries[t->count - 1].depth == t->depth) {
        struct ptx_name *e = &t->entries[--t->count];
        t->buckets[e->hash & (t->bucket_count - 1)] = e->next;
    }
    t->depth--;
}
