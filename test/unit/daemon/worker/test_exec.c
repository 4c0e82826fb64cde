/* SPDX-License-Identifier: Apache-2.0
 *
 * Record handlers: objects, memory, copies, kernels' output, and ownership.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_textures.h"
#include "daemon/worker/front/broker_order.h"
#include "proto/cuda/array_layout.h"
#include "proto/cuda/cuda_abi.h"
#include "proto/wire/record.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

#define WHY_AT (8u << 20)
#define PARAMS_AT (9u << 20)
#define PAGE FAKEDEV_GRANULARITY

struct world {
    struct wirebench *b;
    struct wireclient *c;
    struct dev *dev;
};

static struct world begin(void) {
    struct world w = {.b = wirebench_start(&fakedev, 0)};
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    return w;
}

static void end(struct world *w) {
    const char *what;
    fakedev_hold(w->dev, false);
    wireclient_detach(w->c);
    cr_expect_eq(fakedev_violations(w->dev, &what), 0, "%s", what);
    wireclient_free(w->c);
    wirebench_stop(w->b);
}

Test(exec, the_device_is_described_before_the_page_is_offered) {
    struct world w = begin();
    const struct description *d = &w.c->com->description;
    cr_expect_eq(memcmp(d, &w.b->worker->description, sizeof(*d)), 0);
    cr_expect_str_eq(d->name, "fake device");
    cr_expect_eq(description_attribute(d, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z), 32);
    end(&w);
}

Test(exec, modules_functions_and_globals) {
    struct world w = begin();
    uint64_t t = wireclient_load(w.c, 3, "FAKE one two");
    cr_assert_eq(wireclient_result(w.c, t), 0);
    struct wire_module_reply *m = (void *)wireclient_reply(w.c, t)->data;
    cr_expect_eq(m->functions, 2);
    cr_expect_eq(m->globals, 1);

    t = wireclient_func(w.c, 3, 500, "two");
    cr_assert_eq(wireclient_result(w.c, t), 0);
    struct wire_func_reply *f = (void *)wireclient_reply(w.c, t)->data;
    struct wire_param *p = (void *)(w.c->host + PARAMS_AT);
    cr_expect_eq(f->param_count, 1);
    cr_expect_eq(f->param_bytes, 8);
    cr_expect_eq(f->max_threads, 512);
    cr_expect_eq(p->offset, 0);
    cr_expect_eq(p->bytes, 8);
    t = wireclient_func(w.c, 3, 501, "three");
    cr_expect_eq(wireclient_result(w.c, t), ERR_NOT_FOUND);
    cr_expect_eq(wireclient_reply(w.c, t)->cuda, 500);

    struct wire_global_get g = {.module = 3, .name_bytes = 5};
    t = wireclient_send(w.c, WIRE_GLOBAL_GET, 0, true, &g, sizeof(g), "var1", 5);
    cr_assert_eq(wireclient_result(w.c, t), 0);
    struct wire_global_reply *r = (void *)wireclient_reply(w.c, t)->data;
    cr_expect_eq(r->addr, w.c->windows.dev_base + w.c->windows.alloc_bytes);
    cr_expect_eq(r->bytes, 64);
    end(&w);
}

static uint64_t clusters(struct world *w, uint32_t func, uint32_t threads, uint32_t shared,
                         uint32_t largest) {
    struct wire_clusters k = {.func = func,
                              .largest = largest,
                              .threads = threads,
                              .shared_bytes = shared,
                              .flags = wire_cluster_flags(2, 1, 3)};
    return wireclient_send(w->c, WIRE_CLUSTERS, 0, true, &k, sizeof(k), NULL, 0);
}

static uint32_t clusters_of(struct world *w, uint32_t threads, uint32_t shared, uint32_t largest) {
    uint64_t t = clusters(w, 500, threads, shared, largest);
    uint32_t count = 0;
    cr_assert_eq(wireclient_result(w->c, t), 0);
    cr_assert_eq(wireclient_reply(w->c, t)->bytes, sizeof(count));
    memcpy(&count, wireclient_reply(w->c, t)->data, sizeof(count));
    return count;
}

Test(exec, clusters_are_counted_by_the_device) {
    struct world w = {.b = wirebench_start(&fakedev_arrays, 0)};
    struct wire_worker_msg msg;
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    cr_assert_eq(wireclient_result(w.c, wireclient_load(w.c, 3, "FAKE one two")), 0);
    cr_assert_eq(wireclient_result(w.c, wireclient_func(w.c, 3, 500, "two")), 0);
    cr_expect_eq(clusters_of(&w, 512, 99000, 0), 512023);
    cr_expect_eq(clusters_of(&w, 512, 99000, 1), 4);
    cr_expect_eq(clusters_of(&w, 513, 0, 0), 0, "no launch has so many threads");
    cr_expect_eq(clusters_of(&w, 32, 99001, 1), 0, "nor so much shared memory");
    cr_expect_eq(clusters_of(&w, 32, UINT32_MAX, 1), 0);
    cr_expect_eq(wireclient_result(w.c, clusters(&w, 500, 32, 13, 0)), -EINVAL);
    cr_expect_eq(wireclient_fault(w.c), 0);
    clusters(&w, 501, 32, 0, 0);
    cr_assert(wirebench_hear(w.b, &msg, NULL));
    cr_expect(strstr(msg.text, "function 501 does not exist"), "%s", msg.text);
    end(&w);
}

/* Every request with a reply counts as a wait; salusctl shows how often a program waited. */
Test(exec, answers_are_counted) {
    struct world w = begin();
    const _Atomic uint64_t *answers = &w.c->com->stats.answers;
    uint64_t before = atom_load_relaxed(answers);
    wireclient_result(w.c, wireclient_load(w.c, 3, "FAKE one two"));
    wireclient_result(w.c, wireclient_func(w.c, 3, 501, "three"));
    cr_expect_eq(atom_load_relaxed(answers), before + 2, "those that failed as well");
    struct wire_module_unload u = {.module = 3};
    wireclient_send(w.c, WIRE_MODULE_UNLOAD, 0, false, &u, sizeof(u), NULL, 0);
    wireclient_result(w.c, wireclient_load(w.c, 4, "FAKE one"));
    cr_expect_eq(atom_load_relaxed(answers), before + 3, "nobody waits for an unload");
    end(&w);
}

