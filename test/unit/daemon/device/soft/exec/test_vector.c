/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors that a warp loads and stores: all lanes adjacent, all at one address, and other orders,
 * on all builds of the handlers; and accesses where only one lane's is invalid.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "test/lib/ptx/ptxrun.h"

#define LANES 32
#define BYTES (LANES * 16)

static void each_build(void (*fn)(void)) {
    static const char *const builds[] = {"base", "v3", "v4"};
    for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++) {
        setenv("SALUS_SOFT_ISA", builds[b], 1);
        if (strcmp(isa_name(), builds[b]) == 0) fn();
    }
    unsetenv("SALUS_SOFT_ISA");
}

/* The vector that each lane accesses, as PTX that computes %j from %l. */
static const struct order {
    const char *text;
    uint32_t times, plus, at_most;
} orders[] = {
    {"mov.u32 %j, %l;", 1, 0, 31},
    {"mov.u32 %j, 5;", 0, 5, 31},
    {"sub.u32 %j, 31, %l;", 31, 31, 31}, /* 31 - l, as 31 * l + 31 of 32 */
    {"min.u32 %j, %l, 30;", 1, 0, 30},   /* except the last lane */
    {"mad.lo.u32 %j, %l, 17, 3; and.b32 %j, %j, 31;", 17, 3, 31},
};

static uint32_t taken(const struct order *o, uint32_t l) {
    const uint32_t j = (o->times * l + o->plus) % LANES;
    return j < o->at_most ? j : o->at_most;
}

static const struct shape {
    const char *type, *regs, *twisted;
    uint32_t bytes, parts;
} shapes[] = {
    {"v2.u32", "{%a0, %a1}", "{%a1, %a0}", 8, 2},
    {"v4.u32", "{%a0, %a1, %a2, %a3}", "{%a3, %a2, %a1, %a0}", 16, 4},
    {"v2.u64", "{%b0, %b1}", "{%b1, %b0}", 16, 2},
    {"v4.u16", "{%h0, %h1, %h2, %h3}", "{%h3, %h2, %h1, %h0}", 8, 4},
};

/* in -> shared memory or not -> out; each part of a vector is stored in the place of another
 * part. */
static struct ptxrun *load_kernel(const struct shape *s, const struct order *o, bool shared,
                                  const char *guard) {
    char text[4096];
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 in, .param .u64 out) {\n"
             ".shared .align 16 .b8 sh[%d]; .reg .b64 %%in, %%out, %%at, %%b<2>;\n"
             ".reg .b32 %%l, %%j, %%s, %%t, %%a<4>; .reg .b16 %%h<4>; .reg .pred %%p;\n"
             "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out]; mov.u32 %%l, %%laneid; %s\n"
             "mov.u32 %%t, sh; mad.lo.u32 %%s, %%l, %u, %%t; mad.lo.u32 %%t, %%j, %u, %%t;\n"
             "mad.wide.u32 %%at, %%l, %u, %%in; mad.wide.u32 %%in, %%j, %u, %%in;\n"
             "mad.wide.u32 %%out, %%l, %u, %%out; setp.ne.u32 %%p, %%l, 7;\n",
             BYTES, o->text, s->bytes, s->bytes, s->bytes, s->bytes, s->bytes);
    size_t n = strlen(text);
    if (shared)
        snprintf(text + n, sizeof(text) - n,
                 "ld.global.%s %s, [%%at]; st.shared.%s [%%s], %s; bar.warp.sync -1;\n"
                 "%s ld.shared.%s %s, [%%t];\n",
                 s->type, s->regs, s->type, s->regs, guard, s->type, s->regs);
    else
        snprintf(text + n, sizeof(text) - n, "%s ld.global.%s %s, [%%in];\n", guard, s->type,
                 s->regs);
    n = strlen(text);
    snprintf(text + n, sizeof(text) - n, "%s st.global.%s [%%out], %s; ret; }\n", guard, s->type,
             s->twisted);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s: %s", text, r->why);
    return r;
}

/* The number of sectors that one warp's accesses touch; a lane's vector begins in one sector. */
static uint64_t sectors(const unsigned char *at, const struct shape *s, const struct order *o,
                        uint32_t mask) {
    uint64_t seen[LANES], count = 0;
    for (uint32_t l = 0; l < LANES; l++) {
        uint64_t k = 0, sector = (uint64_t)(uintptr_t)(at + (o ? taken(o, l) : l) * s->bytes) / 32;
        if (!(mask >> l & 1)) continue;
        while (k < count && seen[k] != sector)
            k++;
        if (k == count) seen[count++] = sector;
    }
    return count;
}

