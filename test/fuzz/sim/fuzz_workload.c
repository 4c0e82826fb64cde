/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a workload file. An accepted workload is written, and that text parses to the same
 * bytes again; a rejected one gives a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/workload/workload_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *written(const struct workload *w, size_t *bytes) {
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);
    if (!f) abort();
    workload_write(w, f);
    if (fclose(f) != 0) abort();
    return text;
}

/* Checks the conditions that the simulator relies on. */
static void expect_sound(const struct workload *w) {
    for (uint32_t i = 0; i < w->count; i++) {
        const struct workload_job *j = &w->jobs[i];
        if (i && w->jobs[i - 1].arrival_ns > j->arrival_ns) abort();
        if (!j->iterations && !w->until_ns) abort();
        if (!j->kernels != !w->jobs[0].kernels) abort();
        if (!j->kernels && !j->iteration_ns) abort();
        if (!j->kernels) continue;
        if (j->sequence >= w->sequences_count || w->sequences[j->sequence].count == 0) abort();
        if (j->gaps_name && (j->gaps >= w->gaps_count || w->gaps[j->gaps].count == 0)) abort();
        if (!j->gaps_name && j->arrivals != WORKLOAD_CLOSED && !j->every_ns) abort();
    }
    for (uint32_t i = 0; i < w->sequences_count; i++) {
        const struct workload_sequence *q = &w->sequences[i];
        if (q->first + q->count > w->kernels_count || q->busy_ns > q->total_ns) abort();
    }
    for (uint32_t i = 0; i < w->kernels_count; i++)
        if (!w->kernels[i].duration_ns || (!w->kernels[i].copy && !w->kernels[i].sms)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct workload w, again;
    struct buf errors;
    size_t bytes, bytes_again;
    buf_init(&errors);
    int err = workload_parse(&w, (const char *)data, size, &errors);
    if ((err != 0) != (errors.len > 0)) abort();
    if (!err) {
        char *text = written(&w, &bytes);
        if (workload_parse(&again, text, bytes, &errors)) abort();
        char *text_again = written(&again, &bytes_again);
        if (w.count != again.count || bytes != bytes_again || memcmp(text, text_again, bytes) != 0)
            abort();
        expect_sound(&w);
        workload_finish(&again);
        free(text);
        free(text_again);
    }
    workload_finish(&w);
    buf_finish(&errors);
    return 0;
}