Test(exec, names_of_functions) {
    struct world w = begin();
    wireclient_kernels(w.c, "first second");
    struct wire_func_name n = {.index = 1, .buf = w.c->windows.host_base, .cap = 4};
    uint64_t t = wireclient_send(w.c, WIRE_FUNC_NAME, 0, true, &n, sizeof(n), NULL, 0);
    cr_assert_eq(wireclient_result(w.c, t), 0);
    cr_expect_str_eq(w.c->host, "sec", "cut to the room");
    cr_expect_eq(*(uint32_t *)wireclient_reply(w.c, t)->data, 6);
    n = (struct wire_func_name){.index = 2, .buf = w.c->windows.host_base, .cap = 4};
    t = wireclient_send(w.c, WIRE_FUNC_NAME, 0, true, &n, sizeof(n), NULL, 0);
    cr_expect_eq(wireclient_result(w.c, t), ERR_NOT_FOUND);
    end(&w);
}

Test(exec, a_bad_image_is_refused_with_the_reason) {
    struct world w = begin();
    uint64_t t = wireclient_load(w.c, 0, "REAL kernel");
    cr_expect_eq(wireclient_result(w.c, t), ERR_INVALID_IMAGE);
    cr_expect_eq(wireclient_reply(w.c, t)->cuda, 200);
    cr_expect_str_eq(w.c->host + WHY_AT, "not a fake image");
    cr_expect_eq(wireclient_result(w.c, wireclient_load(w.c, 0, "FAKE k")), 0, "the id is free");
    cr_expect_eq(wireclient_fault(w.c), 0);
    end(&w);
}

Test(exec, unloading_waits_for_the_launches_before_it) {
    struct world w = begin();
    wireclient_kernels(w.c, "kern");
    fakedev_hold(w.dev, true);
    wireclient_launch(w.c, 0, 0, 1);
    struct wire_module_unload u = {.module = 0};
    wireclient_send(w.c, WIRE_MODULE_UNLOAD, 0, true, &u, sizeof(u), NULL, 0);
    uint64_t t = wireclient_load(w.c, 0, "FAKE again"); /* the client may reuse the id at once */
    wireclient_func(w.c, 0, 0, "again");
    wireclient_launch(w.c, 0, 0, 2);
    cr_expect_eq(wireclient_result(w.c, t), 0);
    cr_expect_eq(fakedev_launches(w.dev), 1, "what came after the unloading waits for it");
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.modules), 2);
    fakedev_finish_all(w.dev);
    wirebench_run(w.b);
    cr_expect_eq(fakedev_launches(w.dev), 2);
    cr_expect_str_eq(fakedev_kernel(w.dev, 1), "again");
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.modules), 1);
    end(&w);
}

Test(exec, memory_is_backed_at_once_and_given_back_in_order) {
    struct world w = begin();
    wireclient_kernels(w.c, "kern");
    cr_expect_eq(wireclient_result(w.c, wireclient_mem(w.c, WIRE_MEM_BACK, PAGE, 4 * PAGE)), 0);
    cr_expect_eq(w.b->worker->ops->mem_used(w.dev), 4 * PAGE);
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.memory_bytes), 4 * PAGE);
    cr_expect_eq(wireclient_result(w.c, wireclient_mem(w.c, WIRE_MEM_BACK, 0, 2 * PAGE)), -EEXIST);
    fakedev_hold(w.dev, true);
    wireclient_launch(w.c, 0, 0, 1);
    uint64_t unback = wireclient_mem(w.c, WIRE_MEM_UNBACK, PAGE, 4 * PAGE);
    uint64_t back = wireclient_mem(w.c, WIRE_MEM_BACK, 2 * PAGE, PAGE);
    cr_expect_eq(wireclient_result(w.c, unback), -EAGAIN, "the launch is still in flight");
    cr_expect_eq(wireclient_result(w.c, back), -EAGAIN, "and so the memory is not free yet");
    fakedev_finish_all(w.dev);
    cr_expect_eq(wireclient_result(w.c, unback), 0);
    cr_expect_eq(wireclient_result(w.c, back), 0);
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.memory_bytes), PAGE);
    end(&w);
}

