/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays, textures and tensor maps that the device provides: charged before they are created,
 * answered in order, and destroyed with their client. Tensor maps have no owner.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/client.h"
#include "proto/cuda/array_layout.h"
#include "test/lib/patience.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define PAGE FAKEDEV_GRANULARITY

struct world {
    struct wirebench *b;
    struct wireclient *c;
    struct dev *dev;
};

static struct world begin(void) {
    struct world w = {.b = wirebench_start(&fakedev_arrays, 0)};
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    return w;
}

/* Ends the world with all remaining objects. */
static void end(struct world *w) {
    const char *what = "";
    wireclient_detach(w->c);
    cr_expect_eq(fakedev_array_count(w->dev), 0);
    cr_expect_eq(fakedev_arrays.mem_used(w->dev), 0);
    cr_expect_eq(fakedev_violations(w->dev, &what), 0, "%s", what);
    wireclient_free(w->c);
    wirebench_stop(w->b);
}

/* Creates an array with rows of bytes, at a page of the window. */
static uint64_t make(struct world *w, uint32_t page, uint32_t width, uint32_t height) {
    struct wire_array a = {.addr = w->c->windows.dev_base + page * PAGE,
                           .width = width,
                           .height = height,
                           .format = CU_AD_FORMAT_UNSIGNED_INT8,
                           .channels = 1};
    return wireclient_send(w->c, WIRE_ARRAY_MAKE, 0, true, &a, sizeof(a), NULL, 0);
}

static uint64_t drop(struct world *w, uint32_t page) {
    struct wire_array_drop d = {.addr = w->c->windows.dev_base + page * PAGE};
    return wireclient_send(w->c, WIRE_ARRAY_DROP, 0, true, &d, sizeof(d), NULL, 0);
}

static uint64_t texture(struct world *w, uint64_t handle, uint32_t width) {
    struct wire_texture t = {.handle = handle,
                             .addr = w->c->windows.dev_base,
                             .width = width,
                             .height = 1,
                             .depth = 1,
                             .levels = 1,
                             .format = CU_AD_FORMAT_UNSIGNED_INT8,
                             .channels = 1};
    return wireclient_send(w->c, WIRE_TEXTURE, 0, true, &t, sizeof(t), NULL, 0);
}

static uint64_t charged(const struct world *w) {
    return client_find(w->b->worker, w->c->job_id)->credit.modules;
}

Test(arrays, charged_as_long_as_they_are_there) {
    struct world w = begin();
    cr_expect_eq(wireclient_result(w.c, make(&w, 1, 4096, 1024)), 0);
    cr_expect_eq(charged(&w), 4096 * 1024);
    cr_expect_eq(wireclient_result(w.c, make(&w, 5, 1, 0)), 0);
    cr_expect_eq(charged(&w), 4096 * 1024 + ARRAY_LAYOUT_PIECE);
    cr_expect_eq(wireclient_result(w.c, make(&w, 2, 32, 0)), -EEXIST, "inside of another");
    cr_expect_eq(wireclient_result(w.c, make(&w, 9, 13, 0)), -EINVAL, "none that the device has");
    cr_expect_eq(charged(&w), 4096 * 1024 + ARRAY_LAYOUT_PIECE);
    cr_expect_eq(wireclient_result(w.c, drop(&w, 1)), 0);
    cr_expect_eq(charged(&w), ARRAY_LAYOUT_PIECE);
    cr_expect_eq(wireclient_result(w.c, drop(&w, 1)), 0);
    cr_expect_eq(wireclient_result(w.c, drop(&w, 7)), 0);
    cr_expect_eq(charged(&w), ARRAY_LAYOUT_PIECE);
    cr_expect_eq(fakedev_array_count(w.dev), 1);
    cr_expect_eq(wireclient_fault(w.c), 0);
    end(&w);
}

