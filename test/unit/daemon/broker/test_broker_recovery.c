/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs that outlive their worker, from the broker's side: the state that the next worker gets, the
 * client's credentials, the jobs that end all the same, and that jobs leave no descriptors behind.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/broker/life/recovery.h"
#include "daemon/broker/server_parts.h"
#include "test/lib/broker/asker.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

static struct broker_rig rig;

static void setup(void) {
    broker_rig_init(&rig);
    atomic_store(&rig.worker.recovery_states, 1);
}

TestSuite(broker_recovery, .init = setup, .timeout = 180);

/* A running client. */
struct runner {
    int sock, fds[WIRE_FD_COUNT];
    uint32_t id;
    uint64_t recovery_inode;
    struct wire_windows windows;
    struct wire_submission *submission;
};

static uint64_t inode_of(int fd) {
    struct stat st;

    cr_assert_eq(fstat(fd, &st), 0);
    return st.st_ino;
}

static struct runner attach_as(const struct wire_hello *h) {
    struct runner j = {.sock = broker_rig_connect(&rig, "job.sock")};
    struct wire_offer o = broker_rig_attach_as(j.sock, h, j.fds);

    j.id = o.job_id;
    j.windows = o.windows;
    j.recovery_inode = rig.worker.recovery_inode;
    j.submission =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, j.fds[WIRE_FD_SUBMISSION], 0);
    cr_assert_neq(j.submission, MAP_FAILED);
    return j;
}

static struct runner attach(void) {
    struct wire_hello h = broker_rig_hello();

    return attach_as(&h);
}

static void let_go(struct runner *j) {
    close(j->sock);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(j->fds[i]);
    munmap(j->submission, 4096);
}

/* Receives the job's next page. */
static int next_page(struct runner *j, uint32_t number) {
    struct wire_moved m;
    int fd;

    broker_rig_expect(j->sock, &m, sizeof(m), &fd, 1);
    cr_assert_eq(m.magic, WIRE_MOVED_MAGIC);
    cr_assert_eq(m.number, number);
    cr_assert_eq(fdutil_check_sealed(fd, sizeof(struct wire_completion)), 0);
    cr_assert(PATIENCE_UNTIL(atomic_load(&j->submission->moved) == number));
    cr_assert_eq(atomic_load(&j->submission->lost), 0);
    return fd;
}

static void expect_moved(struct runner *j, uint32_t number) {
    close(j->fds[WIRE_FD_COMPLETION]);
    j->fds[WIRE_FD_COMPLETION] = next_page(j, number);
}

static void expect_lost(struct runner *j, int err) {
    cr_assert(broker_rig_closed(j->sock));
    cr_assert_eq(atomic_load(&j->submission->lost), (uint32_t)-err, "%d",
                 (int)atomic_load(&j->submission->lost));
}

static void expect_none_given(const struct runner *j) {
    for (int i = 0; i < atomic_load(&rig.worker.restores); i++)
        cr_assert_neq(rig.worker.restore_ids[i], j->id);
}

static struct asker asker;

static bool ask(enum ctl_verb verb, uint32_t id) {
    asker.request = (struct ctl_request){.verb = verb};
    if (id) ctl_msg_put(&asker.request, CTL_A_id, id);
    return asker_ask(&asker);
}

static void connect_asker(void) {
    asker.fd = broker_rig_connect(&rig, "ctl.sock");
}

static void expect_history(const struct runner *j, const char *how, const char *why) {
    connect_asker();
    cr_assert(ask(CTL_V_history_list, 0));
    cr_assert_eq(asker.count, 1);
    cr_expect_eq(asker.items[0].ended.id, j->id);
    cr_expect_str_eq(asker.items[0].ended.how, how);
    cr_expect_str_eq(asker.items[0].ended.why, why, "%s", asker.items[0].ended.why);
    close(asker.fd);
}

/* Makes the next worker stay silent, so that jobs have no worker. */
static void leave_without_worker(void) {
    int launches = atomic_load(&rig.worker.launches);

    atomic_store(&rig.worker.never_ready, 1);
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_wait(&rig.worker.launches, launches + 1));
}

/* Makes the silent worker report that it continues with the memory. */
static void let_it_be_ready(void) {
    struct wire_worker_msg ready = {.kind = WIRE_READY, .flags = WIRE_READY_ADOPTED};

    ready.device.memory_bytes = 1ull << 30;
    atomic_store(&rig.worker.never_ready, 0);
    broker_rig_say(&rig, &ready);
}

