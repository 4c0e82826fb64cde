/* SPDX-License-Identifier: Apache-2.0
 *
 * The slab of operations: a new operation contains nothing of the previous contents of its memory.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/stream/op.h"

#define GARBAGE 0xa5

static struct op_pool pool;

static void open_pool(void) {
    op_pool_init(&pool);
}

static void close_pool(void) {
    op_pool_finish(&pool);
}
TestSuite(op, .init = open_pool, .fini = close_pool);

/* Takes an operation whose memory was written by an earlier one. */
static struct op *take_used(uint16_t kind) {
    struct op *op = op_take(&pool, kind, 0);
    cr_assert(op);
    memset((void *)op, GARBAGE, sizeof(*op));
    op->room = 0;
    op_give(&pool, op);
    cr_assert_eq(op_take(&pool, kind, 0), op, "another one was taken");
    return op;
}

Test(op, taken_has_no_result_of_an_earlier_one) {
    static const struct dev_op none;
    const struct op *op = take_used(WIRE_COPY);
    cr_assert_eq(op->dev.suspects, 0, "it is suspected of an earlier one's deed");
    cr_assert_eq(memcmp(&op->dev, &none, offsetof(struct dev_op, fault_text) + 1), 0);
}

Test(op, taken_is_in_no_order_and_of_no_earlier_worker) {
    const struct op *op = take_used(WIRE_LAUNCH);
    cr_assert_not(op->again, "it is done again");
    cr_assert_not(op->counted);
    cr_assert_not(op->blocking);
    cr_assert_null(op->stream);
    cr_assert_null(op->waiters);
    cr_assert_null(op->next);
    cr_assert_eq(op->state, OP_QUEUED);
}
