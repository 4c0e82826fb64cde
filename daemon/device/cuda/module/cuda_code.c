/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/cuda/module/cuda_code.h"

#include <stdlib.h>

#include "daemon/device/soft/image/fatbin.h"

struct walk {
    uint32_t capability;
    cuda_code_look look;
    void *arg;
};

static bool look_at_entry(const struct walk *w, const struct fatbin_entry *e) {
    unsigned char *bytes = NULL;
    size_t count = 0;
    if (e->kind == FATBIN_LTO) return w->look(w->arg, NULL, 0);
    if (!(e->flags & (FATBIN_LZ4 | FATBIN_ZSTD)))
        return w->look(w->arg, e->payload, (size_t)e->payload_bytes);
    int err = fatbin_unpack(e, &bytes, &count);
    bool enough = w->look(w->arg, err ? NULL : bytes, err ? 0 : count);
    free(bytes);
    return enough;
}

/* True for machine code that this GPU may run. */
static bool is_own(const struct walk *w, const struct fatbin_entry *e) {
    return e->kind == FATBIN_ELF && e->target <= w->capability &&
           e->target / 10 == w->capability / 10;
}

/* With `own`, looks at the machine code for this GPU; without, at everything that is not machine
 * code (PTX, LTO). Machine code for other GPUs is skipped. */
static bool look_at_fatbin(const struct walk *w, struct fatbin f, bool own) {
    struct fatbin_entry e;
    int more;
    while ((more = fatbin_next(&f, &e)) > 0)
        if (is_own(w, &e) == own && (e.kind != FATBIN_ELF || own) && look_at_entry(w, &e))
            return true;
    return more < 0 && w->look(w->arg, NULL, 0);
}

static bool has_own(const struct walk *w, struct fatbin f) {
    struct fatbin_entry e;
    while (fatbin_next(&f, &e) > 0)
        if (is_own(w, &e)) return true;
    return false;
}

bool cuda_code_any(const void *image, size_t bytes, uint32_t capability, cuda_code_look look,
                   void *arg) {
    const struct walk w = {capability, look, arg};
    const unsigned char *at = image;
    struct fatbin f;
    if (fatbin_open(&f, at, bytes)) return look(arg, image, bytes);
    for (size_t left = bytes; !fatbin_open(&f, at, left); at += f.span, left -= f.span)
        if (look_at_fatbin(&w, f, has_own(&w, f))) return true;
    return false;
}
