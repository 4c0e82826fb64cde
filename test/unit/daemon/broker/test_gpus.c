/* SPDX-License-Identifier: Apache-2.0
 *
 * Several GPUs: the choice of a job's GPU, and that one GPU's failure does not affect the others.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/broker/gpu/gpus.h"
#include "daemon/broker/server_parts.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

/* ---- the choice ------------------------------------------------------------------------------ */

static struct gpus gpus;
static struct config config;
static uv_loop_t loop;
static struct attachment jobs[16];
static unsigned job_count;

static void no_gpus(void) {
    config_defaults(&config);
    config.gpus = 3;
    config.kernels[0] = '\0';
    uv_loop_init(&loop);
    gpus_init(&gpus, &config, &loop);
    for (uint32_t i = 0; i < gpus.count; i++) {
        gpus.items[i].worker.state = WORKER_READY;
        gpus.items[i].worker.device.memory_bytes = GIB;
    }
}

/* A job of user `uid` with a reservation of `bytes`; 0: unknown. */
static struct attachment *put(uint32_t gpu, uid_t uid, uint64_t bytes) {
    struct attachment *a = &jobs[job_count++];

    *a = (struct attachment){.job_id = job_count,
                             .client = (struct client *)a,
                             .job = {.uid = uid, .pid = 100 + (pid_t)job_count}};
    a->job.spec.persistent_bytes = bytes;
    if (bytes) a->job.spec.flags = WIRE_JOB_RESERVED;
    list_append(&gpus.items[gpu].attachments.list, &a->link);
    return a;
}

static int choose(struct gpus_ask ask) {
    const struct gpu *g;

    if (!ask.uid_bytes) ask.uid_bytes = UINT64_MAX;
    g = gpus_choose(&gpus, &ask);
    return g ? (int)g->number : -1;
}

TestSuite(gpus_choice, .init = no_gpus);

Test(gpus_choice, an_idle_machine_begins_with_the_first) {
    cr_expect_eq(choose((struct gpus_ask){0}), 0);
}

Test(gpus_choice, the_smallest_promised_part_counts_first) {
    put(0, 1, 300 * MIB);
    put(1, 1, 100 * MIB);
    put(1, 1, 100 * MIB);
    put(2, 1, 250 * MIB);
    cr_expect_eq(choose((struct gpus_ask){0}), 1, "two jobs, but the fewest bytes");
    gpus.items[2].worker.device.memory_bytes = 2 * GIB;
    cr_expect_eq(choose((struct gpus_ask){0}), 2, "more bytes, of twice as many");
}

Test(gpus_choice, then_the_fewest_jobs_then_the_lowest_number) {
    put(0, 1, 100 * MIB);
    put(0, 1, 100 * MIB);
    put(1, 1, 200 * MIB);
    put(2, 1, 200 * MIB);
    cr_expect_eq(choose((struct gpus_ask){0}), 1);
}

Test(gpus_choice, a_job_of_which_nothing_is_known_counts_as_all_of_the_device) {
    put(0, 1, 0);
    put(1, 1, 900 * MIB);
    put(2, 1, 901 * MIB);
    cr_expect_eq(choose((struct gpus_ask){0}), 1);
}

Test(gpus_choice, a_job_whose_client_is_gone_counts_no_more) {
    put(0, 1, 300 * MIB)->client = NULL;
    put(1, 1, 1 * MIB);
    put(2, 1, 1 * MIB);
    cr_expect_eq(choose((struct gpus_ask){0}), 0);
}

Test(gpus_choice, eight_jobs_spread_evenly) {
    static const int known[] = {0, 1, 2, 0, 1, 2, 0, 1};

    for (int i = 0; i < 8; i++) {
        int g = choose((struct gpus_ask){0});

        cr_expect_eq(g, known[i], "job %d on %d", i, g);
        put((uint32_t)g, 1, 64 * MIB);
    }
}

Test(gpus_choice, who_asks_for_one_gets_it_or_none) {
    put(2, 1, 900 * MIB);
    cr_expect_eq(choose((struct gpus_ask){.asked = 3}), 2);
    cr_expect_eq(choose((struct gpus_ask){.asked = 4}), -1);
    cr_expect_eq(choose((struct gpus_ask){.asked = UINT32_MAX}), -1);
    gpus.items[2].worker.state = WORKER_FAILED;
    cr_expect_eq(choose((struct gpus_ask){.asked = 3}), 2, "and is told there why not");
}

