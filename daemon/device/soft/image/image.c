/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses among the entries of fatbins. The PTX is what runs; a cubin only adds facts. So an
 * unreadable cubin is no reason to reject the PTX beside it.
 */
#include "daemon/device/soft/image/image.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/image/cubin.h"
#include "daemon/device/soft/image/cubin_vars.h"
#include "daemon/device/soft/image/elf.h"
#include "daemon/device/soft/image/fatbin.h"
#include "daemon/device/soft/ptx/ptx_lex.h"

#define IMAGE_MAX_UNITS 4096
#define BOUND (FATBIN_ARCH | FATBIN_FAMILY)
#define IMAGE_HEADER_TOKENS 64 /* .target is among the first words of PTX */

struct choice {
    bool has_ptx, has_elf, has_above, has_family;
    bool runs; /* there is machine code that a GPU of this capability runs */
    struct fatbin_entry ptx, elf;
    struct fatbin_entry above;  /* the oldest PTX that is newer than the device */
    struct fatbin_entry family; /* the newest older PTX of another family */
};

struct reader {
    struct image *out;
    uint32_t capability;
    enum image_use use;
    struct choice *units; /* one for each fatbin */
    uint32_t unit_count;
    uint32_t lto_target; /* target of code that is still to be linked; 0: none */
    uint64_t unpacked;   /* bytes so far */
    char *why;
    size_t why_bytes;
};

static int refuse(struct reader *r, int err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct reader *r, int err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (r->why_bytes) vsnprintf(r->why, r->why_bytes, fmt, ap);
    va_end(ap);
    return err;
}

static int no_memory(struct reader *r) {
    return refuse(r, -ENOMEM, "out of memory");
}

/* ---- PTX text -------------------------------------------------------------------------------- */

/* Returns the number in ".target sm_75", or 0 if there is none. *is_ptx: the text begins like
 * PTX. */
static uint32_t text_target(const void *text, size_t bytes, bool *is_ptx) {
    struct ptx_lex l;
    struct ptx_token t;
    ptx_lex_init(&l, text, bytes);
    ptx_lex_next(&l, &t);
    *is_ptx = t.kind == PTX_TOK_DOT && t.len == 7 && memcmp(t.text, "version", 7) == 0;
    for (int i = 0; *is_ptx && i < IMAGE_HEADER_TOKENS && t.kind != PTX_TOK_END; i++) {
        bool target = t.kind == PTX_TOK_DOT && t.len == 6 && memcmp(t.text, "target", 6) == 0;
        ptx_lex_next(&l, &t);
        if (!target || t.kind != PTX_TOK_WORD || t.len < 4 || memcmp(t.text, "sm_", 3) != 0)
            continue;
        uint32_t sm = 0;
        for (uint32_t d = 3; d < t.len && t.text[d] >= '0' && t.text[d] <= '9' && sm < 10000; d++)
            sm = sm * 10 + (uint32_t)(t.text[d] - '0');
        return sm;
    }
    return 0;
}

/* Takes ownership of `text`. */
static int add_ptx(struct reader *r, char *text, size_t bytes) {
    struct image *out = r->out;
    char **texts = reallocarray(out->ptx, out->ptx_count + 1, sizeof(*texts));
    if (texts) out->ptx = texts;
    size_t *sizes = texts ? reallocarray(out->ptx_bytes, out->ptx_count + 1, sizeof(*sizes)) : NULL;
    if (sizes) out->ptx_bytes = sizes;
    if (!sizes) {
        free(text);
        return no_memory(r);
    }
    out->ptx[out->ptx_count] = text;
    out->ptx_bytes[out->ptx_count++] = strnlen(text, bytes);
    return 0;
}