Test(exec, too_much_memory_is_refused_and_harms_nobody) {
    struct world w = begin();
    struct wireclient *others[4];
    for (int i = 0; i < 4; i++) {
        others[i] = wireclient_attach(w.b);
        int err = wireclient_result(
            others[i], wireclient_mem(others[i], WIRE_MEM_BACK, 0, WIRECLIENT_EPHEMERAL));
        cr_expect_eq(err, 0, "256 MiB hold four clients");
    }
    uint64_t t = wireclient_mem(w.c, WIRE_MEM_BACK, 0, PAGE);
    cr_expect_eq(wireclient_result(w.c, t), ERR_NO_MEMORY);
    cr_expect_eq(wireclient_reply(w.c, t)->cuda, 2);
    wireclient_detach(others[0]);
    t = wireclient_mem(w.c, WIRE_MEM_BACK, 0, PAGE);
    cr_expect_eq(wireclient_result(w.c, t), 0, "a leaving client's memory is free");
    for (int i = 0; i < 4; i++) {
        if (i) wireclient_detach(others[i]);
        wireclient_free(others[i]);
    }
    end(&w);
}

Test(exec, copies_and_memsets_between_the_windows) {
    struct world w = begin();
    uint64_t dev = w.c->windows.dev_base, host = w.c->windows.host_base;
    wireclient_mem(w.c, WIRE_MEM_BACK, 0, PAGE);
    struct wire_memset set = {.dst = dev,
                              .pitch = 256,
                              .width_elems = 16,
                              .height = 4,
                              .value = 0x01020304,
                              .elem_bytes = 4};
    wireclient_send(w.c, WIRE_MEMSET, 0, false, &set, sizeof(set), NULL, 0);
    struct wire_copy c = {.dst = host,
                          .src = dev,
                          .width_bytes = 64,
                          .height = 4,
                          .depth = 1,
                          .dst_pitch = 64,
                          .src_pitch = 256};
    uint64_t seq = wireclient_send(w.c, WIRE_COPY, 0, false, &c, sizeof(c), NULL, 0);
    wirebench_run(w.b);
    cr_expect_eq(wireclient_done(w.c, 0), seq);
    for (int i = 0; i < 64; i++)
        cr_assert_eq(((uint32_t *)w.c->host)[i], 0x01020304);
    cr_expect_eq(((uint32_t *)w.c->host)[64], 0);
    cr_expect_eq(atom_load_relaxed(&w.c->com->stats.copied_bytes), 256);
    end(&w);
}

/* One byte beyond either window is not the client's memory, and the client ends when the
 * record's turn comes. */
static void outside(uint64_t dst_of_end, bool device, bool source) {
    struct world w = begin();
    const struct wire_windows *win = &w.c->windows;
    uint64_t inside = win->host_base;
    uint64_t edge = device ? win->dev_base + win->alloc_bytes + win->module_bytes
                           : win->host_base + win->host_bytes;
    uint64_t first = wireclient_event(w.c, 0, 3);
    wireclient_copy(w.c, 0, source ? inside : edge - dst_of_end,
                    source ? edge - dst_of_end : inside, 4096);
    wirebench_run(w.b);
    bool ok = dst_of_end == 4096;
    /* In these tests the device window ends where the host window begins: they are still two
     * windows. */
    cr_expect_eq(wireclient_fault(w.c), ok ? 0 : 700, "%lu before the end", dst_of_end);
    cr_expect_geq(wireclient_done(w.c, 0), first);
    if (!ok) cr_expect_neq(strstr(w.c->com->fault.text, "is not the client's memory"), NULL);
    end(&w);
}

Test(exec, copies_outside_the_windows_are_faults) {
    for (int device = 0; device < 2; device++)
        for (int source = 0; source < 2; source++) {
            outside(4096, device, source);
            outside(4095, device, source);
        }
    outside(0, false, true);
}

