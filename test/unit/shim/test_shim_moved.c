/* SPDX-License-Identifier: Apache-2.0
 *
 * The job moves to another worker while its threads wait, query, send, or do nothing: the results
 * that they wait for come from the new page. A page that cannot be mapped ends the context.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/connection/wait.h"
#include "test/lib/shim/rig.h"

static const struct rig_kernel kernels[] = {{.name = "plain", .info = {.max_threads = 1024}}};
static CUcontext context;
static CUfunction kernel;

static void begin(void) {
    CUmodule module;
    rig_begin();
    rig_kernels(kernels, 1);
    cr_assert_eq(cuCtxGetCurrent(&context), CUDA_SUCCESS);
    cr_assert_eq(cuModuleLoadData(&module, rig_ptx), CUDA_SUCCESS);
    cr_assert_eq(cuModuleGetFunction(&kernel, module, "plain"), CUDA_SUCCESS);
}

TestSuite(shim_moved, .init = begin, .timeout = 60);

static void launch(void) {
    cr_assert_eq(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
}

/* A call of another thread. */
struct other {
    pthread_t thread;
    CUresult (*call)(void);
    CUresult result;
};

static void *run(void *arg) {
    struct other *o = arg;
    cuCtxSetCurrent(context);
    o->result = o->call();
    return NULL;
}

static struct other start(CUresult (*call)(void)) {
    return (struct other){.call = call};
}

static void go(struct other *o) {
    cr_assert_eq(pthread_create(&o->thread, NULL, run, o), 0);
}

static CUresult join(struct other *o) {
    pthread_join(o->thread, NULL);
    return o->result;
}

static void await_sleeper(void) {
    const struct timespec nap = {.tv_nsec = 100000};
    while (!atom_load_acquire(&state.conn.submission->client_sleeping))
        nanosleep(&nap, NULL);
}

static uint32_t followed(void) {
    return atom_load_acquire(&state.conn.moved);
}

static CUresult synchronize(void) {
    return cuCtxSynchronize();
}

static CUresult poll_stream(void) {
    CUresult r;
    do
        r = cuStreamQuery(NULL);
    while (r == CUDA_ERROR_NOT_READY);
    return r;
}

/* ---- while other threads wait ---------------------------------------------------------------- */

static void complete_elsewhere(CUresult (*call)(void), bool asleep) {
    struct other o = start(call);
    rig_hold_streams(true);
    launch();
    go(&o);
    if (asleep) await_sleeper();
    rig_move();
    rig_hold_streams(false);
    cr_assert_eq(join(&o), CUDA_SUCCESS);
    cr_assert_eq(followed(), 1);
}

Test(shim_moved, who_sleeps_goes_on) {
    complete_elsewhere(synchronize, true);
}

Test(shim_moved, who_spins_goes_on) {
    complete_elsewhere(synchronize, false);
}

Test(shim_moved, who_asks_goes_on) {
    complete_elsewhere(poll_stream, false);
}

static CUresult make_stream(void) {
    CUstream s;
    return cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
}

Test(shim_moved, who_waits_for_room_goes_on) {
    struct wire_ping ping = {.rec = {.op = WIRE_PING}};
    struct other o = start(make_stream);
    uint64_t credit;
    rig_stand(true);
    while (submit_try(&ping, sizeof(ping), &credit))
        continue;
    go(&o);
    await_sleeper();
    rig_move();
    rig_stand(false);
    cr_assert_eq(join(&o), CUDA_SUCCESS);
    cr_assert_eq(followed(), 1);
}

static CUresult load(void) {
    CUmodule m;
    return cuModuleLoadData(&m, rig_ptx);
}

Test(shim_moved, who_waits_for_an_answer_gets_it) {
    struct other o = start(load);
    rig_withhold(WIRE_MODULE_LOAD);
    go(&o);
    rig_await_request();
    rig_move();
    rig_answer();
    cr_assert_eq(join(&o), CUDA_SUCCESS);
    cr_assert_eq(followed(), 1);
}

static void count(void *arg) {
    (*(_Atomic int *)arg)++;
}

Test(shim_moved, host_functions_run) {
    static _Atomic int ran;
    cr_assert_eq(cuLaunchHostFunc(NULL, count, &ran), CUDA_SUCCESS);
    rig_move();
    rig_callback();
    cr_assert_eq(ran, 1);
    cr_assert_eq(cuLaunchHostFunc(NULL, count, &ran), CUDA_SUCCESS);
    rig_callback();
    cr_assert_eq(cuCtxSynchronize(), CUDA_SUCCESS);
    cr_assert_eq(ran, 2);
}

/* ---- while no thread waits ------------------------------------------------------------------- */

