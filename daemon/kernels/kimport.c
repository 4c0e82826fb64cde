/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the header, adding up rows, making hints of the sums.
 */
#include "daemon/kernels/kimport.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/kernels/kimport_part.h"

#define MARK "\xef\xbb\xbf" /* of UTF-8, as some shells write it */
#define REMARK "=="         /* ncu: "==PROF== Disconnected from process 1234" */

int kimport_bad(struct kimport *k, const char *fmt, ...) {
    char what[KPROFILE_WHY_BYTES - 24];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    snprintf(k->report->why, sizeof(k->report->why), "line %u: %s", k->csv.line, what);
    return -EINVAL;
}

static bool at_remark(const struct csv *c) {
    return (size_t)(c->end - c->at) >= sizeof(REMARK) - 1 &&
           memcmp(c->at, REMARK, sizeof(REMARK) - 1) == 0;
}

/* Past the line at which it stands. */
static void skip_line(struct csv *c) {
    const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));

    c->at = newline ? newline + 1 : c->end;
    c->next_line++;
}

int kimport_row(struct kimport *k) {
    int rc;

    while (at_remark(&k->csv))
        skip_line(&k->csv);
    rc = csv_next(&k->csv);
    if (rc == -EINVAL) return kimport_bad(k, "%s", k->csv.why);
    if (rc > 0) k->report->rows++;
    return rc;
}

bool kimport_number(const char *text, double *out) {
    char copy[64];
    size_t n = 0;
    char *end;

    for (; *text; text++) {
        if (n + 1 == sizeof(copy) || !strchr("0123456789.,", *text)) return false;
        if (*text != ',') copy[n++] = *text; /* between thousands */
    }
    copy[n] = '\0';
    *out = strtod(copy, &end);
    return n > 0 && *end == '\0' && isfinite(*out);
}

