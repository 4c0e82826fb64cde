/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes mappings. Consecutive pages are changed with one call of the device.
 */
#include "daemon/worker/memory/memory_plan.h"

#include <errno.h>
#include <stdlib.h>

#include "common/log.h"
#include "daemon/worker/memory/memory_page.h"
#include "daemon/worker/segments/spare.h"

int memory_plan_begin(struct memory_plan *plan, struct memory *m, uint32_t moves, uint32_t made,
                      uint32_t hosts) {
    *plan = (struct memory_plan){.m = m};
    plan->moves = calloc(moves + 1, sizeof(*plan->moves));
    plan->scratch = calloc(moves + 1, sizeof(*plan->scratch));
    plan->made = calloc(made + 1, sizeof(*plan->made));
    plan->hosts = calloc(hosts + 1, sizeof(*plan->hosts));
    if (!plan->moves || !plan->scratch || !plan->made || !plan->hosts) return -ENOMEM;
    for (; plan->made_count < made; plan->made_count++) {
        int err = m->ops->chunk_create(m->dev, &plan->made[plan->made_count]);
        if (err) return err;
    }
    for (; plan->host_count < hosts; plan->host_count++)
        if (!(plan->hosts[plan->host_count] = spare_make(m->ops, m->dev, m->granule)))
            return -ENOMEM;
    return 0;
}

int memory_plan_end(struct memory_plan *plan, int err) {
    for (uint32_t i = 0; err && i < plan->made_count; i++)
        plan->m->ops->chunk_destroy(plan->m->dev, plan->made[i]);
    for (uint32_t i = 0; err && i < plan->host_count; i++)
        spare_free(plan->m->ops, plan->m->dev, plan->m->granule, plan->hosts[i]);
    free(plan->moves);
    free(plan->scratch);
    free(plan->made);
    free(plan->hosts);
    return err;
}

void memory_plan_add(struct memory_plan *plan, uint32_t page, struct dev_chunk *to) {
    const struct memory *m = plan->m;
    const struct page *p = &m->pages[page];
    struct dev_chunk *from = NULL;
    if (p->mapped) from = memory_shown(m, p);
    if (from != to) plan->moves[plan->count++] = (struct memory_move){page, from, to};
}

/* Number of moves from the i-th on that one call can make. */
static uint32_t plan_run_length(const struct memory_plan *plan, uint32_t i) {
    const struct memory_move *a = &plan->moves[i];
    uint32_t n = 1;
    while (i + n < plan->count && a[n].page == a->page + n && !a[n].from == !a->from &&
           !a[n].to == !a->to)
        n++;
    return n;
}

static uint64_t addr_of(const struct memory *m, const struct memory_move *run) {
    return m->base + run->page * m->granule;
}

static int show_chunks(struct memory_plan *plan, const struct memory_move *run, uint32_t n,
                       bool before) {
    struct memory *m = plan->m;
    if (!(before ? run->from : run->to)) return 0;
    for (uint32_t i = 0; i < n; i++)
        plan->scratch[i] = before ? run[i].from : run[i].to;
    return m->ops->chunk_map(m->space, addr_of(m, run), plan->scratch, n);
}

/* Restores the former mappings; pages for which that fails stay unmapped. */
static void plan_show_before(struct memory_plan *plan, const struct memory_move *run, uint32_t n) {
    if (!show_chunks(plan, run, n, true)) return;
    log_error(
        "memory",
        "event=lost-mapping addr=0x%llx pages=%u text=\"the former mapping cannot be restored\"",
        (unsigned long long)addr_of(plan->m, run), n);
    for (uint32_t i = 0; i < n; i++)
        plan->m->pages[run[i].page].mapped = false;
}

static int do_run(struct memory_plan *plan, const struct memory_move *run, uint32_t n) {
    struct memory *m = plan->m;
    int err = run->from ? m->ops->chunk_unmap(m->space, addr_of(m, run), n) : 0;
    if (err) return err;
    err = show_chunks(plan, run, n, false);
    if (err && run->from) plan_show_before(plan, run, n);
    return err;
}

/* Unmaps the new chunks: one that is freed while a client still sees it would become the next
 * client's. */
static void undo_run(struct memory_plan *plan, const struct memory_move *run, uint32_t n) {
    struct memory *m = plan->m;
    if (run->to && m->ops->chunk_unmap(m->space, addr_of(m, run), n)) {
        log_error("memory",
                  "event=cannot-unmap addr=0x%llx text=\"the worker aborts, because another client "
                  "could see the chunk\"",
                  (unsigned long long)addr_of(m, run));
        abort();
    }
    plan_show_before(plan, run, n);
}

int memory_plan_run(struct memory_plan *plan) {
    uint32_t done = 0, n;
    int err = 0;
    for (; done < plan->count && !err; done += err ? 0 : n) {
        n = plan_run_length(plan, done);
        err = do_run(plan, &plan->moves[done], n);
    }
    for (uint32_t i = 0; err && i < done; i += n) {
        n = plan_run_length(plan, i);
        undo_run(plan, &plan->moves[i], n);
    }
    for (uint32_t i = 0; !err && i < plan->count; i++)
        plan->m->pages[plan->moves[i].page].mapped = plan->moves[i].to != NULL;
    return err;
}