/* ---- continuing ------------------------------------------------------------------------------ */

Test(broker_recovery, jobs_go_on_with_the_next_worker) {
    struct broker_rig_worker *w = &rig.worker;
    struct runner a, b, late;
    uint64_t memory, page;

    broker_rig_start(&rig);
    a = attach();
    b = attach();
    cr_assert(broker_rig_wait(&w->restored, 1), "the first is told that there are none");
    memory = atomic_load(&w->memory_inode);
    w->page->stream_done[3] = 41;
    page = inode_of(b.fds[WIRE_FD_COMPLETION]);
    broker_rig_kill_worker(&rig);
    expect_moved(&a, 1);
    expect_moved(&b, 1);
    cr_assert(broker_rig_wait(&w->restored, 2));
    cr_assert_eq(atomic_load(&w->restores), 2);
    cr_expect(w->restore_ids[0] == a.id && w->restore_ids[1] == b.id, "in their order");
    cr_expect(memory && atomic_load(&w->given_inode) == memory);
    cr_expect_eq(w->restore_inodes[0], inode_of(b.fds[WIRE_FD_SUBMISSION]));
    cr_expect_eq(w->restore_inodes[1], inode_of(b.fds[WIRE_FD_HOST]));
    cr_expect_eq(w->restore_inodes[2], inode_of(b.fds[WIRE_FD_DOORBELL]));
    cr_expect_eq(w->restore_inodes[3], page);
    cr_expect_eq(w->restore_inodes[4], b.recovery_inode);
    cr_expect_eq(memcmp(&w->last_restore.windows, &b.windows, sizeof(b.windows)), 0);
    cr_expect_str_eq(w->last_restore.name, "rig");
    cr_expect_eq(w->last_restore.uid, getuid());
    cr_expect_neq(inode_of(b.fds[WIRE_FD_COMPLETION]), page);
    late = attach();
    connect_asker();
    cr_assert(ask(CTL_V_gpu_list, 0));
    cr_expect_eq(asker.items[0].gpu.recovered, 2);
    cr_assert(ask(CTL_V_status, 0));
    cr_expect_eq(asker.items[0].status.recovered, 2);
    cr_assert(ask(CTL_V_job_show, b.id));
    cr_expect_str_eq(asker.items[0].job.state, "running");
    close(asker.fd);
    let_go(&a);
    let_go(&b);
    let_go(&late);
    cr_assert(broker_rig_wait(&w->detached, 3), "it has them all");
    broker_rig_stop(&rig);
}

/* The third worker gets what the second one wrote. */
Test(broker_recovery, the_page_goes_from_worker_to_worker) {
    struct runner a;
    uint64_t second;

    broker_rig_start(&rig);
    a = attach();
    broker_rig_kill_worker(&rig);
    expect_moved(&a, 1);
    second = inode_of(a.fds[WIRE_FD_COMPLETION]);
    cr_assert(broker_rig_wait(&rig.worker.restored, 2));
    broker_rig_kill_worker(&rig);
    expect_moved(&a, 2);
    cr_expect_eq(rig.worker.restore_inodes[3], second);
    cr_expect_eq(rig.worker.restore_inodes[4], a.recovery_inode,
                 "the recovery state is the first one");
    let_go(&a);
    broker_rig_stop(&rig);
}

static _Atomic int awake;

static void *park(void *arg) {
    struct wire_submission *s = arg;

    while (atomic_load(&s->moved) == 0) {
        atomic_store(&s->client_sleeping, 1);
        if (atomic_load(&s->moved)) break;
        syscall(SYS_futex, &s->client_sleeping, FUTEX_WAIT, 1, NULL, NULL, 0);
    }
    atomic_store(&awake, 1);
    return NULL;
}

Test(broker_recovery, who_sleeps_is_woken) {
    pthread_t sleeper;
    struct runner a;

    broker_rig_start(&rig);
    a = attach();
    pthread_create(&sleeper, NULL, park, a.submission);
    while (atomic_load(&a.submission->client_sleeping) == 0)
        usleep(1000);
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_wait(&awake, 1));
    cr_assert_eq(pthread_join(sleeper, NULL), 0);
    let_go(&a);
    broker_rig_stop(&rig);
}

