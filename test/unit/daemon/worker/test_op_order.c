/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of a client's operations on a deterministic device: the order of submission, except
 * that operations are skipped while they wait for something else.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "daemon/worker/stream/op.h"
#include "daemon/worker/stream/op_order.h"

#define OPS 300

static struct op *ops;
static bool waiting[OPS];

static bool waits(const struct op *op) {
    return waiting[op - ops];
}

static void open_ops(void) {
    ops = aligned_alloc(OP_ALIGN, OPS * sizeof(*ops));
    for (unsigned k = 0; k < OPS; k++)
        ops[k] = (struct op){.kind = WIRE_LAUNCH};
}
TestSuite(op_order, .init = open_ops);

static void push(struct op_order *o, unsigned k) {
    cr_assert_eq(op_order_push(o, &ops[k]), 0);
}

static void begin(struct op_order *o, unsigned k) {
    cr_assert_eq(op_order_next(o, waits), &ops[k], "%u is not the next", k);
    op_order_begin(o, &ops[k]);
    ops[k].state = OP_RUNNING;
}

static void retire(struct op_order *o, unsigned k) {
    ops[k].state = OP_DONE;
    op_order_retire(o, &ops[k]);
}

Test(op_order, is_that_of_the_client) {
    struct op_order o = {.on = true};
    for (unsigned k = 0; k < OPS; k++)
        push(&o, k);
    for (unsigned k = 0; k < OPS; k++) {
        begin(&o, k);
        cr_expect_eq(o.running, 1);
        retire(&o, k);
        cr_expect_eq(o.running, 0);
    }
    cr_expect_null(op_order_next(&o, waits));
    op_order_finish(&o);
}

Test(op_order, those_that_wait_come_first_again_later) {
    struct op_order o = {.on = true};
    for (unsigned k = 0; k < 5; k++)
        push(&o, k);
    waiting[0] = waiting[2] = true;
    begin(&o, 1);
    retire(&o, 1);
    begin(&o, 3);
    waiting[2] = false;
    retire(&o, 3);
    begin(&o, 2);
    waiting[0] = false;
    retire(&o, 2);
    begin(&o, 0);
    begin(&o, 4); /* the caller checks that no others run */
    cr_expect_eq(o.running, 2);
    op_order_finish(&o);
}

Test(op_order, the_end_of_a_graph_holds_up_all) {
    struct op_order o = {.on = true};
    ops[0].kind = WIRE_GRAPH_SETTLE;
    push(&o, 0);
    push(&o, 1);
    begin(&o, 0);
    cr_expect_eq(o.running, 0);
    cr_expect_eq(o.open, 1);
    cr_expect_null(op_order_next(&o, waits));
    retire(&o, 0);
    begin(&o, 1);
    op_order_finish(&o);
}

Test(op_order, a_wait_for_a_value_does_not_count) {
    struct op_order o = {.on = true};
    ops[0].kind = WIRE_VALUE_WAIT;
    push(&o, 0);
    begin(&o, 0);
    cr_expect_eq(o.running + o.open, 0);
    retire(&o, 0);
    op_order_finish(&o);
}
