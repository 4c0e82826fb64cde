/* SPDX-License-Identifier: Apache-2.0
 *
 * A log is two options: its buffer, and the buffer's size.
 */
#include "shim/code/jit.h"

#include <stdint.h>
#include <string.h>

void **jit_value(const struct jit *jit, CUjit_option option) {
    for (unsigned int i = 0; jit->options && jit->values && i < jit->count; i++) {
        if (jit->options[i] == option) return &jit->values[i];
    }
    return NULL;
}

static CUjit_option size_of(CUjit_option buffer) {
    return buffer == CU_JIT_INFO_LOG_BUFFER ? CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES
                                            : CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
}

struct image_log jit_open_log(const struct jit *jit, CUjit_option buffer) {
    void **text = jit_value(jit, buffer), **cap = jit_value(jit, size_of(buffer));
    struct image_log log = {.text = text && cap ? *text : NULL,
                            .cap = text && cap ? (size_t)(uintptr_t)*cap : 0};
    if (log.text && log.cap) log.text[0] = '\0';
    return log;
}

void jit_close_log(const struct jit *jit, CUjit_option buffer, const struct image_log *log) {
    if (log->text && log->cap)
        *jit_value(jit, size_of(buffer)) = (void *)(uintptr_t)strnlen(log->text, log->cap);
}
