/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/instructions/ptx_wgmma.h"

#include <stdio.h>
#include <string.h>

/* ---- types ----------------------------------------------------------------------------------- */

enum { HALF_SUM = 1, REAL_SUM = 2, WORD_SUM = 4 };

static const struct factor {
    const char *name;
    uint16_t k;       /* elements of a row, which has 32 bytes */
    uint8_t partners; /* factors with equal numbers can be multiplied with each other */
    uint8_t sums;
    uint32_t signs;
    bool turns;
} factors[] = {
    {"f16", 16, 1, HALF_SUM | REAL_SUM, 0x80008000, true},
    {"bf16", 16, 2, REAL_SUM, 0x80008000, true},
    {"tf32", 8, 3, REAL_SUM, 0x80000000, false},
    {"e4m3", 32, 4, HALF_SUM | REAL_SUM, 0x80808080, false},
    {"e5m2", 32, 4, HALF_SUM | REAL_SUM, 0x80808080, false},
    {"s8", 32, 5, WORD_SUM, 0, false},
    {"u8", 32, 5, WORD_SUM, 0, false},
    {"b1", 256, 6, WORD_SUM, 0, false},
};

static const struct sum {
    const char *name;
    uint8_t set;
    enum ptx_type type; /* type of the sum's registers */
} sums[] = {
    {"f16", HALF_SUM, PTX_B32},
    {"f32", REAL_SUM, PTX_F32},
    {"s32", WORD_SUM, PTX_S32},
};

/* ---- words ----------------------------------------------------------------------------------- */

struct spelling {
    const struct sum *sum;
    const struct factor *a, *b;
    unsigned n, k;
    bool fence, commit, wait, multiply, sync, aligned, sparse, satfinite, and, popc;
};

static bool is(const char *word, const char *text, size_t len) {
    return strlen(word) == len && memcmp(word, text, len) == 0;
}

static bool read_shape(struct spelling *s, const char *w, size_t len) {
    char text[16];
    int used = 0;
    if (s->n || len >= sizeof(text) || w[0] != 'm') return false;
    memcpy(text, w, len);
    text[len] = 0;
    return sscanf(text, "m64n%3uk%3u%n", &s->n, &s->k, &used) == 2 && !text[used];
}

/* Reads a type: the first is the type of the sum, the others are the types of a and b. */
static bool read_type(struct spelling *s, const char *w, size_t len) {
    if (!s->sum) {
        for (size_t k = 0; !s->sum && k < sizeof(sums) / sizeof(sums[0]); k++)
            if (is(sums[k].name, w, len)) s->sum = &sums[k];
        return s->sum != NULL;
    }
    for (size_t k = 0; !s->b && k < sizeof(factors) / sizeof(factors[0]); k++) {
        if (!is(factors[k].name, w, len)) continue;
        *(s->a ? &s->b : &s->a) = &factors[k];
        return true;
    }
    return false;
}

static bool read_word(struct spelling *s, const char *w, size_t len) {
    struct {
        const char *name;
        bool *flag;
    } flags[] = {{"fence", &s->fence},
                 {"commit_group", &s->commit},
                 {"wait_group", &s->wait},
                 {"mma_async", &s->multiply},
                 {"sync", &s->sync},
                 {"aligned", &s->aligned},
                 {"sp", &s->sparse},
                 {"sp::ordered_metadata", &s->sparse},
                 {"satfinite", &s->satfinite},
                 {"and", &s->and },
                 {"popc", &s->popc}};
    for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++)
        if (!*flags[k].flag && is(flags[k].name, w, len)) return *flags[k].flag = true;
    return read_shape(s, w, len) || read_type(s, w, len);
}

static bool read_all(struct spelling *s, const char *text, char *why, size_t why_bytes) {
    for (const char *w = strchr(text, '.'); w;) {
        const char *end = strchr(++w, '.');
        const size_t len = end ? (size_t)(end - w) : strlen(w);
        if (!read_word(s, w, len)) {
            snprintf(why, why_bytes, "modifier '.%.*s' does not apply to the operation",
                     len > 60 ? 60 : (int)len, w);
            return false;
        }
        w = end;
    }
    if (s->sync) return true; /* ptxas does not demand .aligned */
    snprintf(why, why_bytes, ".sync is needed");
    return false;
}

/* ---- forms ----------------------------------------------------------------------------------- */

/* True if a product can have this n. Integers have fewer widths. */
static bool width_fits(const struct spelling *s) {
    const bool words = s->sum->set == WORD_SUM;
    return s->n >= 8 && s->n <= 256 && s->n % 8 == 0 &&
           (!words || s->n % 16 == 0 || s->n == 8 || s->n == 24);
}

