/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as PTX whose kernels are to be split into parts: the result parses, contains only
 * kernels that may be split, and a second rewrite gives the same text as the first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/subgrid/subgrid.h"
#include "daemon/device/subgrid/subgrid_rewrite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void wrong(const char *what, const char *text) {
    fprintf(stderr, "%s: %s\n", what, text);
    abort();
}

static void must_hold(const struct ptx_module *old, const char *text) {
    struct ptx_module *m = NULL;
    char why[160] = "";
    if (ptx_parse(text, strlen(text), &m, why, sizeof(why))) wrong(why, text);
    for (uint32_t i = 0; i < m->func_count; i++) {
        const struct ptx_func *f = m->funcs[i], *was = ptx_find_func(old, f->name);
        if (!was) wrong("a function that was not there", text);
        if (f->entry && !subgrid_may(was, why, sizeof(why))) wrong(why, text);
        if (f->entry && f->param_count != was->param_count + SUBGRID_PARAMS)
            wrong("other parameters", text);
    }
    for (uint32_t i = 0; i < m->var_count; i++)
        if (m->vars[i]->space == PTX_GLOBAL || m->vars[i]->space == PTX_CONST)
            wrong("a variable", text);
    ptx_module_free(m);
}

/* In memory of its own length, so that a read beyond it is detected. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char why[160], *text = malloc(size ? size : 1), *out = NULL;
    struct ptx_module *m = NULL;
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    if (!ptx_parse(text, size, &m, why, sizeof(why))) {
        int err = subgrid_rewrite(text, size, m, &out, why, sizeof(why));
        if (err ? out || !why[0] : !out) abort();
        if (out) must_hold(m, out);
        ptx_module_free(m);
    }
    free(out);
    free(text);
    return 0;
}
