/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the daemon at most once a second and without diagnostics: the command is what matters.
 */
#include "daemon/ctl/run/await.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/run/refusal_note.h"
#include "proto/wire/job.h"

#define POLL_S 1
#define LOOK_MS                                                                      \
    1000 /* timeout for an answer, during which the command's end would go unnoticed \
          */

/* Jobs of programs with another library do not report their run; then the process decides. Another
 * process may have had its number before. */
static bool is_ours(const struct await *a, uint64_t run, uint64_t pid, uint64_t since_ns) {
    return run ? run == a->run : pid == (uint64_t)a->pid && since_ns >= a->since_ns;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void say(struct await *a, const struct ctl_job *j) {
    char line[sizeof(a->said)];

    snprintf(line, sizeof(line), "job %" PRIu64 "%s %.300s, place %" PRIu64 " in the queue", j->id,
             strcmp(j->mode, "null") == 0 ? " " JOB_TAG : "",
             *j->why ? j->why : "waits for admission", j->position);
    if (strcmp(line, a->said) == 0) return;
    memcpy(a->said, line, sizeof(line));
    fprintf(a->c->err, "salusctl: %s\n", line);
    fflush(a->c->err);
}

static void look(struct await *a) {
    struct cli hurried = *a->c;
    struct query q;

    if (hurried.timeout_ms > LOOK_MS) hurried.timeout_ms = LOOK_MS;
    if (!query_silently(&hurried, CTL_V_job_list, &q)) return;
    for (size_t i = 0; i < q.count; i++) {
        const struct ctl_job *j = query_record(&q, i);

        if (is_ours(a, j->run, j->pid, j->since_ns) && strcmp(j->state, "waiting") == 0) say(a, j);
    }
    query_finish(&q);
}

int await_end(struct await *a, struct relay *r, int *status) {
    int ended;

    while ((ended = relay_wait(r, a->talk ? POLL_S : -1, status)) == 0)
        look(a);
    return ended < 0 ? ended : 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Looks for a refused job of the command. The daemon learns of the command's end at the same time
 * as we do, so the job may be in either list. */
static bool in_jobs(const struct await *a, char *why, size_t cap) {
    bool found = false;
    struct query q;

    if (!query_silently(a->c, CTL_V_job_list, &q)) return false;
    for (size_t i = 0; i < q.count; i++) {
        const struct ctl_job *j = query_record(&q, i);

        if (!is_ours(a, j->run, j->pid, j->since_ns) || strcmp(j->state, "refused") != 0) continue;
        snprintf(why, cap, "%s", j->why);
        found = true;
    }
    query_finish(&q);
    return found;
}

static bool in_history(const struct await *a, char *why, size_t cap) {
    bool found = false;
    struct query q;

    if (!query_silently(a->c, CTL_V_history_list, &q)) return false;
    for (size_t i = 0; i < q.count; i++) {
        const struct ctl_ended *e = query_record(&q, i);

        if (!is_ours(a, e->run, e->pid, e->since_ns) || strcmp(e->how, "refused") != 0) continue;
        snprintf(why, cap, "%s", e->why);
        found = true;
    }
    query_finish(&q);
    return found;
}

bool await_refused(struct await *a, char *why, size_t cap) {
    bool noted = refusal_note_take(a->note, why, cap);

    a->note = -1;
    return noted || in_jobs(a, why, cap) || in_history(a, why, cap);
}