/* Arrays of 256 MiB. */
Test(arrays, no_more_than_there_is) {
    struct world w[5] = {begin()};
    for (int k = 0; k < 4; k++) {
        w[k] = (struct world){w[0].b, k ? wireclient_attach(w[0].b) : w[0].c, w[0].dev};
        cr_expect_eq(wireclient_result(w[k].c, make(&w[k], 1, 65536, 992)), 0);
    }
    w[4] = (struct world){w[0].b, wireclient_attach(w[0].b), w[0].dev};
    cr_expect_eq(wireclient_result(w[4].c, make(&w[4], 1, 65536, 992)), ERR_NO_MEMORY);
    cr_expect_eq(charged(&w[4]), 0);
    cr_expect_eq(wireclient_fault(w[4].c), 0);
    wireclient_detach(w[2].c);
    cr_expect_eq(wireclient_result(w[4].c, make(&w[4], 1, 65536, 992)), 0);
    for (int k = 1; k < 5; k++) {
        if (k != 2) wireclient_detach(w[k].c);
        wireclient_free(w[k].c);
    }
    end(&w[0]);
}

Test(arrays, a_dropped_one_is_there_for_the_launches_before_it) {
    struct world w = begin();
    wireclient_kernels(w.c, "kern");
    cr_assert_eq(wireclient_result(w.c, make(&w, 1, 64, 64)), 0);
    fakedev_hold(w.dev, true);
    wireclient_launch(w.c, 0, 0, 1);
    uint64_t gone = drop(&w, 1), next = make(&w, 1, 32, 32);
    cr_expect_eq(wireclient_result(w.c, gone), -EAGAIN);
    cr_expect_eq(wireclient_result(w.c, next), -EAGAIN, "it is in the way still");
    cr_expect_eq(fakedev_array_count(w.dev), 1);
    fakedev_finish_all(w.dev);
    cr_expect_eq(wireclient_result(w.c, gone), 0);
    cr_expect_eq(wireclient_result(w.c, next), 0);
    cr_expect_eq(fakedev_array_count(w.dev), 1);
    end(&w);
}

Test(arrays, a_texture_is_answered_with_what_kernels_are_given) {
    struct world w = begin();
    uint64_t ticket = texture(&w, 0x70003, 16), seen = 0;
    wirebench_run(w.b);
    const struct wire_reply *reply = wireclient_reply(w.c, ticket);
    cr_assert(reply && !reply->result && reply->bytes == sizeof(seen));
    memcpy(&seen, reply->data, sizeof(seen));
    cr_expect_eq(seen, FAKEDEV_SEEN(0x70003));
    cr_assert_not_null(fakedev_texture(w.dev, 3));
    cr_expect(fakedev_texture(w.dev, 3)->of_array);
    cr_expect_eq(wireclient_result(w.c, texture(&w, 0x70004, 13)), -EINVAL);
    cr_expect_eq(wireclient_result(w.c, texture(&w, 0x70003, 16)), -EEXIST);
    cr_expect_eq(wireclient_fault(w.c), 0, "it lives");
    end(&w);
}

/* The array waits for an earlier free, whose memory it needs; linear memory is mapped by then. */
Test(arrays, made_behind_what_waits) {
    struct world w = begin();
    wireclient_kernels(w.c, "kern");
    fakedev_hold(w.dev, true);
    wireclient_mem(w.c, WIRE_MEM_BACK, 0, PAGE);
    wireclient_launch(w.c, 0, 0, 1);
    wireclient_mem(w.c, WIRE_MEM_UNBACK, 0, PAGE);
    uint64_t array = make(&w, 1, 64, 64), object = texture(&w, 1, 16);
    cr_expect_eq(wireclient_result(w.c, array), -EAGAIN);
    cr_expect_eq(wireclient_result(w.c, object), -EAGAIN);
    fakedev_finish_all(w.dev);
    cr_expect_eq(wireclient_result(w.c, array), 0);
    cr_expect_eq(wireclient_result(w.c, object), 0);
    end(&w);
}