Test(exec, long_parameters_arrive_whole) {
    struct world w = begin();
    static unsigned char params[FAKEDEV_BIG_BYTES];
    wireclient_kernels(w.c, "big");
    for (int i = 0; i < 200; i++) {
        struct wire_launch l = {
            .grid = {1, 1, 1}, .block = {1, 1, 1}, .param_bytes = sizeof(params)};
        params[0] = (unsigned char)i;
        wireclient_send(w.c, WIRE_LAUNCH, 0, false, &l, sizeof(l), params, sizeof(params));
    }
    wirebench_run(w.b);
    cr_expect_eq(fakedev_launches(w.dev), 200);
    for (uint32_t i = 0; i < 200; i++)
        cr_assert_eq(fakedev_token(w.dev, i), i);
    end(&w);
}

/* ---- output of kernels ----------------------------------------------------------------------- */

/* The number that the record at `at` contains; *at: the start of the next record. */
static int said(const char *ring, uint64_t bytes, uint64_t *at) {
    char record[32];
    uint32_t head[2];
    for (size_t i = 0; i < sizeof(record); i++)
        record[i] = ring[(*at + i) % bytes];
    memcpy(head, record, sizeof(head));
    cr_assert_leq(head[0], sizeof(record) - sizeof(head) - 1);
    record[sizeof(head) + head[0]] = 0;
    *at += sizeof(head) + head[0];
    return atoi(record + sizeof(head));
}

/* Reads all records: their numbers must increase by one up to `last`. Returns how many there
 * are. */
static int count_said(const struct world *w, const char *ring, uint64_t bytes, int last) {
    uint64_t written = atom_load_acquire(&w->c->com->text_written);
    uint64_t at = atom_load_acquire(&w->c->com->text_ring.first);
    uint64_t read = atom_load_relaxed(&w->c->sub->text_read);
    int count = 0, number = 0;
    if (read > at) at = read;
    cr_assert_leq(written - at, bytes);
    for (; at < written; count++) {
        int next = said(ring, bytes, &at);
        cr_assert(!count || next == number + 1, "%d after %d", next, number);
        number = next;
    }
    cr_assert_eq(at, written);
    cr_assert_eq(number, last);
    return count;
}

static void say(const struct world *w, int from, int to) {
    for (int i = from; i < to; i++)
        wireclient_launch(w->c, 0, 0, (uint32_t)i);
    wirebench_run(w->b);
}

static int32_t move_text(const struct world *w, uint64_t addr, uint64_t bytes) {
    struct wire_mem m = {.addr = addr, .bytes = bytes};
    uint64_t t = wireclient_send(w->c, WIRE_TEXT, 0, true, &m, sizeof(m), NULL, 0);
    wirebench_run(w->b);
    return wireclient_result(w->c, t);
}

Test(exec, output_of_kernels_is_a_byte_ring_whose_oldest_gives_way) {
    struct world w = begin();
    const char *text = w.c->com->text;
    wireclient_kernels(w.c, "say");
    say(&w, 10, 100010);
    int kept = count_said(&w, text, WIRE_TEXT_BYTES, 100009);
    cr_expect_lt(kept, 100000);
    cr_expect_gt(kept, (int)(WIRE_TEXT_BYTES / 16));
    uint64_t full = atom_load_acquire(&w.c->com->text_written);
    atom_store_release(&w.c->sub->text_read, full);
    say(&w, 100010, 100020);
    cr_expect_eq(count_said(&w, text, WIRE_TEXT_BYTES, 100019), 10, "what was read is not kept");
    /* a false value costs only the client's own text */
    atom_store_release(&w.c->sub->text_read, full * 5);
    say(&w, 100020, 200020);
    atom_store_release(&w.c->sub->text_read, 0);
    cr_expect_gt(count_said(&w, text, WIRE_TEXT_BYTES, 200019), (int)(WIRE_TEXT_BYTES / 16));
    end(&w);
}

Test(exec, output_of_kernels_moves_to_another_ring_with_what_was_not_read) {
    struct world w = begin();
    const uint64_t bytes = 3 << 20, at = (uintptr_t)w.c->host + 4096;
    wireclient_kernels(w.c, "say");
    say(&w, 10, 1010);
    cr_assert_eq(move_text(&w, at, bytes), 0);
    cr_expect_eq(atom_load_acquire(&w.c->com->text_ring.addr), at);
    cr_expect_eq(atom_load_acquire(&w.c->com->text_ring.bytes), bytes);
    const char *ring = (const char *)w.c->host + 4096;
    cr_expect_eq(count_said(&w, ring, bytes, 1009), 1000);
    say(&w, 1010, 101010);
    cr_expect_eq(count_said(&w, ring, bytes, 101009), 101000, "more than the page has room for");
    cr_assert_eq(move_text(&w, at + bytes, 4096), 0);
    int kept = count_said(&w, ring + bytes, 4096, 101009);
    cr_expect(kept > 200 && kept < 300, "%d in a smaller one", kept);
    memset((char *)w.c->host + 4096 + bytes, 0xff, 4096); /* the text's length is invalid now */
    say(&w, 101010, 101012);
    cr_expect_eq(atom_load_acquire(&w.c->com->fault.cuda), 0);
    cr_assert_eq(move_text(&w, 0, 0), 0);
    cr_expect_eq(atom_load_acquire(&w.c->com->text_ring.addr), 0);
    end(&w);
}

