/* SPDX-License-Identifier: Apache-2.0
 *
 * Selects our job records and converts them.
 */
#include "daemon/place/slurm/placer/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "daemon/place/slurm/gres.h"
#include "daemon/place/slurm/placer/array.h"
#include "daemon/place/slurm/placer/memory_retry.h"

struct taking {
    const struct records *r;
    struct world_job *all;
    struct world_lack *lacks;
    size_t count, lack_count, lack_cap;
};

const char *records_text(struct arena *memory, const char *text) {
    const char *own = text ? arena_strdup(memory, text) : NULL;

    return own ? own : "";
}

bool *records_nodes(struct arena *memory, const int32_t *pairs, size_t node_count) {
    bool *has = arena_calloc(memory, node_count + 1, sizeof(*has));

    for (; has && pairs && pairs[0] >= 0; pairs += 2)
        for (int32_t i = pairs[0]; i <= pairs[1] && (size_t)i < node_count; i++)
            has[i] = true;
    return has;
}

/* ---- classification -------------------------------------------------------------------------- */

static bool runs(const slurm_job_info_t *j) {
    uint32_t base = j->job_state & JOB_STATE_BASE;

    return base == JOB_RUNNING || base == JOB_SUSPENDED;
}

static bool is_pending(const slurm_job_info_t *j) {
    return (j->job_state & JOB_STATE_BASE) == JOB_PENDING;
}

static uint32_t shares_of(const struct records *r, const slurm_job_info_t *j) {
    return gres_count(j->tres_per_node, r->gres);
}

static size_t nodes_of(const slurm_job_info_t *j) {
    size_t count = 0;

    for (const int32_t *p = j->node_inx; p && p[0] >= 0; p += 2)
        count += p[1] >= p[0] ? (size_t)(p[1] - p[0]) + 1 : 0;
    return count;
}

static uint32_t cpus_of_node(const slurm_job_info_t *j) {
    return j->num_nodes ? (j->num_cpus + j->num_nodes - 1) / j->num_nodes : j->num_cpus;
}

static bool between(uint32_t n, uint32_t first, uint32_t last) {
    return n >= first && n <= last;
}

/* Tests whether the job waits for a licence, or for a limit of its account, user or quality of
 * service. */
static bool is_limited(const slurm_job_info_t *j) {
    uint32_t r = j->state_reason;

    return is_pending(j) && (r == WAIT_LICENSES || r == WAIT_ACCOUNT_POLICY ||
                             between(r, WAIT_ASSOC_JOB_LIMIT, WAIT_ASSOC_TIME_LIMIT) ||
                             between(r, WAIT_QOS_THRES, WAIT_QOS_TIME_LIMIT) ||
                             between(r, WAIT_QOS_GRP_CPU, WAIT_ASSOC_MAX_SUB_JOB) ||
                             between(r, WAIT_ASSOC_GRP_UNK, WAIT_QOS_MAX_SUB_JOB_PER_ACCT) ||
                             between(r, WAIT_ASSOC_GRP_BILLING, WAIT_QOS_MIN_BILLING));
}

/* Tests whether the job waits for the placer (it has our note), or runs with our note or with some
 * of the GRES. */
static bool is_ours(const struct records *r, const slurm_job_info_t *from, struct note *note) {
    int err = note_parse(note, from->admin_comment);

    if (!runs(from) && !is_pending(from)) return false;
    if (err == -EINVAL)
        log_debug("placer", "event=note job=%" PRIu32 " why=\"the note cannot be parsed\"",
                  from->job_id);
    return runs(from) ? err == 0 || shares_of(r, from) : err == 0 && !note->free;
}

/* Tests for array tasks that Slurm has not scheduled yet. The last task of an array, once placed,
 * counts as a job. */
static bool is_array(const slurm_job_info_t *from, const struct note *note) {
    return is_pending(from) && from->array_task_str && !*note->node;
}

/* ---- one job --------------------------------------------------------------------------------- */

