/* SPDX-License-Identifier: Apache-2.0
 *
 * P and E of a client.
 */
#include "daemon/worker/memory/credit.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/log.h"
#include "daemon/worker/client.h"
#include "daemon/worker/engine/engine.h"
#include "daemon/worker/memory/clearing.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_lane.h"
#include "daemon/worker/memory/memory_swap.h"
#include "daemon/worker/stats.h"
#include "daemon/worker/tenant.h"

static uint64_t credit_most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t credit_round(const struct client *c, uint64_t bytes) {
    uint64_t granule = c->worker->info.granularity_bytes;
    return (bytes + granule - 1) / granule * granule;
}

static uint64_t credit_p(const struct client *c) {
    return memory_persistent(c->memory) + c->credit.modules;
}

static uint64_t credit_e(const struct client *c) {
    return memory_ephemeral(c->memory);
}

/* ---- what is granted ------------------------------------------------------------------------- */

void credit_admitted(struct client *c) {
    c->credit.granted_p = c->spec.unknown ? 0 : credit_round(c, c->spec.persistent_bytes);
    c->credit.granted_e = c->spec.unknown ? 0 : credit_round(c, c->spec.ephemeral_bytes);
    credit_show(c);
}

void credit_answer(struct client *c, bool granted) {
    c->credit.granted = granted;
}

/* A grant only grows, but for credit_word. */
static int credit_ask(struct client *c, uint64_t p, uint64_t e) {
    struct credit *k = &c->credit;
    p = credit_most(credit_round(c, p), k->granted_p);
    e = credit_most(e, k->granted_e);
    if (p == k->granted_p && e == k->granted_e) return 0;
    k->bounded = !tenant_allows(c, p, e);
    if (k->bounded) return ERR_NO_MEMORY;
    k->granted = false;
    engine_ask(c, p, e);
    if (!k->granted) return ERR_NO_MEMORY;
    k->granted_p = p;
    k->granted_e = e;
    return 0;
}

/* What is used has changed. */
static void credit_used(struct client *c) {
    struct credit *k = &c->credit;
    struct wire_stats *s = &c->com->stats;
    uint64_t p = credit_p(c), e = credit_e(c);
    k->peak_p = credit_most(k->peak_p, p);
    k->peak_e = credit_most(k->peak_e, e);
    if (p > atom_load_relaxed(&s->persistent_peak)) atom_store_relaxed(&s->persistent_peak, p);
    if (e > atom_load_relaxed(&s->ephemeral_peak)) atom_store_relaxed(&s->ephemeral_peak, e);
    credit_show(c);
}

/* Of each window: what is backed, and what is granted and free. Pages of survivors lie in the
 * ephemeral window and count as P. */
void credit_show(struct client *c) {
    const struct credit *k = &c->credit;
    uint64_t granule = c->worker->info.granularity_bytes, p = credit_p(c), e = credit_e(c);
    uint64_t room_p = k->granted_p > p ? k->granted_p - p : 0;
    uint64_t room_e = k->granted_e > e ? k->granted_e - e : 0;
    atom_store_relaxed(&c->com->persistent_credit, (k->window_p + room_p) / granule);
    atom_store_relaxed(&c->com->ephemeral_credit, (k->window_e + room_e) / granule);
}

/* ---- what is used ---------------------------------------------------------------------------- */

static uint64_t *credit_window(struct client *c, uint64_t addr) {
    return addr < client_ephemeral(c) ? &c->credit.window_p : &c->credit.window_e;
}

int credit_back(struct client *c, uint64_t addr, uint64_t bytes) {
    uint64_t *window = credit_window(c, addr);
    bool persistent = window == &c->credit.window_p;
    if (!c->memory) return ERR_NO_MEMORY;
    int err = credit_ask(c, credit_p(c) + (persistent ? bytes : 0),
                         credit_e(c) + (persistent ? 0 : bytes));
    if (!err) err = memory_back(c->memory, addr, bytes);
    if (err) return err;
    clearing_count(c);
    *window += bytes;
    stats_add(&c->com->stats.memory_bytes, bytes);
    credit_used(c);
    return 0;
}

int credit_unback(struct client *c, uint64_t addr, uint64_t bytes) {
    int err = c->memory ? memory_unback(c->memory, addr, bytes) : 0;
    if (err || !c->memory) return err;
    *credit_window(c, addr) -= bytes;
    stats_sub(&c->com->stats.memory_bytes, bytes);
    credit_used(c);
    return 0;
}

int credit_module(struct client *c, uint64_t bytes) {
    int err = credit_ask(c, credit_p(c) + bytes, credit_e(c));
    if (err) return err;
    c->credit.modules += bytes;
    credit_used(c);
    return 0;
}

void credit_module_gone(struct client *c, uint64_t bytes) {
    c->credit.modules -= bytes;
    if (c->memory) credit_used(c);
}

bool credit_keep(struct client *c, uint64_t addr, uint64_t bytes) {
    uint64_t copied = 0;
    if (memory_swapped(c->memory)) return false;
    uint64_t need = memory_keep_need(c->memory, addr, bytes);
    if (need == 0) return true;
    int err = credit_ask(c, credit_p(c) + need, credit_e(c));
    if (!err) err = memory_keep(c->memory, addr, bytes, &copied);
    stats_add(&c->com->stats.survivor_bytes, copied);
    credit_used(c);
    return err == 0;
}

/* ---- the word -------------------------------------------------------------------------------- */

void credit_iteration(struct client *c) {
    struct credit *k = &c->credit;
    k->last_p = k->peak_p;
    k->last_e = k->peak_e;
    k->peak_p = credit_p(c);
    k->peak_e = credit_e(c);
}

void credit_word(struct client *c) {
    struct credit *k = &c->credit;
    k->granted_p = credit_round(c, credit_most(k->last_p, k->peak_p));
    k->granted_e = credit_round(c, credit_most(k->last_e, k->peak_e));
    c->spec.persistent_bytes = k->granted_p;
    c->spec.ephemeral_bytes = k->granted_e;
    c->spec.unknown = false;
    engine_word(c);
    credit_show(c);
    log_info("client", "job=%u name=%s word persistent_bytes=%" PRIu64 " ephemeral_bytes=%" PRIu64,
             c->job_id, c->name, k->granted_p, k->granted_e);
}

void credit_refusal(const struct client *c, uint64_t bytes, char *text, uint32_t text_bytes) {
    const struct credit *k = &c->credit;
    if (k->bounded) {
        snprintf(text, text_bytes,
                 "user_device_memory = %" PRIu64 " MiB: the jobs of user %u have %" PRIu64
                 " MiB, and %" PRIu64 " MiB more were asked for; end some, or have root raise the "
                 "limit in salus.conf(5)",
                 c->limits.device_bytes >> 20, c->uid,
                 tenant_granted(c, k->granted_p, k->granted_e) >> 20, bytes >> 20);
        return;
    }
    snprintf(text, text_bytes,
             "out of device memory: %" PRIu64 " MiB more were asked for; persistent %" PRIu64
             " of %" PRIu64 " MiB granted, ephemeral %" PRIu64 " of %" PRIu64
             " MiB, and the device of %" PRIu64 " MiB has no room beside the other jobs",
             bytes >> 20, c->memory ? credit_p(c) >> 20 : 0, k->granted_p >> 20,
             c->memory ? credit_e(c) >> 20 : 0, k->granted_e >> 20,
             c->worker->info.memory_bytes >> 20);
}