/* ---- textures -------------------------------------------------------------------------------- */

/* A texture of 16 x 4 floats at the start of the client's memory, or `addr` bytes into it. */
static struct wire_texture picture(const struct wireclient *c, uint64_t handle, uint64_t addr) {
    return (struct wire_texture){
        .handle = handle,
        .addr = c->windows.dev_base + addr,
        .pitch = 256,
        .width = 16,
        .height = 4,
        .depth = 1,
        .levels = 1,
        .format = CU_AD_FORMAT_FLOAT,
        .channels = 1,
        .flags = WIRE_TEXTURE_PITCHED,
    };
}

static void make(struct wireclient *c, const struct wire_texture *t) {
    struct wire_texture rec = *t;
    wireclient_send(c, WIRE_TEXTURE, 0, false, &rec, sizeof(rec), NULL, 0);
}

static uint64_t drop(struct wireclient *c, uint64_t handle) {
    struct wire_texture_drop rec = {.handle = handle};
    return wireclient_send(c, WIRE_TEXTURE_DROP, 0, true, &rec, sizeof(rec), NULL, 0);
}

Test(exec, a_texture_is_the_devices_until_it_is_dropped) {
    struct world w = begin();
    struct wire_texture t = picture(w.c, 0x70003, 4096);
    make(w.c, &t);
    wirebench_run(w.b);
    const struct dev_texture *on = fakedev_texture(w.dev, 3);
    cr_assert_not_null(on);
    cr_expect_eq(on->handle, 0x70003);
    cr_expect_eq(on->levels[0].addr, w.c->windows.dev_base + 4096);
    cr_expect_eq(on->levels[0].pitch, 256);
    cr_expect_eq(on->levels[0].width, 16);
    cr_expect_eq(on->levels[0].height, 4);
    cr_expect_eq(wireclient_result(w.c, drop(w.c, 0x70003)), 0);
    cr_expect_null(fakedev_texture(w.dev, 3));
    end(&w);
}

Test(exec, a_dropped_texture_is_there_for_the_launches_before_it) {
    struct world w = begin();
    wireclient_kernels(w.c, "kern");
    struct wire_texture t = picture(w.c, 0x10002, 0);
    make(w.c, &t);
    fakedev_hold(w.dev, true);
    wireclient_launch(w.c, 0, 0, 1);
    uint64_t gone = drop(w.c, 0x10002);
    cr_expect_eq(wireclient_result(w.c, gone), -EAGAIN, "the launch may still read it");
    cr_expect_not_null(fakedev_texture(w.dev, 2));
    fakedev_finish_all(w.dev);
    cr_expect_eq(wireclient_result(w.c, gone), 0);
    cr_expect_null(fakedev_texture(w.dev, 2));
    t.handle = 0x20002;
    make(w.c, &t);
    wirebench_run(w.b);
    cr_expect_not_null(fakedev_texture(w.dev, 2), "its number is free once the drop is answered");
    cr_expect_eq(wireclient_fault(w.c), 0);
    end(&w);
}

Test(exec, a_dead_client_has_no_textures_made) {
    struct world w = begin();
    wireclient_kernels(w.c, "fault");
    wireclient_launch(w.c, 0, 0, 1);
    wirebench_run(w.b);
    struct wire_texture t = picture(w.c, 0x10001, 0);
    make(w.c, &t);
    wirebench_run(w.b);
    cr_expect_null(fakedev_texture(w.dev, 1));
    cr_expect_eq(wireclient_result(w.c, drop(w.c, 0x10001)), ERR_ILLEGAL_ADDRESS);
    end(&w);
}

/* ---- ownership ------------------------------------------------------------------------------- */

/* Sends one record after a valid launch, and expects that the client is expelled for it, with
 * `reason` in the text. */
static void expelled(uint16_t op, uint32_t stream, void *rec, uint32_t bytes, const void *tail,
                     uint32_t tail_bytes, const char *reason) {
    struct world w = begin();
    struct wire_worker_msg msg;
    wireclient_kernels(w.c, "kern");
    wireclient_launch(w.c, 0, 0, 1);
    wireclient_send(w.c, op, stream, !record_ordered(op), rec, bytes, tail, tail_bytes);
    cr_assert(wirebench_hear(w.b, &msg, NULL), "not expelled for: %s", reason);
    cr_expect_eq(msg.kind, WIRE_EXPELLED);
    cr_expect_eq(msg.job_id, w.c->job_id);
    cr_expect_neq(strstr(msg.text, reason), NULL, "'%s' does not say '%s'", msg.text, reason);
    cr_expect_neq(wireclient_fault(w.c), 0);
    cr_expect_str_eq(w.c->com->fault.text, msg.text);
    end(&w);
}

