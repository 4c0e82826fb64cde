/* SPDX-License-Identifier: Apache-2.0
 *
 * A memfd's blocks show how much of it is in use, no matter which process wrote there.
 */
#include "daemon/broker/clients/pinned.h"

#include <stdio.h>

#include "common/atomics.h"
#include "common/text/units.h"
#include "daemon/broker/clients/disconnect.h"

/* Pinned memory of a client. Mapped files in its host window count in full. */
static uint64_t bytes_of(const struct client *c) {
    const struct wire_completion *page = c->attachment ? c->attachment->completion : NULL;

    return pages_pinned(&c->pages) + (page ? atom_load_relaxed(&page->stats.file_bytes) : 0);
}

/* Checks all clients of the user; returns the one that grew most. */
static struct client *look_at(struct clients *clients, struct user *u) {
    struct client *grown = NULL;
    uint64_t most = 0;
    struct list *pos;

    u->pinned_bytes = 0;
    list_each(pos, &clients->list) {
        struct client *c = list_entry(pos, struct client, link);
        uint64_t now, growth;

        if (c->user != u) continue;
        now = bytes_of(c);
        growth = now > c->pinned_bytes ? now - c->pinned_bytes : 0;
        if (!grown || growth > most) {
            grown = c;
            most = growth;
        }
        c->pinned_bytes = now;
        u->pinned_bytes += now;
    }
    return grown;
}

static void end_grown(struct user *u, struct client *c) {
    char text[LIMITS_TEXT_BYTES], has[24], why[USERS_WHY_BYTES];

    u->refused++;
    units_print_bytes(u->pinned_bytes, has, sizeof(has));
    snprintf(why, sizeof(why),
             "%s: the jobs of user %u have %s of pinned and staging memory, and this job allocated "
             "more; end some, or have root raise the limit in salus.conf(5)",
             limits_text(&u->limits, LIMIT(user_pinned), text), (unsigned)u->uid, has);
    disconnect_excess(c, why);
}

void pinned_look(struct clients *clients) {
    struct list *pos, *tmp;

    /* A user disappears with the last client that is ended. */
    list_each_safe(pos, tmp, &clients->users->list) {
        struct user *u = list_entry(pos, struct user, link);
        struct client *grown = look_at(clients, u);

        if (grown && u->pinned_bytes > u->limits.value[LIMIT(user_pinned)]) end_grown(u, grown);
    }
}
