/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of LSTM, GRU and RNN. The input is a sequence; the outputs are one state per step
 * and the last states.
 */
#include "daemon/predict/shape/op_recurrent.h"

/* hidden_size may be omitted, because the recurrent weights have the shape [directions, gates x
 * hidden, hidden]. */
static int64_t hidden_size(const struct op_call *c) {
    const struct shape *r = op_in(c, 2);
    int64_t given = attribute_int(c->n, "hidden_size", 0);

    if (given > 0) return given;
    return r && r->rank == 3 ? r->dim[2] : 0;
}

static bool recurrent(struct op_call *c, uint32_t states) {
    const struct shape *x = op_in(c, 0);
    int64_t directions = attribute_says(c->n, "direction", "bidirectional") ? 2 : 1;
    int64_t hidden = hidden_size(c);
    bool batch_first = attribute_int(c->n, "layout", 0) != 0;
    struct shape all = {.known = true, .rank = 4}, last = {.known = true, .rank = 3};

    if (!x || x->rank != 3 || hidden < 1) return false;
    if (batch_first) {
        all = (struct shape){true, 4, {x->dim[0], x->dim[1], directions, hidden}};
        last = (struct shape){true, 3, {x->dim[0], directions, hidden}};
    } else {
        all = (struct shape){true, 4, {x->dim[0], directions, x->dim[1], hidden}};
        last = (struct shape){true, 3, {directions, x->dim[1], hidden}};
    }
    if (!op_out(c, 0, &all, OP_TYPE_SAME)) return false;
    for (uint32_t i = 1; i <= states; i++)
        if (!op_out(c, i, &last, OP_TYPE_SAME)) return false;
    return true;
}

bool op_lstm(struct op_call *c) {
    return recurrent(c, 2);
}

bool op_gru(struct op_call *c) {
    return recurrent(c, 1);
}

bool op_rnn(struct op_call *c) {
    return recurrent(c, 1);
}
