/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim replay` of forged recordings: whatever their bytes do to the reader, the program
 * reports it and ends normally.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "daemon/sched/core.h"
#include "daemon/sched/core/life.h"
#include "daemon/sched/core/step.h"
#include "daemon/sched/record/checkpoint.h"
#include "daemon/sched/record/notation.h"
#include "daemon/sim/verbs/simcli.h"

static char path[] = "/tmp/salus-replay-XXXXXX";
static char *out, *err;

static const struct sched_config config = {
    .policy = {.exclusive = -1, .swap = -1, .priorities = -1, .by_class = -1, .by_size = -1},
    .capacity_bytes = 100,
    .chunk_bytes = 1};

/* A scheduler with one job, which has one running and one waiting operation. */
static struct checkpoint honest(void) {
    struct sched_event events[] = {{.kind = SCHED_JOINED, .job = 1},
                                   {.kind = SCHED_SUBMITTED, .job = 1, .submitted.op = 1},
                                   {.kind = SCHED_SUBMITTED, .job = 1, .submitted.op = 2}};
    struct checkpoint c = {0};
    struct sched_actions actions;
    struct sched *s;
    events[0].spec = (struct sched_spec){.ephemeral_bytes = 10, .iterations = 9};
    cr_assert_eq(sched_create(&s, &config, NULL, 0), 0);
    cr_assert_eq(sched_step(s, 1, events, 3, &actions), 0);
    cr_assert_eq(checkpoint_take(&c, s), 0);
    sched_destroy(s);
    return c;
}

/* Writes a recording that begins with these bytes as a checkpoint, with a valid hash. */
static void record(const struct checkpoint *c) {
    char line[CHECKPOINT_TEXT], head[NOTATION_BYTES];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    size_t at = 0;
    cr_assert(f);
    notation_config(head, &config);
    fprintf(f, "%s%s\ncheckpoint %zu %s %lx\n", NOTATION_HEAD, head, c->bytes, checkpoint_build(),
            (unsigned long)checkpoint_hash(c));
    while (checkpoint_line(c, &at, line))
        fputs(line, f);
    fprintf(f, "@2\n.\n%s", NOTATION_END);
    fclose(f);
}

static int replay(const char *option) {
    char *words[] = {"salus-sim", "replay", path, (char *)option, NULL};
    size_t bytes;
    free(out);
    free(err);
    FILE *to = open_memstream(&out, &bytes), *errors = open_memstream(&err, &bytes);
    int status = simcli_main(to, errors, option ? 4 : 3, words);
    fclose(to);
    fclose(errors);
    return status;
}

static void finish(struct checkpoint *c) {
    checkpoint_finish(c);
    free(out);
    free(err);
    unlink(path);
}

Test(sim_replay, an_honest_checkpoint_is_gone_on_from) {
    struct checkpoint c = honest();
    record(&c);
    cr_expect_eq(replay(NULL), SIMCLI_OK, "%s", err);
    cr_expect(strstr(out, "1 steps, 1 events, 0 actions, all the same"), "%s", out);
    finish(&c);
}

static void refuse_seccomp(void) {
    scmp_filter_ctx old_kernel = seccomp_init(SCMP_ACT_ALLOW);
    cr_assert_eq(seccomp_rule_add(old_kernel, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0), 0);
    cr_assert_eq(seccomp_rule_add(old_kernel, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 1,
                                  SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP)),
                 0);
    cr_assert_eq(seccomp_load(old_kernel), 0);
    seccomp_release(old_kernel);
}

Test(sim_replay, without_a_sandbox_only_what_is_trusted_is_read) {
    struct checkpoint c = honest();
    record(&c);
    refuse_seccomp();
    cr_expect_eq(replay(NULL), SIMCLI_FAILED);
    cr_expect(strstr(err, "this system allows no sandbox"), "%s", err);
    cr_expect(strstr(err, "--trust"), "%s", err);
    cr_expect_str_eq(out, "");
    cr_expect_eq(replay("--trust"), SIMCLI_OK, "%s", err);
    finish(&c);
}

/* The blocks are adjacent: the scheduler, its jobs, ... (core/sched_memory.c). */
static struct sched_job *first_job(struct checkpoint *c) {
    return (struct sched_job *)(c->data + sizeof(struct sched));
}

static void expect_caught(struct checkpoint *c, const char *words) {
    record(c);
    cr_expect_eq(replay(NULL), SIMCLI_WORKLOAD, "%s", out);
    cr_expect(strstr(err, words), "%s", err);
    cr_expect_str_eq(out, "");
    finish(c);
}

/* The reader follows the index: gigabytes beyond the array. */
Test(sim_replay, a_checkpoint_that_leads_the_reader_astray_crashes_only_the_sandbox) {
    struct checkpoint c = honest();
    for (uint32_t list = 0; list < SCHED_LISTS; list++)
        first_job(&c)->head[list] = 0x7fffffff;
    expect_caught(&c, "the checkpoint is damaged or hostile");
}

/* An operation is linked behind itself. */
Test(sim_replay, a_checkpoint_that_breaks_an_invariant_is_refused) {
    struct checkpoint c = honest();
    first_job(&c)->waiting++;
    expect_caught(&c, "the checkpoint breaks an invariant: ");
}

Test(sim_replay, a_checkpoint_of_anything_is_refused_or_crashes_only_the_sandbox) {
    struct checkpoint c = honest();
    memset(c.data, 0xff, c.bytes);
    expect_caught(&c, "the checkpoint ");
}

/* Text from the file is printed on a terminal, so it is escaped. */
Test(sim_replay, what_it_says_is_shown_as_text) {
    FILE *f = fdopen(mkstemp(path), "w");
    fprintf(f, "%sconfig \033[2J\n", NOTATION_HEAD);
    fclose(f);
    cr_expect_eq(replay(NULL), SIMCLI_WORKLOAD);
    cr_expect(strstr(err, "'config ?[2J' is not a configuration"), "%s", err);
    free(out);
    free(err);
    unlink(path);
}
