/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile's number is its index in the set, which stays the same while others are learned.
 */
#include "daemon/broker/control/kernel_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ROWS 16 /* rows of a histogram, so that its text fits into a field */

/* ---- one profile ----------------------------------------------------------------------------- */

static void print_shape(const uint32_t v[3], char *out, size_t cap) {
    if (v[0])
        snprintf(out, cap, "%ux%ux%u", v[0], v[1], v[2]);
    else
        snprintf(out, cap, "any");
}

/* Prints an id that is the same in every daemon: the hash has no seed. */
static void print_id(const struct kernel_profile_key *key, char *out, size_t cap) {
    snprintf(out, cap, "%08x", (unsigned)(kernel_profile_hash(key, 0) >> 32));
}

/* Prints the bins from the first to the last one with a sample, merging as many into a row as
 * necessary. */
static void print_histogram(const struct kernel_dist *d, char *out, size_t cap) {
    uint32_t first = 0, last = KERNEL_DIST_BINS - 1, step = 1;
    size_t used = 0;

    out[0] = '\0';
    if (d->count == 0) return;
    while (d->bins[first] == 0)
        first++;
    while (d->bins[last] == 0)
        last--;
    while ((last - first) / step >= ROWS)
        step++;
    for (uint32_t i = first; i <= last && used < cap; i += step) {
        uint32_t count = 0;

        for (uint32_t k = i; k < i + step && k <= last; k++)
            count += d->bins[k];
        used += (size_t)snprintf(out + used, cap - used, "%s%" PRIu64 ":%u", i > first ? "," : "",
                                 kernel_dist_bin_start(i), count);
    }
}

static void fill_profile(const struct kernel_profile *p, uint64_t number, struct ctl_profile *r) {
    memset(r, 0, sizeof(*r));
    r->number = number;
    print_id(&p->key, r->id, sizeof(r->id));
    snprintf(r->name, sizeof(r->name), "%s", p->name);
    r->uid = p->key.uid;
    print_shape(p->key.grid, r->grid, sizeof(r->grid));
    print_shape(p->key.block, r->block, sizeof(r->block));
    r->shared_bytes = p->key.shared_bytes;
    snprintf(r->func, sizeof(r->func), "%016" PRIx64, p->key.func);
    r->sms = p->sms;
    snprintf(r->class, sizeof(r->class), "%s", kernel_profile_class_name(p->class));
    snprintf(r->source, sizeof(r->source), "%s", kernel_profile_source_name(p->source));
    r->compute_milli = p->compute_milli;
    r->memory_milli = p->memory_milli;
    r->alone = p->lone;
    r->count = p->durations.count;
    r->mean_ns = kernel_dist_mean(&p->durations);
    r->p50_ns = kernel_dist_quantile(&p->durations, 500);
    r->p99_ns = kernel_dist_quantile(&p->durations, 990);
}

static void fill_hint(const struct kernel_profile_hint *h, uint64_t number, struct ctl_hint *r) {
    memset(r, 0, sizeof(*r));
    r->number = number;
    snprintf(r->name, sizeof(r->name), "%s", h->name);
    print_shape(h->grid, r->grid, sizeof(r->grid));
    print_shape(h->block, r->block, sizeof(r->block));
    r->sms = h->sms;
    snprintf(r->class, sizeof(r->class), "%s", kernel_profile_class_name(h->class));
    r->compute_milli = h->compute_milli;
    r->memory_milli = h->memory_milli;
    r->duration_ns = h->duration_ns;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool is_asked_for(const struct kernel_profile *p, const struct ctl_request *r) {
    char id[16];

    if (ctl_msg_given(r, CTL_A_uid) && p->key.uid != r->args.uid) return false;
    if (ctl_msg_given(r, CTL_A_part) && !strstr(p->name, r->args.part)) return false;
    if (!ctl_msg_given(r, CTL_A_name) || strcmp(p->name, r->args.name) == 0) return true;
    print_id(&p->key, id, sizeof(id));
    return strcmp(id, r->args.name) == 0;
}

static uint64_t list_hints(const struct kernel_set *s, const struct ctl_request *r,
                           struct ctl_out *out) {
    for (uint64_t i = r->args.after; i < s->hint_count; i++) {
        const struct kernel_profile_hint *h = &s->hints[i];
        struct ctl_hint record;

        if (ctl_msg_given(r, CTL_A_part) && !strstr(h->name, r->args.part)) continue;
        fill_hint(h, i + 1, &record);
        if (!ctl_msg_add(out, CTL_RECORD_HINT, &record)) return i;
    }
    return 0;
}

uint64_t kernel_report_list(const struct kernel_set *s, const struct ctl_request *r,
                            struct ctl_out *out) {
    if (r->verb == CTL_V_profile_hints) return list_hints(s, r, out);
    for (uint64_t i = r->args.after; i < s->count; i++) {
        const struct kernel_profile *p = &s->items[i];
        struct ctl_profile record;

        if (!is_asked_for(p, r)) continue;
        fill_profile(p, i + 1, &record);
        if (r->verb == CTL_V_profile_show)
            print_histogram(&p->durations, record.histogram, sizeof(record.histogram));
        if (!ctl_msg_add(out, CTL_RECORD_PROFILE, &record)) return i;
    }
    return 0;
}

bool kernel_report_any(const struct kernel_set *s, const struct ctl_request *r) {
    for (uint32_t i = 0; i < s->count; i++)
        if (is_asked_for(&s->items[i], r)) return true;
    return false;
}