static bool multiplies(const struct spelling *s) {
    if (!s->sum || !s->b || s->a->partners != s->b->partners || !(s->a->sums & s->sum->set))
        return false;
    const bool bits = s->a->k == 256, words = s->sum->set == WORD_SUM;
    return s->k == (s->sparse ? 2u : 1u) * s->a->k && width_fits(s) && s->and == bits &&
           s->popc == bits && !(bits && s->sparse) && (!s->satfinite || (words && !bits));
}

static void describe(const struct spelling *s, struct ptx_wgmma *out) {
    *out = (struct ptx_wgmma){.verb = s->sparse ? PTX_WGMMA_SPARSE : PTX_WGMMA_MULTIPLY,
                              .sum_regs = (uint8_t)(s->sum->set == HALF_SUM ? s->n / 4 : s->n / 2),
                              .sum_type = (uint8_t)s->sum->type,
                              .n = (uint16_t)s->n,
                              .negates = s->sum->set != WORD_SUM,
                              .turns = s->a->turns,
                              .signs = s->a->signs};
    snprintf(out->mma, sizeof(out->mma), "mma.sync.aligned.m16n8k%u.row.col%s.%s.%s.%s.%s%s",
             s->a->k, s->satfinite ? ".satfinite" : "", s->sum->name, s->a->name, s->b->name,
             s->sum->name, s->and ? ".and.popc" : "");
}

/* True for one of fence, commit_group and wait_group without any word of a product. */
static bool stands_alone(const struct spelling *s) {
    const bool product =
        s->multiply || s->sum || s->n || s->sparse || s->satfinite || s->and || s->popc;
    return s->fence + s->commit + s->wait == 1 && !product;
}

bool ptx_wgmma_find(const char *text, struct ptx_wgmma *out, char *why, size_t why_bytes) {
    struct spelling s = {0};
    *out = (struct ptx_wgmma){0};
    if (!read_all(&s, text, why, why_bytes)) return false;
    if (stands_alone(&s)) {
        out->verb = s.fence ? PTX_WGMMA_FENCE : s.commit ? PTX_WGMMA_COMMIT : PTX_WGMMA_WAIT;
        return true;
    }
    if (s.multiply && !s.fence && !s.commit && !s.wait && multiplies(&s)) {
        describe(&s, out);
        return true;
    }
    snprintf(why, why_bytes, "the shape does not exist for these types");
    return false;
}

/* ---- operands -------------------------------------------------------------------------------- */

static struct ptx_want *add(struct ptx_sig *sig, enum ptx_type t) {
    struct ptx_want *want = &sig->wants[sig->most++];
    if (t) ptx_rules_want(want, t);
    return want;
}

/* If a is in registers, the instruction does not say how a is stored. */
static void want_product(const struct ptx_wgmma *m, struct ptx_sig *sig) {
    struct ptx_want *d = add(sig, (enum ptx_type)m->sum_type);
    d->kinds = PTX_WANT_ELEMENTS | PTX_WANT_RESULT;
    d->count = m->sum_regs;
    struct ptx_want *a = add(sig, PTX_U64); /* or a list; the decoder checks its width */
    ptx_rules_want(a, PTX_B32);
    a->kinds = PTX_WANT_ELEMENTS | PTX_WANT_SINGLE | PTX_WANT_INT;
    a->count = PTX_WGMMA_A_REGS;
    add(sig, PTX_U64);
    add(sig, PTX_PRED)->kinds = 0;
    for (uint32_t k = 0; k < (m->negates ? 2u : 0u) + (m->turns ? 2u : 0u); k++)
        add(sig, PTX_NONE)->kinds = PTX_WANT_INT;
    sig->least = (uint8_t)(sig->most - (m->turns ? 1 : 0));
    sig->optional = sig->most;
}

bool ptx_wgmma_match(const char *text, struct ptx_sig *sig, char *why, size_t why_bytes) {
    struct ptx_wgmma m;
    *sig = (struct ptx_sig){.open = true};
    if (!ptx_wgmma_find(text, &m, why, why_bytes)) return false;
    if (m.verb == PTX_WGMMA_SPARSE) return true;
    *sig = (struct ptx_sig){0};
    if (m.verb == PTX_WGMMA_WAIT) add(sig, PTX_NONE)->kinds = PTX_WANT_INT;
    sig->least = sig->most;
    if (m.verb == PTX_WGMMA_MULTIPLY) want_product(&m, sig);
    return true;
}
