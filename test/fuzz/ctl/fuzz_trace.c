/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the scheduler's events: `salusctl record --kernels` makes of them a workload that
 * the simulator accepts, or one without jobs.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/ctl/record/kernel_trace.h"
#include "daemon/ctl/record/recording.h"
#include "daemon/sim/workload/workload_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *written(const struct kernel_trace *t, size_t *jobs, size_t *bytes) {
    static const char *const boundaries[] = {"marks", "idle gaps", ""};
    struct recording r;
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);
    recording_init(&r);
    for (uint64_t id = 0; id < 6; id++) {
        struct ctl_job j = {.id = id, .busy_ns = 1, .iterations = id % 3 < 2, .iteration_ns = 1};
        snprintf(j.boundaries, sizeof(j.boundaries), "%s", boundaries[id % 3]);
        if (!f || recording_see(&r, &j)) abort();
    }
    r.kernels = t;
    r.device_bytes = 1 << 20;
    r.soft = t->count & 1;
    *jobs = recording_write(&r, f, 0);
    fclose(f);
    recording_finish(&r);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct kernel_trace t;
    struct workload w;
    struct buf errors;
    size_t jobs, bytes;
    FILE *f = size ? fmemopen((void *)data, size, "r") : NULL;
    if (!f) return 0;
    kernel_trace_init(&t);
    buf_init(&errors);
    if (kernel_trace_read(&t, f)) abort();
    fclose(f);
    char *text = written(&t, &jobs, &bytes);
    if (workload_parse(&w, text, bytes, &errors) && jobs) {
        fprintf(stderr, "%s%s", text, buf_str(&errors));
        abort();
    }
    workload_finish(&w);
    buf_finish(&errors);
    free(text);
    kernel_trace_finish(&t);
    return 0;
}
