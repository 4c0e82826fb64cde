/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the rows of a table and adds them up by name and shape.
 */
#include "daemon/kernels/kernel_import_part.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/kernels/kernel_set.h"

#define REMARK "==" /* a remark of ncu, such as "==PROF== Disconnected from process 1234" */

int kernel_import_bad(struct kernel_import *k, const char *fmt, ...) {
    char what[KERNEL_PROFILE_WHY_BYTES - 24];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    snprintf(k->why, sizeof(k->why), "line %u: %s", k->csv.line, what);
    return -EINVAL;
}

static bool at_remark(const struct csv *c) {
    return (size_t)(c->end - c->at) >= sizeof(REMARK) - 1 &&
           memcmp(c->at, REMARK, sizeof(REMARK) - 1) == 0;
}

/* Moves to the start of the next line. */
static void skip_line(struct csv *c) {
    const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));

    c->at = newline ? newline + 1 : c->end;
    c->next_line++;
}

int kernel_import_row(struct kernel_import *k) {
    int err;

    while (at_remark(&k->csv))
        skip_line(&k->csv);
    err = csv_next(&k->csv);
    if (err == -EINVAL) return kernel_import_bad(k, "%s", k->csv.why);
    if (err > 0) k->rows++;
    return err;
}

bool kernel_import_number(const char *text, double *out) {
    char copy[64];
    size_t n = 0;
    char *end;

    for (; *text; text++) {
        if (n + 1 == sizeof(copy) || !strchr("0123456789.,", *text)) return false;
        if (*text != ',') copy[n++] = *text; /* a thousands separator */
    }
    copy[n] = '\0';
    *out = strtod(copy, &end);
    return n > 0 && *end == '\0' && isfinite(*out);
}

void kernel_import_add(struct kernel_import_mean *mean, double value) {
    mean->sum += value;
    mean->count++;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static uint64_t hash_of(const struct kernel_profile_hint *h) {
    uint64_t words[sizeof(h->name) / sizeof(uint64_t) + 3] = {0};
    size_t n = sizeof(h->name) / sizeof(uint64_t);

    memcpy(words, h->name, strlen(h->name));
    words[n] = (uint64_t)h->grid[0] << 32 | h->grid[1];
    words[n + 1] = (uint64_t)h->grid[2] << 32 | h->block[0];
    words[n + 2] = (uint64_t)h->block[1] << 32 | h->block[2];
    return slotmap_hash(words, (uint32_t)n + 3, 0);
}

static int append(struct kernel_import *k, const struct kernel_profile_hint *hint, uint64_t hash) {
    if (k->count == KERNEL_SET_HINTS_MAX)
        return kernel_import_bad(k, "the table has more than %u kernels and shapes",
                                 KERNEL_SET_HINTS_MAX);
    if (k->count == k->cap) {
        uint32_t cap = k->cap ? 2 * k->cap : 64;
        struct kernel_import_sum *grown = realloc(k->sums, cap * sizeof(*grown));

        if (!grown) return -ENOMEM;
        k->sums = grown;
        k->cap = cap;
    }
    if (slotmap_reserve(&k->by_name, k->count + 1) < 0) return -ENOMEM;
    slotmap_add(&k->by_name, hash, k->count);
    k->sums[k->count++] = (struct kernel_import_sum){.hint = *hint};
    return 0;
}

int kernel_import_sum(struct kernel_import *k, const char *name, const uint32_t grid[3],
                      const uint32_t block[3], struct kernel_import_sum **out) {
    struct kernel_profile_hint hint = {0};
    struct slotmap_walk walk;
    uint32_t slot;
    uint64_t hash;
    int err;

    kernel_name_base(name, hint.name);
    memcpy(hint.grid, grid, sizeof(hint.grid));
    memcpy(hint.block, block, sizeof(hint.block));
    hash = hash_of(&hint);
    walk = slotmap_walk(&k->by_name, hash);
    while ((slot = slotmap_next(&k->by_name, &walk)) != SLOTMAP_NONE)
        if (kernel_profile_hint_order(&k->sums[slot].hint, &hint) == 0) break;
    if (slot == SLOTMAP_NONE) {
        err = append(k, &hint, hash);
        if (err < 0) return err;
        slot = k->count - 1;
    }
    *out = &k->sums[slot];
    return 0;
}
