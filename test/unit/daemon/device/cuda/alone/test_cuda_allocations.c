/* SPDX-License-Identifier: Apache-2.0
 *
 * The real driver's device allocates no memory in the steady state. That holds for operations that
 * go to the driver at once and for those that wait with their own parameters.
 */
#include <criterion/criterion.h>

#include "test/lib/allocations.h"
#include "test/lib/cuda/cuda_rig.h"
#include "test/lib/ptx/devmodule.h"

#define LAUNCHES 100u /* launches of a round; more than QUEUE_DEPTH */
#define ROUNDS 100u
#define OPS (LAUNCHES + 3)

static struct cuda_rig rig;
static struct rig_space space;
static struct dev_chunk *chunks[4];
static struct dev_module *module;
static struct dev_queue *queue;
static struct dev_func *fill;
static struct rig_op ops[OPS];

static void open_with(enum dev_completion way) {
    struct dev_func_info info;
    char why[256];
    cuda_rig_load(&rig, false);
    rig.config.completion = way;
    rig.asked.timed = true;
    rig.fake->start(&(struct fake_options){.stepping = true});
    cr_assert_eq(cuda_rig_open(&rig), 0);
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 4, chunks), 0);
    cr_assert_eq(devmodule_load(rig.ops, space.space, 0, RIG_IMAGE, sizeof(RIG_IMAGE), &module, why,
                                sizeof(why)),
                 0);
    cr_assert_eq(rig.ops->queue_create(space.space, 0, &queue), 0);
    cr_assert_eq(rig.ops->func_get(module, "fill", &fill, &info, why, sizeof(why)), 0);
}

static void close_all(void) {
    rig.ops->queue_destroy(queue);
    devmodule_unload(rig.ops, module);
    cuda_rig_unmap(&rig, &space, 0, 4, chunks);
    cuda_rig_space_end(&rig, &space);
    cuda_rig_close(&rig);
    cr_assert_str_eq(cuda_rig_complaint(&rig), "");
}

/* Launches, copies and fills; the first cell tells which launch was the last. */
static void run_round(uint32_t number) {
    uint64_t base = space.windows.dev_base, host = (uint64_t)(uintptr_t)space.host;
    for (uint32_t i = 0; i < LAUNCHES; i++)
        cr_assert_eq(cuda_rig_launch(&rig, queue, fill, &ops[i], 20,
                                     (uint64_t[]){base, 8, number * LAUNCHES + i}),
                     0);
    cr_assert_eq(cuda_rig_copy(&rig, queue, &ops[LAUNCHES], base + 4096, base, 64), 0);
    cr_assert_eq(cuda_rig_copy(&rig, queue, &ops[LAUNCHES + 1], host, base + 4096, 64), 0);
    cr_assert_eq(cuda_rig_fill(&rig, queue, &ops[LAUNCHES + 2], base + 8192, number, 16), 0);
    for (uint32_t done = rig.done + OPS; rig.done < done;) {
        rig.fake->run();
        cuda_rig_poll(&rig);
    }
    cr_assert_eq(*space.host, number * LAUNCHES + LAUNCHES - 1);
    cr_assert_eq(*cuda_rig_words(base + 8192), number);
}

static void expect_none(enum dev_completion way) {
    open_with(way);
    cr_assert_gt(atomic_load(&allocations), 0, "they are counted");
    run_round(0);
    unsigned int before = atomic_load(&allocations);
    for (uint32_t i = 1; i <= ROUNDS; i++)
        run_round(i);
    cr_expect_eq(atomic_load(&allocations), before, "%u allocations in %u launches",
                 atomic_load(&allocations) - before, ROUNDS * LAUNCHES);
    close_all();
}

Test(cuda_allocations, operations_allocate_nothing_in_the_steady_state) {
    expect_none(DEV_COMPLETION_WORDS);
}

Test(cuda_allocations, nor_where_events_tell_what_is_complete) {
    expect_none(DEV_COMPLETION_EVENTS);
}
