/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel profiles between a fake worker, the broker and its callers. Learned profiles outlive
 * worker and daemon, invalid ones are dropped, and only some users may import and forget them.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/kernels/kernel_text.h"
#include "test/lib/broker/asker.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

#define DEVICE "device sms=4 name=Fake GPU\n"
#define HINT "hint grid=0,0,0 block=0,0,0 sms=4 class=memory compute=0 memory=700 ns=5000 name=h\n"
#define KERNEL(func, uid)                                                                     \
    "kernel func=000000000000000" func " grid=1,1,1 block=32,1,1 shared=0 uid=" uid " sms=1 " \
    "class=compute source=counted compute=900 memory=100 lone=1 sum=600 bins=1:1 name=k\n"

static struct broker_rig rig;
static struct asker asker;
static struct kernel_wire_batch batch;

static void start(void) {
    broker_rig_start(&rig);
    asker.fd = broker_rig_connect(&rig, "ctl.sock");
    cr_assert(broker_rig_wait(&rig.worker.kernels, 1), "the first worker is given what is known");
}

static void setup(void) {
    broker_rig_init(&rig);
    start();
}

static void restart(void) {
    broker_rig_stop_keep(&rig);
    close(asker.fd);
    atomic_store(&rig.worker.kernels, 0);
    start();
}

static void teardown(void) {
    close(asker.fd);
    broker_rig_stop(&rig);
}

TestSuite(broker_kernels, .init = setup, .fini = teardown, .timeout = 180);

static struct kernel_profile profile_of(uint64_t func, uint32_t uid) {
    struct kernel_profile p = {.key = {func, {1, 1, 1}, {32, 1, 1}, 0, uid}, .name = "k", .sms = 1};

    kernel_dist_add(&p.durations, 600);
    return p;
}

static void learn(uint64_t func, uint32_t generation) {
    batch = (struct kernel_wire_batch){.kind = WIRE_PROFILES, .generation = generation, .count = 1};
    batch.items[0] = profile_of(func, 0);
    broker_rig_learned(&rig, &batch, kernel_wire_batch_bytes(1));
}

static bool ask(enum ctl_verb verb, int arg, int64_t n, const char *name) {
    asker.request = (struct ctl_request){.verb = verb};
    if (arg >= 0) ctl_msg_put(&asker.request, arg, n);
    if (name) ctl_msg_put_text(&asker.request, CTL_A_name, name);
    return asker_ask(&asker);
}

static int count_listed(void) {
    cr_assert(ask(CTL_V_profile_list, -1, 0, NULL));
    return asker.count;
}

/* True when the list has this many profiles in time. */
static bool listed(int count) {
    return PATIENCE_UNTIL(count_listed() == count);
}

static const char *path_of(const char *name) {
    static char path[128];

    snprintf(path, sizeof(path), "%s/%s", rig.dir, name);
    return path;
}

/* ---- learning -------------------------------------------------------------------------------- */

Test(broker_kernels, what_was_learned_outlives_worker_and_daemon) {
    struct stat st;

    learn(1, 0);
    cr_assert(listed(1));
    cr_assert_str_eq(asker.items[0].profile.name, "k");
    cr_assert_eq(asker.items[0].profile.mean_ns, 600);
    broker_rig_kill_worker(&rig);
    cr_assert(broker_rig_wait(&rig.worker.kernels, 2));
    cr_assert_eq(rig.worker.last_profiles, 1);
    restart();
    cr_assert_eq(rig.worker.last_profiles, 1);
    cr_assert(listed(1));
    cr_assert_eq(stat(path_of("kernels"), &st), 0);
    cr_assert_eq(st.st_mode & 0777, 0600);
}

