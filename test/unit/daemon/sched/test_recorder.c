/* SPDX-License-Identifier: Apache-2.0
 *
 * Recordings replay to the same actions: from the beginning, and from checkpoints once much has
 * been dropped; under every pair of policies; within a step; while the recording continues. A
 * changed recording gives other actions, or is rejected.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/core/view.h"
#include "daemon/sched/policy/lane_policy.h"
#include "daemon/sched/policy/policy.h"
#include "daemon/sched/record/recorder.h"
#include "daemon/sched/record/replay.h"
#include "daemon/sched/state.h"

#define JOBS 6u
#define HALF 4096u

/* Jobs whose operations complete in submission order, each the last of its iteration. */
struct world {
    struct sched *s;
    struct recorder *r;
    uint64_t now_ns, ops, seed;
    uint32_t iteration[JOBS];
    struct sched_event next[4 * JOBS];
    uint32_t count;
};

static uint32_t rnd(struct world *w, uint32_t below) {
    w->seed = w->seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((w->seed >> 33) % below);
}

static struct sched_event *say(struct world *w, enum sched_event_kind kind, uint32_t job) {
    struct sched_event *e = &w->next[w->count++];
    *e = (struct sched_event){.kind = kind, .job = job};
    return e;
}

static void submit(struct world *w, uint32_t job) {
    struct sched_event *e = say(w, SCHED_SUBMITTED, job);
    e->submitted.op = ++w->ops;
    e->submitted.iteration = w->iteration[job - 1];
    e->submitted.kernel = (struct sched_kernel){
        .mean_ns = 100 + rnd(w, 400), .sms = 1 + rnd(w, 100), .class = rnd(w, 4)};
}

static struct world *begin(const char *lane, const char *kernel) {
    struct world *w = calloc(1, sizeof(*w));
    struct sched_config config = {.policy = {.exclusive = -1,
                                             .swap = -1,
                                             .priorities = -1,
                                             .by_class = -1,
                                             .by_size = -1,
                                             .inflight_cap = 2},
                                  .capacity_bytes = 100,
                                  .chunk_bytes = 1};
    snprintf(config.policy.lane, POLICY_NAME_BYTES, "%s", lane);
    snprintf(config.policy.kernel, POLICY_NAME_BYTES, "%s", kernel);
    cr_assert_eq(sched_create(&w->s, &config, NULL, 0), 0);
    cr_assert_eq(recorder_create(&w->r, &config, HALF), 0);
    for (uint32_t job = 1; job <= JOBS; job++) {
        say(w, SCHED_JOINED, job)->spec = (struct sched_spec){
            .persistent_bytes = 5, .ephemeral_bytes = 10, .priority = job == 1, .iterations = 1000};
        submit(w, job);
    }
    return w;
}

static void finish(struct world *w) {
    recorder_destroy(w->r);
    sched_destroy(w->s);
    free(w);
}

/* Completes the running operations in the next step, and starts another iteration. */
static void step(struct world *w) {
    struct sched_actions actions;
    recorder_begin(w->r, w->s, w->now_ns, w->next, w->count);
    cr_assert_eq(sched_step(w->s, w->now_ns, w->next, w->count, &actions), 0);
    recorder_answer(w->r, &actions);
    recorder_end(w->r);
    w->now_ns += 50 + rnd(w, 300);
    w->count = 0;
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct sched_action *a = &actions.items[i];
        cr_assert_neq(a->kind, SCHED_REJECT, "%s", sched_fault_text(a->rejected.fault));
        if (a->kind != SCHED_RUN) continue;
        say(w, SCHED_DONE, a->job)->done.op = a->op;
        w->next[w->count - 1].done.busy_ns = 100 + rnd(w, 400);
        say(w, SCHED_BOUNDARY, a->job);
        w->iteration[a->job - 1]++;
        submit(w, a->job);
    }
    if (w->count == 0) say(w, SCHED_TIME, 0);
}

