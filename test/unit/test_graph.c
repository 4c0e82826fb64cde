/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs in the worker: what is read of a launched one, in which words, and what no client may say.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/stream/graph.h"
#include "test/lib/fakedev.h"
#include "test/lib/wireclient.h"

/* ---- making one ------------------------------------------------------------------------------ */

struct text {
    _Alignas(8) unsigned char bytes[64 << 10];
    uint32_t used;
    uint64_t seq[WIRE_GRAPH_LANES];
    uint64_t hosts;
};

static void add(struct text *t, uint16_t op, uint32_t lane, void *rec, uint32_t bytes,
                const void *tail, uint32_t tail_bytes) {
    struct wire_graph_item item = {.bytes = bytes + tail_bytes};
    struct wire_record *r = rec;
    r->op = op;
    r->stream = lane;
    r->seq = ++t->seq[lane];
    memcpy(t->bytes + t->used, &item, sizeof(item));
    memcpy(t->bytes + t->used + sizeof(item), rec, bytes);
    if (tail_bytes) memcpy(t->bytes + t->used + sizeof(item) + bytes, tail, tail_bytes);
    t->used += (uint32_t)sizeof(item) + ((item.bytes + 7) & ~7u);
}

static void add_launch(struct text *t, uint32_t lane, uint64_t token) {
    struct wire_launch l = {
        .func = 0, .grid = {1, 1, 1}, .block = {32, 1, 1}, .param_bytes = sizeof(token)};
    add(t, WIRE_LAUNCH, lane, &l, sizeof(l), &token, sizeof(token));
}

static void add_wait(struct text *t, uint32_t lane, uint32_t on, uint64_t on_seq, uint32_t slot) {
    struct wire_stream_wait w = {.on = on, .slot = slot, .on_seq = on_seq};
    add(t, WIRE_STREAM_WAIT, lane, &w, sizeof(w), NULL, 0);
}

static void add_host(struct text *t, uint32_t lane) {
    struct wire_host_func h = {.token = t->hosts++};
    add(t, WIRE_HOST_FUNC, lane, &h, sizeof(h), NULL, 0);
}

/* ---- saying it ------------------------------------------------------------------------------- */

struct world {
    struct wirebench *b;
    struct wireclient *c;
    struct dev *dev;
};

