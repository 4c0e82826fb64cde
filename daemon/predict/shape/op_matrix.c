/* SPDX-License-Identifier: Apache-2.0
 *
 * Shape functions of matrix products.
 */
#include <ctype.h>
#include <string.h>

#include "daemon/predict/shape/op_matrix.h"

bool op_gemm(struct op_call *c) {
    const struct shape *a = op_in(c, 0), *b = op_in(c, 1);
    bool ta = attribute_int(c->n, "transA", 0) != 0, tb = attribute_int(c->n, "transB", 0) != 0;
    struct shape s = {.known = true, .rank = 2};

    if (!a || !b || a->rank != 2 || b->rank != 2) return false;
    if (a->dim[ta ? 0 : 1] != b->dim[tb ? 1 : 0]) return false;
    s.dim[0] = a->dim[ta ? 1 : 0];
    s.dim[1] = b->dim[tb ? 0 : 1];
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

/* The shape without its last `drop` axes. */
static struct shape front(const struct shape *s, uint32_t drop) {
    struct shape f = *s;

    f.rank = s->rank > drop ? s->rank - drop : 0;
    return f;
}

/* Follows numpy's matmul: a vector on the left is a row, on the right a column. */
bool op_matmul(struct op_call *c) {
    const struct shape *a = op_in(c, 0), *b = op_in(c, 1);
    struct shape s, fa, fb;

    if (!a || !b || a->rank == 0 || b->rank == 0) return false;
    if (a->dim[a->rank - 1] != b->dim[b->rank > 1 ? b->rank - 2 : 0]) return false;
    fa = front(a, 2);
    fb = front(b, 2);
    if (!op_broadcast(&fa, &fb, &s) || s.rank + 2 > SHAPE_RANK_MAX) return false;
    if (a->rank > 1) s.dim[s.rank++] = a->dim[a->rank - 2];
    if (b->rank > 1) s.dim[s.rank++] = b->dim[b->rank - 1];
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

/* ---- Einsum, for equations without "..." ----------------------------------------------------- */

#define EQUATION_BYTES 128

struct einsum {
    int64_t size[26]; /* indexed by letter; -1: no size yet */
    const char *result;
    char equation[EQUATION_BYTES];
};

static void squeeze_blanks(char *s) {
    char *to = s;

    for (; *s; s++)
        if (*s != ' ') *to++ = *s;
    *to = '\0';
}

/* Parses the term of one input and gives its letters the input's sizes. */
static bool take_term(struct einsum *e, const char **p, const struct shape *x) {
    uint32_t axis = 0;

    for (; islower((unsigned char)**p); ++*p, axis++) {
        int64_t *size = &e->size[**p - 'a'];

        if (axis >= x->rank || (*size >= 0 && *size != x->dim[axis])) return false;
        *size = x->dim[axis];
    }
    return axis == x->rank;
}

static bool read_equation(struct op_call *c, struct einsum *e) {
    const char *p = e->equation;

    memset(e->size, 0xff, sizeof(e->size));
    attribute_text(c->n, "equation", e->equation, sizeof(e->equation));
    squeeze_blanks(e->equation);
    for (uint32_t i = 0; i < c->n->inputs_count; i++) {
        const struct shape *x = op_in(c, i);

        if (!x || !take_term(e, &p, x)) return false;
        if (i + 1 < c->n->inputs_count && *p++ != ',') return false;
    }
    e->result = p + 2;
    return strncmp(p, "->", 2) == 0;
}

bool op_einsum(struct op_call *c) {
    struct shape s = {.known = true};
    struct einsum e = {.result = NULL};

    if (!read_equation(c, &e)) return false;
    for (const char *p = e.result; *p; p++) {
        if (!islower((unsigned char)*p) || e.size[*p - 'a'] < 0 || s.rank == SHAPE_RANK_MAX)
            return false;
        s.dim[s.rank++] = e.size[*p - 'a'];
    }
    return op_out(c, 0, &s, OP_TYPE_SAME);
}

bool op_einsum_work(struct op_call *c, double *out) {
    struct einsum e = {.result = NULL};

    if (!read_equation(c, &e)) return false;
    *out = 1;
    for (int i = 0; i < 26; i++)
        if (e.size[i] >= 0) *out *= (double)e.size[i];
    return true;
}
