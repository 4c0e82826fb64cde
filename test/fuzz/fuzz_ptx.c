/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as PTX; a line "//unit" separates units, which are then linked. What is accepted keeps
 * the promises of ptx_ir.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/ptx/ptx_ir.h"
#include "test/lib/ptx_check.h"

#define FUZZ_UNITS 4
#define SEPARATOR "\n//unit\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_hold(const struct ptx_module *m) {
    const char *bad = ptx_check(m);
    if (!bad) return;
    fprintf(stderr, "accepted %s\n", bad);
    abort();
}

/* Each unit in memory of its own length, so that a read beyond it is seen. */
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