Test(gpus_choice, one_that_is_not_ready_is_not_chosen_while_another_is) {
    gpus.items[0].worker.state = WORKER_STARTING;
    put(1, 1, 900 * MIB);
    put(2, 1, 901 * MIB);
    cr_expect_eq(choose((struct gpus_ask){0}), 1);
    gpus.items[1].worker.state = gpus.items[2].worker.state = WORKER_FAILED;
    cr_expect_eq(choose((struct gpus_ask){0}), 0, "it will be");
}

Test(gpus_choice, one_with_room_is_chosen_before_one_with_less_to_do) {
    put(1, 1, 100 * MIB);
    gpus.items[0].worker.device.memory_bytes = 128 * MIB;
    put(2, 1, 200 * MIB);
    cr_expect_eq(choose((struct gpus_ask){.bytes = 512 * MIB}), 1);
    cr_expect_eq(choose((struct gpus_ask){.bytes = 2 * GIB}), 0, "no one has: as ever");
}

Test(gpus_choice, the_users_limit_is_of_each_gpu) {
    put(0, 7, 100 * MIB);
    put(1, 8, 300 * MIB);
    put(2, 8, 400 * MIB);
    cr_expect_eq(choose((struct gpus_ask){.uid = 7, .bytes = 50 * MIB, .uid_bytes = 120 * MIB}), 1);
    cr_expect_eq(choose((struct gpus_ask){.uid = 7, .bytes = 20 * MIB, .uid_bytes = 120 * MIB}), 0);
}

Test(gpus_choice, jobs_of_one_run_stay_together) {
    put(2, 7, 900 * MIB)->job.spec.run = 5;
    cr_expect_eq(choose((struct gpus_ask){.uid = 7, .run = 5}), 2);
    cr_expect_eq(choose((struct gpus_ask){.uid = 8, .run = 5}), 0, "another user's number");
    cr_expect_eq(choose((struct gpus_ask){.uid = 7}), 0, "none is no run");
    cr_expect_eq(choose((struct gpus_ask){.uid = 7, .run = 5, .asked = 2}), 1,
                 "unless they say so");
    gpus.items[2].worker.state = WORKER_FAILED;
    cr_expect_eq(choose((struct gpus_ask){.uid = 7, .run = 5}), 0);
}

Test(gpus_choice, jobs_are_listed_in_the_order_of_their_numbers) {
    static const uint32_t on[] = {2, 0, 1};
    struct gpu *g = NULL;
    uint64_t last = 0;

    put(2, 1, 0);
    put(0, 1, 0);
    put(1, 1, 0);
    put(0, 1, 0)->job_id = WIRE_TRIAL_JOB;
    for (uint64_t i = 1; i <= 3; i++) {
        cr_assert_eq(gpus_job_after(&gpus, last, &g)->job_id, i);
        cr_assert_eq(g->number, on[i - 1]);
        last = i;
    }
    cr_assert_null(gpus_job_after(&gpus, last, &g));
    cr_assert_eq(gpus_find_job(&gpus, 1, &g), &jobs[0]);
    cr_assert_eq(g->number, 2);
    cr_assert_null(gpus_find_job(&gpus, WIRE_TRIAL_JOB, &g), "our own");
    cr_assert_null(gpus_find_job(&gpus, (1ull << 32) + 1, &g));
    cr_assert_eq(gpus_of_process(&gpus, 1, 103)->number, 1);
    cr_assert_null(gpus_of_process(&gpus, 2, 103));
}

/* ---- two GPUs in a broker -------------------------------------------------------------------- */

static struct broker_rig rig;

static bool is_ready(int gpu) {
    return worker_ready(&rig.server->broker.gpus.items[gpu].worker);
}

static void prepare(void) {
    broker_rig_init(&rig);
    rig.config.gpus = 2;
}

static void begin(void) {
    prepare();
    broker_rig_start(&rig);
    cr_assert(PATIENCE_UNTIL(is_ready(0) && is_ready(1)));
}

static void end(void) {
    broker_rig_stop(&rig);
}

TestSuite(gpus_rig, .init = begin, .fini = end);

static struct wire_hello hello_for(uint32_t gpu) {
    struct wire_hello h = broker_rig_hello();

    h.gpu = gpu;
    return h;
}

/* Connects a job and returns its socket; *gpu: the GPU that it got. */
static int join(uint32_t asked, uint32_t *gpu) {
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];
    struct wire_hello h = hello_for(asked);

    *gpu = broker_rig_attach_as(fd, &h, fds).device.gpu;
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
    return fd;
}

/* Returns the refusal of a client that sends this message. */
static struct wire_offer refusal_of(const void *msg, size_t bytes) {
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_offer o;