static void copies_as(const struct shape *s, const struct order *o, bool shared, bool guarded) {
    struct ptxrun *r = load_kernel(s, o, shared, guarded ? "@%p" : "");
    const uint32_t part = s->bytes / s->parts;
    unsigned char *in = ptxrun_alloc(r, LANES * s->bytes), *out = ptxrun_alloc(r, LANES * s->bytes);
    for (uint32_t k = 0; k < LANES * s->bytes; k++) {
        in[k] = (unsigned char)(k * 37 + k / 256 * 11 + 1);
        out[k] = 0xee;
    }
    /* The second block's accesses reuse the window that the first block found. */
    const int err =
        ptxrun_launch(r, "k", 2, LANES, 2, (uint64_t)(uintptr_t)in, (uint64_t)(uintptr_t)out);
    cr_assert_eq(err, 0, "%s: %s", s->type, r->result.text);
    const uint32_t mask = guarded ? ~(1u << 7) : ~0u;
    const uint64_t loaded = sectors(in, s, shared ? NULL : o, shared ? ~0u : mask);
    const uint64_t traffic = 2 * 32 * (loaded + sectors(out, s, NULL, mask));
    cr_assert_eq(r->result.memory_bytes, traffic, "%s, %s, %s: %llu bytes, not %llu", s->type,
                 o->text, isa_name(), (unsigned long long)r->result.memory_bytes,
                 (unsigned long long)traffic);
    for (uint32_t l = 0; l < LANES; l++)
        for (uint32_t k = 0; k < s->bytes; k++) {
            const uint32_t from = s->parts - 1 - k / part;
            const bool kept = guarded && l == 7;
            const unsigned char want =
                kept ? 0xee : in[taken(o, l) * s->bytes + from * part + k % part];
            cr_assert_eq(out[l * s->bytes + k], want, "%s, %s, lane %u, byte %u, %s%s: %x, not %x",
                         s->type, o->text, l, k, isa_name(), shared ? ", shared" : "",
                         out[l * s->bytes + k], want);
        }
    ptxrun_destroy(r);
}

static void all_orders(void) {
    for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
        for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++)
            for (unsigned how = 0; how < 4; how++)
                copies_as(&shapes[s], &orders[o], how & 1, how & 2);
}

Test(vector, every_lane_has_its_own) {
    each_build(all_orders);
}

/* The memory ends, or is misaligned, at the last lane's vector, or at the one that all lanes
 * access. */
static void bad_one(const char *order, int64_t move, bool shared, bool store, int want) {
    char text[2048];
    const char *space = shared ? "shared" : "global";
    snprintf(text, sizeof(text),
             ".version 9.0\n.target sm_90\n.address_size 64\n"
             ".visible .entry k(.param .u64 in) {\n"
             ".shared .align 16 .b8 sh[%d]; .reg .b64 %%at; .reg .b32 %%l, %%j, %%s, %%a<4>;\n"
             "ld.param.u64 %%at, [in]; mov.u32 %%l, %%laneid; %s\n"
             "ld.global.u32 %%a0, [%%at]; mov.u32 %%s, sh; mad.lo.u32 %%s, %%j, 16, %%s;\n"
             "mad.wide.u32 %%at, %%j, 16, %%at;\n",
             BYTES, order);
    const size_t n = strlen(text);
    /* first valid, then invalid accesses, which reuse the window */
    for (unsigned again = 0; again < 2; again++) {
        char access[256];
        snprintf(access, sizeof(access),
                 store ? "st.%s.v4.u32 [%s+%lld], {%%a0, %%a1, %%a2, %%a3};\n"
                       : "ld.%s.v4.u32 {%%a0, %%a1, %%a2, %%a3}, [%s+%lld];\n",
                 space, shared ? "%s" : "%at", again ? (long long)move : 0ll);
        strncat(text, access, sizeof(text) - strlen(text) - 1);
    }
    strncat(text + n, "ret; }\n", sizeof(text) - strlen(text) - 1);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s", r->why);
    void *in = ptxrun_alloc(r, BYTES);
    const int err = ptxrun_launch(r, "k", 1, LANES, 1, (uint64_t)(uintptr_t)in);
    cr_assert_eq(err, want, "%s by %lld, %s, %s: %d %s", order, (long long)move, space, isa_name(),
                 err, r->result.text);
    ptxrun_destroy(r);
}

static void bad_ones(void) {
    for (unsigned how = 0; how < 4; how++) {
        const bool shared = how & 1, store = how & 2;
        bad_one("mov.u32 %j, %l;", 0, shared, store, 0);
        bad_one("mov.u32 %j, %l;", 16, shared, store, ERR_ILLEGAL_ADDRESS);
        bad_one("mov.u32 %j, %l;", -16, shared, store, ERR_ILLEGAL_ADDRESS);
        bad_one("mov.u32 %j, 31;", 0, shared, store, 0);
        bad_one("mov.u32 %j, 31;", 16, shared, store, ERR_ILLEGAL_ADDRESS);
        bad_one("mov.u32 %j, 3;", 8, shared, store, ERR_MISALIGNED);
        bad_one("min.u32 %j, %l, 30;", 8, shared, store, ERR_MISALIGNED);
    }
}

Test(vector, the_ends_are_checked) {
    each_build(bad_ones);
}

/* All lanes store to one place: the last lane's vector stays, and nothing around it changes. */
static void store_one(void) {
    static const char text[] =
        ".version 9.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 out) { .reg .b64 %out; .reg .b32 %l, %m;\n"
        "ld.param.u64 %out, [out]; mov.u32 %l, %laneid; mul.lo.u32 %m, %l, 3;\n"
        "st.global.v4.u32 [%out+64], {%l, %m, %l, %m}; ret; }\n";
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    cr_assert(r->module, "%s", r->why);
    uint32_t *out = ptxrun_alloc(r, 1024);
    cr_assert_eq(ptxrun_launch(r, "k", 2, LANES, 1, (uint64_t)(uintptr_t)out), 0);
    for (uint32_t k = 0; k < 256; k++)
        cr_assert_eq(out[k], k / 4 == 4 ? (k % 2 ? 93 : 31) : 0, "%s: word %u: %u", isa_name(), k,
                     out[k]);
    ptxrun_destroy(r);
}

Test(vector, one_place_keeps_the_last_lanes) {
    each_build(store_one);
}
