/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/code/native.h"

#include <string.h>

#define NATIVE_PARAMS 8

struct shape {
    const char *name;
    uint8_t bytes[NATIVE_PARAMS]; /* size of each parameter; 0: no more */
};

static const struct shape shapes[] = {
#define X(name, ...) [NATIVE_##name] = {#name, {__VA_ARGS__}},
    NATIVE_SYSTEM(X) NATIVE_GRAPH(X) NATIVE_CDP(X)
#undef X
};

#define COUNT (sizeof(shapes) / sizeof(shapes[0]))

static bool begins(const char *name, const char *with) {
    return strncmp(name, with, strlen(with)) == 0;
}

/* Finds "MemsetAsync" in __cudaCDP2MemsetAsync_ptsz, and its length. Returns NULL for names of
 * other forms. */
static const char *cdp_name(const char *name, size_t *bytes) {
    static const char twin[] = "_ptsz";
    const char *from = begins(name, "__cudaCDP2") ? name + 10
                       : begins(name, "cuda")     ? name + 4
                                                  : NULL;
    if (!from) return NULL;
    size_t n = strlen(from), tail = sizeof(twin) - 1;
    *bytes = n > tail && strcmp(from + n - tail, twin) == 0 ? n - tail : n;
    return from;
}

static bool has_shape(const struct ptx_func *f, const struct shape *s) {
    uint32_t n = 0;
    while (n < NATIVE_PARAMS && s->bytes[n])
        n++;
    if (f->param_count != n) return false;
    for (uint32_t k = 0; k < n; k++)
        if (f->params[k]->bytes != s->bytes[k]) return false;
    return true;
}

static bool is_named(const struct shape *s, const char *name, size_t bytes) {
    return strncmp(s->name, name, bytes) == 0 && s->name[bytes] == 0;
}

enum code_native native_find(const struct ptx_func *f) {
    size_t bytes = strlen(f->name), cdp_bytes;
    if (f->defined) return NATIVE_NONE;
    const char *cdp = cdp_name(f->name, &cdp_bytes);
    for (uint32_t i = NATIVE_NONE + 1; i < COUNT; i++) {
        const struct shape *s = &shapes[i];
        bool mine = i < NATIVE_GraphLaunch ? is_named(s, f->name, bytes)
                                           : cdp && is_named(s, cdp, cdp_bytes);
        if (mine && has_shape(f, s)) return (enum code_native)i;
    }
    return NATIVE_NONE;
}

bool native_is_cudas(const char *name) {
    return begins(name, "cuda") || begins(name, "__cuda") || begins(name, "cnp");
}