Test(broker_recovery, others_come_when_all_have_what_is_theirs) {
    struct wire_worker_msg no = {.kind = WIRE_ATTACHED, .result = -EIO};
    struct wire_hello h = broker_rig_hello();
    struct broker_rig_worker *w = &rig.worker;
    struct wire_offer o;
    int late, attached;
    struct runner a;

    broker_rig_start(&rig);
    a = attach();
    attached = atomic_load(&w->attached);
    atomic_store(&w->restore_silent, 1);
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_wait(&w->restores, 1));
    late = broker_rig_connect(&rig, "job.sock");
    fdutil_send(late, &h, sizeof(h), NULL, 0);
    cr_assert(PATIENCE_UNTIL(rig.server->broker.clients.count == 2));
    broker_rig_settle(&rig);
    broker_rig_settle(&rig);
    cr_expect_eq(atomic_load(&w->attached), attached);
    cr_expect_eq(atomic_load(&w->restored), 1);
    no.job_id = a.id;
    broker_rig_say(&rig, &no);
    expect_lost(&a, ERR_WORKER_LOST);
    broker_rig_expect(late, &o, sizeof(o), NULL, WIRE_FD_COUNT);
    cr_expect_eq(o.result, 0);
    cr_expect_eq(atomic_load(&w->restored), 2);
    close(late);
    let_go(&a);
    broker_rig_stop(&rig);
}

Test(broker_recovery, an_orphan_is_shown_and_changed) {
    struct runner a;

    broker_rig_start(&rig);
    a = attach();
    connect_asker();
    leave_without_worker();
    cr_assert(ask(CTL_V_job_show, a.id));
    cr_expect_str_eq(asker.items[0].job.state, "moving");
    cr_expect_str_eq(asker.items[0].job.why,
                     "waits for a new GPU worker, because the previous one ended");
    cr_assert(ask(CTL_V_job_pause, a.id), "it is answered");
    asker.request = (struct ctl_request){.verb = CTL_V_job_set};
    ctl_msg_put(&asker.request, CTL_A_id, a.id);
    ctl_msg_put(&asker.request, CTL_A_weight, 9);
    cr_assert(asker_ask(&asker));
    cr_expect_eq(asker.items[0].job.weight, 9);
    cr_expect_eq(atomic_load(&rig.worker.sets), 0);
    let_it_be_ready();
    expect_moved(&a, 1);
    cr_expect_eq(rig.worker.last_restore.job.weight, 9);
    cr_expect(rig.worker.last_restore.job.flags & WIRE_JOB_PAUSED);
    cr_assert(ask(CTL_V_job_show, a.id));
    cr_expect_str_eq(asker.items[0].job.state, "paused");
    cr_assert(ask(CTL_V_job_resume, a.id));
    cr_expect_eq(atomic_load(&rig.worker.sets), 1, "now the worker is told");
    close(asker.fd);
    let_go(&a);
    broker_rig_stop(&rig);
}

Test(broker_recovery, a_file_waits_for_the_next_worker) {
    struct wire_file f = {.magic = WIRE_FILE_MAGIC, .file = 1, .reply = 5, .ticket = 100};
    int file = fdutil_memfd("file", 4096, 0);
    struct runner a;

    broker_rig_start(&rig);
    a = attach();
    connect_asker();
    leave_without_worker();
    cr_assert_eq(fdutil_send(a.sock, &f, sizeof(f), &file, 1), 0);
    for (int i = 0; i < 3; i++) /* earlier messages have been read by then, if at all */
        cr_assert(ask(CTL_V_job_show, a.id));
    broker_rig_settle(&rig);
    cr_expect_eq(atomic_load(&rig.worker.files), 0);
    let_it_be_ready();
    expect_moved(&a, 1);
    cr_assert(broker_rig_wait(&rig.worker.files, 1));
    cr_expect_eq(atomic_load(&rig.worker.launches), 2);
    close(asker.fd);
    cr_expect_eq(atomic_load(&rig.worker.file_inode), inode_of(file));
    close(file);
    let_go(&a);
    broker_rig_stop(&rig);
}

/* ---- jobs that end all the same -------------------------------------------------------------- */

