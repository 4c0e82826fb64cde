/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a table of jobs, and as one of nodes. Accepted tables can be run, and read back the
 * same after writing; rejected ones give a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/place/jobset_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks the conditions that the simulated world relies on. */
static void expect_sound(const struct jobset *s) {
    for (uint32_t i = 0; i < s->job_count; i++) {
        const struct jobset_job *j = &s->jobs[i];
        if (i && j->arrival_s < s->jobs[i - 1].arrival_s) abort();
        if (!(j->arrival_s >= 0 && j->arrival_s <= JOBSET_LENGTH_MOST_S)) abort();
        if (!(j->length_s > 0 && j->length_s <= JOBSET_LENGTH_MOST_S)) abort();
        if (!(j->is.util > 0 && j->is.util <= 1 && j->slo > 0)) abort();
        if (!j->tasks || !j->gpus || j->gpus > JOBSET_GPUS_A_NODE) abort();
        if (j->is.persistent_bytes > JOBSET_BYTES_MOST) abort();
    }
    uint32_t gpus = 0;
    for (uint32_t i = 0; i < s->node_count; i++) {
        if (s->nodes[i].first_gpu != gpus || !s->nodes[i].gpu_bytes) abort();
        gpus += s->nodes[i].gpu_count;
    }
    if (gpus != s->gpu_count) abort();
}

static char *written(struct jobset *s, size_t *bytes) {
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);
    if (!f) abort();
    jobset_tell(s, &(struct jobset_error){.util = 0.1, .seed = 1});
    jobset_write_jobs(s, f);
    if (fclose(f) != 0) abort();
    return text;
}

static void jobs(const char *data, size_t size, struct buf *errors) {
    struct jobset_rules rules = {.service_use = 0.2, .whole_tasks = size % 2};
    struct jobset s, again;
    size_t bytes, bytes_again;
    jobset_init(&s);
    jobset_init(&again);
    int err = jobset_parse_jobs(&s, &rules, data, size, errors);
    if ((err != 0) != (errors->len > 0)) abort();
    if (!err) {
        expect_sound(&s);
        char *text = written(&s, &bytes);
        if (jobset_parse_jobs(&again, &rules, text, bytes, errors)) abort();
        char *text_again = written(&again, &bytes_again);
        if (s.job_count != again.job_count) abort();
        free(text);
        free(text_again);
    }
    jobset_finish(&s);
    jobset_finish(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct jobset s;
    struct buf errors;
    buf_init(&errors);
    jobs((const char *)data, size, &errors);
    buf_clear(&errors);
    jobset_init(&s);
    int err = jobset_parse_nodes(&s, (const char *)data, size, &errors);
    if ((err != 0) != (errors.len > 0)) abort();
    expect_sound(&s);
    jobset_finish(&s);
    buf_finish(&errors);
    return 0;
}