static int read_text(struct reader *r, const void *image, size_t bytes) {
    bool is_ptx;
    uint32_t target = text_target(image, bytes, &is_ptx);
    if (!is_ptx)
        return refuse(r, ERR_INVALID_IMAGE, "the image is neither a fatbin, a cubin nor PTX");
    if (target > r->capability)
        return refuse(r, ERR_NO_BINARY, "the PTX is for sm_%u, the device is sm_%u", target,
                      r->capability);
    size_t len = strnlen(image, bytes);
    if (len > FATBIN_MAX_UNPACKED_BYTES)
        return refuse(r, ERR_INVALID_IMAGE, "the image has more than %u MiB of PTX",
                      (unsigned)(FATBIN_MAX_UNPACKED_BYTES >> 20));
    char *copy = strndup(image, len);
    if (!copy) return no_memory(r);
    r->out->ptx_target = target;
    return add_ptx(r, copy, len);
}

/* ---- cubins ---------------------------------------------------------------------------------- */

static int read_cubin(struct reader *r, const void *image, size_t bytes) {
    uint32_t target = cubin_target(image, bytes);
    if (target == 0)
        return refuse(r, ERR_INVALID_IMAGE, "the image is an ELF file, but not a cubin");
    int err = cubin_read(image, bytes, &r->out->kernels, &r->out->kernel_count);
    if (!err && r->use == IMAGE_DESCRIBE)
        err = cubin_vars_read(image, bytes, &r->out->vars, &r->out->var_count);
    if (err == -ENOMEM) return no_memory(r);
    if (err) return refuse(r, err, "the cubin for sm_%u is damaged", target);
    r->out->cubin_target = target;
    return 0;
}

static int read_bare_cubin(struct reader *r, const void *image, size_t bytes) {
    uint32_t target = cubin_target(image, bytes);
    if (target > r->capability)
        return refuse(r, ERR_NO_BINARY, "the cubin is for sm_%u, the device is sm_%u", target,
                      r->capability);
    return read_cubin(r, image, bytes);
}

/* ---- fatbins --------------------------------------------------------------------------------- */

/* sm_90a runs only on sm_90; sm_100f also runs on later members of its family. */
static bool usable(const struct reader *r, const struct fatbin_entry *e) {
    if (e->target > r->capability) return false;
    if (e->flags & FATBIN_ARCH) return e->target == r->capability;
    if (e->flags & FATBIN_FAMILY) return e->target / 10 == r->capability / 10;
    return true;
}

/* True if `a` is newer than `b`, or equally new and, unlike `b`, not bound to an architecture or
 * family. Without `b` (has_b false) true. */
static bool better(const struct fatbin_entry *a, bool has_b, const struct fatbin_entry *b) {
    if (!has_b || a->target != b->target) return !has_b || a->target > b->target;
    return !(a->flags & BOUND) && (b->flags & BOUND);
}

/* Records PTX for devices of a higher capability: the lowest target, and in `c` the oldest that is
 * bound to no architecture. */
static void note_above(struct reader *r, const struct fatbin_entry *e, struct choice *c) {
    uint32_t *above = &r->out->ptx_above;
    if (e->kind != FATBIN_PTX || e->target <= r->capability) return;
    if (!*above || e->target < *above) *above = e->target;
    if (e->flags & BOUND || (c->has_above && e->target >= c->above.target)) return;
    c->has_above = true;
    c->above = *e;
}

static void note_lto(struct reader *r, const struct fatbin_entry *e) {
    if (e->kind == FATBIN_LTO) r->lto_target = e->target;
}

static void note_family(struct reader *r, const struct fatbin_entry *e, struct choice *c) {
    if (e->kind != FATBIN_PTX || !(e->flags & FATBIN_FAMILY) || e->target > r->capability) return;
    if (c->has_family && e->target <= c->family.target) return;
    c->has_family = true;
    c->family = *e;
}

static void note_usable(struct reader *r, const struct fatbin_entry *e, struct choice *c) {
    if (!usable(r, e)) return;
    if (e->kind == FATBIN_PTX && better(e, c->has_ptx, &c->ptx)) {
        c->has_ptx = true;
        c->ptx = *e;
    }
    if (e->kind != FATBIN_ELF) return;
    c->runs |= e->target / 10 == r->capability / 10;
    if (!better(e, c->has_elf, &c->elf)) return;
    c->has_elf = true;
    c->elf = *e;
}

