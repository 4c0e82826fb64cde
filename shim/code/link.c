/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the inputs of a link into units.
 */
#include "shim/code/link.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "shim/code/fatbin.h"
#include "shim/code/linked.h"
#include "shim/code/object.h"
#include "shim/code/ptx_target.h"

/* One call of link_add. */
struct input {
    struct link *link;
    const char *name;
    char *why;
};

void link_init(struct link *l, uint32_t capability) {
    *l = (struct link){.capability = capability};
    buf_init(&l->image);
}

void link_finish(struct link *l) {
    buf_finish(&l->image);
}

__attribute__((format(printf, 3, 4))) static CUresult refuse(const struct input *in, CUresult r,
                                                             const char *fmt, ...) {
    int n = snprintf(in->why, LINK_WHY_BYTES, "%.100s: ", in->name);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(in->why + n, LINK_WHY_BYTES - (size_t)n, fmt, ap);
    va_end(ap);
    return r;
}

/* ---- one unit -------------------------------------------------------------------------------- */

/* Returns the buffer to which the next unit is appended. */
static struct buf *next_unit(const struct input *in) {
    struct buf *image = &in->link->image;
    if (image->len == 0) linked_begin(image);
    return image;
}

static CUresult end_unit(const struct input *in) {
    if (!in->link->image.failed) return CUDA_SUCCESS;
    return refuse(in, CUDA_ERROR_OUT_OF_MEMORY, "out of memory");
}

static CUresult add_ptx(const struct input *in, const char *text, size_t bytes) {
    size_t length = strnlen(text, bytes);
    uint32_t target = ptx_target(text, length);
    if (!target)
        return refuse(in, CUDA_ERROR_INVALID_PTX, "the input is not PTX: it lacks .target");
    if (target > in->link->capability)
        return refuse(in, CUDA_ERROR_NO_BINARY_FOR_GPU, "the PTX is for sm_%u, the device is sm_%u",
                      target, in->link->capability);
    linked_append_ptx(next_unit(in), text, length, target);
    return end_unit(in);
}

static CUresult no_ptx(const struct input *in) {
    return refuse(in, CUDA_ERROR_NO_BINARY_FOR_GPU,
                  "the input has only machine code, and no PTX that this device (sm_%u) can run",
                  in->link->capability);
}

/* Adds the fatbin of `bytes` at `data`. */
static CUresult add_fatbin(const struct input *in, const void *data, size_t bytes) {
    if (!fatbin_has_ptx(data, bytes, in->link->capability)) return no_ptx(in);
    buf_append(next_unit(in), data, bytes);
    return end_unit(in);
}

/* Adds one fatbin, or several without a gap. */
static CUresult add_fatbins(const struct input *in, const unsigned char *data, size_t left) {
    do {
        size_t bytes = fatbin_container_bytes(data, left);
        if (!bytes) return refuse(in, CUDA_ERROR_INVALID_IMAGE, "the fatbin is damaged");
        CUresult r = add_fatbin(in, data, bytes);
        if (r) return r;
        data += bytes;
        left -= bytes;
    } while (left);
    return CUDA_SUCCESS;
}

/* ---- files of host code ---------------------------------------------------------------------- */

/* Adds an object's fatbins. `spare`: fatbins without usable PTX are skipped. */
static CUresult add_object(const struct input *in, struct object *o, bool spare) {
    struct object_piece fatbin;
    int more;
    while ((more = object_next(o, &fatbin)) > 0) {
        if (spare && !fatbin_has_ptx(fatbin.data, fatbin.bytes, in->link->capability)) continue;
        CUresult r = add_fatbin(in, fatbin.data, fatbin.bytes);
        if (r) return r;
    }
    return more ? refuse(in, CUDA_ERROR_INVALID_IMAGE, "the object is damaged") : CUDA_SUCCESS;
}

static CUresult add_archive(const struct input *in, struct archive *a) {
    struct object_piece member;
    struct object o;
    int more;
    while ((more = archive_next(a, &member)) > 0) {
        if (!object_open(&o, member.data, member.bytes)) continue;
        CUresult r = add_object(in, &o, true);
        if (r) return r;
    }
    return more ? refuse(in, CUDA_ERROR_INVALID_IMAGE, "the archive is damaged") : CUDA_SUCCESS;
}

/* ---- any input ------------------------------------------------------------------------------- */

/* Adds an input by its content: compilers that were made to produce PTX still label it as a cubin.
 */
static CUresult add_code(const struct input *in, const void *data, size_t bytes) {
    if (linked_bytes(data, bytes)) {
        uint64_t units_bytes;
        const void *units = linked_units(data, &units_bytes);
        return add_fatbins(in, units, units_bytes);
    }
    if (fatbin_container_bytes(data, bytes)) return add_fatbins(in, data, bytes);
    if (ptx_target(data, strnlen(data, bytes))) return add_ptx(in, data, bytes);
    if (bytes > 4 && !memcmp(data, "\177ELF", 4)) return no_ptx(in);
    return refuse(in, CUDA_ERROR_INVALID_IMAGE, "the input is neither a fatbin, a cubin nor PTX");
}

static CUresult add(const struct input *in, CUjitInputType type, const void *data, size_t bytes) {
    struct object o;
    struct archive a;
    switch (type) {
    case CU_JIT_INPUT_PTX: return add_ptx(in, data, bytes);
    case CU_JIT_INPUT_CUBIN:
    case CU_JIT_INPUT_FATBINARY: return add_code(in, data, bytes);
    case CU_JIT_INPUT_OBJECT:
        if (object_open(&o, data, bytes)) return add_object(in, &o, false);
        return refuse(in, CUDA_ERROR_INVALID_IMAGE, "the input is not an object file");
    case CU_JIT_INPUT_LIBRARY:
        if (archive_open(&a, data, bytes)) return add_archive(in, &a);
        return refuse(in, CUDA_ERROR_INVALID_IMAGE, "the input is not an archive");
    case CU_JIT_INPUT_NVVM:
        return refuse(in, CUDA_ERROR_NO_BINARY_FOR_GPU,
                      "the input is NVVM code, which is not supported; give PTX");
    default:
        return refuse(in, CUDA_ERROR_INVALID_VALUE, "the input's type %d is unknown", (int)type);
    }
}

CUresult link_add(struct link *l, CUjitInputType type, const void *data, size_t bytes,
                  const char *name, char *why) {
    struct input in = {l, name && *name ? name : "input", why};
    size_t length = l->image.len;
    CUresult r = add(&in, type, data, bytes);
    if (r && !l->image.failed) l->image.len = length;
    return r;
}

const void *link_image(struct link *l, size_t *bytes) {
    if (l->image.failed || l->image.len == 0) return NULL;
    linked_end(&l->image);
    *bytes = l->image.len;
    return l->image.data;
}