Test(broker_recovery, who_failed_ends_and_the_others_go_on) {
    struct runner good, bad;

    broker_rig_start(&rig);
    good = attach();
    bad = attach();
    atomic_store(&rig.worker.page->stats.faults, 1); /* the page of `bad`, which attached last */
    atomic_store(&rig.worker.page->fault.cuda, 700);
    broker_rig_kill_worker(&rig);
    expect_lost(&bad, ERR_WORKER_LOST);
    expect_moved(&good, 1);
    expect_none_given(&bad);
    let_go(&good);
    let_go(&bad);
    broker_rig_stop(&rig);
}

/* ---- continuing, or not ---------------------------------------------------------------------- */

static void expect_counts(uint64_t recovered, uint64_t lost) {
    connect_asker();
    cr_assert(ask(CTL_V_gpu_list, 0));
    cr_expect_eq(asker.items[0].gpu.recovered, recovered);
    cr_expect_eq(asker.items[0].gpu.lost, lost);
    cr_assert(ask(CTL_V_status, 0));
    cr_expect_eq(asker.items[0].status.recovered, recovered);
    cr_expect_eq(asker.items[0].status.lost, lost);
    close(asker.fd);
}

/* The page of the job that was restored last states that the former worker ended it. */
static void end_over_redo(void) {
    strcpy(rig.worker.page->fault.text, "its partial effects cannot be undone");
    atomic_store(&rig.worker.page->stats.faults, 1);
    atomic_store(&rig.worker.page->fault.cuda, (uint32_t)err_cuda(ERR_WORKER_LOST));
}

static void say_resumed(const struct runner *j) {
    const struct wire_worker_msg msg = {.kind = WIRE_RESUMED, .job_id = j->id};

    broker_rig_say(&rig, &msg);
}

/* The next worker has two jobs, and has not reported that they continue. */
static void restore_two(struct runner *a, struct runner *b) {
    broker_rig_start(&rig);
    atomic_store(&rig.worker.resume_silent, 1);
    *a = attach();
    *b = attach();
    broker_rig_kill_worker(&rig);
    expect_moved(a, 1);
    expect_moved(b, 1);
    cr_assert(broker_rig_wait(&rig.worker.restored, 2));
}

Test(broker_recovery, who_cannot_do_its_work_again_is_lost_and_not_recovered) {
    struct runner a, b;

    restore_two(&a, &b);
    expect_counts(0, 0);
    end_over_redo();
    say_resumed(&b);
    say_resumed(&a);
    cr_assert(PATIENCE_UNTIL(rig.server->broker.gpus.items[0].worker.recovered));
    expect_counts(1, 1);
    let_go(&b);
    cr_assert(broker_rig_wait(&rig.worker.detached, 1));
    broker_rig_settle(&rig);
    expect_history(&b, "lost", "its partial effects cannot be undone");
    let_go(&a);
    broker_rig_stop(&rig);
}

/* The client has read the error and is gone before the worker reports the job. */
Test(broker_recovery, who_leaves_at_once_is_lost_as_well) {
    struct runner a, b;

    restore_two(&a, &b);
    end_over_redo();
    let_go(&b);
    cr_assert(broker_rig_wait(&rig.worker.detached, 1));
    broker_rig_settle(&rig);
    expect_counts(0, 1);
    expect_history(&b, "lost", "its partial effects cannot be undone");
    let_go(&a);
    broker_rig_stop(&rig);
}

/* The worker ends before it reports the job, and the worker after it does not continue with that
 * job either. */
Test(broker_recovery, who_is_lost_is_counted_once) {
    struct runner a, b;

    restore_two(&a, &b);
    end_over_redo();
    broker_rig_kill_worker(&rig);
    expect_lost(&b, ERR_WORKER_LOST);
    close(next_page(&a, 2));
    say_resumed(&a);
    cr_assert(PATIENCE_UNTIL(rig.server->broker.gpus.items[0].worker.recovered));
    expect_counts(1, 1);
    expect_history(&b, "lost", "its partial effects cannot be undone");
    let_go(&a);
    let_go(&b);
    broker_rig_stop(&rig);
}

/* Reports a broken context, then ends the worker. `job`: the one at fault, which must be the job
 * that attached last; 0: unknown. */