Test(broker_kernels, a_profile_that_is_wrong_is_dropped_and_no_more) {
    batch = (struct kernel_wire_batch){.kind = WIRE_PROFILES, .count = 3};
    for (int i = 0; i < 3; i++)
        batch.items[i] = profile_of((uint64_t)i + 1, 0);
    batch.items[0].class = 99;
    batch.items[1].name[0] = '\n';
    broker_rig_learned(&rig, &batch, kernel_wire_batch_bytes(3));
    cr_assert(listed(1));
    cr_assert_str_eq(asker.items[0].profile.func, "0000000000000003");
    cr_assert_eq(atomic_load(&rig.worker.launches), 1);
}

Test(broker_kernels, a_batch_that_is_none_ends_the_worker) {
    batch = (struct kernel_wire_batch){.kind = WIRE_PROFILES, .count = 3};
    broker_rig_learned(&rig, &batch, kernel_wire_batch_bytes(2));
    cr_assert(broker_rig_wait(&rig.worker.launches, 2));
    cr_assert(broker_rig_wait(&rig.worker.kernels, 2));
    batch.count = UINT32_MAX;
    broker_rig_learned(&rig, &batch, kernel_wire_batch_bytes(2));
    cr_assert(broker_rig_wait(&rig.worker.launches, 3));
}

Test(broker_kernels, a_corrupt_store_is_set_aside) {
    FILE *f;

    broker_rig_stop_keep(&rig);
    f = fopen(path_of("kernels"), "w");
    fputs("salus-kernels 1 2 0\n" DEVICE KERNEL("1", "0"), f);
    fclose(f);
    close(asker.fd);
    atomic_store(&rig.worker.kernels, 0);
    start();
    cr_assert_eq(access(path_of("kernels.corrupt"), F_OK), 0);
    cr_assert_neq(access(path_of("kernels"), F_OK), 0);
    learn(1, 0);
    cr_assert(listed(1), "it serves");
}

