/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as a node's report of its GPUs and jobs, and as a job's note: values read are within
 * bounds, and a note stays the same when it is written and read again.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/place/slurm/job_note.h"
#include "daemon/place/slurm/placer/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_sound(const struct report *r) {
    if (r->gpu_count == 0 || r->gpu_count > REPORT_GPUS_MOST) abort();
    if (r->job_count > REPORT_JOBS_MOST || r->lack_count > REPORT_LACKS_MOST) abort();
    for (uint32_t i = 0; i < r->gpu_count; i++)
        if (r->gpus[i].memory_bytes > REPORT_MEMORY_MOST) abort();
    for (uint32_t i = 0; i < r->job_count; i++)
        if (r->jobs[i].demand_milli > 1000 ||
            report_find_job(r, r->jobs[i].id, r->jobs[i].uid) != &r->jobs[i])
            abort();
    for (uint32_t i = 0; i < r->lack_count; i++) {
        const struct report_lack *l = &r->lacks[i];
        if (l->needed_bytes > 2 * REPORT_MEMORY_MOST || l->at_ms < 0) abort();
        if (report_find_lack(r, l->id, l->uid) != l) abort();
    }
}

static void try_note(const char *text) {
    char first[NOTE_BYTES], second[NOTE_BYTES];
    struct note n, again;

    if (note_parse(&n, text) < 0) return;
    note_print(&n, first, sizeof(first));
    if (note_parse(&again, first) < 0) abort();
    note_print(&again, second, sizeof(second));
    if (strcmp(first, second) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct report r;
    char why[REPORT_WHY_BYTES], *text = malloc(size + 1);

    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    if (report_parse(&r, text, why) == 0) expect_sound(&r);
    try_note(text);
    free(text);
    return 0;
}
