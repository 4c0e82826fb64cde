/* SPDX-License-Identifier: Apache-2.0
 *
 * The board and the counters.
 */
#include "daemon/worker/link/board.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "daemon/worker/client.h"
#include "daemon/worker/memory/residence.h"
#include "daemon/worker/worker.h"

#define BOARD_EVERY_NS 10000000ull

int board_create(struct worker *w) {
    w->board_fd = fdutil_memfd("salus-board", sizeof(*w->board), 1);
    if (w->board_fd < 0) return w->board_fd;
    void *board = mmap(NULL, sizeof(*w->board), PROT_READ | PROT_WRITE, MAP_SHARED, w->board_fd, 0);
    if (board == MAP_FAILED) return -errno;
    w->board = board;
    board_update(w, true);
    return fdutil_seal_readonly(w->board_fd);
}

void board_destroy(struct worker *w) {
    if (w->board) munmap(w->board, sizeof(*w->board));
    w->board = NULL;
    fdutil_close(&w->board_fd);
}

_Static_assert(sizeof(((struct wire_choice *)0)->lane) == SCHED_NAME_BYTES, "the same names");

/* ---- choices --------------------------------------------------------------------------------- */

void board_from_choice(struct wire_choice *out, const struct sched_choice *choice) {
    *out = (struct wire_choice){0};
#define X(field, ...) out->field = (int64_t)choice->field;
    CHOICE_NUMBERS(X)
#undef X
    memcpy(out->lane, choice->lane, sizeof(out->lane));
    memcpy(out->kernel, choice->kernel, sizeof(out->kernel));
}

int board_to_choice(struct sched_choice *out, const struct wire_choice *choice) {
    if (!memchr(choice->lane, 0, sizeof(choice->lane)) ||
        !memchr(choice->kernel, 0, sizeof(choice->kernel)))
        return -EINVAL;
    *out = (struct sched_choice){0};
    memcpy(out->lane, choice->lane, sizeof(out->lane));
    memcpy(out->kernel, choice->kernel, sizeof(out->kernel));
#define X(field, ...)                                     \
    out->field = (__typeof__(out->field))(choice->field); \
    if ((int64_t)out->field != choice->field) return -EINVAL;
    CHOICE_NUMBERS(X)
#undef X
    return 0;
}

/* ---- counters -------------------------------------------------------------------------------- */

/* It will never run again. */
static void board_gone(struct client *c) {
    struct wire_stats *s = &c->com->stats;
    atom_store_relaxed(&s->lane, 0);
    atom_store_relaxed(&s->position, 0);
    atom_store_relaxed(&s->why, SCHED_WHY_NONE);
    atom_store_relaxed(&s->turn, 0);
}

static void board_job(struct client *c, const struct sched_job_view *v) {
    struct wire_stats *s = &c->com->stats;
    atom_store_relaxed(&s->lane, v->lane == SCHED_NO_LANE ? 0 : v->lane + 1ull);
    atom_store_relaxed(&s->position, v->position);
    atom_store_relaxed(&s->why, v->why);
    atom_store_relaxed(&s->turn, v->turn);
    atom_store_relaxed(&s->waited_ns, v->waited_ns);
    atom_store_relaxed(&s->iterations, v->iterations);
    atom_store_relaxed(&s->iteration_ns, v->iteration_ns);
    atom_store_relaxed(&s->request_ns, v->request_ns);
    atom_store_relaxed(&s->inflight_cap, v->inflight_cap);
    atom_store_relaxed(&s->demand_milli, v->demand_milli);
    atom_store_relaxed(&s->source, iteration_source(c->boundary.detector));
    atom_store_relaxed(&s->persistent_bytes, v->persistent_bytes);
    atom_store_relaxed(&s->ephemeral_bytes, v->ephemeral_bytes);
    atom_store_relaxed(&s->measured, c->boundary.passed >= BOUNDARY_MEASURED);
}

/* What the jobs were granted, beside the lanes; how many wait. */
static uint64_t board_jobs(struct worker *w, uint32_t *waiting) {
    struct sched_job_view view;
    struct list *pos;
    uint64_t granted = 0;
    list_each(pos, &w->clients) {
        struct client *c = list_entry(pos, struct client, link);
        if (c->abandoned || !sched_job(w->sched, c->job_id, &view)) {
            board_gone(c);
            continue;
        }
        board_job(c, &view);
        if (view.lane == SCHED_NO_LANE)
            ++*waiting;
        else if (!view.swapped)
            granted += view.persistent_bytes;
    }
    return granted;
}

/* ---- the board ------------------------------------------------------------------------------- */

static void board_write(struct worker *w) {
    static const struct wire_choice none;
    struct sched_lane_view views[WIRE_LANES];
    struct wire_board *b = w->board;
    uint32_t waiting = 0, count = sched_lanes(w->sched, views, WIRE_LANES);
    uint64_t granted = board_jobs(w, &waiting), seq = atom_load_relaxed(&b->seq);
    if (count > WIRE_LANES) count = WIRE_LANES;
    atom_exchange(&b->seq, seq + 1); /* what follows is not visible before */
    b->choice = none;
    board_from_choice(&b->choice, sched_chosen(w->sched));
    b->capacity_bytes = w->info.memory_bytes;
    b->lane_count = count;
    b->waiting_jobs = waiting;
    b->sm_threshold = sched_sm_threshold(w->sched);
    for (uint32_t i = 0; i < count; i++) {
        const struct sched_lane_view *v = &views[i];
        granted += v->bytes;
        b->lanes[i] = (struct wire_lane){.lane = v->lane,
                                         .jobs = v->jobs,
                                         .holder = v->holder,
                                         .bytes = v->bytes,
                                         .chunk_bytes = residence_bytes(w, v->lane),
                                         .switches = v->switches,
                                         .cleared_bytes = residence_cleared(w, v->lane),
                                         .busy_ns = v->busy_ns};
    }
    b->granted_bytes = granted;
    atom_store_release(&b->seq, seq + 2);
}

void board_update(struct worker *w, bool now) {
    if (!w->board || (w->board_ns && w->steps == w->board_steps)) return;
    if (!now && w->now_ns - w->board_ns < BOARD_EVERY_NS) return;
    w->board_steps = w->steps;
    w->board_ns = w->now_ns ? w->now_ns : 1;
    board_write(w);
}
