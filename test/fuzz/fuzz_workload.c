/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a workload file. What parses is written, and what is written parses to the same
 * bytes again; what does not parse says why.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *written(const struct workload *w, size_t *bytes) {
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);
    if (!f) abort();
    workload_write(w, f);
    if (fclose(f) != 0) abort();
    return text;
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
        for (uint32_t i = 1; i < w.count; i++)
            if (w.jobs[i - 1].arrival_ns > w.jobs[i].arrival_ns) abort();
        workload_finish(&again);
        free(text);
        free(text_again);
    }
    workload_finish(&w);
    buf_finish(&errors);
    return 0;
}