#define LAUNCH(threads, ...)                                                         \
    &(struct wire_launch){                                                           \
        .grid = {1, 1, 1}, .block = {threads, 1, 1}, .param_bytes = 8, __VA_ARGS__}, \
        sizeof(struct wire_launch), "12345678", 8
#define RECORD(type, ...) &(struct type){__VA_ARGS__}, sizeof(struct type), NULL, 0

Test(exec, what_is_not_the_clients_own_ends_it) {
    expelled(WIRE_LAUNCH, 0, LAUNCH(1, .func = 1), "function 1 does not exist");
    expelled(WIRE_LAUNCH, 9, LAUNCH(1, .func = 0), "stream 9 does not exist");
    expelled(WIRE_LAUNCH, 0, LAUNCH(513, .func = 0), "513 threads a block");
    expelled(WIRE_LAUNCH, 0, LAUNCH(1, .shared_bytes = 99001), "shared memory");
    struct wire_launch l = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .param_bytes = 4};
    expelled(WIRE_LAUNCH, 0, &l, sizeof(l), "1234", 4, "4 bytes of parameters");
    l.param_bytes = 8;
    l.block[2] = 33;
    expelled(WIRE_LAUNCH, 0, &l, sizeof(l), "12345678", 8, "exceeds the device's limits");
    l.block[2] = 32;
    l.grid[1] = 4096;
    expelled(WIRE_LAUNCH, 0, &l, sizeof(l), "12345678", 8, "exceeds the device's limits");
    expelled(WIRE_STREAM_WAIT, 0, RECORD(wire_stream_wait, .on = 8), "never submitted");
    expelled(WIRE_STREAM_WAIT, 0, RECORD(wire_stream_wait, .on = 0, .on_seq = 2),
             "never submitted");
    expelled(WIRE_STREAM_DESTROY, 5, RECORD(wire_stream_destroy, .rec = {0}), "stream 5");
    expelled(WIRE_MODULE_UNLOAD, 0, RECORD(wire_module_unload, .module = 7), "module 7");
    expelled(WIRE_CLUSTERS, 0,
             RECORD(wire_clusters, .threads = 1, .flags = wire_cluster_flags(2, 1, 1)),
             "does not support clusters");
    expelled(WIRE_FUNC_NAME, 0, RECORD(wire_func_name, .cap = 1), "outside the host window");
    expelled(WIRE_TEXT, 0, RECORD(wire_mem, .addr = 4096, .bytes = 4096),
             "outside the host window");
    expelled(WIRE_FUNC_NAME, 0, RECORD(wire_func_name, .module = 1), "module 1");
    expelled(WIRE_MODULE_LOAD, 0, RECORD(wire_module_load, .module = 1, .image_bytes = 5),
             "outside the host window");
    expelled(WIRE_MEM_BACK, 0, RECORD(wire_mem, .addr = 2 << 20, .bytes = 2 << 20), "whole pages");
    struct wire_func_get f = {.module = 0, .func = 0, .name_bytes = 5};
    expelled(WIRE_FUNC_GET, 0, &f, sizeof(f), "kern", 5, "exists already");
    expelled(99, 0, RECORD(wire_ping, .rec = {0}), "unknown operation 99");
}

/* Sends the record after a launch, from the client that it concerns. */
static void expelled_for_texture(uint64_t handle, uint64_t addr, uint32_t times,
                                 const char *reason) {
    struct world w = begin();
    struct wire_worker_msg msg;
    struct wire_texture t = picture(w.c, handle, addr);
    for (uint32_t i = 0; i < times; i++)
        make(w.c, &t);
    cr_assert(wirebench_hear(w.b, &msg, NULL), "not expelled for: %s", reason);
    cr_expect_eq(msg.kind, WIRE_EXPELLED);
    cr_expect_neq(strstr(msg.text, reason), NULL, "'%s' does not say '%s'", msg.text, reason);
    end(&w);
}

Test(exec, a_texture_of_what_is_not_the_clients_own_ends_it) {
    const uint64_t all = WIRECLIENT_ALLOC_BYTES + wireclient_windows().module_bytes;
    const uint64_t own = 3 * 256 + 16 * 4; /* bytes of the texture */
    const char *reason = "is not the client's memory";
    expelled_for_texture(1, UINT64_MAX - 255, 1, reason);
    expelled_for_texture(1, (all - own + 511) / 256 * 256, 1, reason);
    expelled_for_texture(3, 0, 2, "texture 3: the number is in use");
    expelled_for_texture(FAKEDEV_TEXTURES, 0, 1, "texture 8: ");
}

Test(exec, memory_outside_the_alloc_window_ends_the_client) {
    struct world w = begin();
    struct wire_worker_msg msg;
    wireclient_mem(w.c, WIRE_MEM_BACK, WIRECLIENT_ALLOC_BYTES - PAGE, 2 * PAGE);
    cr_assert(wirebench_hear(w.b, &msg, NULL));
    cr_expect_eq(msg.kind, WIRE_EXPELLED);
    cr_expect_eq(w.b->worker->ops->mem_used(w.dev), 0);
    end(&w);
}

