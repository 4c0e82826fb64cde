/* SPDX-License-Identifier: Apache-2.0
 *
 * See watched.h.
 */
#include "test/lib/ptx/watched.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/device_recovery.h"
#include "daemon/device/touch/touch.h"

bool watched_wanted(void) {
    static atomic_uint launches;
    const char *most = getenv("SALUS_TEST_WATCHED");
    return atomic_fetch_add(&launches, 1) < (most ? strtoul(most, NULL, 10) : 40);
}

static void add(struct ranges **to, uint64_t lo, uint64_t hi) {
    struct ranges *more = ranges_with(*to, lo, hi);
    ranges_unref(*to);
    *to = more;
}

static int see(void *arg, const struct dev_touched *t) {
    struct watched *w = arg;
    uint64_t hi = t->bytes > UINT64_MAX - t->addr ? UINT64_MAX : t->addr + t->bytes;
    switch (t->kind) {
    case DEV_READS: add(&w->reads, t->addr, hi); break;
    case DEV_WRITES: add(&w->writes, t->addr, hi); break;
    case DEV_READS_VARIABLES: w->reads_variables = true; break;
    case DEV_READS_ALL: w->reads_all = true; break;
    }
    return 0;
}

void watched_look(struct watched *w, const struct ptx_func *f, const struct dev_launch *launch) {
    *w = (struct watched){0};
    w->reads = ranges_with(NULL, 0, 0);
    w->writes = ranges_with(NULL, 0, 0);
    w->known = !touch_kernel(f, launch, see, w, w->why, sizeof(w->why));
}

void watched_finish(struct watched *w) {
    ranges_unref(w->reads);
    ranges_unref(w->writes);
    free(w->before);
}

static bool meet(const struct range *a, const struct range *b) {
    return a->lo < b->hi && b->lo < a->hi;
}

bool watched_harmless(const struct watched *w) {
    if (!w->known || (w->reads_all && w->writes->count)) return false;
    for (uint32_t i = 0; i < w->reads->count; i++)
        for (uint32_t k = 0; k < w->writes->count; k++)
            if (meet(&w->reads->items[i], &w->writes->items[k])) return false;
    return true;
}

/* Adds the intersection of both. */
static void add_common(struct ranges **to, const struct ranges *a, const struct ranges *b) {
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t k = 0; k < b->count; k++) {
            const struct range *x = &a->items[i], *y = &b->items[k];
            uint64_t lo = x->lo > y->lo ? x->lo : y->lo, hi = x->hi < y->hi ? x->hi : y->hi;
            if (lo < hi) add(to, lo, hi);
        }
}

static uint64_t total(const struct ranges *r) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < r->count; i++)
        bytes += r->items[i].hi - r->items[i].lo;
    return bytes;
}

void watched_keep(struct watched *w) {
    free(w->before);
    unsigned char *at = w->before = malloc(total(w->all) + 1);
    for (uint32_t i = 0; i < w->all->count; i++) {
        uint64_t bytes = w->all->items[i].hi - w->all->items[i].lo;
        memcpy(at, (const void *)(uintptr_t)w->all->items[i].lo, bytes);
        at += bytes;
    }
}

struct ranges *watched_begin(struct watched *w, const struct ranges *all,
                             const struct ranges *variables) {
    struct ranges *seen = ranges_with(NULL, 0, 0);
    w->all = all;
    watched_keep(w);
    add_common(&seen, all, w->reads_all ? all : w->reads);
    add_common(&seen, all, w->writes);
    if (w->reads_variables) add_common(&seen, all, variables);
    return seen;
}

static bool same(const struct watched *w, const struct ranges *but, uint64_t *at) {
    const unsigned char *was = w->before;
    for (uint32_t i = 0; i < w->all->count; i++)
        for (uint64_t a = w->all->items[i].lo; a < w->all->items[i].hi; a++, was++)
            if (*(const unsigned char *)(uintptr_t)a != *was && !(but && ranges_find(but, a, 1))) {
                *at = a;
                return false;
            }
    return true;
}

bool watched_end(const struct watched *w, uint64_t *at) {
    return same(w, w->writes, at);
}

bool watched_same(const struct watched *w, uint64_t *at) {
    return same(w, NULL, at);
}