static struct world begin(void) {
    struct world w = {.b = wirebench_start(&fakedev, 0)};
    w.c = wireclient_attach(w.b);
    w.dev = w.b->worker->dev;
    wireclient_kernels(w.c, "kern");
    wireclient_create_stream(w.c, 1, 0);
    wireclient_create_stream(w.c, 2, WIRE_STREAM_NONBLOCKING);
    wireclient_create_stream(w.c, 3, WIRE_STREAM_NONBLOCKING);
    fakedev_hold(w.dev, true);
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

static void say_part(struct world *w, uint32_t id, const struct text *t, uint32_t from,
                     uint32_t bytes) {
    struct wire_graph_data d = {
        .graph = id, .piece_bytes = bytes, .offset = from, .total_bytes = t->used};
    wireclient_send(w->c, WIRE_GRAPH_DATA, 0, false, &d, sizeof(d), t->bytes + from, bytes);
}

static void say(struct world *w, uint32_t id, const struct text *t) {
    say_part(w, id, t, 0, t->used);
}

static void drop(struct world *w, uint32_t id) {
    struct wire_graph_drop d = {.graph = id};
    wireclient_send(w->c, WIRE_GRAPH_DROP, 0, false, &d, sizeof(d), NULL, 0);
}

/* Lanes are these streams; the client's numbers go on behind what the graph has in each. */
static void launch(struct world *w, uint32_t id, const struct text *t, const uint32_t *streams,
                   uint16_t lanes, const struct wire_graph_wait *waits, uint16_t count,
                   uint64_t token) {
    struct wire_graph_launch l = {
        .graph = id, .lanes = lanes, .waits = count, .first_token = token};
    unsigned char tail[1024];
    struct wire_graph_lane *lane = (void *)tail;
    for (uint16_t i = 0; i < lanes; i++) {
        lane[i] =
            (struct wire_graph_lane){.stream = streams[i], .first_seq = w->c->seq[streams[i]] + 1};
        w->c->seq[streams[i]] += t->seq[i];
    }
    if (count) memcpy(lane + lanes, waits, count * sizeof(*waits));
    wireclient_send(w->c, WIRE_GRAPH_LAUNCH, 0, false, &l, sizeof(l), tail,
                    (uint32_t)(lanes * sizeof(*lane) + count * sizeof(*waits)));
}

static const char *launched(struct world *w) {
    return wirebench_launched(w->b);
}

static void finish_all(struct world *w) {
    fakedev_finish_all(w->dev);
    wirebench_run(w->b);
}

static bool expelled(struct world *w) {
    struct wire_worker_msg msg;
    wirebench_run(w->b);
    return wirebench_hear(w->b, &msg, NULL) && msg.kind == WIRE_EXPELLED;
}

/* ---- what is read ---------------------------------------------------------------------------- */

Test(graph, is_read_where_it_is_launched, .timeout = 60) {
    struct world w = begin();
    struct text t = {.used = 0};
    add_launch(&t, 0, 10);
    add_launch(&t, 0, 11);
    say(&w, 7, &t);
    cr_expect_str_eq(launched(&w), "", "saying it runs nothing");
    wireclient_launch(w.c, 2, 0, 1);
    launch(&w, 7, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    wireclient_launch(w.c, 2, 0, 2);
    launch(&w, 7, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect_str_eq(launched(&w), "1 10 11 2 10 11");
    finish_all(&w);
    cr_expect_eq(wireclient_done(w.c, 2), 6);
    end(&w);
}

Test(graph, lanes_run_side_by_side_and_meet, .timeout = 60) {
    struct world w = begin();
    struct text t = {.used = 0};
    add_launch(&t, 0, 10);
    add_wait(&t, 1, 0, 1, 0);
    add_launch(&t, 1, 20);
    add_launch(&t, 0, 11);
    add_wait(&t, 0, 1, 2, 0);
    add_launch(&t, 0, 30);
    say(&w, 0, &t);
    wireclient_launch(w.c, 3, 0, 1); /* so that lanes do not begin at number 1 */
    launch(&w, 0, &t, (uint32_t[]){2, 3}, 2, NULL, 0, 0);
    cr_expect_str_eq(launched(&w), "1 10 11");
    finish_all(&w);
    cr_expect_str_eq(launched(&w), "20", "behind the first of the other lane");
    finish_all(&w);
    cr_expect_str_eq(launched(&w), "30");
    finish_all(&w);
    cr_expect_eq(wireclient_done(w.c, 2), 4);
    cr_expect_eq(wireclient_done(w.c, 3), 3);
    end(&w);
}

Test(graph, a_launch_says_what_its_waits_are, .timeout = 60) {
    struct world w = begin();
    struct text t = {.used = 0};
    add_wait(&t, 0, 0, 0, 1);
    add_launch(&t, 0, 10);
    say(&w, 0, &t);
    wireclient_launch(w.c, 3, 0, 1);
    struct wire_graph_wait wait = {.on = 3, .on_seq = 1};
    launch(&w, 0, &t, (uint32_t[]){2}, 1, &wait, 1, 0);
    cr_expect_str_eq(launched(&w), "1");
    finish_all(&w);
    cr_expect_str_eq(launched(&w), "10");
    wait = (struct wire_graph_wait){0};
    launch(&w, 0, &t, (uint32_t[]){2}, 1, &wait, 1, 0);
    cr_expect_str_eq(launched(&w), "10", "there is no such operation to wait for");
    end(&w);
}

Test(graph, host_functions_are_numbered_by_the_launch, .timeout = 60) {
    struct world w = begin();
    struct text t = {.used = 0};
    add_host(&t, 0);
    add_host(&t, 1);
    say(&w, 0, &t);
    launch(&w, 0, &t, (uint32_t[]){2, 3}, 2, NULL, 0, 500);
    wirebench_run(w.b);
    cr_expect_eq(atom_load_acquire(&w.c->com->callbacks_posted), 2);
    cr_expect_eq(w.c->com->callbacks[0] + w.c->com->callbacks[1], 500 + 501);
    end(&w);
}

Test(graph, arrives_in_pieces, .timeout = 60) {
    struct world w = begin();
    struct text t = {.used = 0};
    for (uint64_t i = 0; i < 600; i++)
        add_launch(&t, 0, i);
    cr_assert_gt(t.used, WIRE_GRAPH_PIECE);
    say_part(&w, 0, &t, 0, WIRE_GRAPH_PIECE);
    say_part(&w, 0, &t, WIRE_GRAPH_PIECE, t.used - WIRE_GRAPH_PIECE);
    launch(&w, 0, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    for (int i = 0; i < 40; i++) /* the quota holds it back until some are complete */
        finish_all(&w);
    cr_expect_eq(wireclient_done(w.c, 2), 600);
    cr_expect_eq(fakedev_launches(w.dev), 600);
    end(&w);
}

Test(graph, a_number_is_free_once_it_was_dropped, .timeout = 60) {
    struct world w = begin();
    struct text one = {.used = 0}, two = {.used = 0};
    add_launch(&one, 0, 1);
    add_launch(&two, 0, 2);
    say(&w, 0, &one);
    launch(&w, 0, &one, (uint32_t[]){2}, 1, NULL, 0, 0);
    drop(&w, 0);
    say(&w, 0, &two);
    launch(&w, 0, &two, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect_str_eq(launched(&w), "1 2", "what was launched before stays what it was");
    end(&w);
}

Test(graph, its_blocks_are_used_and_dropped_each_time, .timeout = 60) {
    struct world w = begin();
    struct text t = {.used = 0};
    uint64_t page = FAKEDEV_GRANULARITY;
    struct wire_mem m = {.addr = w.c->windows.dev_base + WIRECLIENT_EPHEMERAL, .bytes = page};
    cr_assert_eq(
        wireclient_result(w.c, wireclient_mem(w.c, WIRE_MEM_BACK, WIRECLIENT_EPHEMERAL, page)), 0);
    add(&t, WIRE_MEM_USE, 0, &m, sizeof(m), NULL, 0);
    ((struct wire_record *)(t.bytes + sizeof(struct wire_graph_item)))->seq = 0;
    t.seq[0] = 0;
    add_launch(&t, 0, 1);
    say(&w, 0, &t);
    launch(&w, 0, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect_str_eq(launched(&w), "1");
    wireclient_mem_silent(w.c, WIRE_MEM_DROP, WIRECLIENT_EPHEMERAL, page);
    launch(&w, 0, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect_str_eq(launched(&w), "1");
    cr_expect_eq(wireclient_fault(w.c), 0);
    end(&w);
}

/* ---- what no client may say ------------------------------------------------------------------ */

Test(graph, one_that_was_never_said_is_not_launched, .timeout = 60) {
    struct world w = begin();
    struct text t = {.used = 0};
    add_launch(&t, 0, 1);
    launch(&w, 3, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect(expelled(&w));
    end(&w);
}

Test(graph, half_of_one_is_not_launched, .timeout = 60) {
    struct world w = begin();
    struct text t = {.used = 0};
    add_launch(&t, 0, 1);
    add_launch(&t, 0, 2);
    say_part(&w, 0, &t, 0, t.used / 2);
    launch(&w, 0, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect(expelled(&w));
    cr_expect_eq(fakedev_launches(w.dev), 0);
    end(&w);
}

Test(graph, a_launch_gives_what_the_graph_takes, .timeout = 60) {
    struct world w = begin();
    struct text t = {.used = 0};
    add_launch(&t, 0, 1);
    add_launch(&t, 1, 1);
    say(&w, 0, &t);
    launch(&w, 0, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect(expelled(&w));
    end(&w);
}

Test(graph, numbers_of_a_launch_go_on_where_its_streams_are, .timeout = 60) {
    struct world w = begin();
    struct text t = {.used = 0};
    add_launch(&t, 0, 1);
    say(&w, 0, &t);
    w.c->seq[2] = 5;
    launch(&w, 0, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect(expelled(&w));
    end(&w);
}

/* One record of each kind that a graph may not hold, or not like that. */
static struct wire_record *only(struct text *t) {
    return (struct wire_record *)(t->bytes + sizeof(struct wire_graph_item));
}

static int check(struct text *t) {
    struct graphs g = {0};
    char why[128] = "";
    unsigned char room[sizeof(struct wire_graph_data) + sizeof(t->bytes)];
    struct wire_graph_data *d = (void *)room;
    *d = (struct wire_graph_data){.piece_bytes = t->used, .total_bytes = t->used};
    memcpy(d + 1, t->bytes, t->used);
    int err = graph_data(&g, d, why, sizeof(why));
    cr_expect_eq(err != 0, why[0] != 0, "a refusal has a reason: %s", why);
    graph_finish(&g);
    return err;
}

Test(graph, holds_only_what_a_stream_does) {
    for (uint16_t op = 0; op <= WIRE_GRAPH_DROP; op++) {
        struct text t = {.used = 0};
        struct wire_stream_create r = {.first_seq = 1};
        add(&t, op, 0, &r, sizeof(r), NULL, 0);
        if (op >= WIRE_LAUNCH && op <= WIRE_HOST_FUNC) continue;
        if (op == WIRE_MEM_USE || op == WIRE_MEM_DROP) continue;
        only(&t)->seq = 0;
        cr_expect_eq(check(&t), ERR_PROTOCOL, "operation %u", op);
    }
}

Test(graph, its_records_are_checked_and_in_order) {
    struct text good = {.used = 0}, t;
    add_launch(&good, 0, 1);
    cr_expect_eq(check(&good), 0);
    t = good;
    only(&t)->seq = 2;
    cr_expect_eq(check(&t), ERR_PROTOCOL);
    t = good;
    only(&t)->stream = WIRE_GRAPH_LANES;
    cr_expect_eq(check(&t), ERR_PROTOCOL);
    t = good;
    ((struct wire_launch *)only(&t))->grid[1] = 0;
    cr_expect_eq(check(&t), ERR_PROTOCOL);
    t = good;
    ((struct wire_graph_item *)t.bytes)->bytes += 8;
    cr_expect_eq(check(&t), ERR_PROTOCOL, "beyond its end");
    ((struct wire_launch *)only(&t))->param_bytes += 8;
    cr_expect_eq(check(&t), ERR_PROTOCOL, "beyond its end, but right in itself");
    ((struct wire_graph_item *)t.bytes)->bytes = UINT32_MAX;
    cr_expect_eq(check(&t), ERR_PROTOCOL);
    t = good;
    memset(t.bytes + t.used, 0, sizeof(struct wire_graph_item));
    t.used += sizeof(struct wire_graph_item);
    cr_expect_eq(check(&t), ERR_PROTOCOL, "an empty record");
}

Test(graph, waits_for_what_is_before_it) {
    struct text t = {.used = 0};
    add_launch(&t, 0, 1);
    add_wait(&t, 1, 0, 1, 0);
    cr_expect_eq(check(&t), 0);
    add_wait(&t, 1, 0, 2, 0);
    cr_expect_eq(check(&t), ERR_PROTOCOL);
    struct text lane = {.used = 0}, slot = {.used = 0};
    add_wait(&lane, 0, 5, 0, 0);
    cr_expect_eq(check(&lane), ERR_PROTOCOL, "a lane that no launch would give");
    add_wait(&slot, 0, 0, 0, WIRE_GRAPH_WAITS + 1);
    cr_expect_eq(check(&slot), ERR_PROTOCOL);
}

Test(graph, counts_its_host_functions) {
    struct text t = {.used = 0};
    t.hosts = 1;
    add_host(&t, 0);
    cr_expect_eq(check(&t), ERR_PROTOCOL);
}