static void break_context(uint32_t job) {
    struct wire_worker_msg msg = {.kind = WIRE_BROKE,
                                  .job_id = job,
                                  .result = ERR_ILLEGAL_ADDRESS,
                                  .text = "kernel k, launch 7"};
    if (job) {
        strcpy(rig.worker.page->fault.text, "it did it");
        strcpy(rig.worker.page->fault.kernel, "k");
        rig.worker.page->fault.launch = 7;
        atomic_store(&rig.worker.page->stats.faults, 1);
        atomic_store(&rig.worker.page->fault.cuda, 700);
    }
    broker_rig_say(&rig, &msg);
    broker_rig_kill_worker(&rig);
}

Test(broker_recovery, who_ended_the_context_ends_by_its_fault) {
    struct runner bad;

    broker_rig_start(&rig);
    bad = attach();
    break_context(bad.id);
    expect_lost(&bad, ERR_WORKER_LOST);
    expect_history(&bad, "faulted", "kernel k, launch 7: it did it");
    let_go(&bad);
    broker_rig_stop(&rig);
}

/* The kernel's name is not shown to other users. */
Test(broker_recovery, who_ends_with_it_is_told_which_job_did_it) {
    struct wire_hello h = broker_rig_hello();
    struct runner old, bad;
    char why[160];

    h.minor = 5; /* no worker continues with it */
    broker_rig_start(&rig);
    old = attach_as(&h);
    bad = attach();
    break_context(bad.id);
    expect_lost(&old, ERR_WORKER_LOST);
    expect_lost(&bad, ERR_WORKER_LOST);
    snprintf(why, sizeof(why), "the GPU worker ended: job %u ended the GPU's context: %s", bad.id,
             err_text(ERR_ILLEGAL_ADDRESS));
    connect_asker();
    cr_assert(ask(CTL_V_history_list, 0));
    cr_assert_eq(asker.count, 2);
    cr_expect_str_eq(asker.items[0].ended.why, why, "%s", asker.items[0].ended.why);
    close(asker.fd);
    let_go(&old);
    let_go(&bad);
    broker_rig_stop(&rig);
}

/* `good` moves more often than RECOVERY_TRIES, but each second failure is the fault of another job,
 * which ends, so `good` goes on. */
Test(broker_recovery, whose_neighbours_end_the_context_goes_on) {
    struct runner good, bad;

    broker_rig_start(&rig);
    good = attach();
    for (uint32_t i = 1; i <= RECOVERY_TRIES + 2; i++) {
        break_context(0); /* all of them are suspects at first */
        expect_moved(&good, 2 * i - 1);
        cr_assert(broker_rig_wait(&rig.worker.restored, 2 * (int)i));
        bad = attach();
        break_context(bad.id);
        expect_lost(&bad, ERR_WORKER_LOST);
        expect_moved(&good, 2 * i);
        cr_assert(broker_rig_wait(&rig.worker.restored, 2 * (int)i + 1));
        let_go(&bad);
    }
    let_go(&good);
    broker_rig_stop(&rig);
}

/* The culprit is unknown, so the failure counts for all jobs. */
Test(broker_recovery, a_context_that_ends_by_itself_again_and_again_takes_them_along) {
    struct runner a;

    broker_rig_start(&rig);
    a = attach();
    for (uint32_t i = 1; i <= RECOVERY_TRIES; i++) {
        break_context(0);
        expect_moved(&a, i);
        cr_assert(broker_rig_wait(&rig.worker.restored, (int)i + 1));
    }
    break_context(0);
    expect_lost(&a, ERR_WORKER_LOST);
    expect_history(&a, "lost",
                   "the GPU worker ended: the GPU's context ended: a kernel accessed memory "
                   "that is not its client's: kernel k, launch 7; the job could not "
                   "continue: several workers in a row ended with this job");
    let_go(&a);
    broker_rig_stop(&rig);
}

/* The client gets the kernel's error, if a kernel caused it. */
static void expect_refused(int result, int shown) {
    struct runner a, next;

    broker_rig_start(&rig);
    a = attach();
    atomic_store(&rig.worker.restore_result, result);
    broker_rig_kill_worker(&rig);
    expect_lost(&a, shown);
    cr_assert(broker_rig_wait(&rig.worker.detach_result, shown), "the worker is told as well");
    cr_assert(broker_rig_wait(&rig.worker.detached, 1));
    next = attach();
    expect_history(&a, "lost",
                   "the new GPU worker could not continue the job: kernel k was under way");
    cr_expect_eq(rig.server->broker.gpus.items[0].worker.recovered, 0);
    let_go(&a);
    let_go(&next);
    broker_rig_stop(&rig);
}

