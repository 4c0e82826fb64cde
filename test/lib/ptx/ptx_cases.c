/* SPDX-License-Identifier: Apache-2.0 */
#include "test/lib/ptx/ptx_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_ir.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/ptx/ptx_text.h"

#define CASES_MARK "//case\n"

int ptx_frame_read(struct ptx_frame *f, const char *path) {
    size_t bytes;
    char *text = ptx_text_file(path, &bytes);
    char *mark = memmem(text, bytes, CASES_MARK, strlen(CASES_MARK));
    *f = (struct ptx_frame){0};
    if (mark) {
        size_t head = (size_t)(mark - text);
        f->before = strndup(text, head);
        mark += strlen(CASES_MARK);
        f->after = strndup(mark, bytes - (size_t)(mark - text));
    }
    free(text);
    return f->before && f->after ? 0 : -1;
}

void ptx_frame_finish(struct ptx_frame *f) {
    free(f->before);
    free(f->after);
}

char *ptx_frame_text(const struct ptx_frame *f, const char *text) {
    char *whole;
    if (asprintf(&whole, "%s%s\n%s", f->before, text, f->after) < 0) abort();
    return whole;
}

int ptx_frame_parse(const struct ptx_frame *f, const char *text, char *why, size_t why_bytes) {
    struct ptx_module *m;
    char *whole = ptx_frame_text(f, text);
    int err = ptx_parse(whole, strlen(whole), &m, why, why_bytes);
    ptx_module_free(m);
    free(whole);
    return err;
}
