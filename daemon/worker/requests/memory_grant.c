/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the scheduler, then backs memory.
 */
#include "daemon/worker/requests/memory_grant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/device/device_settings.h"
#include "daemon/worker/client.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_segment.h"
#include "daemon/worker/memory/memory_swap.h"
#include "daemon/worker/page/reply.h"
#include "daemon/worker/residency/lane_clear.h"
#include "daemon/worker/residency/memory_move.h"
#include "daemon/worker/residency/user_limits.h"
#include "daemon/worker/scheduling/sched_link.h"
#include "daemon/worker/segments/segment.h"
#include "daemon/worker/stats.h"

/* Asks for this much more P and E. Returns 0 when it is already granted, else posts the request. A
 * grant only grows, except through memory_grant_word. */
static int ask(struct client *c, enum memory_asker by, uint64_t more_p, uint64_t more_e,
               bool patient) {
    struct credit *k = &c->credit;
    struct memory_ask *a = by == MEMORY_ASK_NOBODY ? NULL : &c->asks[by];
    uint64_t p = credit_p(k, c->memory) + more_p, e = credit_e(c->memory) + more_e;
    if (a && memory_ask_pending(a)) return MEMORY_GRANT_WAITS;
    if (!credit_lacks(k, &p, &e)) return 0;
    if (!a || memory_ask_denies(a, p, e)) return ERR_NO_MEMORY;
    memory_ask_post(a, &c->worker->work.asking, more_p, more_e, patient);
    return MEMORY_GRANT_WAITS;
}

/* Asks with a request that is answered at once. */
static int ask_more(struct client *c, enum memory_asker by, uint64_t more_p, uint64_t more_e) {
    return ask(c, by, more_p, more_e, false);
}

/* Asks for an operation of the deferred list that can wait for others' memory. */
static int await_more(struct client *c, uint64_t more_p, uint64_t more_e) {
    return ask(c, MEMORY_ASK_DEFERRED, more_p, more_e, true);
}

static void note_used(struct client *c) {
    credit_used(&c->credit, c->memory, c->com.page);
}

bool memory_grant_lacks(const struct client *c, uint64_t addr, uint64_t bytes) {
    bool persistent = addr < client_ephemeral(c);
    if (!c->memory) return false;
    uint64_t p = credit_p(&c->credit, c->memory) + (persistent ? bytes : 0);
    uint64_t e = credit_e(c->memory) + (persistent ? 0 : bytes);
    return credit_lacks(&c->credit, &p, &e);
}

int memory_grant_await(struct client *c, uint64_t addr, uint64_t bytes) {
    bool persistent = addr < client_ephemeral(c);
    if (!c->memory) return ERR_NO_MEMORY;
    return await_more(c, persistent ? bytes : 0, persistent ? 0 : bytes);
}

int memory_grant_back(struct client *c, uint64_t addr, uint64_t bytes) {
    bool persistent = addr < client_ephemeral(c);
    if (!c->memory) return ERR_NO_MEMORY;
    int err = ask_more(c, MEMORY_ASK_DEFERRED, persistent ? bytes : 0, persistent ? 0 : bytes);
    if (!err) err = memory_back(c->memory, addr, bytes);
    if (err) return err;
    lane_clear_count(c);
    note_used(c);
    return 0;
}

int memory_grant_unback(struct client *c, uint64_t addr, uint64_t bytes) {
    if (!c->memory) return 0;
    int err = memory_unback(c->memory, addr, bytes);
    if (!err) note_used(c);
    return err;
}

int memory_grant_make(struct client *c, uint32_t id, uint64_t bytes) {
    if (!c->memory || bytes > c->worker->info.memory_bytes) return ERR_NO_MEMORY;
    int err = await_more(c, bytes, 0);
    if (!err) err = memory_segment_make(c->memory, id, bytes, c->uid);
    if (!err) note_used(c);
    return err;
}

int memory_grant_ask_lane(struct client *c, uint64_t bytes) {
    if (!c->memory || bytes > c->worker->info.memory_bytes) return ERR_NO_MEMORY;
    return await_more(c, 0, bytes);
}

int memory_grant_make_lane(struct client *c, uint32_t id, uint64_t bytes) {
    int err = memory_grant_ask_lane(c, bytes);
    if (!err) err = memory_segment_make_lane(c->memory, id, bytes);
    if (err) return err;
    lane_clear_count(c);
    note_used(c);
    return 0;
}

int memory_grant_open(struct client *c, uint32_t id, struct segment *s) {
    if (!c->memory) return ERR_NO_MEMORY;
    int err = await_more(c, s->count * s->granule, 0);
    if (!err) err = memory_segment_open(c->memory, id, s);
    if (!err) note_used(c);
    return err;
}

int memory_grant_close(struct client *c, uint32_t id) {
    if (!c->memory) return 0;
    int err = memory_segment_close(c->memory, id);
    if (!err) note_used(c);
    return err;
}

