/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the header of a table and turns the sums of its rows into hints.
 */
#include "daemon/kernels/kernel_import.h"
#include "daemon/kernels/kernel_import_ncu.h"
#include "daemon/kernels/kernel_import_orion.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/kernels/kernel_import_part.h"

#define MARK "\xef\xbb\xbf" /* UTF-8 byte order mark, which some shells write */

/* ---- hints ----------------------------------------------------------------------------------- */

static double mean_of(const struct kernel_import_mean *m, double most) {
    double mean = m->count ? m->sum / m->count : 0;

    return mean < most ? mean : most;
}

/* The class with the most votes; KERNEL_PROFILE_UNKNOWN on a tie. */
static uint8_t elected(const uint32_t votes[KERNEL_PROFILE_CLASSES]) {
    uint8_t first = KERNEL_PROFILE_UNKNOWN;
    bool tie = false;

    for (unsigned c = KERNEL_PROFILE_UNKNOWN + 1; c < KERNEL_PROFILE_CLASSES; c++) {
        tie = votes[c] == votes[first] || (tie && votes[c] < votes[first]);
        if (votes[c] > votes[first]) first = (uint8_t)c;
    }
    return tie ? KERNEL_PROFILE_UNKNOWN : first;
}

static void conclude(struct kernel_import_sum *s) {
    struct kernel_profile_hint *h = &s->hint;

    h->duration_ns = (uint64_t)(mean_of(&s->ns, KERNEL_PROFILE_NS_MAX) + 0.5);
    h->sms = (uint32_t)(mean_of(&s->sms, KERNEL_PROFILE_SMS_MAX) + 0.5);
    h->compute_milli = (uint16_t)(10 * mean_of(&s->compute_percent, 100) + 0.5);
    h->memory_milli = (uint16_t)(10 * mean_of(&s->memory_percent, 100) + 0.5);
    h->class = elected(s->votes);
    if (s->compute_percent.count || s->memory_percent.count)
        h->class = kernel_profile_classify(h->compute_milli, h->memory_milli);
}

static bool says_something(const struct kernel_import_sum *s) {
    return s->ns.count || s->compute_percent.count || s->memory_percent.count;
}

/* Adds the sums to the set as hints: all of them, or none on failure. */
static int deliver(struct kernel_import *k, struct kernel_set *s) {
    struct kernel_profile_hint *hints = malloc((k->count + 1) * sizeof(*hints));
    uint32_t count = 0;
    int err = -ENOMEM;

    for (uint32_t i = 0; hints && i < k->count; i++) {
        conclude(&k->sums[i]);
        if (says_something(&k->sums[i])) hints[count++] = k->sums[i].hint;
    }
    if (hints && count == 0) err = kernel_import_bad(k, "the table has no row with usable values");
    if (hints && count > 0) err = kernel_set_add_hints(s, hints, count);
    if (err == -ENOSPC) {
        snprintf(k->why, sizeof(k->why),
                 "%u new hints and %u present ones exceed the limit of %u; run 'salusctl profile "
                 "forget' first",
                 count, s->hint_count, KERNEL_SET_HINTS_MAX);
        err = -EINVAL;
    }
    k->hints = count;
    free(hints);
    return err;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Reads lines up to the header. Each line is parsed as a separate row, because the lines before the
 * header may contain anything. */
static int find_header(struct kernel_import *k, int (**rows)(struct kernel_import *k)) {
    struct csv *c = &k->csv;
    const char *end = c->end;
    int err = 0;

    *rows = NULL;
    while (c->at < end && !*rows && err != -ENOMEM) {
        const char *newline = memchr(c->at, '\n', (size_t)(end - c->at));
        uint32_t line = c->next_line;

        c->end = newline ? newline : end;
        err = csv_next(c);
        if (err > 0 && kernel_import_is_orion(c)) *rows = kernel_import_orion;
        if (err > 0 && kernel_import_is_ncu(c)) *rows = kernel_import_ncu;
        c->at = newline ? newline + 1 : end;
        c->next_line = line + 1;
        c->end = end;
    }
    if (err == -ENOMEM || *rows) return err == -ENOMEM ? err : 0;
    snprintf(k->why, sizeof(k->why),
             "no line is a known header: 'Name,Profile,Memory_footprint,SM_usage,Duration', or one "
             "of ncu --csv with \"Kernel Name\"");
    return -EINVAL;
}

int kernel_import_table(struct kernel_set *s, const char *text, size_t bytes,
                        struct kernel_import_report *report) {
    struct kernel_import k = {.format = "none"};
    int (*rows)(struct kernel_import * k);
    int err;

    if (bytes >= sizeof(MARK) - 1 && memcmp(text, MARK, sizeof(MARK) - 1) == 0) {
        text += sizeof(MARK) - 1;
        bytes -= sizeof(MARK) - 1;
    }
    csv_init(&k.csv, text, bytes);
    err = find_header(&k, &rows);
    if (err == 0) err = rows(&k);
    if (err == 0) err = deliver(&k, s);
    *report = (struct kernel_import_report){.format = k.format, .rows = k.rows, .hints = k.hints};
    memcpy(report->why, k.why, sizeof(report->why));
    slotmap_finish(&k.by_name);
    free(k.sums);
    csv_finish(&k.csv);
    return err;
}
