/* SPDX-License-Identifier: Apache-2.0
 *
 * Source: PTX ISA, "Floating Point Instructions". It says of mad.f32 without a rounding mode: "When
 * JIT-compiled for SM 2.0 devices, mad.f32 is implemented as a fused multiply-add (i.e.,
 * fma.rn.ftz.f32)".
 */
#include "daemon/device/soft/instructions/ptx_legacy.h"

#include <stdio.h>
#include <string.h>

#define LEGACY_ROUNDED 14u   /* the first version that demands rounding modes and `.approx` */
#define LEGACY_SUBNORMAL 20u /* the first target with subnormal numbers in single precision */

/* Operations that flush in single precision on early targets, and the qualifiers that f32 and f64
 * have by default before PTX 1.4. */
static const struct legacy {
    const char *name;
    const char *f32, *f64;
} legacies[] = {
    {"mad", NULL, ".rn"},
    {"div", ".approx", ".rn"},
    {"rcp", ".approx", ".rn"},
    {"sqrt", ".approx", ".rn"},
    {"rsqrt", ".approx", ".approx"},
    {"sin", ".approx", NULL},
    {"cos", ".approx", NULL},
    {"lg2", ".approx", NULL},
    {"ex2", ".approx", NULL},
    {"add", NULL, NULL},
    {"sub", NULL, NULL},
    {"mul", NULL, NULL},
    {"abs", NULL, NULL},
    {"neg", NULL, NULL},
    {"min", NULL, NULL},
    {"max", NULL, NULL},
    {"setp", NULL, NULL},
    {"set", NULL, NULL},
    {"slct", NULL, NULL},
    {"cvt", NULL, NULL},
};

struct words {
    const char *text;
    size_t len;
};

static bool has(struct words w, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= w.len; i++)
        if (!memcmp(w.text + i, word, n) && (i + n == w.len || w.text[i + n] == '.')) return true;
    return false;
}

static bool is_rounded(struct words w) {
    static const char *const modes[] = {".rn", ".rz", ".rm", ".rp", ".approx", ".full"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (has(w, modes[i])) return true;
    return false;
}

static const struct legacy *find(const char *text, size_t len) {
    for (size_t i = 0; i < sizeof(legacies) / sizeof(legacies[0]); i++)
        if (strlen(legacies[i].name) == len && !memcmp(legacies[i].name, text, len))
            return &legacies[i];
    return NULL;
}

/* True if the operation flushes. Source, PTX ISA: "In PTX ISA versions 1.4 and earlier, the cvt
 * instruction did not flush single-precision subnormal inputs or results to zero if the destination
 * type size was 64-bits." */
static bool flushes(const struct legacy *l, struct words w) {
    if (!has(w, ".f32") || has(w, ".ftz")) return false;
    return strcmp(l->name, "cvt") != 0 || !(has(w, ".f64") || has(w, ".u64") || has(w, ".s64"));
}

static const char *rounding(const struct legacy *l, struct words w, uint32_t version,
                            uint32_t target) {
    if (is_rounded(w)) return NULL;
    if (!strcmp(l->name, "mad") && has(w, ".f32")) return target < LEGACY_SUBNORMAL ? ".rn" : NULL;
    if (version >= LEGACY_ROUNDED) return NULL;
    return has(w, ".f32") ? l->f32 : has(w, ".f64") ? l->f64 : NULL;
}

bool ptx_legacy(uint32_t version, uint32_t target, const char *text, size_t len,
                char out[PTX_LEGACY_BYTES]) {
    const char *dot = memchr(text, '.', len);
    if (!dot) return false;
    struct words w = {dot, len - (size_t)(dot - text)};
    const struct legacy *l = find(text, (size_t)(dot - text));
    if (!l) return false;
    const char *round = rounding(l, w, version, target);
    const char *flush = target < LEGACY_SUBNORMAL && flushes(l, w) ? ".ftz" : NULL;
    if (!round && !flush) return false;
    int n = snprintf(out, PTX_LEGACY_BYTES, "%s%s%s%.*s", l->name, round ? round : "",
                     flush ? flush : "", (int)w.len, w.text);
    return n > 0 && (size_t)n < PTX_LEGACY_BYTES;
}