Test(arrays, they_go_with_a_dead_clients_memory) {
    struct world w = begin();
    wireclient_kernels(w.c, "fault");
    cr_assert_eq(wireclient_result(w.c, make(&w, 1, 64, 64)), 0);
    wireclient_launch(w.c, 0, 0, 1);
    wirebench_run(w.b);
    cr_expect_neq(wireclient_fault(w.c), 0);
    cr_expect_eq(fakedev_array_count(w.dev), 0, "before it has left");
    cr_expect_eq(wireclient_result(w.c, make(&w, 1, 64, 64)), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(wireclient_result(w.c, texture(&w, 1, 16)), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(wireclient_result(w.c, drop(&w, 1)), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(charged(&w), 0);
    end(&w);
}

Test(arrays, they_go_with_a_client_that_leaves_in_the_middle) {
    struct world w = begin();
    wireclient_kernels(w.c, "kern");
    fakedev_hold(w.dev, true);
    for (uint32_t k = 1; k < 5; k++)
        make(&w, k, 64, 64);
    wireclient_launch(w.c, 0, 0, 1);
    drop(&w, 2);
    make(&w, 6, 64, 64);
    texture(&w, 1, 16);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_array_count(w.dev), 4);
    fakedev_hold(w.dev, false);
    end(&w);
}

/* Otherwise a shorter job would get its memory (test_residency). */
Test(arrays, who_has_some_is_not_swapped_out) {
    struct worker_config config = {.ops = &fakedev_arrays,
                                   .policy = {.lane = "srtf", .exclusive = -1, .swap = 1}};
    struct world w = {.b = wirebench_start_as(&config)};
    struct wire_job job = {.flags = WIRE_JOB_RESERVED,
                           .persistent_bytes = 200ull << 20,
                           .iterations = 1000,
                           .duration_ns = 1000ull << 30};
    w.dev = w.b->worker->dev;
    struct world a = {w.b, wireclient_attach_as(w.b, &job, 0), w.dev};
    wireclient_kernels(a.c, "kern");
    cr_assert_eq(wireclient_result(a.c, make(&a, 1, 64, 64)), 0);
    cr_assert_eq(wireclient_result(a.c, drop(&a, 1)), 0);
    cr_assert_eq(wireclient_result(a.c, make(&a, 2, 64, 64)), 0);
    wireclient_launch(a.c, 0, 0, 1);
    wireclient_say(a.c, WIRE_ITERATION);
    wirebench_run(w.b);
    cr_assert(PATIENCE_UNTIL(!w.b->worker->boundaries.early || (wirebench_run(w.b), false)));
    job.iterations = 2;
    job.duration_ns = 1000;
    w.c = wireclient_attach_as(w.b, &job, 0);
    uint64_t array = make(&w, 1, 64, 64);
    cr_expect_eq(wireclient_result(w.c, array), -EAGAIN, "it waits");
    cr_expect_eq(atom_load_relaxed(&a.c->com->stats.swaps), 0);
    wireclient_detach(a.c);
    wireclient_free(a.c);
    cr_expect_eq(wireclient_result(w.c, array), 0);
    end(&w);
}

static uint64_t tensor(struct world *w, uint64_t address) {
    struct wire_tensor_map t = {.ask = {.kind = TENSOR_TILED, .rank = 2, .address = address}};
    return wireclient_send(w->c, WIRE_TENSOR_MAP, 0, true, &t, sizeof(t), NULL, 0);
}

Test(arrays, a_tensor_map_is_answered_at_once) {
    struct world w = begin();
    wireclient_kernels(w.c, "kern");
    fakedev_hold(w.dev, true);
    wireclient_launch(w.c, 0, 0, 1);
    uint64_t well = tensor(&w, 0x4560), badly = tensor(&w, 0x4568);
    wirebench_run(w.b);
    const struct wire_reply *reply = wireclient_reply(w.c, well);
    struct tensor_answer answer;
    cr_assert(reply && !reply->result && reply->bytes == sizeof(answer));
    memcpy(&answer, reply->data, sizeof(answer));
    cr_expect(answer.map[0] == FAKEDEV_SEEN(0x4560) && answer.map[15] == TENSOR_TILED);
    cr_expect_eq(wireclient_result(w.c, badly), -EINVAL);
    cr_expect_eq(wireclient_reply(w.c, badly)->bytes, 0);
    cr_expect_eq(wireclient_reply(w.c, badly)->cuda, CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(wireclient_fault(w.c), 0);
    fakedev_hold(w.dev, false);
    end(&w);
}

Test(arrays, a_dead_client_gets_no_tensor_map) {
    struct world w = begin();
    wireclient_kernels(w.c, "fault");
    wireclient_launch(w.c, 0, 0, 1);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_result(w.c, tensor(&w, 4096)), ERR_ILLEGAL_ADDRESS);
    end(&w);
}

/* ---- references ------------------------------------------------------------------------------ */

#define MODULE 0u /* the module that wireclient_kernels loads */

static uint64_t refer(struct world *w, const char *name, bool bound, uint16_t flags) {
    struct wire_texture_ref t = {.texture = {.flags = flags},
                                 .module = MODULE,
                                 .bound = bound,
                                 .name_bytes = (uint32_t)strlen(name) + 1};
    if (bound) {
        t.texture.addr = w->c->windows.dev_base;
        t.texture.width = 16;
        t.texture.height = t.texture.depth = t.texture.levels = t.texture.channels = 1;
        t.texture.format = CU_AD_FORMAT_UNSIGNED_INT8;
    }
    return wireclient_send(w->c, WIRE_TEXTURE_REF, 0, true, &t, sizeof(t), name, t.name_bytes);
}

Test(arrays, a_reference_is_told_what_it_reads) {
    struct world w = begin();
    wireclient_kernels(w.c, "kern");
    cr_expect_eq(wireclient_result(w.c, refer(&w, "reference", true, 0)), 0);
    struct fakedev_reference told = fakedev_reference(w.dev);
    cr_expect(told.count == 1 && !strcmp(told.name, "reference") && !told.surface);
    cr_expect(told.texture.level_count == 1 && told.texture.base == w.c->windows.dev_base);
    cr_expect(told.texture.levels[0].width == 16 && told.texture.of_array);
    cr_expect_eq(wireclient_result(w.c, refer(&w, "refer", true, WIRE_TEXTURE_SURFACE)), 0);
    told = fakedev_reference(w.dev);
    cr_expect(told.count == 2 && !strcmp(told.name, "refer") && told.surface);
    cr_expect(told.texture.surface);
    cr_expect_eq(wireclient_result(w.c, refer(&w, "refer", false, WIRE_TEXTURE_SURFACE)), 0);
    told = fakedev_reference(w.dev);
    cr_expect(told.count == 3 && told.surface && !told.texture.level_count, "nothing");
    cr_expect_eq(wireclient_result(w.c, refer(&w, "none", true, 0)), ERR_NOT_FOUND);
    cr_expect_eq(wireclient_fault(w.c), 0);
    end(&w);
}

/* Kernels before it read the old settings. */
Test(arrays, a_reference_is_told_between_launches) {
    struct world w = begin();
    wireclient_kernels(w.c, "kern");
    fakedev_hold(w.dev, true);
    wireclient_launch(w.c, 0, 0, 1);
    uint64_t told = refer(&w, "reference", true, 0);
    wireclient_launch(w.c, 0, 0, 1);
    cr_expect_eq(wireclient_result(w.c, told), -EAGAIN);
    cr_expect_eq(fakedev_reference(w.dev).count, 0);
    cr_expect_eq(fakedev_launches(w.dev), 1, "the other waits for it");
    fakedev_finish_all(w.dev);
    cr_expect_eq(wireclient_result(w.c, told), 0);
    cr_expect_eq(fakedev_reference(w.dev).count, 1);
    cr_expect_eq(fakedev_launches(w.dev), 2);
    fakedev_hold(w.dev, false);
    end(&w);
}

Test(arrays, a_reference_is_told_before_its_module_goes) {
    struct world w = begin();
    struct wire_module_unload gone = {.module = MODULE};
    wireclient_kernels(w.c, "kern");
    fakedev_hold(w.dev, true);
    wireclient_launch(w.c, 0, 0, 1);
    uint64_t told = refer(&w, "reference", true, 0);
    wireclient_send(w.c, WIRE_MODULE_UNLOAD, 0, true, &gone, sizeof(gone), NULL, 0);
    cr_expect_eq(wireclient_result(w.c, told), -EAGAIN);
    fakedev_finish_all(w.dev);
    cr_expect_eq(wireclient_result(w.c, told), 0);
    cr_expect_eq(fakedev_reference(w.dev).count, 1);
    fakedev_hold(w.dev, false);
    end(&w);
}

/* The same for a setting requested before the client died, whose module is unloaded by then. */
Test(arrays, a_dead_client_tells_no_reference) {
    struct world w = begin();
    wireclient_kernels(w.c, "fault");
    fakedev_hold(w.dev, true);
    wireclient_launch(w.c, 0, 0, 1);
    uint64_t before = refer(&w, "reference", true, 0);
    cr_expect_eq(wireclient_result(w.c, before), -EAGAIN);
    fakedev_hold(w.dev, false);
    fakedev_finish_all(w.dev);
    cr_expect_eq(wireclient_result(w.c, before), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(wireclient_result(w.c, refer(&w, "reference", true, 0)), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(fakedev_reference(w.dev).count, 0);
    end(&w);
}

#define HALF_OUTSIDE UINT64_MAX

static void expelled_for_reference(const struct dev_ops *ops, uint32_t module, uint64_t addr,
                                   const char *reason) {
    struct world w = {.b = wirebench_start(ops, 0)};
    struct wire_worker_msg msg;
    struct wire_texture_ref t = {.module = module, .bound = 1, .name_bytes = 4};
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    wireclient_kernels(w.c, "kern");
    if (!addr) addr = w.c->windows.dev_base;
    if (addr == HALF_OUTSIDE) addr = w.c->windows.host_base + w.c->windows.host_bytes - 8;
    t.texture = (struct wire_texture){.addr = addr,
                                      .width = 16,
                                      .height = 1,
                                      .depth = 1,
                                      .levels = 1,
                                      .format = CU_AD_FORMAT_UNSIGNED_INT8,
                                      .channels = 1};
    wireclient_send(w.c, WIRE_TEXTURE_REF, 0, true, &t, sizeof(t), "ref", 4);
    cr_assert(wirebench_hear(w.b, &msg, NULL), "not expelled for: %s", reason);
    cr_expect_eq(msg.kind, WIRE_EXPELLED);
    cr_expect_neq(strstr(msg.text, reason), NULL, "'%s' does not say '%s'", msg.text, reason);
    cr_expect_eq(fakedev_reference(w.dev).count, 0);
    end(&w);
}

Test(arrays, references_that_cannot_be_end_the_client) {
    expelled_for_reference(&fakedev, MODULE, 0, "the device does not support");
    expelled_for_reference(&fakedev_arrays, MODULE + 1, 0, "module 1 is not loaded");
    expelled_for_reference(&fakedev_arrays, MODULE, 4096, "not the client's memory");
    expelled_for_reference(&fakedev_arrays, MODULE, HALF_OUTSIDE, "not the client's memory");
}

static void expelled_for(const struct dev_ops *ops, uint16_t op, uint64_t offset,
                         const char *reason) {
    struct world w = {.b = wirebench_start(ops, 0)};
    struct wire_worker_msg msg;
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    struct wire_array a = {.addr = w.c->windows.dev_base + offset,
                           .width = 64,
                           .height = 64,
                           .format = CU_AD_FORMAT_UNSIGNED_INT8,
                           .channels = 1};
    uint32_t bytes = op == WIRE_ARRAY_MAKE ? sizeof(a) : sizeof(struct wire_array_drop);
    wireclient_send(w.c, op, 0, true, &a, bytes, NULL, 0);
    cr_assert(wirebench_hear(w.b, &msg, NULL), "not expelled for: %s", reason);
    cr_expect_eq(msg.kind, WIRE_EXPELLED);
    cr_expect_neq(strstr(msg.text, reason), NULL, "'%s' does not say '%s'", msg.text, reason);
    end(&w);
}

Test(arrays, what_cannot_be_ends_the_client) {
    const uint64_t half = WIRE_EPHEMERAL_OFFSET(WIRECLIENT_ALLOC_BYTES);
    expelled_for(&fakedev, WIRE_ARRAY_MAKE, 0, "the device does not support");
    expelled_for(&fakedev, WIRE_ARRAY_DROP, 0, "the device does not support");
    struct world w = {.b = wirebench_start(&fakedev, 0)};
    struct wire_worker_msg msg;
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    tensor(&w, 4096);
    cr_assert(wirebench_hear(w.b, &msg, NULL), "with a tensor map");
    cr_expect(strstr(msg.text, "the device does not support"), "%s", msg.text);
    end(&w);
    expelled_for(&fakedev_arrays, WIRE_ARRAY_MAKE, half - 2048, "outside the client's window");
    expelled_for(&fakedev_arrays, WIRE_ARRAY_MAKE, UINT64_MAX - 511, "outside the client's window");
}
