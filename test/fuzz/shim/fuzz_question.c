/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a broker's answer to a question: an accepted answer has its stated length, contains
 * no impossible value, and its text is terminated.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/process/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_sound(const struct wire_view *v, size_t size) {
    if (size != offsetof(struct wire_view, processes) + v->process_count * sizeof(v->processes[0]))
        abort();
    if (!memchr(v->device.name, 0, sizeof(v->device.name))) abort();
    if (v->device.pci_bus > 255 || v->device.pci_slot > 31) abort();
    if (v->used_bytes > v->device.memory_bytes || v->busy_permille > 1000) abort();
    for (uint32_t i = 0; i < v->process_count; i++)
        if (v->processes[i].pid <= 0 || v->processes[i].busy_permille > 1000) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct wire_view *out = malloc(sizeof(*out));
    unsigned char *exact = malloc(size ? size : 1);
    int err;
    if (!out || !exact) abort();
    if (size) memcpy(exact, data, size);
    err = size ? question_check(exact, size, out) : 0;
    if (err > 0) abort();
    if (size && err == 0) expect_sound(out, size);
    free(out);
    free(exact);
    return 0;
}
