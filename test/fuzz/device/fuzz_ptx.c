/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as PTX; a line "//unit" separates units, which are then linked. Accepted modules satisfy
 * the invariants of ptx_ir.h, and the memory accesses of their kernels' launches can be predicted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/device_recovery.h"
#include "daemon/device/soft/instructions/ptx_ir.h"
#include "daemon/device/soft/ptx/ptx_link.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/touch/touch.h"
#include "test/lib/ptx/ptx_check.h"

#define FUZZ_UNITS 4
#define SEPARATOR "\n//unit\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int see(void *arg, const struct dev_touched *t) {
    (void)arg;
    bool range = t->kind == DEV_READS || t->kind == DEV_WRITES;
    if (range && (!t->bytes || t->bytes - 1 > UINT64_MAX - t->addr)) abort();
    return 0;
}

static void touch(const struct ptx_module *m) {
    static const uint64_t params[8] = {1ull << 32, 2ull << 32, 3ull << 32, 1000, 7, 1};
    const struct dev_launch launch = {
        .grid = {4, 2, 1}, .block = {64, 1, 1}, .params = params, .param_bytes = sizeof(params)};
    char why[256];
    for (uint32_t i = 0; i < m->func_count; i++)
        if (m->funcs[i]->entry && m->funcs[i]->defined)
            touch_kernel(m->funcs[i], &launch, see, NULL, why, sizeof(why));
}

static void must_hold(const struct ptx_module *m) {
    const char *bad = ptx_check(m);
    if (!bad) return touch(m);
    fprintf(stderr, "accepted %s\n", bad);
    abort();
}

/* Each unit is in memory of its own length, so that a read beyond it is detected. */
static struct ptx_module *parse(const uint8_t *data, size_t size) {
    char why[160];
    struct ptx_module *m = NULL;
    char *text = malloc(size ? size : 1);
    if (!text) return NULL;
    if (size) memcpy(text, data, size);
    int err = ptx_parse(text, size, &m, why, sizeof(why));
    if (err ? m || !why[0] : !m) abort();
    free(text);
    if (m) must_hold(m);
    return m;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ptx_module *units[FUZZ_UNITS], *linked = NULL;
    uint32_t count = 0;
    char why[160];
    while (size && count < FUZZ_UNITS) {
        const uint8_t *end = memmem(data, size, SEPARATOR, strlen(SEPARATOR));
        size_t len = end ? (size_t)(end - data) : size;
        struct ptx_module *m = parse(data, len);
        if (m) units[count++] = m;
        if (end) len += strlen(SEPARATOR);
        data += len;
        size -= len;
    }
    if (count < 2 || ptx_link(units, count, &linked, why, sizeof(why))) {
        while (count)
            ptx_module_free(units[--count]);
        return 0;
    }
    must_hold(linked);
    ptx_module_free(linked);
    return 0;
}