static int take_job(const struct records *r, const slurm_job_info_t *from, struct world_job *j) {
    j->id = from->job_id;
    j->uid = from->user_id;
    j->task = WORLD_NO_TASK;
    j->state = runs(from) ? WORLD_RUNS : *j->note.node ? WORLD_PLACED : WORLD_WAITS;
    j->cpus = from->num_cpus;
    j->since = from->submit_time > j->note.begin ? from->submit_time : j->note.begin;
    j->begins = from->start_time;
    j->one_node = from->max_nodes == 1;
    j->held = from->priority == 0;
    j->limited = is_limited(from);
    j->depends = from->dependency && *from->dependency;
    j->partition = records_text(r->memory, from->partition);
    j->features = from->features ? records_text(r->memory, from->features) : NULL;
    j->shares = shares_of(r, from);
    j->node = WORLD_ELSEWHERE;
    if (!from->exc_nodes || !*from->exc_nodes) return 0;
    j->excluded = records_nodes(r->memory, from->exc_node_inx, r->w->node_count);
    return j->excluded ? 0 : -ENOMEM;
}

/* Adds one world_job per node of the job, besides the current one. */
static void spread(struct taking *t, const slurm_job_info_t *from) {
    struct world_job job = t->all[t->count];

    job.cpus = cpus_of_node(from);
    for (const int32_t *p = from->node_inx; p && p[0] >= 0; p += 2)
        for (int32_t i = p[0]; i <= p[1] && (size_t)i < t->r->w->node_count; i++) {
            job.node = (uint32_t)i;
            t->all[t->count++] = job;
        }
}

/* Number of the array's tasks that run or were placed. */
static uint32_t busy_tasks(const struct records *r, uint32_t array) {
    uint32_t count = 0;
    struct note note;

    for (uint32_t i = 0; i < r->jobs->record_count; i++) {
        const slurm_job_info_t *j = &r->jobs->job_array[i];

        if (j->array_job_id != array) continue;
        count +=
            runs(j) || (is_pending(j) && note_parse(&note, j->admin_comment) == 0 && *note.node);
    }
    return count;
}

/* Adds one world_job per next task. An array at its own limit ("%4") waits as a whole; one whose
 * task list cannot be parsed is left to Slurm. */
static void split(struct taking *t, const slurm_job_info_t *from) {
    struct world_job job = t->all[t->count];
    uint32_t tasks[ARRAY_TASKS_MOST], most = ARRAY_TASKS_MOST, count;

    if (from->array_max_tasks) {
        uint32_t busy = busy_tasks(t->r, from->array_job_id);
        uint32_t left = busy < from->array_max_tasks ? from->array_max_tasks - busy : 0;
        if (left < most) most = left;
    }
    count = array_tasks(from->array_task_str, tasks, most);
    for (uint32_t i = 0; i < count; i++) {
        job.task = tasks[i];
        t->all[t->count++] = job;
    }
    if (most) return;
    job.depends = true;
    t->all[t->count++] = job;
}

/* ---- jobs that lacked memory ----------------------------------------------------------------- */

/* The failure that the job's node reports; NULL if none. */
static const struct report_lack *lack_of(const struct world *w, const slurm_job_info_t *from,
                                         const struct note *note) {
    for (size_t i = 0; *note->node && i < w->node_count; i++)
        if (w->nodes[i].reported && strcmp(w->nodes[i].name, note->node) == 0)
            return report_find_lack(&w->nodes[i].report, from->job_id, from->user_id);
    return NULL;
}

/* The job failed, and its user allowed requeueing. */
static bool may_come_back(const slurm_job_info_t *from) {
    bool failed = (from->job_state & JOB_STATE_BASE) == JOB_FAILED;

    return failed && from->batch_flag && from->requeue;
}

/* Takes jobs that failed, and jobs that an earlier placer queued again without updating the note.
 * Returns true if the job was taken. */
