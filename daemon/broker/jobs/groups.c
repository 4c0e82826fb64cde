/* SPDX-License-Identifier: Apache-2.0
 *
 * A table that is scanned: it is read once per job.
 */
#include "daemon/broker/jobs/groups.h"

#include <stdio.h>
#include <string.h>

/* FNV-1a. */
uint32_t groups_hash(uid_t uid, const char *name) {
    uint32_t h = 2166136261u;

    for (int i = 0; i < 4; i++)
        h = (h ^ (uid >> 8 * i & 0xff)) * 16777619u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 16777619u;
    return h ? h : 1;
}

static const struct group *find_number(const struct groups *g, uint32_t number) {
    for (int i = 0; i < GROUPS_MAX; i++)
        if (g->table[i].users && g->table[i].number == number) return &g->table[i];
    return NULL;
}

uint32_t groups_take(struct groups *g, uid_t uid, const char *name) {
    struct group *free_place = NULL;
    uint32_t number = groups_hash(uid, name);

    if (!*name) return 0;
    for (int i = 0; i < GROUPS_MAX; i++) {
        struct group *p = &g->table[i];

        if (p->users == 0) {
            if (!free_place) free_place = p;
        } else if (p->uid == uid && strcmp(p->name, name) == 0) {
            p->users++;
            return p->number;
        }
    }
    if (!free_place) return 0;
    while (number == 0 || find_number(g, number))
        number++;
    *free_place = (struct group){.number = number, .users = 1, .uid = uid};
    snprintf(free_place->name, GROUPS_NAME_BYTES, "%s", name);
    return number;
}

void groups_put(struct groups *g, uint32_t number) {
    struct group *p = number ? (struct group *)find_number(g, number) : NULL;

    if (p) p->users--;
}
