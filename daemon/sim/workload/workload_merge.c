/* SPDX-License-Identifier: Apache-2.0
 *
 * Concatenates arrays and shifts indices.
 */
#include "daemon/sim/workload/workload_merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFUSE(...) (snprintf(why, WORKLOAD_MERGE_WHY, __VA_ARGS__), -EINVAL)

/* Requires equal devices, because the scheduler and the device model have only one. */
static int check_device(const struct workload *a, const struct workload *b, uint32_t file,
                        char *why) {
    if (workload_of_kernels(a) != workload_of_kernels(b))
        return REFUSE("file %u has %s, the first file has %s: record both the same way", file + 1,
                      workload_of_kernels(b) ? "kernels" : "iterations",
                      workload_of_kernels(a) ? "kernels" : "iterations");
    const struct {
        const char *key;
        bool same;
    } keys[] = {{"memory", a->memory_bytes == b->memory_bytes},
                {"link", a->link_bytes == b->link_bytes},
                {"sms", a->sms == b->sms},
                {"share_sms", a->share_sms == b->share_sms},
                {"sliced", a->sliced == b->sliced},
                {"slice", a->slice_ns == b->slice_ns},
                {"subgrids", a->subgrids == b->subgrids},
                {"right_size", a->right_milli == b->right_milli},
                {"wait", a->wait_ns == b->wait_ns},
                {"slots", a->slots_milli == b->slots_milli},
                {"left", a->left_milli == b->left_milli},
                {"dispatch", a->dispatch_ns == b->dispatch_ns}};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (!keys[i].same)
            return REFUSE("the device of file %u has another %s than that of the first file: the "
                          "jobs must be from one device",
                          file + 1, keys[i].key);
    return 0;
}

static void append(struct workload *w, const struct workload *f) {
    for (uint32_t i = 0; i < f->count; i++) {
        struct workload_job *j = &w->jobs[w->count + i];
        *j = f->jobs[i];
        j->sequence += w->sequences_count;
        j->burst_sequence += w->sequences_count;
        j->gaps += w->gaps_count;
        j->number = w->count + i;
    }
    for (uint32_t i = 0; i < f->sequences_count; i++) {
        w->sequences[w->sequences_count + i] = f->sequences[i];
        w->sequences[w->sequences_count + i].first += w->kernels_count;
    }
    for (uint32_t i = 0; i < f->gaps_count; i++) {
        w->gaps[w->gaps_count + i] = f->gaps[i];
        w->gaps[w->gaps_count + i].first += w->gap_count;
    }
    for (uint32_t i = 0; i < f->kernels_count; i++)
        w->kernels[w->kernels_count + i] = f->kernels[i];
    for (uint32_t i = 0; i < f->gap_count; i++)
        w->gap_ns[w->gap_count + i] = f->gap_ns[i];
    w->count += f->count;
    w->sequences_count += f->sequences_count;
    w->gaps_count += f->gaps_count;
    w->kernels_count += f->kernels_count;
    w->gap_count += f->gap_count;
    w->share_users |= f->share_users;
    /* The earliest end stops the whole run, because the behaviour of the others afterwards is not
     * recorded. */
    if (f->until_ns && (!w->until_ns || f->until_ns < w->until_ns)) w->until_ns = f->until_ns;
}

struct totals {
    size_t jobs, sequences, gaps, kernels, gap;
};

static int add_up(const struct workload *files, uint32_t count, struct totals *t, char *why) {
    for (uint32_t i = 0; i < count; i++) {
        int err = check_device(&files[0], &files[i], i, why);
        if (err) return err;
        t->jobs += files[i].count;
        t->sequences += files[i].sequences_count;
        t->gaps += files[i].gaps_count;
        t->kernels += files[i].kernels_count;
        t->gap += files[i].gap_count;
    }
    if (t->jobs > (workload_of_kernels(&files[0]) ? WORKLOAD_MAX_KERNEL_JOBS : WORKLOAD_MAX_JOBS))
        return REFUSE("the files have %zu jobs together, which are too many", t->jobs);
    return 0;
}

int workload_merge(struct workload *out, const struct workload *files, uint32_t count, char *why) {
    struct totals t = {0};
    int err = add_up(files, count, &t, why);
    *out = (struct workload){0};
    if (err) return err;
    *out = files[0];
    out->arena = NULL;
    out->count = out->sequences_count = out->gaps_count = out->kernels_count = out->gap_count = 0;
    out->until_ns = 0;
    out->jobs = calloc(t.jobs + 1, sizeof(*out->jobs));
    out->sequences = calloc(t.sequences + 1, sizeof(*out->sequences));
    out->gaps = calloc(t.gaps + 1, sizeof(*out->gaps));
    out->kernels = calloc(t.kernels + 1, sizeof(*out->kernels));
    out->gap_ns = calloc(t.gap + 1, sizeof(*out->gap_ns));
    if (!out->jobs || !out->sequences || !out->gaps || !out->kernels || !out->gap_ns) {
        workload_finish(out);
        snprintf(why, WORKLOAD_MERGE_WHY, "out of memory");
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++)
        append(out, &files[i]);
    return 0;
}

uint32_t workload_merge_file(const struct workload *files, uint32_t count, uint32_t number) {
    uint32_t file = 0;
    while (file + 1 < count && number >= files[file].count)
        number -= files[file++].count;
    return file;
}

static int by_number(const void *a, const void *b) {
    const struct workload_job *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

static int by_arrival(const void *a, const void *b) {
    const struct workload_job *x = a, *y = b;
    if (x->arrival_ns != y->arrival_ns) return x->arrival_ns < y->arrival_ns ? -1 : 1;
    return by_number(a, b);
}

void workload_merge_shift(struct workload *w, const struct workload *files, uint32_t count,
                          const uint64_t *shifts_ns) {
    uint32_t number = 0;
    qsort(w->jobs, w->count, sizeof(*w->jobs), by_number);
    for (uint32_t f = 0; f < count; f++)
        for (uint32_t i = 0; i < files[f].count; i++)
            w->jobs[number++].arrival_ns =
                files[f].jobs[i].arrival_ns - files[f].jobs[0].arrival_ns + shifts_ns[f];
    qsort(w->jobs, w->count, sizeof(*w->jobs), by_arrival);
}
