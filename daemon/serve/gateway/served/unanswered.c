/* SPDX-License-Identifier: Apache-2.0
 *
 * An id combines the slot's index and how often the slot was used.
 */
#include "daemon/serve/gateway/served/unanswered.h"

#include <stdlib.h>

#define FIRST_PLACES 64u

static bool grow(struct unanswered *a) {
    uint32_t capacity = a->capacity ? 2 * a->capacity : FIRST_PLACES;
    struct unanswered_place *places = realloc(a->places, capacity * sizeof(*places));
    if (!places) return false;
    for (uint32_t i = capacity; i-- > a->capacity;) {
        places[i] = (struct unanswered_place){.next = a->free};
        a->free = i + 1;
    }
    a->places = places;
    a->capacity = capacity;
    return true;
}

struct asked *unanswered_add(struct unanswered *a) {
    if (!a->free && !grow(a)) return NULL;
    struct asked *asked = calloc(1, sizeof(*asked));
    if (!asked) return NULL;
    uint32_t at = a->free - 1;
    struct unanswered_place *p = &a->places[at];
    a->free = p->next;
    p->asked = asked;
    asked->id = (uint64_t)++p->turn << 32 | at;
    a->count++;
    return asked;
}

struct asked *unanswered_find(const struct unanswered *a, uint64_t id) {
    uint32_t at = (uint32_t)id;
    if (at >= a->capacity) return NULL;
    struct asked *asked = a->places[at].asked;
    return asked && asked->id == id ? asked : NULL;
}

void unanswered_remove(struct unanswered *a, struct asked *asked) {
    uint32_t at = (uint32_t)asked->id;
    a->places[at].asked = NULL;
    a->places[at].next = a->free;
    a->free = at + 1;
    a->count--;
    free(asked);
}

void unanswered_finish(struct unanswered *a) {
    for (uint32_t i = 0; i < a->capacity; i++)
        free(a->places[i].asked);
    free(a->places);
    *a = (struct unanswered){0};
}
