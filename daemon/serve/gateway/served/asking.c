/* SPDX-License-Identifier: Apache-2.0
 *
 * An id combines the slot's index and how often the slot was used.
 */
#include "daemon/serve/gateway/served/asking.h"

#include <stdlib.h>

#define FIRST_PLACES 64u

static bool grow(struct asking *a) {
    uint32_t capacity = a->capacity ? 2 * a->capacity : FIRST_PLACES;
    struct asking_place *places = realloc(a->places, capacity * sizeof(*places));
    if (!places) return false;
    for (uint32_t i = capacity; i-- > a->capacity;) {
        places[i] = (struct asking_place){.next = a->free};
        a->free = i + 1;
    }
    a->places = places;
    a->capacity = capacity;
    return true;
}

struct asked *asking_add(struct asking *a) {
    if (!a->free && !grow(a)) return NULL;
    struct asked *asked = calloc(1, sizeof(*asked));
    if (!asked) return NULL;
    uint32_t at = a->free - 1;
    struct asking_place *p = &a->places[at];
    a->free = p->next;
    p->asked = asked;
    asked->id = (uint64_t)++p->turn << 32 | at;
    a->count++;
    return asked;
}

struct asked *asking_find(const struct asking *a, uint64_t id) {
    uint32_t at = (uint32_t)id;
    if (at >= a->capacity) return NULL;
    struct asked *asked = a->places[at].asked;
    return asked && asked->id == id ? asked : NULL;
}

void asking_remove(struct asking *a, struct asked *asked) {
    uint32_t at = (uint32_t)asked->id;
    a->places[at].asked = NULL;
    a->places[at].next = a->free;
    a->free = at + 1;
    a->count--;
    free(asked);
}

void asking_finish(struct asking *a) {
    for (uint32_t i = 0; i < a->capacity; i++)
        free(a->places[i].asked);
    free(a->places);
    *a = (struct asking){0};
}