/* Returns PTX to use instead of machine code. Where a GPU would run machine code, the same kernels'
 * PTX is used, even if it is for a newer device: programs have PTX for the newest device that their
 * compiler knew, and machine code for others. A device beyond all families takes PTX of any family.
 * Otherwise libraries with PTX only for their newest family (cuDNN from 9.28 on) would have none
 * for it. */
static const struct fatbin_entry *stand_in(const struct reader *r, const struct choice *c) {
    if (c->runs && c->has_above) return &c->above;
    return r->capability == IMAGE_BEYOND && c->has_family ? &c->family : NULL;
}

static int choose(struct reader *r, struct fatbin *f, struct choice *c) {
    struct fatbin_entry e;
    int more;
    while ((more = fatbin_next(f, &e)) > 0) {
        note_above(r, &e, c);
        note_lto(r, &e);
        note_family(r, &e, c);
        note_usable(r, &e, c);
    }
    if (more < 0) return refuse(r, more, "fatbin %u has a damaged entry", r->unit_count);
    const struct fatbin_entry *other = c->has_ptx ? NULL : stand_in(r, c);
    if (!other) return 0;
    c->has_ptx = true;
    c->ptx = *other;
    return 0;
}

static int survey(struct reader *r, const unsigned char *at, size_t left) {
    while (left) {
        struct fatbin f;
        if (fatbin_open(&f, at, left))
            return refuse(r, ERR_INVALID_IMAGE, "fatbin %u is damaged or cut short", r->unit_count);
        if (r->unit_count == IMAGE_MAX_UNITS)
            return refuse(r, ERR_INVALID_IMAGE, "the image has more than %d units",
                          IMAGE_MAX_UNITS);
        struct choice *units = reallocarray(r->units, r->unit_count + 1, sizeof(*units));
        if (!units) return no_memory(r);
        r->units = units;
        units[r->unit_count] = (struct choice){0};
        int err = choose(r, &f, &units[r->unit_count]);
        if (err) return err;
        r->unit_count++;
        at += f.span;
        left -= f.span;
    }
    return 0;
}

static int unpack(struct reader *r, const struct fatbin_entry *e, unsigned char **data,
                  size_t *bytes) {
    bool packed = e->flags & (FATBIN_LZ4 | FATBIN_ZSTD);
    r->unpacked += packed ? e->unpacked_bytes : e->payload_bytes;
    if (r->unpacked > FATBIN_MAX_UNPACKED_BYTES)
        return refuse(r, ERR_INVALID_IMAGE, "the image unpacks to more than %u MiB",
                      (unsigned)(FATBIN_MAX_UNPACKED_BYTES >> 20));
    int err = fatbin_unpack(e, data, bytes);
    if (err == -ENOMEM) return no_memory(r);
    if (err) return refuse(r, err, "an entry for sm_%u does not unpack", e->target);
    return 0;
}

/* True for NVIDIA's cudadevrt, which every program built with -rdc=true contains as a unit. Its PTX
 * is only for newer devices and calls internals of the driver. The software device has its own
 * implementation. */
static bool is_device_runtime(const unsigned char *text, size_t bytes) {
    static const char sign[] = ".visible .global .align 4 .u32 __CNPRT_VERSION_NUMBER__";
    return memmem(text, bytes, sign, sizeof(sign) - 1) != NULL;
}

static int take_ptx(struct reader *r, const struct choice *c) {
    unsigned char *text;
    size_t bytes;
    int err = unpack(r, &c->ptx, &text, &bytes);
    if (err) return err;
    if (is_device_runtime(text, bytes)) {
        free(text);
        return 0;
    }
    if (c->ptx.target > r->out->ptx_target) r->out->ptx_target = c->ptx.target;
    return add_ptx(r, (char *)text, bytes);
}