/* ---- attaching ------------------------------------------------------------------------------- */

static uint16_t capability; /* capability that the job asks for */

static int try_attach(struct wirebench *b, const struct wire_windows *win, size_t submission,
                      size_t host, bool sealed, int nfds) {
    struct wireclient wc = {.bench = b,
                            .job_id = b->next_job++,
                            .job = {.flags = WIRE_JOB_RESERVED, .capability = capability}};
    int fds[3] = {fdutil_memfd("submission", submission, 0), -1, eventfd(0, EFD_CLOEXEC)};
    fds[1] = sealed ? fdutil_memfd("host", host, 0) : memfd_create("host", MFD_CLOEXEC);
    if (!sealed) cr_assert_eq(ftruncate(fds[1], (off_t)host), 0);
    int err = wireclient_try(b, &wc, win, fds, nfds);
    for (int i = 0; i < 3; i++)
        fdutil_close(&fds[i]);
    if (err == 0) {
        wireclient_detach(&wc);
        munmap((void *)wc.com, sizeof(*wc.com));
    }
    return err;
}

Test(exec, attaching_checks_what_it_gets) {
    struct world w = begin();
    const size_t sub = sizeof(struct wire_submission), host = WIRECLIENT_HOST_BYTES;
    struct wire_windows good = wireclient_windows(), bad;
    cr_expect_eq(try_attach(w.b, &good, sub, host, true, 3), 0);
    cr_expect_eq(try_attach(w.b, &good, sub, host, false, 3), -EINVAL, "not sealed");
    cr_expect_eq(try_attach(w.b, &good, sub - 1, host, true, 3), -EINVAL, "too short");
    cr_expect_eq(try_attach(w.b, &good, sub, host - 1, true, 3), -EINVAL, "too short");
    cr_expect_eq(try_attach(w.b, &good, sub, host, true, 2), -EPROTO, "a descriptor is missing");
    cr_expect_eq(try_attach(w.b, &w.c->windows, sub, host, true, 3), -EEXIST, "taken");
    bad = good;
    bad.host_base = good.dev_base + PAGE;
    cr_expect_eq(try_attach(w.b, &bad, sub, host, true, 3), -EINVAL, "they overlap");
    bad = good;
    bad.alloc_bytes = UINT64_MAX - PAGE + 1;
    cr_expect_eq(try_attach(w.b, &bad, sub, host, true, 3), -EINVAL, "it wraps");
    bad = good;
    bad.dev_base += 4096;
    cr_expect_eq(try_attach(w.b, &bad, sub, host, true, 3), -EINVAL, "not aligned");
    bad = good;
    bad.host_base = 0;
    cr_expect_eq(try_attach(w.b, &bad, sub, host, true, 3), -EINVAL, "address 0");
    cr_expect_eq(fakedev_spaces(w.dev), 1, "no failed attachment leaves a space");
    cr_expect_eq(try_attach(w.b, &good, sub, host, true, 3), 0, "nor a mapping");
    cr_expect_eq(wireclient_result(w.c, wireclient_ping(w.c)), 0);
    end(&w);
}

/* The fake device reports only its own capability. */
Test(exec, a_capability_that_the_device_cannot_report_is_refused) {
    struct world w = begin();
    struct wire_windows windows = wireclient_windows();
    const size_t sub = sizeof(struct wire_submission), host = WIRECLIENT_HOST_BYTES;
    capability = 120;
    cr_expect_eq(try_attach(w.b, &windows, sub, host, true, 3), -ENOTSUP);
    capability = 90;
    cr_expect_eq(try_attach(w.b, &windows, sub, host, true, 3), 0, "its own");
    cr_expect_eq(fakedev_spaces(w.dev), 1);
    end(&w);
}

Test(exec, a_load_for_a_capability_that_the_device_has_not_is_refused) {
    struct world w = begin();
    struct wire_module_load m = {.module = 1,
                                 .capability = 120,
                                 .image = w.c->windows.host_base,
                                 .image_bytes = sizeof("FAKE k")};
    memcpy(w.c->host, "FAKE k", sizeof("FAKE k"));
    uint64_t t = wireclient_send(w.c, WIRE_MODULE_LOAD, 0, true, &m, sizeof(m), NULL, 0);
    cr_expect_eq(wireclient_result(w.c, t), -ENOTSUP);
    m.capability = 0;
    t = wireclient_send(w.c, WIRE_MODULE_LOAD, 0, true, &m, sizeof(m), NULL, 0);
    cr_expect_eq(wireclient_result(w.c, t), 0);
    end(&w);
}

