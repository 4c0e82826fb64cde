/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences or events: the choice that a trial at start makes, that the trial leaves nothing behind,
 * and that it ends even if the GPU makes no progress.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/fdutil.h"
#include "daemon/device/device_driver.h"
#include "test/lib/cuda/cuda_rig.h"

static struct cuda_rig rig;

static uint32_t call_of(const char *name) {
    uint32_t call = 0;
    while (call < rig.faulty->call_count && strcmp(rig.faulty->names[call], name) != 0)
        call++;
    cr_assert_lt(call, rig.faulty->call_count);
    return call;
}

/* Calls of this name are delayed, or fail. */
static void open_with(enum dev_completion way, const char *name, int result, bool stepping) {
    cuda_rig_load(&rig, true);
    rig.config.completion = way;
    rig.fake->start(&(struct fake_options){.greatest = -2, .stepping = stepping});
    const struct faulty_rule rule = {
        .call = name ? (int)call_of(name) : 0, .result = result, .delay_us = result ? 0 : 50000};
    rig.faulty->set(name ? &rule : NULL);
    cr_assert_eq(cuda_rig_open(&rig), 0);
    rig.faulty->set(NULL);
}

/* True if completion is detected by fences, not by events. */
static bool has_words(void) {
    struct rig_space space;
    struct dev_queue *queue;
    struct rig_op op;
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
    cr_assert_eq(rig.ops->driver->host_show(space.space, space.windows.host_base, RIG_HOST), 0);
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &queue), 0);
    rig.faulty->set(NULL);
    cr_assert_eq(cuda_rig_fill(&rig, queue, &op, space.windows.host_base, 1, 1), 0);
    cr_assert(cuda_rig_wait(&rig, 1));
    const uint32_t words = rig.faulty->count(call_of("cuStreamWriteValue64_v2"));
    const uint32_t events = rig.faulty->count(call_of("cuEventRecord"));
    cr_expect_eq(words + events, 1);
    rig.ops->queue_destroy(queue);
    cuda_rig_space_end(&rig, &space);
    cuda_rig_close(&rig);
    cr_expect_str_eq(cuda_rig_complaint(&rig), "");
    return words;
}

/* Each way is requested on a driver where the other one is faster. */
Test(cuda_completion, as_it_was_said) {
    open_with(DEV_COMPLETION_WORDS, "cuStreamWriteValue64_v2", 0, false);
    cr_expect(has_words());
    open_with(DEV_COMPLETION_EVENTS, "cuEventRecord", 0, false);
    cr_expect_not(has_words());
}

Test(cuda_completion, what_is_sooner) {
    open_with(DEV_COMPLETION_AUTO, "cuStreamWriteValue64_v2", 0, false);
    cr_expect_not(has_words());
    open_with(DEV_COMPLETION_AUTO, "cuEventRecord", 0, false);
    cr_expect(has_words());
    open_with(DEV_COMPLETION_AUTO, "cuEventQuery", 0, false);
    cr_expect(has_words());
}

Test(cuda_completion, what_works) {
    open_with(DEV_COMPLETION_AUTO, "cuStreamWriteValue64_v2", CUDA_ERROR_NOT_SUPPORTED, false);
    cr_expect_not(has_words());
    open_with(DEV_COMPLETION_AUTO, "cuEventCreate", CUDA_ERROR_OUT_OF_MEMORY, false);
    cr_expect(has_words());
}

/* Without a limit, the device would wait for the fence for ever. */
Test(cuda_completion, a_gpu_that_stands_still_holds_nobody_up) {
    uint64_t begin_ns = fdutil_now_ns();
    open_with(DEV_COMPLETION_AUTO, NULL, 0, true);
    cr_expect_lt(fdutil_now_ns() - begin_ns, 5000000000ull);
    cuda_rig_close(&rig);
    cr_expect_str_eq(cuda_rig_complaint(&rig), "");
}