static int take_cubin(struct reader *r, const struct choice *c) {
    unsigned char *elf;
    size_t bytes;
    int err = unpack(r, &c->elf, &elf, &bytes);
    if (err) return err;
    err = read_cubin(r, elf, bytes);
    free(elf);
    return err;
}

/* Takes the first fatbin's PTX if it has any; otherwise the PTX of all others, to be linked. */
static int take_units(struct reader *r) {
    if (r->units[0].has_ptx) return take_ptx(r, &r->units[0]);
    int err = 0;
    for (uint32_t i = 1; i < r->unit_count && !err; i++)
        if (r->units[i].has_ptx) err = take_ptx(r, &r->units[i]);
    return err;
}

static int take_facts(struct reader *r) {
    for (uint32_t i = 0; i < r->unit_count; i++) {
        if (!r->units[i].has_elf) continue;
        int err = take_cubin(r, &r->units[i]);
        if (err == -ENOMEM || r->out->ptx_count == 0) return err;
        if (r->why_bytes) r->why[0] = 0;
        return 0;
    }
    return 0;
}

/* Takes the code and a cubin's facts about it. A module that is only described needs just the
 * cubin. */
static int take_all(struct reader *r) {
    int err = r->use == IMAGE_DESCRIBE ? take_facts(r) : 0;
    if (err || r->out->cubin_target) return err;
    err = take_units(r);
    return err || r->use == IMAGE_DESCRIBE ? err : take_facts(r);
}

/* Reports what the image contains instead, which tells the user what to do. */
static int refuse_all(struct reader *r) {
    if (r->out->ptx_above)
        return refuse(r, ERR_NO_BINARY, "the PTX is for sm_%u, the device is sm_%u",
                      r->out->ptx_above, r->capability);
    if (r->lto_target)
        return refuse(r, ERR_NO_BINARY,
                      "the image has only code that must be linked first (lto_%u), and no PTX",
                      r->lto_target);
    return refuse(r, ERR_NO_BINARY, "the fatbin has nothing for sm_%u or older", r->capability);
}

static int read_fatbins(struct reader *r, const void *image, size_t bytes) {
    int err = survey(r, image, bytes);
    if (!err) err = take_all(r);
    if (!err && r->out->ptx_count == 0 && r->out->cubin_target == 0) err = refuse_all(r);
    free(r->units);
    return err;
}

/* ---- the image ------------------------------------------------------------------------------- */

static bool is_fatbin(const void *image, size_t bytes) {
    struct fatbin f;
    uint32_t magic = FATBIN_MAGIC;
    return fatbin_open(&f, image, bytes) == 0 || (bytes >= 4 && memcmp(image, &magic, 4) == 0);
}

int image_read(const void *image, size_t bytes, uint32_t capability, enum image_use use,
               struct image *out, char *why, size_t why_bytes) {
    struct reader r = {
        .out = out, .capability = capability, .use = use, .why = why, .why_bytes = why_bytes};
    *out = (struct image){0};
    if (why_bytes) why[0] = 0;
    int err;
    if (bytes == 0)
        err = refuse(&r, ERR_INVALID_IMAGE, "the image is empty");
    else if (is_fatbin(image, bytes))
        err = read_fatbins(&r, image, bytes);
    else if (elf_is(image, bytes))
        err = read_bare_cubin(&r, image, bytes);
    else
        err = read_text(&r, image, bytes);
    if (err) image_finish(out);
    return err;
}

void image_finish(struct image *image) {
    for (uint32_t i = 0; i < image->ptx_count; i++)
        free(image->ptx[i]);
    free(image->ptx);
    free(image->ptx_bytes);
    cubin_free(image->kernels, image->kernel_count);
    cubin_vars_free(image->vars, image->var_count);
    *image = (struct image){0};
}

size_t image_extent(const void *image, size_t avail) {
    struct fatbin f;
    if (fatbin_open(&f, image, avail) == 0) return f.span;
    return elf_extent(image, avail);
}