static int open_files(void) {
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

Test(exec, coming_and_going_leaves_no_descriptor_open) {
    struct world w = begin();
    int before = open_files();
    for (int i = 0; i < 200; i++) {
        struct wireclient *c = wireclient_attach(w.b);
        wireclient_kernels(c, "kern");
        wireclient_launch(c, 0, 0, 1);
        wireclient_detach(c);
        wireclient_free(c);
    }
    cr_expect_eq(open_files(), before);
    cr_expect_eq(w.b->worker->clients.count, 1);
    end(&w);
}

Test(exec, what_a_dead_client_asks_is_answered_with_its_fault) {
    struct world w = begin();
    wireclient_kernels(w.c, "fault");
    wireclient_launch(w.c, 0, 0, 1);
    wirebench_run(w.b);
    cr_assert_eq(wireclient_fault(w.c), 700);
    struct wire_global_get g = {.name_bytes = 5};
    struct wire_func_name n = {.buf = w.c->windows.host_base, .cap = 4};
    struct wire_module_unload u = {.module = 3}; /* never loaded, because its loading failed */
    uint64_t tickets[] = {
        wireclient_load(w.c, 3, "FAKE k"),
        wireclient_func(w.c, 0, 1, "k"),
        wireclient_mem(w.c, WIRE_MEM_BACK, 0, PAGE),
        wireclient_send(w.c, WIRE_GLOBAL_GET, 0, true, &g, sizeof(g), "var1", 5),
        wireclient_send(w.c, WIRE_FUNC_NAME, 0, true, &n, sizeof(n), NULL, 0),
        wireclient_ping(w.c),
    };
    for (size_t i = 0; i < sizeof(tickets) / sizeof(tickets[0]); i++) {
        cr_expect_eq(wireclient_result(w.c, tickets[i]), ERR_ILLEGAL_ADDRESS, "call %zu", i);
        cr_expect_eq(wireclient_reply(w.c, tickets[i])->cuda, 700);
    }
    wireclient_send(w.c, WIRE_MODULE_UNLOAD, 0, true, &u, sizeof(u), NULL, 0);
    cr_expect_eq(wireclient_result(w.c, wireclient_ping(w.c)), ERR_ILLEGAL_ADDRESS);
    cr_expect_eq(w.b->worker->ops->mem_used(w.dev), 0);
    end(&w);
}

/* ---- the broker's side ----------------------------------------------------------------------- */

Test(exec, a_job_is_attached_once_and_an_unknown_one_is_gone_already) {
    struct world w = begin();
    struct wire_windows win = wireclient_windows();
    w.b->next_job = w.c->job_id;
    int err = try_attach(w.b, &win, sizeof(struct wire_submission), WIRECLIENT_HOST_BYTES, true, 3);
    cr_expect_eq(err, -EALREADY);
    struct wireclient nobody = {.bench = w.b, .job_id = 4711};
    wireclient_detach(&nobody); /* the worker answers, so that the broker need not wait */
    cr_expect_eq(wireclient_result(w.c, wireclient_ping(w.c)), 0);
    end(&w);
}

Test(exec, a_broker_that_talks_nonsense_ends_the_worker) {
    struct world w = begin();
    struct wire_worker_msg msg = {.kind = 99};
    cr_assert_eq(fdutil_send(w.b->sock, &msg, sizeof(msg), NULL, 0), 0);
    wirebench_run(w.b);
    cr_expect(w.b->worker->link.over);
    wireclient_free(w.c);
    wirebench_stop(w.b);
}

Test(exec, readiness_says_what_the_device_is_or_why_there_is_none) {
    struct world w = begin();
    struct wire_worker_msg msg;
    cr_assert_eq(broker_link_ready(w.b->worker->link.fd, &w.b->worker->info,
                                   &w.b->worker->description, NULL, 0, ""),
                 0);
    cr_assert(wirebench_hear(w.b, &msg, NULL));
    cr_expect_eq(msg.kind, WIRE_READY);
    cr_expect_eq(msg.pid, getpid());
    cr_expect_str_eq(msg.device.name, "fake device");
    cr_expect_eq(msg.device.granularity_bytes, PAGE);
    cr_assert_eq(broker_link_ready(w.b->worker->link.fd, NULL, NULL, NULL, -ENODEV,
                                   "salus-gpu has no such device driver; see --device"),
                 0);
    cr_assert(wirebench_hear(w.b, &msg, NULL));
    cr_expect_eq(msg.result, -ENODEV);
    cr_expect_str_eq(msg.text, "salus-gpu has no such device driver; see --device");
    end(&w);
}

Test(exec, a_worker_that_cannot_start_says_why) {
    struct worker *w;
    char why[256] = "";
    struct worker_config config = {
        .ops = &fakedev, .policy = {.kernel = "lottery"}, .broker_fd = -1};
    cr_expect_eq(worker_create(&w, &config, why, sizeof(why)), -EINVAL);
    cr_expect_null(w);
    cr_expect_neq(strstr(why, "no kernel policy lottery"), NULL);
    worker_destroy(NULL);
}
