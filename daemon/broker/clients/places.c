/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans the clients: there are a few hundred, and they wait or leave rarely.
 */
#include "daemon/broker/clients/places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/broker/clients/deadline.h"
#include "daemon/broker/clients/refuse.h"
#include "daemon/broker/jobs/runs.h"

#define BEGINNING_PART 8 /* a user's clients that are no jobs yet get max_jobs / 8 places */

uint64_t places_most_beginning(const struct config *config) {
    return config->max_jobs / BEGINNING_PART ? config->max_jobs / BEGINNING_PART : 1;
}

/* ---- eligibility ---------------------------------------------------------------------------- */

static bool is_beyond_user(const struct client *c) {
    const struct user *u = c->user;

    return u->places >= u->limits.value[LIMIT(user_jobs)];
}

static bool is_full(const struct clients *all) {
    return all->places >= all->config->max_jobs;
}

static bool may_have(const struct client *c) {
    return !is_full(c->clients) && !is_beyond_user(c) &&
           c->user->beginning < places_most_beginning(c->clients->config);
}

/* Another process of its run is attached, on any GPU. */
static bool has_peer(const struct client *c) {
    const struct gpus *gpus = c->clients->gpus;
    char name[GROUPS_NAME_BYTES];

    for (uint32_t i = 0; i < gpus->count; i++) {
        runs_name(&gpus->items[i].attachments, &c->job, &c->ancestry, name);
        if (runs_has(&gpus->items[i].attachments, &c->job, name)) return true;
    }
    return false;
}

/* Order of waiting clients: processes whose run has begun, then the user with the fewest places,
 * then arrival. */
static bool goes_before(const struct client *a, const struct client *b) {
    bool peer = has_peer(a);

    if (peer != has_peer(b)) return peer;
    if (a->user->places != b->user->places) return a->user->places < b->user->places;
    return a->job_id < b->job_id;
}

static struct client *find_next(const struct clients *all) {
    struct client *best = NULL;
    const struct list *pos;

    list_each(pos, &all->list) {
        struct client *c = list_entry(pos, struct client, link);

        if (c->state == CLIENT_QUEUED && may_have(c) && (!best || goes_before(c, best))) best = c;
    }
    return best;
}

/* Returns a client that would wait for others' places while others may wait for it, or NULL. */
static struct client *find_stranded(const struct clients *all) {
    const struct list *pos;

    list_each(pos, &all->list) {
        struct client *c = list_entry(pos, struct client, link);

        if (c->state != CLIENT_QUEUED || c->user->places == 0) continue;
        if ((is_full(all) || is_beyond_user(c)) && has_peer(c)) return c;
    }
    return NULL;
}

/* ---- waiting --------------------------------------------------------------------------------- */

uint32_t places_explain(const struct client *c, char *why, size_t cap) {
    const struct clients *all = c->clients;
    char text[LIMITS_TEXT_BYTES];
    const struct list *pos;
    uint32_t place = 1;

    if (is_beyond_user(c))
        snprintf(why, cap, "waits for admission: user %u has %" PRIu64 " jobs (%s)",
                 (unsigned)c->user->uid, c->user->places,
                 limits_text(&c->user->limits, LIMIT(user_jobs), text));
    else if (all->places >= all->config->max_jobs)
        snprintf(why, cap, "waits for admission: %u jobs are attached (max_jobs = %" PRIu64 ")",
                 all->places, all->config->max_jobs);
    else
        snprintf(why, cap, "waits for admission: %" PRIu64 " jobs of user %u are starting",
                 c->user->beginning, (unsigned)c->user->uid);
    list_each(pos, &all->list) {
        const struct client *o = list_entry(pos, struct client, link);

        place += o->state == CLIENT_QUEUED && o->job_id < c->job_id;
    }
    return place;
}

static void refuse_stranded(struct client *c) {
    char why[USERS_WHY_BYTES], text[USERS_WHY_BYTES];

    places_explain(c, why, sizeof(why));
    snprintf(text, sizeof(text),
             "the process %.120s, while started processes of its run may wait for it; start fewer "
             "processes",
             why);
    refuse_job(c, -EBUSY, text);
}

static void enqueue(struct client *c) {
    const struct clients *all = c->clients;
    uint64_t timeout = c->asked.admit_timeout_ns;

    c->job_id = gpus_next_job(all->gpus);
    c->queued_ns = fdutil_now_ns();
    users_move(c->user, USERS_HANDSHAKE, USERS_QUEUED);
    c->state = CLIENT_QUEUED;
    if (!timeout) timeout = all->config->admit_timeout;
    if (timeout)
        deadline_set(c, timeout);
    else
        expiry_stop(&c->deadline);
}

static void log_queued(const struct client *c) {
    char why[USERS_WHY_BYTES];

    places_explain(c, why, sizeof(why));
    log_burst("client", LOG_INFO, "event=queued job=%u pid=%d uid=%u name=\"%s\" why=\"%s\"",
              c->job_id, (int)c->job.pid, (unsigned)c->job.uid, c->job.name, why);
}

static void take_place(struct client *c) {
    if (c->state == CLIENT_QUEUED) users_move(c->user, USERS_QUEUED, USERS_HANDSHAKE);
    c->state = CLIENT_HELLO;
    c->has_place = true;
    c->clients->places++;
    c->user->places++;
    c->user->beginning++;
    c->clients->begin(c);
}

void places_ask(struct client *c) {
    struct clients *all = c->clients;

    if (may_have(c) && !places_next(all, 0))
        take_place(c);
    else
        enqueue(c);
    places_give(all); /* earlier clients may wait only because their users are at their limits */
    if (c->state == CLIENT_QUEUED) log_queued(c);
}

void places_give(struct clients *clients) {
    struct client *c;

    if (clients->stopping) return;
    while ((c = find_next(clients)))
        take_place(c);
    while ((c = find_stranded(clients)))
        refuse_stranded(c);
}

static void on_freed(uv_idle_t *idle) {
    uv_idle_stop(idle);
    places_give(idle->data);
}

void places_init(struct clients *clients, void (*begin)(struct client *c)) {
    clients->begin = begin;
    clients->on_freed = on_freed;
    clients->freed.data = clients;
    uv_idle_init(clients->loop, &clients->freed);
}

void places_stop(struct clients *clients) {
    uv_close((uv_handle_t *)&clients->freed, NULL);
}

void places_settle(struct client *c) {
    c->user->beginning--;
    places_give(c->clients);
}

struct client *places_next(const struct clients *clients, uint64_t after) {
    struct client *lowest = NULL;
    const struct list *pos;

    list_each(pos, &clients->list) {
        struct client *c = list_entry(pos, struct client, link);

        if (c->state != CLIENT_QUEUED || c->job_id <= after) continue;
        if (!lowest || c->job_id < lowest->job_id) lowest = c;
    }
    return lowest;
}
