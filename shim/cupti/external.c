/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread's stacks are created at its first push, and end with the thread.
 */
#include "shim/cupti/external.h"

#include <pthread.h>
#include <stdlib.h>

#define FIRST_DEPTH 64u

struct stack {
    uint64_t *ids;
    uint32_t depth, room;
};

struct stacks {
    struct stack of[CUPTI_EXTERNAL_KINDS];
};

static pthread_key_t key;
static bool has_key;

static void end_stacks(void *p) {
    struct stacks *s = p;
    for (uint32_t i = 0; i < CUPTI_EXTERNAL_KINDS; i++)
        free(s->of[i].ids);
    free(s);
}

static void make_key(void) {
    has_key = pthread_key_create(&key, end_stacks) == 0;
}

/* Finds the thread's stack; NULL when it has none, or when out of memory. */
static struct stack *find(uint32_t kind, bool make) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    if (!has_key) return NULL;
    struct stacks *s = pthread_getspecific(key);
    if (!s && make) {
        s = calloc(1, sizeof(*s));
        if (s && pthread_setspecific(key, s) != 0) {
            free(s);
            s = NULL;
        }
    }
    return s ? &s->of[kind] : NULL;
}

static bool grow(struct stack *s) {
    uint32_t room = s->room ? 2 * s->room : FIRST_DEPTH;
    uint64_t *ids = room > s->room ? reallocarray(s->ids, room, sizeof(*ids)) : NULL;
    if (!ids) return false;
    s->ids = ids;
    s->room = room;
    return true;
}

bool external_push(uint32_t kind, uint64_t id) {
    struct stack *s = find(kind, true);
    if (!s || (s->depth == s->room && !grow(s))) return false;
    s->ids[s->depth++] = id;
    return true;
}

bool external_top(uint32_t kind, uint64_t *id) {
    const struct stack *s = find(kind, false);
    if (!s || !s->depth) return false;
    *id = s->ids[s->depth - 1];
    return true;
}

bool external_pop(uint32_t kind, uint64_t *id) {
    if (!external_top(kind, id)) return false;
    find(kind, false)->depth--;
    return true;
}