static int file(void) {
    char path[] = "/tmp/salus-recorder-XXXXXX";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    unlink(path);
    return fd;
}

static char *text_of(int fd) {
    off_t bytes = lseek(fd, 0, SEEK_END);
    char *text = calloc(1, (size_t)bytes + 1);
    cr_assert_eq(pread(fd, text, (size_t)bytes, 0), bytes);
    return text;
}

static char *written(const struct world *w) {
    int fd = file();
    cr_assert_eq(recorder_write(w->r, fd), 0);
    char *text = text_of(fd);
    close(fd);
    return text;
}

static enum replay_how replay(const char *text, struct replay *r) {
    *r = (struct replay){0};
    FILE *in = fmemopen((void *)text, strlen(text), "r"), *out = fopen("/dev/null", "w");
    enum replay_how how = replay_run(r, in, out);
    fclose(in);
    fclose(out);
    return how;
}

static void expect_same(const char *text, uint64_t least_actions) {
    struct replay r;
    cr_expect_eq(replay(text, &r), REPLAY_SAME, "line %lu: %s", (unsigned long)r.line, r.why);
    cr_expect_geq(r.actions, least_actions);
}

Test(recorder, a_recording_from_the_beginning_has_no_checkpoint) {
    struct world *w = begin("fair", "streams");
    for (int i = 0; i < 5; i++)
        step(w);
    char *text = written(w);
    cr_expect_null(strstr(text, "\ncheckpoint "));
    expect_same(text, 10);
    free(text);
    finish(w);
}

/* A buffer half holds some tens of these steps, so most are dropped, and the remaining recording
 * begins in the middle. */
Test(recorder, what_is_left_replays_from_its_checkpoint_under_every_pair_of_policies) {
    for (uint32_t l = 0; lane_policy_at(l); l++)
        for (uint32_t k = 0; policy_at(k); k++) {
            struct world *w = begin(lane_policy_at(l)->name, policy_at(k)->name);
            for (int i = 0; i < 1000; i++) {
                step(w);
                if (i % 97) continue;
                char *text = written(w);
                expect_same(text, i ? 5 : 1);
                free(text);
            }
            char *text = written(w);
            cr_expect(strstr(text, "\ncheckpoint "), "%s", policy_at(k)->name);
            free(text);
            finish(w);
        }
}

Test(recorder, a_half_at_least_is_kept) {
    struct world *w = begin("pack", "streams");
    for (int i = 0; i < 1000; i++) {
        step(w);
        if (i < 200) continue;
        char *text = written(w);
        size_t steps = 0;
        for (const char *at = text; (at = strstr(at, "\n@")); at++)
            steps++;
        cr_assert_gt(steps * (1 + JOBS) * 120, HALF / 2, "%zu steps", steps);
        free(text);
    }
    finish(w);
}

Test(recorder, what_ended_within_a_step_has_no_actions_of_it) {
    struct world *w = begin("fair", "orion");
    struct replay r;
    for (int i = 0; i < 5; i++)
        step(w);
    recorder_begin(w->r, w->s, w->now_ns, w->next, w->count);
    char *text = written(w);
    cr_expect(strstr(text, "\nwithin\nend\n"));
    cr_expect_eq(replay(text, &r), REPLAY_SAME, "%s", r.why);
    cr_expect(r.within);
    cr_expect_eq(r.steps, 6);
    free(text);
    finish(w);
}

