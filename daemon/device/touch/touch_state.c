/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers and predicates at one place.
 */
#include "daemon/device/touch/touch_state.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS_WATCHED 4  /* rounds without widening */
#define ROUNDS_BOUNDED 16 /* rounds of widening to the next number that another register holds */

/* ---- predicates ------------------------------------------------------------------------------ */

void touch_pred_add(struct touch_pred *p, bool truth, const struct touch_atom *a) {
    if (!a->id || a->len == touch_mask(a->bits) || p->count[truth] == TOUCH_ATOMS) return;
    p->then[truth][p->count[truth]++] = *a;
}

static void add_all(struct touch_pred *p, bool truth, const struct touch_pred *of) {
    for (uint32_t i = 0; i < of->count[truth]; i++)
        touch_pred_add(p, truth, &of->then[truth][i]);
}

struct touch_pred touch_pred_not(const struct touch_pred *p) {
    static const enum touch_truth opposite[] = {
        [TOUCH_EITHER] = TOUCH_EITHER, [TOUCH_FALSE] = TOUCH_TRUE, [TOUCH_TRUE] = TOUCH_FALSE};
    struct touch_pred r = {.truth = opposite[p->truth], .tainted = p->tainted};
    for (int k = 0; k < 2; k++) {
        r.count[k] = p->count[!k];
        memcpy(r.then[k], p->then[!k], sizeof(r.then[k]));
    }
    return r;
}

/* When the result is false, it is unknown which operand is. */
struct touch_pred touch_pred_and(const struct touch_pred *a, const struct touch_pred *b) {
    struct touch_pred r = {.tainted = a->tainted || b->tainted};
    if (a->truth == TOUCH_FALSE || b->truth == TOUCH_FALSE) {
        r.truth = TOUCH_FALSE;
        return r;
    }
    if (a->truth == TOUCH_TRUE || b->truth == TOUCH_TRUE) {
        r = a->truth == TOUCH_TRUE ? *b : *a;
        r.tainted = a->tainted || b->tainted;
        return r;
    }
    add_all(&r, true, a);
    add_all(&r, true, b);
    return r;
}

struct touch_pred touch_pred_or(const struct touch_pred *a, const struct touch_pred *b) {
    struct touch_pred x = touch_pred_not(a), y = touch_pred_not(b), r = touch_pred_and(&x, &y);
    return touch_pred_not(&r);
}

static bool is_same(const struct touch_pred *a, const struct touch_pred *b, bool truth) {
    return a->count[truth] == b->count[truth] &&
           !memcmp(a->then[truth], b->then[truth], a->count[truth] * sizeof(struct touch_atom));
}

struct touch_pred touch_pred_either(const struct touch_pred *a, const struct touch_pred *b) {
    struct touch_pred r = {.truth = a->truth == b->truth ? a->truth : TOUCH_EITHER,
                           .tainted = a->tainted || b->tainted};
    for (int k = 0; k < 2; k++)
        if (is_same(a, b, k)) add_all(&r, k, a);
    return r;
}

/* ---- states ---------------------------------------------------------------------------------- */

static size_t value_bytes(uint32_t count) {
    return count * sizeof(struct touch_value);
}

static size_t state_bytes(const struct ptx_func *f, uint32_t pred_count) {
    return sizeof(struct touch_state) + value_bytes(f->reg_count) +
           pred_count * sizeof(struct touch_pred);
}

static void place_preds(struct touch_state *s) {
    s->preds = (struct touch_pred *)(void *)((char *)s->values + value_bytes(s->func->reg_count));
}

struct touch_state *touch_state_make(const struct ptx_func *f, const uint32_t *pred_of,
                                     uint32_t pred_count) {
    struct touch_state *s = calloc(1, state_bytes(f, pred_count));
    if (!s) return NULL;
    s->func = f;
    s->pred_of = pred_of;
    s->pred_count = pred_count;
    place_preds(s);
    for (uint32_t i = 0; i < f->reg_count; i++)
        s->values[i] = touch_any(touch_reg_bits(f, (int32_t)i));
    return s;
}