Test(broker_kernels, what_is_known_of_another_device_waits_for_it) {
    FILE *f;

    broker_rig_stop_keep(&rig);
    f = fopen(path_of("kernels"), "w");
    fputs("salus-kernels 1 1 0\ndevice sms=8 name=Other GPU\n" KERNEL("1", "0"), f);
    fclose(f);
    close(asker.fd);
    atomic_store(&rig.worker.kernels, 0);
    start();
    cr_assert_eq(rig.worker.last_profiles, 0);
    cr_assert_eq(access(path_of("kernels.Other-GPU-8"), F_OK), 0);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

Test(broker_kernels, what_is_forgotten_does_not_come_back) {
    learn(1, 0);
    learn(2, 0);
    cr_assert(listed(2));
    cr_assert(ask(CTL_V_profile_forget, -1, 0, "k"));
    cr_assert_eq(asker.items[0].known.moved_profiles, 2);
    cr_assert(broker_rig_wait(&rig.worker.forgets, 1));
    cr_assert_str_eq(rig.worker.last_forget.text, "k");
    cr_assert_eq(rig.worker.last_forget.uid, UINT32_MAX);
    learn(1, 0); /* sent before the worker knew */
    learn(3, (uint32_t)rig.worker.last_forget.result);
    cr_assert(listed(1));
    cr_assert_str_eq(asker.items[0].profile.func, "0000000000000003");
    cr_assert_not(ask(CTL_V_profile_forget, -1, 0, "nosuch"));
    cr_assert_str_eq(asker.reply.code, "not_found");
    cr_assert_not(ask(CTL_V_profile_forget, -1, 0, NULL));
    cr_assert_not(ask(CTL_V_profile_forget, CTL_A_all, 1, "k"), "one of the two");
    cr_assert(ask(CTL_V_profile_forget, CTL_A_all, 1, NULL));
    cr_assert_eq(asker.items[0].known.profiles, 0);
}

/* ---- importing ------------------------------------------------------------------------------- */

static int text_fd(const char *text, size_t bytes) {
    int fd = fdutil_memfd("text", bytes, 1);

    cr_assert_eq(pwrite(fd, text, strlen(text), 0), (ssize_t)strlen(text));
    return fd;
}

/* Sends the request with the descriptor, which is closed; true when it is no refusal. */
static bool send_fd(enum ctl_verb verb, int fd) {
    unsigned char buf[256];
    size_t n;

    asker.request = (struct ctl_request){.verb = verb};
    cr_assert_eq(ctl_msg_request_encode(&asker.request, buf, sizeof(buf), &n), 0);
    cr_assert_eq(fdutil_send(asker.fd, buf, n, &fd, fd >= 0), 0);
    if (fd >= 0) close(fd);
    asker_hear(&asker);
    return asker.reply.ok;
}

static bool import(const char *text) {
    return send_fd(CTL_V_profile_import, text_fd(text, strlen(text)));
}

Test(broker_kernels, what_is_imported_is_given_to_the_worker) {
    cr_assert(import("salus-kernels 1 1 1\n" DEVICE HINT KERNEL("1", "7")));
    cr_assert_eq(asker.items[0].known.moved_profiles, 1);
    cr_assert_eq(asker.items[0].known.moved_hints, 1);
    cr_assert(broker_rig_wait(&rig.worker.kernels, 2));
    cr_assert_eq(rig.worker.last_hints, 1);
    cr_assert_eq(rig.worker.last_profiles, 1);
    cr_assert(ask(CTL_V_profile_hints, -1, 0, NULL));
    cr_assert_str_eq(asker.items[0].hint.class, "memory");
    cr_assert(ask(CTL_V_profile_show, -1, 0, "k"));
    cr_assert_str_eq(asker.items[0].profile.histogram, "576:1");
    cr_assert(ask(CTL_V_profile_list, CTL_A_uid, 8, NULL));
    cr_assert_eq(asker.count, 0);
}

Test(broker_kernels, what_cannot_be_imported) {
    char big[] = "x";

    cr_assert_not(import("salus-kernels 1 1 0\n" DEVICE));
    cr_assert_str_eq(asker.reply.text, "line 3: the text ends before this line");
    cr_assert_not(import("salus-kernels 1 0 0\ndevice sms=9 name=Harp\n"));
    cr_assert_str_eq(
        asker.reply.text,
        "the profiles were measured on 'Harp' with 9 SMs, and this GPU is 'Fake GPU' with 4");
    cr_assert_not(send_fd(CTL_V_profile_import, -1));
    cr_assert_not(send_fd(CTL_V_profile_import, memfd_create("unsealed", 0)));
    cr_assert_str_eq(asker.reply.text, "the request lacks a sealed memfd with the profiles' text");
    cr_assert_not(send_fd(CTL_V_profile_import, text_fd(big, KERNEL_TEXT_BYTES_MAX + 1)));
    cr_assert_str_eq(asker.reply.text,
                     "the text is longer than 'salusctl profile export' ever writes");
    cr_assert_not(send_fd(CTL_V_status, memfd_create("what", 0)));
    cr_assert_str_eq(asker.reply.text, "verb 'status' takes no descriptor");
    close(asker.fd);
    asker.fd = broker_rig_connect(&rig, "ctl.sock");
    cr_assert(listed(0));
}

/* An imported profile equals the exported one. */
Test(broker_kernels, an_export_is_the_text_that_can_be_imported) {
    static const char text[] =
        "salus-kernels 1 2 1\n" DEVICE HINT KERNEL("1", "7") KERNEL("2", "8");
    unsigned char buf[4096];
    char got[2048] = "";
    int fd = -1, nfds = 1;
    size_t n;

    cr_assert(import(text));
    asker.request = (struct ctl_request){.verb = CTL_V_profile_export};
    cr_assert_eq(ctl_msg_request_encode(&asker.request, buf, sizeof(buf), &n), 0);
    fdutil_send(asker.fd, buf, n, NULL, 0);
    cr_assert_gt(fdutil_recv(asker.fd, buf, sizeof(buf), &fd, &nfds), 0);
    cr_assert_eq(nfds, 1);
    cr_assert_gt(pread(fd, got, sizeof(got) - 1, 0), 0);
    cr_assert_str_eq(got, text);
    close(fd);
}

/* Acts as a user who is neither root nor the daemon's user; returns 0, or the number of the
 * failed step. */
static int as_nobody(uid_t uid) {
    char own[1024], uid_text[16];

    snprintf(uid_text, sizeof(uid_text), "uid=%u", (unsigned)uid);
    snprintf(own, sizeof(own),
             "salus-kernels 1 1 0\n" DEVICE "kernel func=0000000000000003 "
             "grid=1,1,1 block=32,1,1 shared=0 %s sms=1 class=compute source=counted compute=900 "
             "memory=100 lone=1 sum=600 bins=1:1 name=own\n",
             uid_text);
    asker.fd = broker_rig_connect(&rig, "ctl.sock");
    if (import("salus-kernels 1 0 1\n" DEVICE HINT)) return 1;
    if (strcmp(asker.reply.code, "not_permitted") != 0) return 2;
    if (import("salus-kernels 1 1 0\n" DEVICE KERNEL("1", "7"))) return 3;
    if (strcmp(asker.reply.code, "not_permitted") != 0) return 4;
    if (!import(own)) return 5;
    if (ask(CTL_V_profile_forget, CTL_A_uid, 7, "k")) return 6;
    if (strcmp(asker.reply.code, "not_permitted") != 0) return 7;
    if (!ask(CTL_V_profile_list, -1, 0, NULL) || asker.count != 1) return 10;
    if (asker.items[0].profile.uid != uid) return 11;
    if (!ask(CTL_V_profile_show, -1, 0, "own")) return 12;
    if (ask(CTL_V_profile_show, -1, 0, "k")) return 13;
    if (strcmp(asker.reply.code, "not_found") != 0) return 14;
    if (ask(CTL_V_profile_list, CTL_A_uid, 7, NULL)) return 15;
    if (strcmp(asker.reply.code, "not_permitted") != 0) return 16;
    if (ask(CTL_V_profile_export, CTL_A_uid, 7, NULL)) return 17;
    if (strcmp(asker.reply.code, "not_permitted") != 0) return 18;
    if (!ask(CTL_V_profile_forget, CTL_A_all, 1, NULL)) return 8;
    return asker.items[0].known.moved_profiles == 1 && asker.items[0].known.profiles == 1 ? 0 : 9;
}

Test(broker_kernels, everybody_may_do_so_with_his_own) {
    const struct passwd *nobody = getpwnam("nobody");
    int status;
    pid_t child;

    if (geteuid() != 0 || !nobody) return; /* the test cannot act as another user */
    cr_assert(import("salus-kernels 1 1 1\n" DEVICE HINT KERNEL("1", "7")));
    chmod(rig.dir, 0755);
    chmod(path_of("ctl.sock"), 0666);
    child = fork();
    if (child == 0) {
        setgid(nobody->pw_gid);
        if (setuid(nobody->pw_uid) < 0) _exit(99);
        _exit(as_nobody(nobody->pw_uid));
    }
    waitpid(child, &status, 0);
    cr_assert_eq(status, 0, "%d", WEXITSTATUS(status));
    cr_assert(ask(CTL_V_profile_hints, -1, 0, NULL));
    cr_assert_eq(asker.count, 1, "hints are not his");
}

/* ---- long lists ------------------------------------------------------------------------------ */

/* `after`: the kernel after which the last part began. */
static uint64_t count_in_parts(uint64_t *after) {
    uint64_t seen = 0;

    for (*after = 0;; *after = asker.reply.next) {
        cr_assert(ask(CTL_V_profile_list, CTL_A_after, (int64_t)*after, NULL));
        seen += (uint64_t)asker.count;
        if (!asker.reply.next) return seen;
        cr_assert_gt(asker.reply.next, *after);
    }
}

Test(broker_kernels, a_list_goes_on_where_a_message_ended) {
    uint64_t after = 0;

    for (uint64_t f = 1; f <= 500; f++)
        learn(f, 0);
    cr_assert(PATIENCE_UNTIL(count_in_parts(&after) == 500));
    cr_assert_gt(after, 0, "it took several");
}
