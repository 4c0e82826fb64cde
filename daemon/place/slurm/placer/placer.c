/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries out a round's actions in order.
 */
#include "daemon/place/slurm/placer/placer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/place/slurm/placer/memory_retry.h"

#define WHY_BYTES 256
#define NAME_BYTES 32
/* If a job begins on a node in the same second in which it ended there, slurmd mistakes it for the
 * ended one and kills it ("Job credential revoked"). */
#define MEMORY_RETRY_PAUSE_S 3

static int64_t waits_until(const struct note *n, int64_t now_s) {
    return now_s + (n->wait_s ? n->wait_s : NOTE_WAIT_MOST_S);
}

/* Computes the job's next note; returns the begin time. */
static int64_t next_note(const struct world *w, const struct round_action *a, int64_t now_s,
                         struct note *n) {
    *n = w->jobs[a->job].note;
    if (*n->node && a->kind != ROUND_PUT_OFF) note_try(n, n->node);
    n->node[0] = '\0';
    n->free = a->kind == ROUND_FREE;
    if (n->free) return now_s;
    if (a->kind != ROUND_PLACE) return waits_until(n, now_s);
    snprintf(n->node, sizeof(n->node), "%s", w->nodes[a->node].name);
    n->gpu = a->gpu;
    n->at = now_s;
    return now_s;
}

/* Formats a job's id like Slurm's programs: "5", "5_3". */
static const char *name_of(const struct world_job *j, char out[NAME_BYTES]) {
    if (j->task == WORLD_NO_TASK)
        snprintf(out, NAME_BYTES, "%" PRIu32, j->id);
    else
        snprintf(out, NAME_BYTES, "%" PRIu32 "_%" PRIu32, j->id, j->task);
    return out;
}

static void log_action(const struct world *w, const struct round_action *a) {
    char name[NAME_BYTES];

    name_of(&w->jobs[a->job], name);
    if (a->kind == ROUND_PLACE)
        log_each("placer", LOG_INFO, "event=place job=%s node=%s gpu=%" PRIu32, name,
                 w->nodes[a->node].name, a->gpu);
    else if (a->kind == ROUND_WITHDRAW)
        log_each("placer", LOG_INFO, "event=withdraw job=%s node=%s", name,
                 w->jobs[a->job].note.node);
    else if (a->kind == ROUND_FREE)
        log_each("placer", LOG_INFO,
                 "event=free job=%" PRIu32 " why=\"the job needs more CPUs than any of its\"",
                 w->jobs[a->job].id);
    else
        log_debug("placer", "event=put_off job=%" PRIu32, w->jobs[a->job].id);
}

/* Logs a refusal once per job, as long as the reason stays the same. */
static void say_refused(struct placer *p, const struct world *w, const struct round_action *a) {
    char id[16];

    snprintf(id, sizeof(id), "%" PRIu32, w->jobs[a->job].id);
    if (report_age_ns(&p->refused, id, a->why, (int64_t)fdutil_now_ns()) == 0)
        log_each("placer", LOG_WARN, "event=nowhere job=%s why=\"%s\"", id, a->why);
}

static void carry_out(struct placer *p, const struct world *w, const struct round_action *a,
                      int64_t now_s) {
    const struct world_job *j = &w->jobs[a->job];
    /* An array is postponed as a whole. */
    uint32_t task = a->kind == ROUND_PLACE ? j->task : WORLD_NO_TASK;
    char why[WHY_BYTES], name[NAME_BYTES];
    struct note note;
    int64_t begins;

    if (a->kind == ROUND_REFUSED) {
        say_refused(p, w, a);
        return;
    }
    begins = next_note(w, a, now_s, &note);
    log_action(w, a);
    if (!p->options->dry && ctld_set_job(j->id, task, &note, begins, why, sizeof(why)) < 0)
        log_each("placer", LOG_WARN, "event=not_told job=%s why=\"%s\"", name_of(j, name), why);
}

/* ---- jobs that lacked memory ----------------------------------------------------------------- */

static void say_no_more(struct placer *p, const struct world_lack *l, enum again again) {
    const char *why = again == MEMORY_RETRY_TOO_OFTEN
                          ? "the job was queued again with more memory three times"
                          : "no GPU has as much memory as the job needs";
    char key[32];

    snprintf(key, sizeof(key), "lack %" PRIu32, l->id);
    if (report_age_ns(&p->refused, key, why, (int64_t)fdutil_now_ns()) == 0)
        log_each("placer", LOG_WARN,
                 "event=lacks job=%" PRIu32 " needed_bytes=%" PRIu64 " why=\"%s\"", l->id,
                 l->needed_bytes, why);
}

/* Queues the job first, then changes its note. If the placer dies in between, the job waits with
 * its old note, and the next placer finds it. */
static int set_again(const struct world_lack *l, const struct note *next, int64_t now_s,
                     char *why) {
    int err = l->ended ? ctld_requeue(l->id, why, WHY_BYTES) : 0;

    if (err < 0) return err;
    return ctld_set_job(l->id, WORLD_NO_TASK, next, waits_until(next, now_s), why, WHY_BYTES);
}

static void queue_again(struct placer *p, const struct world *w, const struct world_lack *l,
                        int64_t now_s) {
    struct note next;
    enum again again = memory_retry_judge(w, l, &next);
    char why[WHY_BYTES];

    if (again != MEMORY_RETRY_YES) {
        say_no_more(p, l, again);
        return;
    }
    log_each("placer", LOG_INFO,
             "event=again job=%" PRIu32 " node=%s needed_bytes=%" PRIu64 " mem_bytes=%" PRIu64
             " time=%" PRIu32,
             l->id, l->note.node, l->needed_bytes, next.ask.mem_bytes, next.more);
    next.begin = now_s + MEMORY_RETRY_PAUSE_S;
    if (!p->options->dry && set_again(l, &next, now_s, why) < 0)
        log_each("placer", LOG_WARN, "event=not_told job=%" PRIu32 " why=\"%s\"", l->id, why);
}

/* ---- a round --------------------------------------------------------------------------------- */

static int plan(struct placer *p, const struct world *w) {
    struct round_answer answer;
    int64_t now_s = time(NULL);
    char why[WHY_BYTES];
    uint64_t begin = fdutil_now_ns();
    int err = round_plan(w, &p->options->round, now_s, &answer, why, sizeof(why));

    if (err < 0) {
        log_error("placer", "event=round why=\"%s\"", why);
        return err;
    }
    log_debug("placer", "event=round jobs=%zu nodes=%zu actions=%zu took_us=%" PRIu64, w->job_count,
              w->node_count, answer.count, (fdutil_now_ns() - begin) / 1000);
    for (size_t i = 0; i < answer.count; i++)
        carry_out(p, w, &answer.actions[i], now_s);
    for (size_t i = 0; i < w->lack_count; i++)
        queue_again(p, w, &w->lacks[i], now_s);
    round_finish(&answer);
    return 0;
}

int placer_round(struct placer *p) {
    struct arena *memory = arena_create();
    char why[WHY_BYTES] = "out of memory";
    struct world w;
    int err =
        memory ? ctld_look(&p->options->ctld, &p->nodes, memory, &w, why, sizeof(why)) : -ENOMEM;

    if (err < 0)
        log_error("placer", "event=look why=\"%s\"", why);
    else
        err = plan(p, &w);
    arena_destroy(memory);
    return err;
}

void placer_finish(struct placer *p) {
    report_age_finish(&p->nodes);
    report_age_finish(&p->refused);
}
