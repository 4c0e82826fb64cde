/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists by hash, all under one lock.
 */
#include "shim/cupti/names.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shim/lock.h"

#define LISTS 1024u

struct name {
    struct name *next;
    char text[];
};

static struct name *lists[LISTS];
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t list_of(const char *name) {
    uint32_t h = 2166136261u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h % LISTS;
}

static struct name *add(struct name **list, const char *name) {
    size_t bytes = strlen(name) + 1;
    struct name *n = malloc(sizeof(*n) + bytes);
    if (!n) return NULL;
    memcpy(n->text, name, bytes);
    n->next = *list;
    *list = n;
    return n;
}

const char *names_keep(const char *name) {
    struct name **list = &lists[list_of(name)];
    lock_enter(&names_lock);
    struct name *n = *list;
    while (n && strcmp(n->text, name) != 0)
        n = n->next;
    if (!n) n = add(list, name);
    lock_leave(&names_lock);
    return n ? n->text : "";
}