static bool take_lack(struct taking *t, const slurm_job_info_t *from) {
    struct world_lack *l = &t->lacks[t->lack_count];
    const struct report_lack *said;
    struct note note;
    enum again again;
    bool ended = may_come_back(from), back = is_pending(from) && from->restart_cnt > 0;

    if (t->lack_count == t->lack_cap || (!ended && !back)) return false;
    if (from->job_state & JOB_COMPLETING || note_parse(&l->note, from->admin_comment) < 0)
        return false;
    said = l->note.free ? NULL : lack_of(t->r->w, from, &l->note);
    if (!said) return false;
    l->id = from->job_id;
    l->ended = ended;
    l->needed_bytes = said->needed_bytes;
    l->at_ms = said->at_ms;
    again = memory_retry_judge(t->r->w, l, &note);
    if (again == MEMORY_RETRY_KNOWN || (back && again != MEMORY_RETRY_YES)) return false;
    t->lack_count++;
    return true;
}

/* Reserves space for as many failures as the nodes report. */
static int room_for_lacks(struct taking *t) {
    for (size_t i = 0; i < t->r->w->node_count; i++)
        if (t->r->w->nodes[i].reported) t->lack_cap += t->r->w->nodes[i].report.lack_count;
    t->lacks = arena_calloc(t->r->memory, t->lack_cap + 1, sizeof(*t->lacks));
    return t->lacks ? 0 : -ENOMEM;
}

/* ---- all jobs -------------------------------------------------------------------------------- */

/* Subtracts the CPUs of jobs that are not ours. */
static void leave_out(const struct records *r, const slurm_job_info_t *j) {
    uint32_t each = cpus_of_node(j);

    for (const int32_t *p = j->node_inx; p && p[0] >= 0; p += 2)
        for (int32_t i = p[0]; i <= p[1] && (size_t)i < r->w->node_count; i++)
            r->nodes[i].cpus -= each < r->nodes[i].cpus ? each : r->nodes[i].cpus;
}

static int take(struct taking *t, const slurm_job_info_t *from) {
    struct world_job *j = &t->all[t->count];
    int err;

    *j = (struct world_job){0};
    if (take_lack(t, from)) return 0;
    if (!is_ours(t->r, from, &j->note)) {
        if (runs(from)) leave_out(t->r, from);
        return 0;
    }
    err = take_job(t->r, from, j);
    if (err < 0) return err;
    if (runs(from))
        spread(t, from);
    else if (is_array(from, &j->note))
        split(t, from);
    else
        t->count++;
    return 0;
}

/* Upper limit of the number of jobs, plus one to work on. */
static size_t most(const struct records *r) {
    size_t count = 1;

    for (uint32_t i = 0; i < r->jobs->record_count; i++) {
        const slurm_job_info_t *j = &r->jobs->job_array[i];

        if (runs(j))
            count += nodes_of(j);
        else if (is_pending(j))
            count += j->array_task_str ? ARRAY_TASKS_MOST : 1;
    }
    return count;
}

/* Sorts by waiting time; tasks of one array stay together in their order. */
static int by_waiting(const void *a, const void *b) {
    const struct world_job *x = a, *y = b;

    if (x->since != y->since) return x->since < y->since ? -1 : 1;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    return x->task < y->task ? -1 : x->task > y->task;
}

int records_take(struct records *r) {
    struct taking t = {.r = r};
    int err = 0;

    t.all = arena_calloc(r->memory, most(r), sizeof(*t.all));
    if (!t.all || room_for_lacks(&t) < 0) return -ENOMEM;
    for (uint32_t i = 0; i < r->jobs->record_count && err == 0; i++)
        err = take(&t, &r->jobs->job_array[i]);
    qsort(t.all, t.count, sizeof(*t.all), by_waiting);
    r->w->jobs = t.all;
    r->w->job_count = t.count;
    r->w->lacks = t.lacks;
    r->w->lack_count = t.lack_count;
    return err;
}