void kimport_add(struct kimport_mean *mean, double value) {
    mean->sum += value;
    mean->count++;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static uint64_t hash_of(const struct kprofile_hint *h) {
    uint64_t words[sizeof(h->name) / sizeof(uint64_t) + 3] = {0};
    size_t n = sizeof(h->name) / sizeof(uint64_t);

    memcpy(words, h->name, strlen(h->name));
    words[n] = (uint64_t)h->grid[0] << 32 | h->grid[1];
    words[n + 1] = (uint64_t)h->grid[2] << 32 | h->block[0];
    words[n + 2] = (uint64_t)h->block[1] << 32 | h->block[2];
    return slotmap_hash(words, (uint32_t)n + 3, 0);
}

static int append(struct kimport *k, const struct kprofile_hint *hint, uint64_t hash) {
    if (k->count == KSET_HINTS_MAX)
        return kimport_bad(k, "more than %u kernels and shapes", KSET_HINTS_MAX);
    if (k->count == k->cap) {
        uint32_t cap = k->cap ? 2 * k->cap : 64;
        struct kimport_sum *grown = realloc(k->sums, cap * sizeof(*grown));

        if (!grown) return -ENOMEM;
        k->sums = grown;
        k->cap = cap;
    }
    if (slotmap_reserve(&k->by_name, k->count + 1) < 0) return -ENOMEM;
    slotmap_add(&k->by_name, hash, k->count);
    k->sums[k->count++] = (struct kimport_sum){.hint = *hint};
    return 0;
}

int kimport_sum(struct kimport *k, const char *name, const uint32_t grid[3],
                const uint32_t block[3], struct kimport_sum **out) {
    struct kprofile_hint hint = {0};
    struct slotmap_walk walk;
    uint32_t slot;
    uint64_t hash;
    int rc;

    kname_base(name, hint.name);
    memcpy(hint.grid, grid, sizeof(hint.grid));
    memcpy(hint.block, block, sizeof(hint.block));
    hash = hash_of(&hint);
    walk = slotmap_walk(&k->by_name, hash);
    while ((slot = slotmap_next(&k->by_name, &walk)) != SLOTMAP_NONE)
        if (kprofile_hint_order(&k->sums[slot].hint, &hint) == 0) break;
    if (slot == SLOTMAP_NONE) {
        rc = append(k, &hint, hash);
        if (rc < 0) return rc;
        slot = k->count - 1;
    }
    *out = &k->sums[slot];
    return 0;
}

/* ---- hints ----------------------------------------------------------------------------------- */

static double mean_of(const struct kimport_mean *m, double most) {
    double mean = m->count ? m->sum / m->count : 0;

    return mean < most ? mean : most;
}

/* The class that most rows have; unknown where two have as many. */
static uint8_t elected(const uint32_t votes[KPROFILE_CLASSES]) {
    uint8_t first = KPROFILE_UNKNOWN;
    bool tie = false;

    for (uint8_t c = KPROFILE_UNKNOWN + 1; c < KPROFILE_CLASSES; c++) {
        tie = votes[c] == votes[first] || (tie && votes[c] < votes[first]);
        if (votes[c] > votes[first]) first = c;
    }
    return tie ? KPROFILE_UNKNOWN : first;
}

static void conclude(struct kimport_sum *s) {
    struct kprofile_hint *h = &s->hint;

    h->duration_ns = (uint64_t)(mean_of(&s->ns, KPROFILE_NS_MAX) + 0.5);
    h->sms = (uint32_t)(mean_of(&s->sms, KPROFILE_SMS_MAX) + 0.5);
    h->compute_milli = (uint16_t)(10 * mean_of(&s->compute_percent, 100) + 0.5);
    h->memory_milli = (uint16_t)(10 * mean_of(&s->memory_percent, 100) + 0.5);
    h->class = elected(s->votes);
    if (s->compute_percent.count || s->memory_percent.count)
        h->class = kprofile_classify(h->compute_milli, h->memory_milli);
}

static bool says_something(const struct kimport_sum *s) {
    return s->ns.count || s->compute_percent.count || s->memory_percent.count;
}

/* The sums as hints of the set: all of them or none. */
static int deliver(struct kimport *k, struct kset *s) {
    struct kprofile_hint *hints = malloc((k->count + 1) * sizeof(*hints));
    uint32_t count = 0;
    int rc = -ENOMEM;

    for (uint32_t i = 0; hints && i < k->count; i++) {
        conclude(&k->sums[i]);
        if (says_something(&k->sums[i])) hints[count++] = k->sums[i].hint;
    }
    if (hints && count == 0) rc = kimport_bad(k, "the end, and no row says anything of use");
    if (hints && count > 0) rc = kset_add_hints(s, hints, count);
    if (rc == -ENOSPC) {
        snprintf(k->report->why, sizeof(k->report->why),
                 "its %u hints and the %u that are there are more than %u; forget some first",
                 count, s->hint_count, KSET_HINTS_MAX);
        rc = -EINVAL;
    }
    k->report->hints = count;
    free(hints);
    return rc;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Reads the lines up to the header, each as a row of its own since they may be anything. */
static int find_header(struct kimport *k, int (**rows)(struct kimport *k)) {
    struct csv *c = &k->csv;
    const char *end = c->end;
    int rc = 0;

    *rows = NULL;
    while (c->at < end && !*rows && rc != -ENOMEM) {
        const char *newline = memchr(c->at, '\n', (size_t)(end - c->at));
        uint32_t line = c->next_line;

        c->end = newline ? newline : end;
        rc = csv_next(c);
        if (rc > 0 && kimport_is_orion(c)) *rows = kimport_orion;
        if (rc > 0 && kimport_is_ncu(c)) *rows = kimport_ncu;
        c->at = newline ? newline + 1 : end;
        c->next_line = line + 1;
        c->end = end;
    }
    if (rc == -ENOMEM || *rows) return rc == -ENOMEM ? rc : 0;
    snprintf(k->report->why, sizeof(k->report->why),
             "no line is a header: 'Name,Profile,Memory_footprint,SM_usage,Duration', or one of "
             "ncu --csv with \"Kernel Name\"");
    return -EINVAL;
}

int kimport_table(struct kset *s, const char *text, size_t bytes, struct kimport_report *report) {
    struct kimport k = {.report = report};
    int (*rows)(struct kimport * k);
    int rc;

    *report = (struct kimport_report){.format = "none"};
    if (bytes >= sizeof(MARK) - 1 && memcmp(text, MARK, sizeof(MARK) - 1) == 0) {
        text += sizeof(MARK) - 1;
        bytes -= sizeof(MARK) - 1;
    }
    csv_init(&k.csv, text, bytes);
    rc = find_header(&k, &rows);
    if (rc == 0) rc = rows(&k);
    if (rc == 0) rc = deliver(&k, s);
    slotmap_finish(&k.by_name);
    free(k.sums);
    csv_finish(&k.csv);
    return rc;
}