Test(shim_moved, of_several_moves_the_last_counts) {
    rig_hold_streams(true);
    launch();
    for (int i = 0; i < 5; i++)
        rig_move();
    cr_assert_eq(followed(), 0);
    cr_assert_eq(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    cr_assert_eq(followed(), 5);
    rig_hold_streams(false);
    cr_assert_eq(cuStreamQuery(NULL), CUDA_SUCCESS);
}

Test(shim_moved, what_is_done_needs_no_new_page) {
    launch();
    cr_assert_eq(cuCtxSynchronize(), CUDA_SUCCESS);
    rig_move();
    cr_assert_eq(cuStreamQuery(NULL), CUDA_SUCCESS);
    cr_assert_eq(followed(), 0);
}

Test(shim_moved, the_fault_that_comes_then_is_seen) {
    rig_hold_streams(true);
    launch();
    rig_move();
    rig_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    cr_assert_eq(cuStreamQuery(NULL), CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* A child process has no part in the job, so it must not get the new page either. */
Test(shim_moved, a_child_does_not_have_the_page) {
    void *page = (void *)(uintptr_t)state.conn.completion;
    int status;
    rig_move();
    cr_assert(wait_follow());
    cr_assert_eq(msync(page, 4096, MS_ASYNC), 0);
    pid_t child = fork();
    if (child == 0) _exit(msync(page, 4096, MS_ASYNC) < 0 && errno == ENOMEM ? 0 : 1);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert_eq(status, 0);
}

Test(shim_moved, nobody_writes_to_the_page) {
    rig_move();
    cr_assert(wait_follow());
    cr_assert_not(wait_follow());
    void *page = (void *)(uintptr_t)state.conn.completion;
    cr_assert_lt(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
}

/* ---- pages that cannot be mapped ------------------------------------------------------------- */

/* Moves the job once, then sends the first `bytes` bytes of `m` with descriptor `fd` (-1: none) as
 * its second move. */
static void say(struct wire_moved m, size_t bytes, int fd) {
    rig_move();
    cr_assert(wait_follow());
    cr_assert_eq(fdutil_send(rig_peer(), &m, bytes, &fd, fd >= 0), 0);
    atom_store_release(&state.conn.submission->moved, 2);
}

static void expect_end(void) {
    rig_hold_streams(true);
    cr_assert_eq(cuStreamQuery(NULL), CUDA_SUCCESS, "nothing was sent");
    launch();
    CUresult r = cuStreamQuery(NULL);
    cr_assert_eq(r, err_cuda(ERR_WORKER_LOST), "%d", (int)r);
    cr_assert_eq(cuCtxSynchronize(), r);
    cr_assert_eq(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), r);
}

static const struct wire_moved second = {WIRE_MOVED_MAGIC, 2};

static int make_page(void) {
    return fdutil_memfd("page", sizeof(struct wire_completion), 0);
}

Test(shim_moved, another_message) {
    say((struct wire_moved){WIRE_MAGIC, 2}, sizeof(second), make_page());
    expect_end();
}

Test(shim_moved, a_short_message) {
    say(second, 7, make_page());
    expect_end();
}

Test(shim_moved, a_number_that_is_not_meant) {
    say((struct wire_moved){WIRE_MOVED_MAGIC, 3}, sizeof(second), make_page());
    expect_end();
}

Test(shim_moved, no_descriptor) {
    say(second, sizeof(second), -1);
    expect_end();
}

Test(shim_moved, a_page_that_is_too_small) {
    say(second, sizeof(second), fdutil_memfd("page", 4096, 0));
    expect_end();
}

Test(shim_moved, a_page_that_could_shrink) {
    int fd = memfd_create("page", 0);
    cr_assert_eq(ftruncate(fd, sizeof(struct wire_completion)), 0);
    say(second, sizeof(second), fd);
    expect_end();
}

Test(shim_moved, no_message_at_all) {
    rig_move();
    cr_assert(wait_follow());
    atom_store_release(&state.conn.submission->moved, 2);
    expect_end();
}

Test(shim_moved, a_daemon_that_is_gone) {
    rig_move();
    cr_assert(wait_follow());
    close(rig_peer());
    atom_store_release(&state.conn.submission->moved, 2);
    expect_end();
}

/* Messages that the daemon sent before it ended still arrive. */
Test(shim_moved, a_daemon_that_went_after_it_spoke) {
    rig_hold_streams(true);
    launch();
    rig_move();
    close(rig_peer());
    rig_hold_streams(false);
    cr_assert_eq(cuCtxSynchronize(), CUDA_SUCCESS);
    cr_assert_eq(followed(), 1);
}

Test(shim_moved, no_room_for_a_descriptor) {
    struct rlimit none = {0};
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &none), 0);
    say(second, sizeof(second), make_page());
    none.rlim_cur = 3;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    expect_end();
}

/* AddressSanitizer would have no address space left either. */
#ifndef __SANITIZE_ADDRESS__
Test(shim_moved, no_addresses_for_the_page) {
    struct rlimit few;
    cr_assert_eq(getrlimit(RLIMIT_AS, &few), 0);
    say(second, sizeof(second), make_page());
    few.rlim_cur = 1 << 20;
    cr_assert_eq(setrlimit(RLIMIT_AS, &few), 0);
    expect_end();
}
#endif
