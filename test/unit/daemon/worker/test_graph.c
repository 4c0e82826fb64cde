/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs in the worker: the records read from a launched graph, error messages, and records that no
 * client may send.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/err.h"
#include "daemon/worker/client.h"
#include "daemon/worker/loop.h"
#include "daemon/worker/stream/graph.h"
#include "test/lib/worker/fakedev.h"
#include "test/lib/worker/wireclient.h"

/* ---- building a graph ------------------------------------------------------------------------ */

struct script {
    _Alignas(8) unsigned char bytes[64 << 10];
    uint32_t used;
    uint64_t seq[WIRE_GRAPH_LANES];
    uint64_t hosts;
};

static void add(struct script *t, uint16_t op, uint32_t lane, void *rec, uint32_t bytes,
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

static void add_launch(struct script *t, uint32_t lane, uint64_t token) {
    struct wire_launch l = {
        .func = 0, .grid = {1, 1, 1}, .block = {32, 1, 1}, .param_bytes = sizeof(token)};
    add(t, WIRE_LAUNCH, lane, &l, sizeof(l), &token, sizeof(token));
}

static void add_wait(struct script *t, uint32_t lane, uint32_t on, uint64_t on_seq, uint32_t slot) {
    struct wire_stream_wait w = {.on = on, .slot = slot, .on_seq = on_seq};
    add(t, WIRE_STREAM_WAIT, lane, &w, sizeof(w), NULL, 0);
}

static void add_host(struct script *t, uint32_t lane) {
    struct wire_host_func h = {.token = t->hosts++};
    add(t, WIRE_HOST_FUNC, lane, &h, sizeof(h), NULL, 0);
}

/* ---- sending a graph ------------------------------------------------------------------------- */

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

static void say_part(struct world *w, uint32_t id, const struct script *t, uint32_t from,
                     uint32_t bytes) {
    struct wire_graph_data d = {
        .graph = id, .piece_bytes = bytes, .offset = from, .total_bytes = t->used};
    wireclient_send(w->c, WIRE_GRAPH_DATA, 0, false, &d, sizeof(d), t->bytes + from, bytes);
}

static void say(struct world *w, uint32_t id, const struct script *t) {
    say_part(w, id, t, 0, t->used);
}

static void drop(struct world *w, uint32_t id) {
    struct wire_graph_drop d = {.graph = id};
    wireclient_send(w->c, WIRE_GRAPH_DROP, 0, false, &d, sizeof(d), NULL, 0);
}

/* Launches the graph on these streams, one for each lane; the client's sequence numbers continue
 * after the graph's operations in each. */
static void launch(struct world *w, uint32_t id, const struct script *t, const uint32_t *streams,
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

/* ---- reading a launched graph ---------------------------------------------------------------- */

Test(graph, is_read_where_it_is_launched, .timeout = 60) {
    struct world w = begin();
    struct script t = {.used = 0};
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
    struct script t = {.used = 0};
    add_launch(&t, 0, 10);
    add_wait(&t, 1, 0, 1, 0);
    add_launch(&t, 1, 20);
    add_launch(&t, 0, 11);
    add_wait(&t, 0, 1, 2, 0);
    add_launch(&t, 0, 30);
    say(&w, 0, &t);
    wireclient_launch(w.c, 3, 0, 1); /* so that lanes do not start at number 1 */
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
    struct script t = {.used = 0};
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
    struct script t = {.used = 0};
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
    struct script t = {.used = 0};
    for (uint64_t i = 0; i < 600; i++)
        add_launch(&t, 0, i);
    cr_assert_gt(t.used, WIRE_GRAPH_PIECE);
    say_part(&w, 0, &t, 0, WIRE_GRAPH_PIECE);
    say_part(&w, 0, &t, WIRE_GRAPH_PIECE, t.used - WIRE_GRAPH_PIECE);
    launch(&w, 0, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    for (int i = 0; i < 40; i++) /* the quota delays it until some operations complete */
        finish_all(&w);
    cr_expect_eq(wireclient_done(w.c, 2), 600);
    cr_expect_eq(fakedev_launches(w.dev), 600);
    end(&w);
}

Test(graph, a_number_is_free_once_it_was_dropped, .timeout = 60) {
    struct world w = begin();
    struct script one = {.used = 0}, two = {.used = 0};
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
    struct script t = {.used = 0};
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
    const struct lifetime *l = &client_find(w.b->worker, w.c->job_id)->lifetime;
    cr_expect_eq(l->live_bytes, page);
    cr_expect_eq(l->uses, 0, "the client does not count them");
    wireclient_mem_silent(w.c, WIRE_MEM_USE, WIRECLIENT_EPHEMERAL + page, page);
    wirebench_run(w.b);
    cr_expect_eq(l->uses, 1);
    end(&w);
}

/* ---- conditional nodes ----------------------------------------------------------------------- */

static void add_choice(struct script *t, uint32_t lane, uint64_t value, uint32_t kind,
                       uint32_t count, const uint32_t *bodies) {
    struct wire_choice c = {.value = value, .kind = kind, .count = count};
    add(t, WIRE_GRAPH_CHOICE, lane, &c, sizeof(c), bodies, count * (uint32_t)sizeof(*bodies));
}

/* The word of condition `i`. */
static uint32_t *cell(struct world *w, uint32_t i) {
    return (uint32_t *)(w->c->host + 4096) + i;
}

static uint64_t at(struct world *w, uint32_t i) {
    return w->c->windows.host_base + 4096 + 4 * i;
}

/* A graph of one launch. */
static void say_body(struct world *w, uint32_t id, uint64_t token) {
    struct script t = {.used = 0};
    add_launch(&t, 0, token);
    say(w, id, &t);
}

static void launch_choice(struct world *w, const struct script *t, uint32_t stream) {
    launch(w, 100, t, &stream, 1, NULL, 0, 0);
}

/* Completes all running operations; returns what runs next. */
static const char *step(struct world *w) {
    finish_all(w);
    return launched(w);
}

Test(graph, a_word_chooses_when_all_before_is_complete, .timeout = 60) {
    static const struct {
        uint32_t kind, count, value;
        const char *runs;
    } cases[] = {
        {WIRE_CHOICE_IF, 1, 7, "20"},     {WIRE_CHOICE_IF, 1, 0, "30"},
        {WIRE_CHOICE_IF, 2, 0, "21"},     {WIRE_CHOICE_SWITCH, 3, 2, "22"},
        {WIRE_CHOICE_SWITCH, 3, 3, "30"}, {WIRE_CHOICE_WHILE, 1, 0, "30"},
    };
    struct world w = begin();
    const uint32_t bodies[] = {0, 1, 2};
    for (uint32_t i = 0; i < 3; i++)
        say_body(&w, i, 20 + i);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct script t = {.used = 0};
        add_launch(&t, 0, 10);
        add_choice(&t, 0, at(&w, 0), cases[i].kind, cases[i].count, bodies);
        add_launch(&t, 0, 30);
        say(&w, 100, &t);
        *cell(&w, 0) = 1;
        launch_choice(&w, &t, 2);
        cr_expect_str_eq(launched(&w), "10");
        *cell(&w, 0) = cases[i].value; /* writes the word as the kernel does */
        cr_expect_str_eq(step(&w), cases[i].runs, "case %zu", i);
        bool body = strcmp(cases[i].runs, "30") != 0;
        cr_expect_eq(wireclient_done(w.c, 2), 3 * i + (body ? 1 : 2), "what is complete so far");
        if (body) cr_expect_str_eq(step(&w), "30");
        finish_all(&w);
        cr_expect_eq(wireclient_done(w.c, 2), 3 * i + 3);
        drop(&w, 100);
    }
    end(&w);
}

Test(graph, a_loop_goes_on_while_its_word_is_set, .timeout = 60) {
    struct world w = begin();
    struct script body = {.used = 0}, t = {.used = 0};
    add_launch(&body, 0, 20);
    add_wait(&body, 1, 0, 1, 0);
    add_launch(&body, 1, 21);
    add_launch(&body, 0, 22);
    say(&w, 0, &body);
    add_choice(&t, 0, at(&w, 0), WIRE_CHOICE_WHILE, 1, (uint32_t[]){0});
    add_launch(&t, 0, 30);
    say(&w, 100, &t);
    *cell(&w, 0) = 1;
    launch_choice(&w, &t, 0); /* in the legacy stream, for which others wait */
    wireclient_launch(w.c, 1, 0, 40);
    wireclient_launch(w.c, 3, 0, 50);
    cr_expect_str_eq(launched(&w), "50 20 22", "whoever does not wait for it runs beside it");
    for (int i = 0; i < 3; i++) {
        cr_expect_str_eq(step(&w), "21", "behind the first of the other lane");
        cr_expect_str_eq(step(&w), "20 22");
    }
    cr_expect_str_eq(step(&w), "21");
    *cell(&w, 0) = 0;
    cr_expect_str_eq(step(&w), "30");
    cr_expect_str_eq(step(&w), "40");
    end(&w);
}

Test(graph, a_body_has_conditions_of_its_own, .timeout = 60) {
    struct world w = begin();
    struct script outer = {.used = 0}, t = {.used = 0};
    say_body(&w, 0, 20);
    add_choice(&outer, 0, at(&w, 1), WIRE_CHOICE_WHILE, 1, (uint32_t[]){0});
    add_launch(&outer, 0, 21);
    say(&w, 1, &outer);
    add_choice(&t, 0, at(&w, 0), WIRE_CHOICE_WHILE, 1, (uint32_t[]){1});
    say(&w, 100, &t);
    drop(&w, 0);
    drop(&w, 1);
    say_body(&w, 0, 99); /* another graph with the same number */
    *cell(&w, 0) = *cell(&w, 1) = 1;
    launch_choice(&w, &t, 2);
    drop(&w, 100); /* dropped while it is launched */
    cr_expect_str_eq(launched(&w), "20");
    cr_expect_str_eq(step(&w), "20");
    *cell(&w, 1) = 0;
    cr_expect_str_eq(step(&w), "21");
    cr_expect_str_eq(step(&w), "21", "nothing of the inner one this time");
    *cell(&w, 0) = 0;
    cr_expect_str_eq(step(&w), "");
    cr_expect_eq(wireclient_done(w.c, 2), 1);
    end(&w);
}

/* The body is longer than the worker reads ahead, and than the client's quota, and records
 * follow it. */
Test(graph, a_long_body_runs_though_the_quota_is_used_up, .timeout = 60) {
    struct world w = begin();
    struct script body = {.used = 0}, t = {.used = 0};
    for (uint64_t i = 0; i < 300; i++)
        add_launch(&body, (uint32_t)(i % 3), i);
    say(&w, 0, &body);
    add_choice(&t, 0, at(&w, 0), WIRE_CHOICE_IF, 1, (uint32_t[]){0});
    say(&w, 100, &t);
    *cell(&w, 0) = 1;
    launch_choice(&w, &t, 2);
    client_find(w.b->worker, w.c->job_id)->quota = 4;
    for (int i = 0; i < 10; i++)
        wireclient_launch(w.c, 2, 0, 1000);
    for (int i = 0; i < 60; i++)
        finish_all(&w);
    cr_expect_eq(fakedev_launches(w.dev), 310);
    cr_expect_eq(wireclient_done(w.c, 2), 11);
    end(&w);
}

Test(graph, memory_that_is_given_back_waits_for_the_loop, .timeout = 60) {
    struct world w = begin();
    struct script t = {.used = 0};
    uint64_t page = FAKEDEV_GRANULARITY;
    cr_assert_eq(wireclient_result(w.c, wireclient_mem(w.c, WIRE_MEM_BACK, 0, page)), 0);
    say_body(&w, 0, 20);
    add_choice(&t, 0, at(&w, 0), WIRE_CHOICE_WHILE, 1, (uint32_t[]){0});
    say(&w, 100, &t);
    *cell(&w, 0) = 1;
    launch_choice(&w, &t, 2);
    uint64_t ticket = wireclient_mem(w.c, WIRE_MEM_UNBACK, 0, page);
    wireclient_launch(w.c, 3, 0, 50);
    cr_expect_str_eq(launched(&w), "20");
    cr_expect_str_eq(step(&w), "20", "it goes on all the same");
    cr_expect_eq(wireclient_result(w.c, ticket), -EAGAIN, "not while it runs");
    *cell(&w, 0) = 0;
    cr_expect_str_eq(step(&w), "50", "which was sent behind");
    cr_expect_eq(wireclient_result(w.c, ticket), 0);
    end(&w);
}

Test(graph, a_loop_without_end_ends_with_its_client, .timeout = 60) {
    struct world w = begin();
    struct script t = {.used = 0};
    say_body(&w, 0, 20);
    add_choice(&t, 0, at(&w, 0), WIRE_CHOICE_WHILE, 1, (uint32_t[]){0});
    say(&w, 100, &t);
    *cell(&w, 0) = 1;
    for (uint32_t s = 0; s < 4; s++)
        launch_choice(&w, &t, s);
    struct wireclient *other = wireclient_attach(w.b);
    wireclient_kernels(other, "kern");
    launched(&w);
    for (int i = 0; i < 5; i++) {
        wireclient_launch(other, 0, 0, 70);
        cr_expect(strstr(step(&w), "70"), "another client's turn comes");
    }
    wireclient_detach(other);
    wireclient_free(other);
    end(&w);
}

Test(graph, a_loop_in_which_nothing_runs_has_one_turn, .timeout = 60) {
    struct world w = begin();
    struct script idle = {.used = 0}, outer = {.used = 0}, t = {.used = 0};
    add_wait(&idle, 1, 0, 0, 0);
    say(&w, 0, &idle);
    add_choice(&outer, 0, at(&w, 0), WIRE_CHOICE_WHILE, 1, (uint32_t[]){0});
    say(&w, 1, &outer);
    add_choice(&t, 0, at(&w, 0), WIRE_CHOICE_WHILE, 1, (uint32_t[]){1});
    say(&w, 100, &t);
    *cell(&w, 0) = 1;
    launch_choice(&w, &t, 2);
    for (int i = 0; i < 100; i++) /* the loop could run for ever */
        loop_once(w.b->worker);
    cr_assert_eq(wireclient_done(w.c, 2), 1);
    end(&w);
}

/* The scheduler runs no operation of other jobs. */
Test(graph, a_body_is_of_its_nodes_iteration, .timeout = 60) {
    struct world w = begin();
    struct script body = {.used = 0}, t = {.used = 0};
    for (uint64_t i = 20; i < 24; i++)
        add_launch(&body, 0, i);
    say(&w, 0, &body);
    add_launch(&t, 0, 10);
    add_choice(&t, 0, at(&w, 0), WIRE_CHOICE_IF, 1, (uint32_t[]){0});
    say(&w, 100, &t);
    *cell(&w, 0) = 1;
    for (int i = 0; i < 5; i++) {
        wireclient_say(w.c, WIRE_ITERATION);
        launch_choice(&w, &t, 2);
        cr_expect_str_eq(launched(&w), "10", "iteration %d", i);
        cr_expect_str_eq(step(&w), "20 21 22 23", "iteration %d", i);
        finish_all(&w);
    }
    cr_expect_eq(wireclient_done(w.c, 2), 10);
    end(&w);
}

Test(graph, a_fault_in_a_body_is_its_clients, .timeout = 60) {
    struct world w = begin();
    struct script body = {.used = 0}, t = {.used = 0};
    struct wire_memset outside = {.width_elems = 1, .height = 1, .elem_bytes = 4};
    add(&body, WIRE_MEMSET, 0, &outside, sizeof(outside), NULL, 0);
    add_launch(&body, 0, 20);
    say(&w, 0, &body);
    add_choice(&t, 0, at(&w, 0), WIRE_CHOICE_WHILE, 1, (uint32_t[]){0});
    add_launch(&t, 0, 30);
    say(&w, 100, &t);
    *cell(&w, 0) = 1;
    launch_choice(&w, &t, 2);
    finish_all(&w);
    finish_all(&w);
    cr_expect_eq(wireclient_fault(w.c), 700);
    cr_expect_eq(w.c->com->fault.stream, 2, "the stream that the program knows");
    cr_expect_eq(wireclient_done(w.c, 2), 0);
    end(&w);
}

Test(graph, a_word_is_in_the_host_window, .timeout = 60) {
    struct world w = begin();
    struct script t = {.used = 0};
    add_choice(&t, 0, w.c->windows.dev_base, WIRE_CHOICE_IF, 1, (uint32_t[]){WIRE_GRAPH_NONE});
    say(&w, 100, &t);
    launch_choice(&w, &t, 2);
    cr_expect(expelled(&w));
    end(&w);
}

/* ---- nodes that kernels change --------------------------------------------------------------- */

/* Launches a graph with a node whose launch has the token 20. `node`: the address of the node. */
static void launch_node(struct world *w, uint64_t node) {
    struct script t = {.used = 0};
    say_body(w, 0, 20);
    add_launch(&t, 0, 10);
    add_choice(&t, 0, node, WIRE_CHOICE_LAUNCH, 1, (uint32_t[]){0});
    add_launch(&t, 0, 30);
    say(w, 100, &t);
    launch_choice(w, &t, 2);
    cr_expect_str_eq(launched(w), "10");
}

static void write_node(struct world *w, uint32_t enabled, uint32_t x, uint64_t token) {
    const struct wire_node n = {.enabled = enabled, .grid = {x, 1, 1}};
    memcpy(cell(w, 0), &n, sizeof(n));
    memcpy(cell(w, 0) + sizeof(n) / 4, &token, sizeof(token));
}

Test(graph, a_launch_is_as_its_node_says_in_its_turn, .timeout = 60) {
    struct world w = begin();
    write_node(&w, 0, 1, 21);
    launch_node(&w, at(&w, 0));
    write_node(&w, 1, 5, 22); /* writes the node as the kernel before it does */
    cr_expect_str_eq(step(&w), "22");
    cr_expect_eq(client_find(w.b->worker, w.c->job_id)->objects.funcs[0]->shape.launch.grid[0], 5);
    cr_expect_str_eq(step(&w), "30");
    finish_all(&w);
    cr_expect_eq(wireclient_done(w.c, 2), 3);
    end(&w);
}

Test(graph, a_node_that_is_off_does_nothing, .timeout = 60) {
    struct world w = begin();
    write_node(&w, 1, 1, 21);
    launch_node(&w, at(&w, 0));
    write_node(&w, 0, 0, 22);
    cr_expect_str_eq(step(&w), "30");
    finish_all(&w);
    cr_expect_eq(wireclient_done(w.c, 2), 3);
    end(&w);
}

/* Values that kernels write are not trusted: such a launch fails, as any kernel may. */
Test(graph, a_node_with_a_grid_that_is_none_fails, .timeout = 60) {
    struct world w = begin();
    launch_node(&w, at(&w, 0));
    write_node(&w, 1, 0, 22);
    cr_expect_str_eq(step(&w), "");
    cr_expect_eq(wireclient_fault(w.c), 719);
    end(&w);
}

/* The node's first word is in the window, and its last parameter is not. */
Test(graph, a_node_is_in_the_host_window, .timeout = 60) {
    struct world w = begin();
    uint64_t bytes = sizeof(struct wire_node) + 4, end_of = w.c->windows.host_bytes;
    const struct wire_node n = {.enabled = 1, .grid = {1, 1, 1}};
    memcpy(w.c->host + end_of - bytes, &n, sizeof(n));
    launch_node(&w, w.c->windows.host_base + end_of - bytes);
    cr_expect_str_eq(step(&w), "");
    cr_expect_eq(wireclient_fault(w.c), 719);
    end(&w);
}

Test(graph, a_condition_is_a_graphs, .timeout = 60) {
    struct world w = begin();
    struct wire_choice c = {.value = at(&w, 0), .kind = WIRE_CHOICE_IF, .count = 1};
    uint32_t none = WIRE_GRAPH_NONE;
    wireclient_send(w.c, WIRE_GRAPH_CHOICE, 2, false, &c, sizeof(c), &none, sizeof(none));
    cr_expect(expelled(&w));
    end(&w);
}

/* ---- records that no client may send --------------------------------------------------------- */

Test(graph, one_that_was_never_said_is_not_launched, .timeout = 60) {
    struct world w = begin();
    struct script t = {.used = 0};
    add_launch(&t, 0, 1);
    launch(&w, 3, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect(expelled(&w));
    end(&w);
}

Test(graph, half_of_one_is_not_launched, .timeout = 60) {
    struct world w = begin();
    struct script t = {.used = 0};
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
    struct script t = {.used = 0};
    add_launch(&t, 0, 1);
    add_launch(&t, 1, 1);
    say(&w, 0, &t);
    launch(&w, 0, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect(expelled(&w));
    end(&w);
}

Test(graph, numbers_of_a_launch_go_on_where_its_streams_are, .timeout = 60) {
    struct world w = begin();
    struct script t = {.used = 0};
    add_launch(&t, 0, 1);
    say(&w, 0, &t);
    w.c->seq[2] = 5;
    launch(&w, 0, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    cr_expect(expelled(&w));
    end(&w);
}

/* One record of each kind that a graph may not contain, or not in this form. */
static struct wire_record *only(struct script *t) {
    return (struct wire_record *)(t->bytes + sizeof(struct wire_graph_item));
}

static int check(struct script *t) {
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
    for (uint32_t op = 0; op <= WIRE_GRAPH_DROP; op++) {
        struct script t = {.used = 0};
        struct wire_stream_create r = {.first_seq = 1};
        add(&t, (uint16_t)op, 0, &r, sizeof(r), NULL, 0);
        if (op >= WIRE_LAUNCH && op <= WIRE_HOST_FUNC) continue;
        if (op == WIRE_MEM_USE || op == WIRE_MEM_DROP) continue;
        only(&t)->seq = 0;
        cr_expect_eq(check(&t), ERR_PROTOCOL, "operation %u", op);
    }
}

Test(graph, its_records_are_checked_and_in_order) {
    struct script good = {.used = 0}, t;
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
    struct script t = {.used = 0};
    add_launch(&t, 0, 1);
    add_wait(&t, 1, 0, 1, 0);
    cr_expect_eq(check(&t), 0);
    add_wait(&t, 1, 0, 2, 0);
    cr_expect_eq(check(&t), ERR_PROTOCOL);
    struct script lane = {.used = 0}, slot = {.used = 0};
    add_wait(&lane, 0, 5, 0, 0);
    cr_expect_eq(check(&lane), ERR_PROTOCOL, "a lane that no launch would give");
    add_wait(&slot, 0, 0, 0, WIRE_GRAPH_WAITS + 1);
    cr_expect_eq(check(&slot), ERR_PROTOCOL);
}

Test(graph, counts_its_host_functions) {
    struct script t = {.used = 0};
    t.hosts = 1;
    add_host(&t, 0);
    cr_expect_eq(check(&t), ERR_PROTOCOL);
}

/* Graphs of one client, one after the other, with numbers from 0: returns the result for the
 * last. */
static int check_all(struct script *const *texts, uint32_t count) {
    struct graphs g = {0};
    char why[128] = "";
    int err = 0;
    for (uint32_t i = 0; i < count && !err; i++) {
        static _Alignas(8) unsigned char room[sizeof(struct wire_graph_data) + (64 << 10)];
        struct wire_graph_data *d = (void *)room;
        *d = (struct wire_graph_data){
            .graph = i, .piece_bytes = texts[i]->used, .total_bytes = texts[i]->used};
        memcpy(d + 1, texts[i]->bytes, texts[i]->used);
        err = graph_data(&g, d, why, sizeof(why));
        cr_expect(!err || i + 1 == count, "graph %u: %s", i, why);
    }
    graph_finish(&g);
    cr_expect_eq(g.bytes, 0, "nothing of them is left");
    return err;
}

Test(graph, a_body_is_a_graph_that_was_said_before) {
    struct script good = {.used = 0}, in = {.used = 0}, self = {.used = 0}, later = {.used = 0};
    add_launch(&good, 0, 1);
    add_choice(&in, 0, 0, WIRE_CHOICE_SWITCH, 2, (uint32_t[]){WIRE_GRAPH_NONE, 0});
    cr_expect_eq(check_all((struct script *[]){&good, &in}, 2), 0);
    add_choice(&self, 0, 0, WIRE_CHOICE_IF, 1, (uint32_t[]){1});
    cr_expect_eq(check_all((struct script *[]){&good, &self}, 2), ERR_PROTOCOL);
    add_choice(&later, 0, 0, WIRE_CHOICE_IF, 1, (uint32_t[]){2});
    cr_expect_eq(check_all((struct script *[]){&good, &later}, 2), ERR_PROTOCOL);
}

Test(graph, a_body_has_no_waits_functions_and_events) {
    struct script bodies[3] = {{.used = 0}}, in = {.used = 0};
    struct wire_event_record e = {.event = 1};
    add_wait(&bodies[0], 0, 0, 0, 1);
    add_host(&bodies[1], 0);
    add(&bodies[2], WIRE_EVENT_RECORD, 0, &e, sizeof(e), NULL, 0);
    add_choice(&in, 0, 0, WIRE_CHOICE_IF, 1, (uint32_t[]){0});
    for (int i = 0; i < 3; i++)
        cr_expect_eq(check_all((struct script *[]){&bodies[i], &in}, 2), ERR_PROTOCOL, "body %d",
                     i);
}

Test(graph, graphs_are_so_deep_in_graphs_and_no_deeper) {
    static struct script texts[WIRE_GRAPH_DEPTH + 1];
    struct script *all[WIRE_GRAPH_DEPTH + 1];
    add_launch(&texts[0], 0, 1);
    for (uint32_t i = 1; i <= WIRE_GRAPH_DEPTH; i++)
        add_choice(&texts[i], 0, 0, WIRE_CHOICE_IF, 2, (uint32_t[]){i - 1, i - 1});
    for (uint32_t i = 0; i <= WIRE_GRAPH_DEPTH; i++)
        all[i] = &texts[i];
    cr_expect_eq(check_all(all, WIRE_GRAPH_DEPTH), 0);
    cr_expect_eq(check_all(all, WIRE_GRAPH_DEPTH + 1), ERR_PROTOCOL);
}

/* ---- graphs that kernels launch -------------------------------------------------------------- */

#define TAIL DEV_GRAPH_TAIL
#define FORGET DEV_GRAPH_FORGET
#define SIBLING DEV_GRAPH_SIBLING

static void add_settle(struct script *t, uint64_t handle) {
    struct wire_graph_settle s = {.handle = handle};
    add(t, WIRE_GRAPH_SETTLE, 0, &s, sizeof(s), NULL, 0);
}

static void offer(struct world *w, uint64_t handle, uint32_t id) {
    struct wire_graph_offer o = {.handle = handle, .graph = id};
    wireclient_send(w->c, WIRE_GRAPH_OFFER, 0, false, &o, sizeof(o), NULL, 0);
}

/* Offers a graph of one launch, whose number and handle are its token. */
static void offer_one(struct world *w, uint32_t token) {
    say_body(w, token, token);
    offer(w, token, token);
}

/* One launch with this token in stream 2, which may launch other graphs. */
static void launch_settling(struct world *w, uint64_t token, uint64_t handle) {
    struct script t = {.used = 0};
    add_launch(&t, 0, token);
    add_settle(&t, handle);
    say(w, 100, &t);
    launch(w, 100, &t, (uint32_t[]){2}, 1, NULL, 0, 0);
    drop(w, 100);
}

static int ask(struct world *w, uint64_t token, uint64_t handle, enum dev_graph_order how) {
    return fakedev_ask(w->dev, token, handle, how);
}

/* Completes the operation with this token. */
static const char *finish(struct world *w, uint64_t token) {
    for (uint32_t i = 0; i < fakedev_busy(w->dev); i++)
        if (fakedev_head(w->dev, i) == token) {
            fakedev_finish(w->dev, i);
            break;
        }
    return launched(w);
}

Test(graph, kernels_launch_and_forget, .timeout = 60) {
    struct world w = begin();
    offer_one(&w, 20);
    offer_one(&w, 21);
    launch_settling(&w, 10, 0);
    wireclient_launch(w.c, 2, 0, 99);
    cr_expect_str_eq(launched(&w), "10");
    cr_expect_eq(ask(&w, 10, 20, FORGET), 0);
    cr_expect_str_eq(launched(&w), "20", "at once");
    cr_expect_eq(ask(&w, 20, 21, FORGET), 0);
    cr_expect_str_eq(launched(&w), "21");
    cr_expect_str_eq(finish(&w, 10), "");
    cr_expect_str_eq(finish(&w, 20), "", "what it launched is not complete");
    cr_expect_eq(wireclient_done(w.c, 2), 1);
    cr_expect_str_eq(finish(&w, 21), "99", "behind all of it");
    cr_expect_eq(wireclient_done(w.c, 2), 2);
    end(&w);
}

Test(graph, a_tail_comes_behind_what_was_forgotten, .timeout = 60) {
    struct world w = begin();
    for (uint32_t i = 20; i < 26; i++)
        offer_one(&w, i);
    launch_settling(&w, 10, 0);
    wireclient_launch(w.c, 2, 0, 99);
    cr_expect_str_eq(launched(&w), "10");
    cr_expect_eq(ask(&w, 10, 20, TAIL), 0);
    cr_expect_eq(ask(&w, 10, 21, TAIL), 0);
    cr_expect_eq(ask(&w, 10, 22, FORGET), 0);
    cr_expect_eq(ask(&w, 10, 25, SIBLING), 0);
    cr_expect_str_eq(launched(&w), "22 25");
    cr_expect_str_eq(finish(&w, 10), "");
    cr_expect_str_eq(finish(&w, 22), "20", "the sibling is not waited for");
    cr_expect_eq(ask(&w, 20, 23, TAIL), 0);
    cr_expect_eq(ask(&w, 20, 24, TAIL), 0);
    cr_expect_str_eq(finish(&w, 20), "23", "its own tail comes first");
    cr_expect_str_eq(finish(&w, 23), "24");
    cr_expect_str_eq(finish(&w, 24), "21");
    cr_expect_str_eq(finish(&w, 21), "", "but for the stream");
    cr_expect_str_eq(finish(&w, 25), "99");
    end(&w);
}

Test(graph, one_launches_itself, .timeout = 60) {
    struct world w = begin();
    offer_one(&w, 20);
    launch_settling(&w, 20, 20);
    cr_expect_str_eq(launched(&w), "20");
    cr_expect_eq(fakedev_handle(w.dev, 20), 20);
    for (int i = 0; i < 300; i++) {
        cr_assert_eq(ask(&w, 20, 20, TAIL), 0, "%d", i);
        cr_assert_eq(ask(&w, 20, 20, TAIL), -EINVAL, "one at a time");
        cr_assert_str_eq(finish(&w, 20), "20");
        cr_assert_eq(ask(&w, 20, 20, FORGET), -EINVAL, "it runs");
    }
    cr_expect_eq(wireclient_done(w.c, 2), 1);
    cr_expect_str_eq(finish(&w, 20), "");
    cr_expect_eq(wireclient_done(w.c, 2), 2);
    end(&w);
}

Test(graph, a_kernel_launches_what_is_offered, .timeout = 60) {
    struct world w = begin();
    offer_one(&w, 20);
    offer_one(&w, 21);
    say_body(&w, 22, 22);
    launch_settling(&w, 10, 0);
    wireclient_launch(w.c, 3, 0, 11);
    cr_expect_str_eq(launched(&w), "10 11");
    cr_expect_eq(ask(&w, 11, 20, FORGET), -EPERM, "it is in no graph");
    cr_expect_eq(ask(&w, 10, 22, FORGET), -EINVAL);
    cr_expect_eq(ask(&w, 10, 0, TAIL), -EINVAL);
    cr_expect_eq(ask(&w, 10, UINT64_MAX, SIBLING), -EINVAL);
    cr_expect_eq(ask(&w, 10, 20, FORGET), 0);
    cr_assert_eq(ask(&w, 10, 20, TAIL), -EINVAL, "it runs");
    cr_expect_str_eq(launched(&w), "20");
    drop(&w, 20); /* the offer holds the graph */
    offer(&w, 20, 22);
    offer(&w, 21, WIRE_GRAPH_NONE);
    offer(&w, 4711, WIRE_GRAPH_NONE);
    wirebench_run(w.b);
    cr_expect_eq(ask(&w, 10, 21, FORGET), -EINVAL, "not any more");
    cr_expect_str_eq(finish(&w, 20), "");
    cr_expect_eq(ask(&w, 10, 20, FORGET), 0);
    cr_expect_str_eq(launched(&w), "22", "what is offered now");
    offer(&w, 20, WIRE_GRAPH_NONE);
    cr_expect_str_eq(step(&w), "");
    cr_expect_eq(wireclient_done(w.c, 2), 2);
    end(&w);
}

Test(graph, kernels_launch_so_many, .timeout = 60) {
    struct world w = begin();
    for (uint32_t i = 1000; i < 1300; i++)
        offer_one(&w, i);
    launch_settling(&w, 10, 0);
    launched(&w);
    for (uint32_t i = 0; i < 300; i++)
        cr_assert_eq(ask(&w, 10, 1000 + i, i & 1 ? SIBLING : FORGET), i < 120 ? 0 : -EAGAIN);
    wirebench_run(w.b);
    const struct client *c = client_find(w.b->worker, w.c->job_id);
    cr_expect_eq(c->launching.begun, DEVICE_LAUNCH_BEGUN, "the others wait");
    for (int i = 0; i < 120; i++)
        finish_all(&w);
    cr_expect_eq(fakedev_launches(w.dev), 120);
    cr_expect_eq(wireclient_done(w.c, 2), 2);
    launch_settling(&w, 10, 0);
    launched(&w);
    for (uint32_t i = 0; i < 300; i++)
        cr_assert_eq(ask(&w, 10, 1000 + i, TAIL), i < 255 ? 0 : -EAGAIN);
    for (int i = 0; i < 256; i++)
        finish_all(&w);
    cr_expect_eq(wireclient_done(w.c, 2), 4);
    end(&w);
}

/* The iteration, and operations that wait for all earlier ones, see only one operation. */
Test(graph, what_kernels_launch_is_of_their_launch, .timeout = 60) {
    struct world w = begin();
    struct client *c = client_find(w.b->worker, w.c->job_id);
    offer_one(&w, 20);
    launch_settling(&w, 10, 0);
    launched(&w);
    uint64_t pushed = c->streams.pushed;
    wireclient_send(w.c, WIRE_STREAM_DESTROY, 3, false, &(struct wire_stream_destroy){0},
                    sizeof(struct wire_stream_destroy), NULL, 0);
    cr_expect_eq(ask(&w, 10, 20, FORGET), 0);
    cr_expect_str_eq(launched(&w), "20");
    cr_expect_eq(c->streams.pushed, pushed);
    cr_expect_str_eq(step(&w), "");
    cr_expect_eq(c->streams.completed, c->streams.pushed);
    end(&w);
}

Test(graph, its_client_ends_while_kernels_launch, .timeout = 60) {
    struct world w = begin();
    for (uint32_t i = 20; i < 24; i++)
        offer_one(&w, i);
    launch_settling(&w, 10, 0);
    launched(&w);
    cr_expect_eq(ask(&w, 10, 20, FORGET), 0);
    cr_expect_eq(ask(&w, 10, 21, TAIL), 0);
    wirebench_run(w.b);
    cr_expect_eq(ask(&w, 20, 22, SIBLING), 0); /* the completion is not handled yet */
    end(&w);
}

Test(graph, a_graph_settles_once_at_the_end_of_its_first_lane, .timeout = 60) {
    for (int wrong = 0; wrong < 4; wrong++) {
        struct world w = begin();
        struct script t = {.used = 0};
        add_launch(&t, 0, 1);
        if (wrong == 0) add_launch(&t, 1, 2);
        struct wire_graph_settle s = {.handle = 5};
        add(&t, WIRE_GRAPH_SETTLE, wrong == 0 ? 1 : 0, &s, sizeof(s), NULL, 0);
        if (wrong == 1) add_launch(&t, 0, 3);
        if (wrong == 2) add_settle(&t, 5);
        say(&w, 7, &t);
        if (wrong == 3) offer(&w, 7, 7); /* a graph that only the client launches */
        cr_expect(expelled(&w), "%d", wrong);
        end(&w);
    }
}

Test(graph, only_a_graph_settles, .timeout = 60) {
    struct world w = begin();
    struct wire_graph_settle s = {.handle = 5};
    wireclient_send(w.c, WIRE_GRAPH_SETTLE, 2, false, &s, sizeof(s), NULL, 0);
    cr_expect(expelled(&w));
    end(&w);
    w = begin();
    offer(&w, 1, 50);
    cr_expect(expelled(&w), "a graph that nobody said");
    end(&w);
}

/* A graph in two lanes, with a conditional node, launched by a kernel. */
Test(graph, what_kernels_launch_has_lanes_and_conditions, .timeout = 60) {
    struct world w = begin();
    struct script t = {.used = 0};
    uint32_t body = 40;
    say_body(&w, body, 40);
    add_launch(&t, 0, 30);
    add_launch(&t, 1, 31);
    add_choice(&t, 1, at(&w, 0), WIRE_CHOICE_WHILE, 1, &body);
    add_wait(&t, 0, 1, 2, 0);
    add_launch(&t, 0, 32);
    say(&w, 20, &t);
    offer(&w, 20, 20);
    *cell(&w, 0) = 1;
    launch_settling(&w, 10, 0);
    cr_expect_str_eq(launched(&w), "10");
    for (int again = 0; again < 2; again++) {
        cr_expect_eq(ask(&w, 10, 20, again ? TAIL : FORGET), 0);
        *cell(&w, 0) = 1;
        if (!again) cr_expect_str_eq(launched(&w), "30 31");
        if (again) cr_expect_str_eq(finish(&w, 10), "30 31");
        cr_expect_str_eq(finish(&w, 31), "40");
        cr_expect_str_eq(finish(&w, 40), "40");
        cr_expect_str_eq(finish(&w, 30), "");
        *cell(&w, 0) = 0;
        cr_expect_str_eq(finish(&w, 40), "32");
        cr_expect_str_eq(finish(&w, 32), "");
    }
    cr_expect_eq(wireclient_done(w.c, 2), 2);
    end(&w);
}