    fdutil_send(fd, msg, bytes, NULL, 0);
    broker_rig_expect(fd, &o, sizeof(o), NULL, 0);
    cr_assert(broker_rig_closed(fd));
    close(fd);
    return o;
}

Test(gpus_rig, jobs_take_turns_and_are_told_which_one_they_have) {
    uint32_t gpu;

    for (uint32_t i = 0; i < 8; i++) {
        join(0, &gpu);
        cr_expect_eq(gpu, i % 2);
    }
    cr_expect_eq(atomic_load(&rig.worker.attached), 4);
    cr_expect_eq(atomic_load(&rig.second.attached), 4);
}

Test(gpus_rig, who_asks_is_given_what_he_asks_for) {
    uint32_t gpu;

    for (int i = 0; i < 3; i++) {
        join(2, &gpu);
        cr_expect_eq(gpu, 1);
    }
    join(1, &gpu);
    cr_expect_eq(gpu, 0);
    cr_expect_eq(atomic_load(&rig.second.attached), 3);
}

Test(gpus_rig, there_is_no_third) {
    struct wire_hello h = hello_for(3);
    struct wire_offer o = refusal_of(&h, sizeof(h));

    cr_expect_eq(o.result, -ENODEV);
    cr_expect_str_eq(o.text, "salusd has no GPU 2, only GPUs 0 to 1");
    h = hello_for(UINT32_MAX);
    cr_expect_eq(refusal_of(&h, sizeof(h)).result, -ENODEV);
}

/* The windows of different workers may overlap. */
Test(gpus_rig, jobs_of_both_have_the_same_addresses) {
    uint32_t gpu;

    join(1, &gpu);
    join(2, &gpu);
    cr_expect_eq(atomic_load(&rig.worker.last_dev_base), atomic_load(&rig.second.last_dev_base));
}

Test(gpus_rig, a_worker_that_dies_takes_its_own_jobs_alone) {
    uint32_t gpu;
    int first = join(1, &gpu), second = join(2, &gpu);
    char byte;

    broker_rig_kill_worker(&rig);
    cr_expect(broker_rig_closed(first));
    cr_assert(PATIENCE_UNTIL(atomic_load(&rig.worker.launches) == 2 && is_ready(0)));
    cr_expect_eq(recv(second, &byte, 1, MSG_DONTWAIT), -1, "it noticed nothing");
    cr_expect_eq(atomic_load(&rig.second.launches), 1);
    cr_expect_eq(atomic_load(&rig.second.detached), 0);
    join(1, &gpu);
    cr_expect_eq(gpu, 0, "there is another");
}

static int ask_again(struct gpus_ask *ask) {
    return (int)gpus_choose(&rig.server->broker.gpus, ask)->number;
}

Test(gpus_rig, while_one_is_gone_jobs_go_to_the_other) {
    struct gpus_ask any = {.uid_bytes = UINT64_MAX};
    uint32_t gpu;

    atomic_store(&rig.worker.never_ready, 1);
    broker_rig_kill_worker(&rig);
    cr_assert(PATIENCE_UNTIL(!is_ready(0)));
    cr_assert_eq(ask_again(&any), 1);
    for (int i = 0; i < 3; i++) {
        join(0, &gpu);
        cr_expect_eq(gpu, 1);
    }
}

/* A user's limit of device memory applies to each GPU; the limit of jobs to all together. */
Test(gpus_rig, device_memory_of_a_user_is_of_each_gpu) {
    struct wire_hello h = hello_for(0);
    struct config_rule *r = &rig.server->broker.config.rules[0];
    int fds[WIRE_FD_COUNT];
    struct wire_offer o;

    *r = (struct config_rule){.id = geteuid(),
                              .given = 1u << LIMIT(user_device_memory) | 1u << LIMIT(user_jobs)};
    r->values[LIMIT(user_device_memory)] = 100 * MIB;
    r->values[LIMIT(user_jobs)] = 3;
    rig.server->broker.config.rule_count = 1; /* the broker's loop sleeps */
    h.job.flags = WIRE_JOB_RESERVED;
    h.job.persistent_bytes = 80 * MIB;
    for (uint32_t i = 0; i < 2; i++)
        cr_expect_eq(broker_rig_attach_as(broker_rig_connect(&rig, "job.sock"), &h, fds).device.gpu,
                     i);
    o = refusal_of(&h, sizeof(h));
    cr_expect_eq(o.result, ERR_NO_MEMORY);
    cr_expect_not_null(strstr(o.text, "have 80 MiB on GPU 0, and this job asks for 80 MiB more"),
                       "%s", o.text);
    h.gpu = 2;
    cr_expect_not_null(strstr(refusal_of(&h, sizeof(h)).text, "on GPU 1"));
    h.job.persistent_bytes = 20 * MIB;
    cr_expect_eq(broker_rig_attach_as(broker_rig_connect(&rig, "job.sock"), &h, fds).device.gpu, 1);
    h.gpu = 1;
    cr_expect_eq(refusal_of(&h, sizeof(h)).result, -EBUSY, "three jobs, whichever GPU they are on");
}