Test(broker_recovery, the_next_worker_may_refuse) {
    expect_refused(-EPERM, ERR_WORKER_LOST);
}

Test(broker_recovery, the_next_worker_may_refuse_for_a_kernel) {
    expect_refused(ERR_LAUNCH_FAILED, ERR_LAUNCH_FAILED);
}

Test(broker_recovery, a_page_that_cannot_be_used_is_none) {
    struct runner a;

    broker_rig_start(&rig);
    a = attach();
    atomic_store(&rig.worker.bad_restore, 1);
    broker_rig_kill_worker(&rig);
    expect_lost(&a, ERR_WORKER_LOST);
    cr_assert(broker_rig_wait(&rig.worker.detached, 1));
    let_go(&a);
    broker_rig_stop(&rig);
}

Test(broker_recovery, memory_that_is_not_taken_over_is_the_end_of_all) {
    struct runner a, next;

    broker_rig_start(&rig);
    a = attach();
    atomic_store(&rig.worker.fresh, 1);
    broker_rig_kill_worker(&rig);
    expect_lost(&a, ERR_WORKER_LOST);
    next = attach();
    cr_expect_eq(atomic_load(&rig.worker.restores), 0);
    atomic_store(&rig.worker.fresh, 0);
    broker_rig_kill_worker(&rig);
    expect_moved(&next, 1); /* with the second worker's memory */
    let_go(&a);
    let_go(&next);
    broker_rig_stop(&rig);
}

Test(broker_recovery, without_memory_there_is_nothing_to_give) {
    struct runner a;

    atomic_store(&rig.worker.recovery_states, 0);
    broker_rig_start(&rig);
    cr_assert(broker_rig_wait(&rig.worker.restored, 1));
    atomic_store(&rig.worker.recovery_states, 1);
    a = attach();
    broker_rig_kill_worker(&rig);
    expect_lost(&a, ERR_WORKER_LOST);
    expect_history(&a, "lost",
                   "the GPU worker ended: the worker closed its socket; the job could not "
                   "continue: the device's memory was lost with the worker");
    let_go(&a);
    broker_rig_stop(&rig);
}

Test(broker_recovery, it_can_be_switched_off) {
    struct runner a;

    strcpy(rig.config.recovery, "no");
    broker_rig_start(&rig);
    a = attach();
    broker_rig_kill_worker(&rig);
    expect_lost(&a, ERR_WORKER_LOST);
    cr_expect_eq(atomic_load(&rig.worker.restores), 0);
    let_go(&a);
    broker_rig_stop(&rig);
}

/* A library of minor version 5 cannot move to another worker: it would look at the old completion
 * page for ever. */
Test(broker_recovery, a_library_that_does_not_know_of_it_is_told_the_end) {
    struct wire_hello h = broker_rig_hello();
    struct runner a;

    h.minor = 5;
    broker_rig_start(&rig);
    a = attach_as(&h);
    broker_rig_kill_worker(&rig);
    expect_lost(&a, ERR_WORKER_LOST);
    let_go(&a);
    broker_rig_stop(&rig);
}

Test(broker_recovery, who_was_lending_a_file_ends) {
    struct wire_file f = {.magic = WIRE_FILE_MAGIC, .file = 1, .reply = 5, .ticket = 100};
    int file = fdutil_memfd("file", 4096, 0);
    struct runner a;

    broker_rig_start(&rig);
    a = attach();
    atomic_store(&rig.worker.file_silent, 1);
    cr_assert_eq(fdutil_send(a.sock, &f, sizeof(f), &file, 1), 0);
    cr_assert(broker_rig_wait(&rig.worker.files, 1));
    broker_rig_kill_worker(&rig);
    expect_lost(&a, ERR_WORKER_LOST);
    close(file);
    let_go(&a);
    broker_rig_stop(&rig);
}

