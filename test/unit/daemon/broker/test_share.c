/* SPDX-License-Identifier: Apache-2.0
 *
 * A user sees the share of their own jobs, and of no other user's.
 */
#include "daemon/broker/jobs/share.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <stdlib.h>

#include "common/atomics.h"
#include "common/fdutil.h"

#define ALICE 60001u
#define BOB 60002u
#define DEVICE (1ull << 30)

static struct attachments as;
static struct wire_view view;
static char somebody;      /* stands for a client */
static uint64_t unclaimed; /* bytes that a new job could get */

static void setup(void) {
    list_init(&as.list);
    unclaimed = DEVICE;
}

TestSuite(share, .init = setup, .timeout = 60);

static struct attachment *add_job(uid_t uid, pid_t pid, uint64_t memory_bytes) {
    struct attachment *a = calloc(1, sizeof(*a));
    struct wire_completion *page = calloc(1, sizeof(*page));

    atom_store_relaxed(&page->stats.memory_bytes, memory_bytes);
    a->job.uid = uid;
    a->job.pid = pid;
    a->completion = page;
    a->client = (struct client *)&somebody;
    a->welcomed = true;
    list_append(&as.list, &a->link);
    return a;
}

/* Takes the job's page away: the job is as before the worker's answer. */
static void take_page(struct attachment *a) {
    free((void *)a->completion);
    a->completion = NULL;
}

static void was_busy(struct attachment *a, uint64_t ns) {
    atom_store_relaxed(&((struct wire_completion *)a->completion)->stats.busy_ns, ns);
}

static void ask(uid_t uid, pid_t pid) {
    share_fill(&as, uid, pid, DEVICE, unclaimed, &view);
}

/* Marks the job as admitted; it could get this many bytes more. */
static void can_have(struct attachment *a, uint64_t bytes) {
    struct wire_completion *page = (struct wire_completion *)a->completion;
    atom_store_relaxed(&page->obtainable.persistent, 1);
    atom_store_relaxed(&page->obtainable.free_bytes, bytes);
}

Test(share, what_a_job_cannot_have_is_used) {
    can_have(add_job(ALICE, 10, 100), 1000);
    can_have(add_job(ALICE, 11, 23), 0);
    add_job(ALICE, 12, 23);
    unclaimed = 40;
    ask(ALICE, 10);
    cr_assert_eq(view.used_bytes, DEVICE - 1000);
    ask(ALICE, 11);
    cr_assert_eq(view.used_bytes, DEVICE);
    ask(ALICE, 12);
    cr_assert_eq(view.used_bytes, DEVICE - 40, "it waits, as a new one would");
}

Test(share, who_has_no_job_sees_what_a_new_one_could_have) {
    can_have(add_job(ALICE, 10, 100), 1000);
    can_have(add_job(BOB, 12, 1000), 2000);
    unclaimed = 300;
    ask(ALICE, 13);
    cr_assert_eq(view.used_bytes, DEVICE - 300);
    ask(BOB, 10);
    cr_assert_eq(view.used_bytes, DEVICE - 300, "that process is not his");
}

Test(share, processes_are_of_the_user_alone) {
    add_job(ALICE, 10, 100);
    add_job(BOB, 12, 1000);
    add_job(ALICE, 11, 23);
    for (pid_t asker = 10; asker < 14; asker++) {
        ask(ALICE, asker);
        cr_assert_eq(view.process_count, 2);
        cr_assert_eq(view.processes[0].pid, 10);
        cr_assert_eq(view.processes[0].memory_bytes, 100);
        cr_assert_eq(view.processes[1].pid, 11);
        cr_assert_eq(view.processes[1].memory_bytes, 23);
    }
    ask(0, 14);
    cr_assert_eq(view.process_count, 0, "root's view is root's");
}

Test(share, what_has_not_begun_or_has_ended_is_no_process) {
    add_job(ALICE, 10, 1)->welcomed = false;
    add_job(ALICE, 11, 2)->client = NULL;
    take_page(add_job(ALICE, 12, 4));
    ask(ALICE, 10);
    cr_assert_eq(view.process_count, 0);
}

/* Processes of frameworks that only compile code have no context, and drivers list none of them. */
Test(share, who_only_looks_is_no_process) {
    struct attachment *a = add_job(ALICE, 10, 0);
    ask(ALICE, 11);
    cr_assert_eq(view.process_count, 0);
    a->used = true;
    ask(ALICE, 11);
    cr_assert_eq(view.process_count, 1);
}