/* ---- questions ------------------------------------------------------------------------------- */

static struct wire_view answer_to(uint32_t asked) {
    struct wire_question q = {
        .magic = WIRE_QUESTION_MAGIC, .major = WIRE_MAJOR, .minor = WIRE_MINOR, .gpu = asked};
    int fd = broker_rig_connect(&rig, "job.sock");
    struct wire_view v = {0};

    fdutil_send(fd, &q, sizeof(q), NULL, 0);
    cr_assert_geq(fdutil_recv(fd, &v, sizeof(v), NULL, NULL),
                  (int)offsetof(struct wire_view, processes));
    close(fd);
    return v;
}

Test(gpus_rig, a_question_is_answered_by_the_gpu_that_it_names_then_of_the_job_then_the_first) {
    struct wire_question q = {
        .magic = WIRE_QUESTION_MAGIC, .major = WIRE_MAJOR, .minor = WIRE_MINOR, .gpu = 3};
    uint32_t gpu;

    cr_expect_eq(answer_to(0).device.gpu, 0);
    cr_expect_eq(answer_to(2).device.gpu, 1);
    cr_expect_eq(refusal_of(&q, sizeof(q)).result, -ENODEV);
    join(2, &gpu);
    cr_expect_eq(answer_to(0).device.gpu, 1, "this process has a job there");
    cr_expect_eq(answer_to(0).process_count, 1);
    cr_expect_eq(answer_to(1).device.gpu, 0, "the other one is to be had all the same");
    cr_expect_eq(answer_to(1).process_count, 0);
}

/* ---- readiness ------------------------------------------------------------------------------- */

TestSuite(gpus_start, .init = prepare, .fini = end);

Test(gpus_start, one_that_never_gets_ready_keeps_nobody_waiting) {
    uint32_t gpu;

    atomic_store(&rig.worker.never_ready, 1);
    broker_rig_start(&rig);
    for (int i = 0; i < 2; i++) {
        join(0, &gpu);
        cr_expect_eq(gpu, 1);
    }
    cr_expect_not(is_ready(0));
}

Test(gpus_start, one_that_is_given_up_ends_nothing_and_who_wants_it_is_told) {
    struct wire_hello h = hello_for(1);
    struct wire_offer o;
    uint32_t gpu;

    atomic_store(&rig.worker.ready_result, -EIO);
    rig.config.worker_tries = 2;
    broker_rig_start(&rig);
    o = refusal_of(&h, sizeof(h));
    cr_expect_eq(o.result, ERR_WORKER_LOST);
    cr_expect_not_null(strstr(o.text, "the fan is stuck"), "%s", o.text);
    join(0, &gpu);
    cr_expect_eq(gpu, 1);
    cr_expect_eq(atomic_load(&rig.ended), 0);
}

Test(gpus_start, when_all_are_given_up_there_is_nothing_to_keep_up) {
    atomic_store(&rig.worker.ready_result, -EIO);
    atomic_store(&rig.second.ready_result, -EIO);
    rig.config.worker_tries = 1;
    broker_rig_start(&rig);
    cr_assert(broker_rig_wait(&rig.ended, 1));
    cr_expect_eq(rig.result, -EIO);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static struct kernel_store *store_of(int gpu) {
    return rig.server->broker.gpus.items[gpu].kernels.store;
}

/* A worker's READY message is read before its kernels' profiles are looked up. */
static bool know_kernels(void) {
    return is_ready(0) && is_ready(1) && store_of(0) && store_of(1);
}

Test(gpus_start, gpus_of_one_kind_share_what_is_known_of_kernels) {
    broker_rig_start(&rig);
    cr_assert(PATIENCE_UNTIL(know_kernels()));
    cr_expect_eq(store_of(0), store_of(1));
}

Test(gpus_start, gpus_of_two_kinds_do_not) {
    rig.second.sm_count = 8;
    broker_rig_start(&rig);
    cr_assert(PATIENCE_UNTIL(know_kernels()));
    cr_expect_neq(store_of(0), store_of(1));
    cr_expect_eq(store_of(1)->set.device.sms, 8);
    cr_expect_str_neq(store_of(0)->file.path, store_of(1)->file.path);
}
