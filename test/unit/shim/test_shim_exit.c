/* SPDX-License-Identifier: Apache-2.0
 *
 * The release of a context waits for its work, except in an exit handler: as in CUDA, a process
 * with an endless kernel can exit.
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/atomics.h"
#include "shim/connection/process_exit.h"
#include "test/lib/shim/rig.h"

#define RELEASED 7 /* exit status of a process whose handler ran to its end */
#define YIELDS 2000

static CUcontext created;
static CUdeviceptr late;

/* The exit handler of a runtime that was loaded before the driver was initialised. */
static void release_primary(void) {
    _exit(cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS ? RELEASED : 1);
}

static void destroy_created(void) {
    _exit(cuCtxDestroy_v2(created) == CUDA_SUCCESS ? RELEASED : 1);
}

static void begin_with_primary(void) {
    atexit(release_primary);
    rig_begin();
}

static void begin_with_created(void) {
    atexit(destroy_created);
    rig_begin();
}

/* Sends work that never completes. */
static void leave_work(void) {
    CUdeviceptr addr;

    cr_assert_eq(cuMemAlloc_v2(&addr, 4096), CUDA_SUCCESS);
    rig_hold_streams(true);
    cr_assert_eq(cuMemsetD8Async(addr, 1, 4096, CU_STREAM_LEGACY), CUDA_SUCCESS);
    cr_assert_not(process_exit_begun());
}

Test(shim_exit, waits_for_no_work_of_the_primary_context, .init = begin_with_primary,
     .exit_code = RELEASED, .timeout = 60) {
    leave_work();
    exit(0);
}

Test(shim_exit, waits_for_no_work_of_another_context, .init = begin_with_created,
     .exit_code = RELEASED, .timeout = 60) {
    cr_assert_eq(cuCtxCreate_v2(&created, 0, 0), CUDA_SUCCESS);
    leave_work();
    exit(0);
}

/* A runtime that is loaded later registers its handler later, and retains the context again. */
Test(shim_exit, waits_for_no_work_of_a_runtime_that_came_later, .init = rig_begin,
     .exit_code = RELEASED, .timeout = 60) {
    CUcontext context;

    atexit(release_primary);
    cr_assert_eq(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    cr_assert_eq(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    cr_assert_eq(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    cr_assert_eq(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
    leave_work();
    exit(0);
}

/* Acts as the destructor of a static object that was made before the driver was initialised. */
static void free_memory(void) {
    _exit(cuMemFree_v2(late) == CUDA_ERROR_DEINITIALIZED ? RELEASED : 1);
}

static void begin_with_late(void) {
    atexit(free_memory);
    process_exit_watch_end();
    rig_begin();
}

Test(shim_exit, waits_for_no_work_behind_the_end_of_the_driver, .init = begin_with_late,
     .exit_code = RELEASED, .timeout = 60) {
    cr_assert_eq(cuMemAlloc_v2(&late, 4096), CUDA_SUCCESS);
    leave_work();
    cr_assert_not(process_exit_over());
    exit(0);
}

static void free_complete(void) {
    _exit(cuMemFree_v2(late) == CUDA_SUCCESS ? RELEASED : 1);
}

static void begin_with_complete(void) {
    atexit(free_complete);
    process_exit_watch_end();
    rig_begin();
}

Test(shim_exit, work_that_is_complete_is_no_reason_to_fail, .init = begin_with_complete,
     .exit_code = RELEASED, .timeout = 60) {
    cr_assert_eq(cuMemAlloc_v2(&late, 4096), CUDA_SUCCESS);
    exit(0);
}

/* ---- in the middle of a program -------------------------------------------------------------- */

static _Atomic bool ran;

static void note_run(void *arg) {
    atom_store_release(&ran, true);
}

static void *release(void *arg) {
    CUresult r = cuDevicePrimaryCtxRelease(0);
    bool *waited = arg;

    *waited = r == CUDA_SUCCESS && atom_load_acquire(&ran);
    return NULL;
}

Test(shim_exit, in_the_middle_of_a_program_work_is_waited_for, .init = rig_begin, .timeout = 60) {
    pthread_t thread;
    bool waited = false;

    cr_assert_eq(cuLaunchHostFunc(CU_STREAM_LEGACY, note_run, NULL), CUDA_SUCCESS);
    cr_assert_eq(pthread_create(&thread, NULL, release, &waited), 0);
    for (int i = 0; i < YIELDS; i++) /* lets a release that does not wait return first */
        sched_yield();
    rig_callback();
    pthread_join(thread, NULL);
    cr_assert(waited);
}