/* A process in another namespace has no visible number, and two such processes are not one. */
Test(share, a_process_without_a_number_is_not_listed) {
    can_have(add_job(ALICE, 0, 5), 10);
    can_have(add_job(ALICE, 10, 7), 10);
    ask(ALICE, 0);
    cr_assert_eq(view.process_count, 1);
    cr_assert_eq(view.processes[0].pid, 10);
    cr_assert_eq(view.used_bytes, 0, "it has the view of nobody's job");
}

/* The total shown may be the user's limit. */
Test(share, no_more_is_free_than_there_is) {
    can_have(add_job(ALICE, 10, 1), 2 * DEVICE);
    ask(ALICE, 10);
    cr_assert_eq(view.used_bytes, 0);
}

Test(share, no_more_processes_than_there_is_room_for) {
    mallopt(M_PERTURB, 0); /* otherwise calloc writes all of each job's megabytes */
    for (pid_t pid = 1; pid <= (pid_t)WIRE_VIEW_PROCESSES + 3; pid++)
        add_job(ALICE, pid, 1);
    ask(ALICE, 100000);
    cr_assert_eq(view.process_count, WIRE_VIEW_PROCESSES);
}

/* ---- time ------------------------------------------------------------------------------------ */

Test(share, time_is_that_between_two_looks) {
    struct load l = {0};

    share_take(&l, 5000, 777);
    cr_assert_eq(l.permille, 0, "a first look says nothing");
    share_take(&l, 6000, 777 + 250);
    cr_assert_eq(l.permille, 250);
    share_take(&l, 7000, 777 + 250);
    cr_assert_eq(l.permille, 0);
    share_take(&l, 8000, 777 + 250 + 4000); /* sum over several streams */
    cr_assert_eq(l.permille, 1000);
    share_take(&l, 9000, 5); /* a counter cannot decrease */
    cr_assert_eq(l.permille, 0);
    share_take(&l, 9000, 6);
    cr_assert_eq(l.permille, 0);
}

Test(share, a_look_is_at_every_job) {
    struct attachment *a = add_job(ALICE, 10, 1), *b = add_job(ALICE, 11, 1);
    struct attachment *c = add_job(BOB, 12, 1);
    uint64_t t = fdutil_now_ns();

    take_page(add_job(ALICE, 13, 1));
    ask(ALICE, 10);
    cr_assert_eq(view.sampled_us, 0, "nobody looked");
    share_look(&as, true, t);
    was_busy(a, 300);
    was_busy(b, 900);
    was_busy(c, 100);
    share_look(&as, true, t + 1000);
    ask(ALICE, 10);
    cr_assert_gt(view.sampled_us, 1000000000ull * 1000000);
    cr_assert_eq(view.busy_permille, 300);
    cr_assert_eq(view.processes[0].busy_permille, 300);
    cr_assert_eq(view.processes[1].busy_permille, 900);
    ask(ALICE, 1);
    cr_assert_eq(view.busy_permille, 1000, "of both, and no more than there is");
    ask(BOB, 1);
    cr_assert_eq(view.busy_permille, 100);
}

/* ---- shares of concurrent jobs --------------------------------------------------------------- */

static struct attachment *weighing(uint32_t weight) {
    struct attachment *a = add_job(ALICE, 1, 0);

    a->job.spec.weight = weight;
    atom_store_relaxed(&((struct wire_completion *)a->completion)->stats.lane, 1);
    return a;
}

Test(share, what_jobs_got_and_were_due_is_of_the_device) {
    struct attachment *heavy = weighing(9), *light = weighing(1), *asleep = weighing(5);
    struct attachment *waits = weighing(10);

    atom_store_relaxed(&((struct wire_completion *)waits->completion)->stats.why, 1);
    share_look(&as, true, 1000000000);
    was_busy(heavy, 600000000);
    was_busy(light, 200000000);
    share_look(&as, true, 2000000000);
    cr_expect_eq(heavy->load.got - 1, 75);
    cr_expect_eq(light->load.got - 1, 25);
    cr_expect_eq(asleep->load.got - 1, 0);
    cr_expect_eq(heavy->load.due - 1, 45);
    cr_expect_eq(light->load.due - 1, 5);
    cr_expect_eq(waits->load.due - 1, 50);
    cr_expect_eq(asleep->load.due, 0, "who sleeps is due nothing");
    share_look(&as, false, 3000000000);
    cr_expect_eq(heavy->load.got, 0, "nobody got anything");
    cr_expect_eq(waits->load.due, 0, "nothing goes by weight");
}