Test(broker_recovery, a_client_that_ends_meanwhile_leaves_nothing) {
    struct runner a, b;
    int before;

    broker_rig_start(&rig);
    b = attach();
    broker_rig_settle(&rig);
    before = broker_rig_count_fds();
    a = attach();
    leave_without_worker();
    let_go(&a);
    cr_assert(PATIENCE_UNTIL(rig.server->broker.clients.count == 1));
    let_it_be_ready();
    expect_moved(&b, 1);
    expect_none_given(&a);
    cr_assert(broker_rig_wait(&rig.worker.restored, 2));
    cr_expect_eq(rig.server->broker.gpus.items[0].worker.recovered, 1);
    cr_expect_eq(atomic_load(&rig.worker.detached), 0, "it never had that job");
    broker_rig_settle(&rig);
    cr_assert(PATIENCE_UNTIL(broker_rig_count_fds() <= before));
    let_go(&b);
    broker_rig_stop(&rig);
}

Test(broker_recovery, an_orphan_can_be_killed) {
    struct runner a;
    char who[32];

    snprintf(who, sizeof(who), "by user %u", (unsigned)getuid());
    broker_rig_start(&rig);
    a = attach();
    connect_asker();
    leave_without_worker();
    cr_assert(ask(CTL_V_job_kill, a.id));
    expect_lost(&a, ERR_ENDED);
    close(asker.fd);
    let_it_be_ready();
    cr_assert(broker_rig_wait(&rig.worker.restored, 2));
    cr_expect_eq(atomic_load(&rig.worker.restores), 0);
    expect_history(&a, "killed", who);
    let_go(&a);
    broker_rig_stop(&rig);
}

Test(broker_recovery, the_end_of_the_daemon_is_that_of_orphans) {
    struct runner a;

    broker_rig_start(&rig);
    a = attach();
    leave_without_worker();
    broker_rig_stop(&rig);
    cr_expect(broker_rig_closed(a.sock));
    cr_expect_neq(atomic_load(&a.submission->lost), 0);
    let_go(&a);
}

/* ---- workers that end again and again -------------------------------------------------------- */

Test(broker_recovery, over_which_worker_after_worker_ends_is_given_up_alone) {
    const uint32_t tries = RECOVERY_TRIES;
    struct broker_rig_worker *w = &rig.worker;
    struct runner bad, good;

    broker_rig_start(&rig);
    bad = attach();
    good = attach();
    atomic_store(&w->restore_dies, (int)tries);
    broker_rig_kill_worker(&rig);
    expect_lost(&bad, ERR_WORKER_LOST);
    expect_moved(&good, 1);
    cr_expect_eq(atomic_load(&w->restores), (int)tries + 1);
    for (uint32_t i = 0; i < tries; i++)
        cr_expect_eq(w->restore_ids[i], bad.id);
    cr_expect_eq(w->restore_ids[tries], good.id);
    cr_expect_eq(atomic_load(&w->launches), (int)tries + 2);
    expect_history(&bad, "lost",
                   "the GPU worker ended: the worker closed its socket; the job could not "
                   "continue: several workers in a row ended with this job");
    let_go(&bad);
    let_go(&good);
    broker_rig_stop(&rig);
}

Test(broker_recovery, so_often_and_no_more_often) {
    struct runner a;

    broker_rig_start(&rig);
    a = attach();
    for (uint32_t i = 1; i <= RECOVERY_TRIES; i++) {
        cr_assert(broker_rig_wait(&rig.worker.restored, (int)i));
        broker_rig_kill_worker(&rig);
        expect_moved(&a, i);
    }
    cr_assert(broker_rig_wait(&rig.worker.restored, (int)RECOVERY_TRIES + 1));
    broker_rig_kill_worker(&rig);
    expect_lost(&a, ERR_WORKER_LOST);
    let_go(&a);
    broker_rig_stop(&rig);
}

/* Jobs that no worker tried to restore are not blamed for failed starts, but they do not wait
 * for ever. */
Test(broker_recovery, starts_that_fail_are_waited_for_and_not_for_ever) {
    struct runner a, b;

    broker_rig_start(&rig);
    a = attach();
    atomic_store(&rig.worker.fail_ready, (int)RECOVERY_TRIES - 1);
    broker_rig_kill_worker(&rig);
    expect_moved(&a, 1);
    atomic_store(&rig.worker.fail_ready, 1000000);
    broker_rig_kill_worker(&rig);
    expect_lost(&a, ERR_WORKER_LOST);
    cr_assert(PATIENCE_UNTIL(atomic_load(&rig.worker.given_inode) == 0), "the memory is let go of");
    atomic_store(&rig.worker.fail_ready, 0);
    b = attach();
    let_go(&a);
    let_go(&b);
    broker_rig_stop(&rig);
}