struct touch_state *touch_state_copy(const struct touch_state *s) {
    size_t bytes = state_bytes(s->func, s->pred_count);
    struct touch_state *copy = malloc(bytes);
    if (!copy) return NULL;
    memcpy(copy, s, bytes);
    place_preds(copy);
    return copy;
}

void touch_state_join(struct touch_state *into, const struct touch_state *other,
                      uint32_t *next_id) {
    for (uint32_t i = 0; i < into->func->reg_count; i++) {
        struct touch_value *v = &into->values[i];
        *v = touch_either(v, &other->values[i], touch_reg_bits(into->func, (int32_t)i));
        if (!v->id) v->id = ++*next_id;
    }
    for (uint32_t i = 0; i < into->pred_count; i++)
        into->preds[i] = touch_pred_either(&into->preds[i], &other->preds[i]);
}

/* The next number beyond `end` that another register holds, or one before it: the probable limit of
 * a loop. */
static int64_t next_bound(const struct touch_state *s, uint32_t bits, int64_t end, bool up) {
    int64_t most = (int64_t)(touch_mask(bits) / 2), best = up ? most : -most - 1;
    for (uint32_t i = 0; i < s->func->reg_count; i++) {
        const struct touch_value *v = &s->values[i];
        if (!touch_is_number(v) || touch_reg_bits(s->func, (int32_t)i) != bits) continue;
        int64_t at = touch_as_signed(v, bits).lo;
        if (up && at > end && at - 1 < best) best = at - 1;
        if (!up && at < end && at + 1 > best) best = at + 1;
    }
    return best;
}

/* Widens the ends that grew to the next bound; then to all numbers. */
static struct touch_value grown(const struct touch_state *s, const struct touch_value *old,
                                const struct touch_value *now, uint32_t bits, bool all) {
    struct touch_value r = touch_either(old, now, bits);
    struct touch_signed was = touch_as_signed(old, bits), is = touch_as_signed(&r, bits);
    bool tainted = r.tainted || r.generic;
    if (is.lo != was.lo) is.lo = next_bound(s, bits, is.lo, false);
    if (is.hi != was.hi) is.hi = next_bound(s, bits, is.hi, true);
    r = r.var || all ? touch_any(bits) : touch_range(is.lo, is.hi, bits);
    r.tainted = tainted;
    return r;
}

/* Equalities of registers, and implications of predicates, are dropped at once. */
bool touch_state_widen(struct touch_state *into, const struct touch_state *other, uint32_t round,
                       uint32_t *next_id) {
    bool grew = false;
    for (uint32_t i = 0; i < into->func->reg_count; i++) {
        uint32_t bits = touch_reg_bits(into->func, (int32_t)i);
        struct touch_value *v = &into->values[i];
        if (!touch_holds(v, &other->values[i], bits)) {
            *v = round < ROUNDS_WATCHED
                     ? touch_either(v, &other->values[i], bits)
                     : grown(into, v, &other->values[i], bits, round >= ROUNDS_BOUNDED);
            grew = true;
        }
        v->id = ++*next_id;
    }
    for (uint32_t i = 0; i < into->pred_count; i++) {
        struct touch_pred *p = &into->preds[i], now = *p;
        const struct touch_pred *o = &other->preds[i];
        if (now.truth != o->truth) now.truth = TOUCH_EITHER;
        now.tainted |= o->tainted;
        grew |= now.truth != p->truth || now.tainted != p->tainted;
        *p = (struct touch_pred){.truth = now.truth, .tainted = now.tainted};
    }
    return grew;
}

/* ---- implications ---------------------------------------------------------------------------- */

static bool apply(struct touch_state *s, const struct touch_atom *a) {
    for (uint32_t i = 0; i < s->func->reg_count; i++)
        if (s->values[i].id == a->id && !touch_meet(&s->values[i], a->lo, a->len, a->bits))
            return false;
    return true;
}

bool touch_state_assume(struct touch_state *s, int32_t pred, bool truth) {
    struct touch_pred *p = touch_pred_at(s, pred);
    if (p->truth == (truth ? TOUCH_FALSE : TOUCH_TRUE)) return false;
    for (uint32_t i = 0; i < p->count[truth]; i++)
        if (!apply(s, &p->then[truth][i])) return false;
    p->truth = truth ? TOUCH_TRUE : TOUCH_FALSE;
    return true;
}
