/* SPDX-License-Identifier: Apache-2.0
 *
 * See alukernel.h.
 */
#include "test/lib/alu/alukernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/isa/dispatch/select.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/alu/aluref.h"

static void die(const char *what, const char *why) {
    fprintf(stderr, "alukernel: %s: %s\n", what, why);
    abort();
}

uint32_t alukernel_reg_bits(const struct alukernel *k, int32_t reg) {
    const char *name = k->func->regs[reg].name;
    return strlen(name) < 3 ? 0 : name[2] == 'p' ? 1 : (uint32_t)atoi(name + 2);
}

uint64_t alukernel_field(const struct alucase *c, char name) {
    switch (name) {
    case 'a': return c->a;
    case 'b': return c->b;
    case 'c': return c->c;
    case 'e': return c->e;
    default: return c->old;
    }
}

static void take_source(struct alukernel *k, struct alusubject *s, uint32_t n) {
    const struct ptx_operand *o = &s->inst->operands[n + 1];
    if (o->kind == PTX_OPND_IMM) {
        const uint32_t bytes = isa_operand_bytes(s->inst, n + 1);
        s->src[n].constant = o->imm & (bytes ? aluref_ones(8 * bytes) : 1);
        return;
    }
    if (o->kind != PTX_OPND_REG) die(s->inst->text, "not a register");
    s->src[n].name = k->func->regs[o->reg].name[1];
    s->src[n].bits = alukernel_reg_bits(k, o->reg);
    s->src[n].neg = o->negated;
}

static void take_subject(struct alukernel *k, const struct ptx_inst *i) {
    if (k->count == ALUKERNEL_INSTS) die(i->text, "too many instructions");
    struct alusubject *s = &k->subjects[k->count++];
    const struct ptx_operand *d = &i->operands[0];
    memset(s, 0, sizeof(*s));
    s->inst = i;
    if (d->kind == PTX_OPND_VEC) {
        s->d2 = d->elems[1].reg;
        s->d2_bits = alukernel_reg_bits(k, s->d2);
        d = &d->elems[0];
    }
    s->d = d->reg;
    s->d_bits = alukernel_reg_bits(k, s->d);
    for (uint32_t n = 0; n + 1 < i->operand_count && n < 4; n++)
        take_source(k, s, n);
}

void alukernel_load(struct alukernel *k, const char *name) {
    char path[256], why[160] = "";
    memset(k, 0, sizeof(*k));
    snprintf(path, sizeof(path), "build/data/alu/%s.ptx", name);
    FILE *f = fopen(path, "rb");
    if (!f) die(path, "cannot open (run from the repository's root)");
    k->text = malloc(1 << 20);
    k->bytes = fread(k->text, 1, 1 << 20, f);
    fclose(f);
    if (ptx_parse(k->text, k->bytes, &k->module, why, sizeof(why))) die(path, why);
    k->func = ptx_find_func(k->module, "alu");
    if (!k->func) die(path, "no kernel");
    if (k->func->unsupported) die(path, k->func->unsupported);
    for (uint32_t n = 0; n < k->func->inst_count; n++) {
        const struct ptx_inst *i = &k->func->insts[n];
        if (i->pred >= 0) take_subject(k, i); /* only instructions under test have a guard */
    }
    if (k->count < 20) die(path, "too few instructions");
}

void alukernel_finish(struct alukernel *k) {
    ptx_module_free(k->module);
    free(k->text);
}

void alukernel_expect(const struct alukernel *k, const struct alucase *c, bool carry,
                      struct aluexpect *out) {
    for (uint32_t n = 0; n < k->count; n++) {
        const struct alusubject *s = &k->subjects[n];
        struct aluref r = {.inst = s->inst, .d_bytes = s->d_bits / 8, .carry = carry};
        out[n] = (struct aluexpect){c->old & aluref_ones(s->d_bits), c->old & 1, 0};
        if (!c->guard) continue;
        for (uint32_t m = 0; m < 4; m++) {
            r.src[m] = s->src[m].name
                           ? alukernel_field(c, s->src[m].name) & aluref_ones(s->src[m].bits)
                           : s->src[m].constant;
            r.src[m] ^= s->src[m].neg;
        }
        if (!aluref_run(&r)) die(s->inst->text, "the reference does not know it");
        out[n] = (struct aluexpect){r.d, r.d2 & 1, r.ulps};
        carry = r.carry;
    }
}

/* Floating-point patterns as integers in the order of their values, so that a difference counts
 * units in the last place. */
static int64_t ordered(uint64_t v, uint32_t bits) {
    const uint64_t magnitude = v & aluref_ones(bits - 1);
    return v >> (bits - 1) & 1 ? -(int64_t)magnitude : (int64_t)magnitude;
}

bool alukernel_near(const struct alusubject *s, uint64_t got, const struct aluexpect *e) {
    if (got == e->d) return true;
    if (!e->ulps) return false;
    const enum ptx_type t = s->inst->types[0];
    const uint32_t bits = t == PTX_F16X2 || t == PTX_BF16X2 ? 16 : s->d_bits;
    for (uint32_t pos = 0; pos < s->d_bits; pos += bits) {
        const int64_t x = ordered(got >> pos & aluref_ones(bits), bits);
        const int64_t y = ordered(e->d >> pos & aluref_ones(bits), bits);
        if (x - y > (int64_t)e->ulps || y - x > (int64_t)e->ulps) return false;
    }
    return true;
}

void alukernel_print(const struct alusubject *s, const struct alucase *c, uint64_t got,
                     uint64_t want, const char *what) {
    fprintf(stderr,
            "%s [%s] %s: a=%llx b=%llx c=%llx e=%llx old=%llx guard=%d: got %llx want %llx\n",
            s->inst->text, isa_name(), what, (unsigned long long)c->a, (unsigned long long)c->b,
            (unsigned long long)c->c, (unsigned long long)c->e, (unsigned long long)c->old,
            (int)c->guard, (unsigned long long)got, (unsigned long long)want);
}