Test(recorder, what_ended_while_actions_were_carried_out_has_all_of_them) {
    struct world *w = begin("fair", "orion");
    struct sched_actions actions;
    struct replay r;
    for (int i = 0; i < 5; i++)
        step(w);
    recorder_begin(w->r, w->s, w->now_ns, w->next, w->count);
    cr_assert_eq(sched_step(w->s, w->now_ns, w->next, w->count, &actions), 0);
    recorder_answer(w->r, &actions);
    cr_assert_gt(actions.count, 0);
    char *text = written(w);
    cr_expect_not(strstr(text, "within"));
    cr_expect_eq(replay(text, &r), REPLAY_SAME, "%s", r.why);
    cr_expect_not(r.within);
    cr_expect_eq(r.steps, 6);
    free(text);
    recorder_end(w->r);
    text = written(w);
    cr_expect_eq(replay(text, &r), REPLAY_SAME, "%s", r.why);
    cr_expect_eq(r.steps, 6);
    free(text);
    finish(w);
}

Test(recorder, a_stream_begins_where_it_is_asked_for_and_ends_so) {
    struct world *w = begin("srtf", "slack");
    int fd = file();
    for (int i = 0; i < 300; i++)
        step(w);
    cr_assert_eq(recorder_stream(w->r, w->s, dup(fd)), 0);
    cr_expect_eq(recorder_stream(w->r, w->s, fd), -EBUSY);
    for (int i = 0; i < 300; i++)
        step(w);
    cr_expect(recorder_streaming(w->r));
    cr_expect_eq(recorder_stop(w->r), 0);
    cr_expect_not(recorder_streaming(w->r));
    step(w);
    char *text = text_of(fd);
    struct replay r;
    cr_expect_eq(replay(text, &r), REPLAY_SAME, "line %lu: %s", (unsigned long)r.line, r.why);
    cr_expect_eq(r.steps, 300);
    free(text);
    close(fd);
    finish(w);
}

Test(recorder, a_stream_that_cannot_be_written_says_so) {
    struct world *w = begin("fair", "streams");
    int full = open("/dev/full", O_WRONLY);
    cr_assert_geq(full, 0);
    cr_assert_eq(recorder_stream(w->r, w->s, full), 0);
    for (int i = 0; i < 1000; i++)
        step(w);
    cr_expect(recorder_failing(w->r));
    cr_expect_eq(recorder_stop(w->r), -ENOSPC);
    finish(w);
}

/* Zeroes for an empty set of lines are not written, because their memory may not exist yet. */
Test(recorder, a_checkpoint_has_no_run_of_no_lines) {
    struct world *w = begin("fair", "slack");
    struct replay r;
    for (int i = 0; i < 300; i++)
        step(w);
    char *text = written(w), *line = strchr(strstr(text, "\ncheckpoint ") + 1, '\n') + 1;
    memcpy(line, "0 0\n#", 5);
    cr_expect_eq(replay(text, &r), REPLAY_DAMAGED);
    cr_expect_str_eq(r.why, "the line is not part of the checkpoint");
    free(text);
    finish(w);
}

/* Changes a byte of a checkpoint, an event or an action: the recording is rejected, or gives
 * other actions. */
Test(recorder, what_was_changed_does_not_replay) {
    struct world *w = begin("fair", "slack");
    struct replay r;
    for (int i = 0; i < 300; i++)
        step(w);
    char *text = written(w), *at = strstr(text, "\n:");
    cr_assert(at);
    at[2] = at[2] == '0' ? '1' : '0';
    cr_expect_eq(replay(text, &r), REPLAY_DAMAGED);
    cr_expect_str_eq(r.why, "the checkpoint's checksum is wrong");
    at[2] = 'g';
    cr_expect_eq(replay(text, &r), REPLAY_DAMAGED);
    free(text);
    text = written(w);
    at = strstr(text, "> run ");
    at[6] = '9';
    cr_expect_eq(replay(text, &r), REPLAY_DIFFERS);
    free(text);
    text = written(w);
    at = strstr(strstr(text, "\ncheckpoint "), " ") + 1;
    at = strchr(at, ' ') + 1;
    memcpy(at, "0123", 4);
    cr_expect_eq(replay(text, &r), REPLAY_BUILD);
    cr_expect(strstr(r.why, "build 0123"), "%s", r.why);
    free(text);
    finish(w);
}