/* A refusal by the user's limit does not count as a lack of memory. */
void memory_grant_refused(struct client *c, uint64_t bytes) {
    struct wire_usage *s = &c->com.page->usage;
    uint64_t had = c->memory ? credit_p(&c->credit, c->memory) + credit_e(c->memory) : 0;
    if (client_dead(c) || c->credit.bounded) return;
    stats_add(&s->refusals, 1);
    stats_most(&s->refused_bytes, bytes);
    stats_most(&s->needed_bytes, bytes < UINT64_MAX - had ? had + bytes : UINT64_MAX);
}

int memory_grant_module(struct client *c, enum memory_asker by, uint64_t bytes) {
    int err = ask_more(c, by, bytes, 0);
    if (err) return err;
    c->credit.modules += bytes;
    note_used(c);
    return 0;
}

void memory_grant_module_gone(struct client *c, uint64_t bytes) {
    c->credit.modules -= bytes;
    if (c->memory) note_used(c);
}

/* The exact amount is unknown before, so the most that it can be is requested. */
int memory_grant_limit(struct client *c, uint32_t limit, uint64_t value) {
    const struct dev_ops *ops = c->worker->ops;
    struct dev *dev = c->worker->dev;
    if (!ops->settings) return 0;
    uint64_t most = ops->settings->space_limit_bytes(c->space, limit, value);
    int err = memory_grant_module(c, MEMORY_ASK_LIMIT, most);
    if (err) return err;
    uint64_t before = ops->mem_used(dev);
    err = ops->settings->space_limit(c->space, limit, value);
    memory_grant_module_gone(c, most - (ops->mem_used(dev) - before));
    return err;
}

/* Asks for the memory that the rest of the survivor needs. */
static int ask_keep(struct client *c, enum memory_asker by, uint64_t need) {
    uint64_t p = credit_p(&c->credit, c->memory) + need, e = 0;
    if (memory_swapped(c->memory)) return ERR_NO_MEMORY;
    if (memory_move_any(c->worker) && credit_lacks(&c->credit, &p, &e)) return ERR_NO_MEMORY;
    return ask_more(c, by, need, 0);
}

int memory_grant_keep(struct client *c, enum memory_asker by, uint64_t addr, uint64_t bytes,
                      uint32_t *most) {
    uint64_t copied = 0, need = memory_keep_need(c->memory, addr, bytes);
    int err = need ? ask_keep(c, by, need) : 0;
    if (err || !need) return err;
    err = memory_keep(c->memory, addr, bytes, *most, &copied);
    uint32_t granules = (uint32_t)(copied / c->worker->info.granularity_bytes);
    *most -= granules;
    pace_add(&c->worker->moves.pace, granules);
    stats_add(&c->com.page->stats.survived_bytes, copied);
    note_used(c);
    return err;
}

void memory_grant_word(struct client *c) {
    struct credit *k = &c->credit;
    credit_measure(k);
    sched_link_measured(c);
    credit_show(k, c->memory, c->com.page);
    log_info("client",
             "job=%u name=\"%s\" event=measured persistent_bytes=%" PRIu64
             " ephemeral_bytes=%" PRIu64,
             c->job_id, c->name, k->reserved_p, k->reserved_e);
}

void memory_grant_answer(struct client *c, const struct wire_record *rec, int err, uint64_t bytes) {
    char text[WIRE_REPLY_BYTES];
    if (err == ERR_NO_MEMORY) memory_grant_refused(c, bytes);
    if (err != ERR_NO_MEMORY || !c->credit.bounded) {
        reply_status(&c->com, rec, err);
        return;
    }
    memory_grant_refusal(c, bytes, text, sizeof(text));
    log_warn("client", "job=%u name=\"%s\" event=refused why=\"%s\"", c->job_id, c->name, text);
    reply_send(&c->com, rec, err, text, (uint32_t)strlen(text));
}

void memory_grant_refusal(const struct client *c, uint64_t bytes, char *text, uint32_t text_bytes) {
    const struct credit *k = &c->credit;
    if (k->bounded) {
        snprintf(text, text_bytes,
                 "user_device_memory = %" PRIu64 " MiB: the jobs of user %u have %" PRIu64
                 " MiB, and this job asks for %" PRIu64
                 " MiB more; end some, or have root raise the limit in salus.conf(5)",
                 c->limits.device_bytes >> 20, c->uid,
                 user_limits_granted(c, credit_granted_p(k), credit_granted_e(k)) >> 20,
                 bytes >> 20);
        return;
    }
    snprintf(text, text_bytes,
             "out of device memory: the job asks for %" PRIu64 " MiB more; it uses %" PRIu64
             " of %" PRIu64 " MiB of persistent memory and %" PRIu64 " of %" PRIu64
             " MiB of ephemeral memory, and other jobs use the rest of the device's %" PRIu64
             " MiB; end some, or use less",
             bytes >> 20, c->memory ? credit_p(k, c->memory) >> 20 : 0, credit_granted_p(k) >> 20,
             c->memory ? credit_e(c->memory) >> 20 : 0, credit_granted_e(k) >> 20,
             c->worker->info.memory_bytes >> 20);
}
