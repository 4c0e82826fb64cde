/* SPDX-License-Identifier: Apache-2.0 */
#include "test/lib/ptx/ptx_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/ptx/ptx_check.h"

#define TEXT_WHY_BYTES 160

int ptx_text_parse(const char *text, size_t bytes, struct ptx_module **m, char *why) {
    char *copy = malloc(bytes ? bytes : 1);
    if (!copy) abort();
    if (bytes) memcpy(copy, text, bytes);
    int err = ptx_parse(copy, bytes, m, why, TEXT_WHY_BYTES);
    free(copy);
    const char *bad = err ? NULL : ptx_check(*m);
    if (bad) {
        fprintf(stderr, "ptx_check: %s in\n%.*s\n", bad, (int)bytes, text);
        abort();
    }
    return err;
}

struct ptx_module *ptx_text_module(const char *text) {
    char why[TEXT_WHY_BYTES];
    struct ptx_module *m;
    char *whole = NULL;
    if (asprintf(&whole, "%s%s", PTX_TEXT_HEAD, text) < 0) abort();
    if (ptx_text_parse(whole, strlen(whole), &m, why)) {
        fprintf(stderr, "refused (%s):\n%s\n", why, whole);
        abort();
    }
    free(whole);
    return m;
}

struct ptx_func *ptx_text_func(const char *body, struct ptx_module **m) {
    char *text = NULL;
    const char *regs = ".reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>; "
                       ".reg .f32 %f<8>; .reg .f64 %fd<8>;";
    if (asprintf(&text, ".global .b32 var;\n.entry k(.param .b64 arg) {\n%s\n%s\n}", regs, body) <
        0)
        abort();
    *m = ptx_text_module(text);
    free(text);
    return (*m)->funcs[0];
}

char *ptx_text_file(const char *path, size_t *bytes) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) {
        perror(path);
        abort();
    }
    long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    if (!text || fread(text, 1, (size_t)n, f) != (size_t)n) abort();
    fclose(f);
    text[n] = 0;
    *bytes = (size_t)n;
    return text;
}