Test(broker_recovery, a_worker_that_is_given_up_takes_them_along) {
    struct runner a;

    rig.config.worker_tries = 1;
    broker_rig_start(&rig);
    a = attach();
    atomic_store(&rig.worker.ready_result, -EIO);
    broker_rig_kill_worker(&rig);
    expect_lost(&a, ERR_WORKER_LOST);
    expect_history(&a, "lost",
                   "the GPU worker ended: the worker cannot open device soft: the fan is stuck; "
                   "the job could not continue: salusd gave up on the GPU worker");
    let_go(&a);
    broker_rig_stop(&rig);
}

Test(broker_recovery, nothing_is_left_of_jobs_that_moved) {
    int before = 0;

    broker_rig_start(&rig);
    for (int i = 1; i <= 4; i++) { /* two restarts each: an 11th would come after a pause */
        struct runner a = attach();

        for (uint32_t k = 1; k <= 2; k++) {
            broker_rig_kill_worker(&rig);
            expect_moved(&a, k);
            cr_assert(broker_rig_wait(&rig.worker.restored, 2 * i + (int)k - 1));
        }
        let_go(&a);
        cr_assert(broker_rig_wait(&rig.worker.detached, i));
        broker_rig_settle(&rig);
        if (i == 2) before = broker_rig_count_fds();
    }
    cr_assert(PATIENCE_UNTIL(broker_rig_count_fds() <= before));
    broker_rig_stop(&rig);
}

/* ---- a worker that breaks the protocol ------------------------------------------------------- */

/* Expects that the worker is replaced, and both jobs continue with the next one. */
static void expect_replaced_over(struct wire_worker_msg msg, bool asked) {
    struct runner a, b;

    broker_rig_start(&rig);
    a = attach();
    b = attach();
    atomic_store(&rig.worker.restore_silent, 1);
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_wait(&rig.worker.restores, 1));
    msg.job_id = asked ? a.id : b.id;
    atomic_store(&rig.worker.restore_silent, 0);
    broker_rig_say(&rig, &msg);
    expect_moved(&a, 1);
    expect_moved(&b, 1);
    cr_expect_eq(atomic_load(&rig.worker.launches), 3);
    let_go(&a);
    let_go(&b);
    broker_rig_stop(&rig);
}

Test(broker_recovery, attached_another_than_was_asked_for) {
    expect_replaced_over((struct wire_worker_msg){.kind = WIRE_ATTACHED}, false);
}

Test(broker_recovery, detached_what_it_was_asked_for) {
    expect_replaced_over((struct wire_worker_msg){.kind = WIRE_DETACHED}, true);
}

Test(broker_recovery, expelled_what_it_never_had) {
    expect_replaced_over((struct wire_worker_msg){.kind = WIRE_EXPELLED}, false);
}

Test(broker_recovery, resumed_what_it_never_had) {
    expect_replaced_over((struct wire_worker_msg){.kind = WIRE_RESUMED, .job_id = 77}, false);
}

Test(broker_recovery, refused_what_it_never_had) {
    expect_replaced_over((struct wire_worker_msg){.kind = WIRE_REFUSED}, false);
}

/* A client that ends while the worker is asked: only a DETACHED after the answer counts. */
Test(broker_recovery, detached_a_client_that_ended_before_it_answered) {
    struct wire_worker_msg gone = {.kind = WIRE_DETACHED};
    struct runner a, b;

    broker_rig_start(&rig);
    a = attach();
    b = attach();
    gone.job_id = a.id;
    atomic_store(&rig.worker.restore_silent, 1);
    atomic_store(&rig.worker.keep, 1);
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_wait(&rig.worker.restores, 1));
    let_go(&a);
    cr_assert(PATIENCE_UNTIL(rig.server->broker.clients.count == 1));
    atomic_store(&rig.worker.restore_silent, 0);
    broker_rig_say(&rig, &gone);
    expect_moved(&b, 1);
    cr_expect_eq(atomic_load(&rig.worker.launches), 3, "that was a lie");
    let_go(&b);
    broker_rig_stop(&rig);
}
