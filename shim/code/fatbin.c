/* SPDX-License-Identifier: Apache-2.0
 *
 * Lengths of code images. Layouts were measured with nvcc 13.0. The wrapper that the runtime
 * registers has two versions: version 1 names one fatbin; version 2 (-rdc=true) has the linked code
 * and then a NULL-terminated array of relocatable fatbins. The other layouts are the fatbin
 * container and 64-bit ELF.
 */
#include "shim/code/fatbin.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shim/code/fatbin_layout.h"
#include "shim/code/linked.h"
#include "shim/code/program_memory.h"

#define WRAPPER_MAGIC 0x466243b1u
#define TILE_MAGIC "\x7fTileIR"
#define FATBIN_UNITS_MAX 65536

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *units; /* version 2 only */
};

static uint32_t magic_of(const void *p) {
    uint32_t magic;
    memcpy(&magic, p, sizeof(magic));
    return magic;
}

/* True when the image begins like text. Callers may pass text of only three characters. */
static bool is_text(const void *p) {
    const unsigned char *c = p;
    return *c == '/' || *c == '.' || *c == ' ' || (*c >= '\t' && *c <= '\r');
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Returns UINT64_MAX when the sum wraps. */
static uint64_t end_of(uint64_t offset, uint64_t bytes) {
    return offset + bytes < offset ? UINT64_MAX : offset + bytes;
}

/* The bytes of an image. The readable length of an image that the program points to is unknown. */
struct extent {
    const char *at;
    uint64_t limit;
    bool known; /* all of the bytes can be read */
};

/* True if the `bytes` at `offset` could be copied. */
static bool peek(const struct extent *x, uint64_t offset, void *to, size_t bytes) {
    if (offset > x->limit || bytes > x->limit - offset) return false;
    if (!x->known) return program_memory_read(to, x->at + offset, bytes) == 0;
    memcpy(to, x->at + offset, bytes);
    return true;
}

/* Returns `bytes`, or 0 when the extent does not have all of them. */
static uint64_t whole(const struct extent *x, uint64_t bytes) {
    char last;
    return bytes && peek(x, bytes - 1, &last, 1) ? bytes : 0;
}

static uint64_t measure_elf(const struct extent *x) {
    Elf64_Ehdr h;
    if (!peek(x, 0, &h, sizeof(h))) return 0;
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ehsize < sizeof(h)) return 0;
    if (h.e_phnum && h.e_phentsize != sizeof(Elf64_Phdr)) return 0;
    if (h.e_shnum && h.e_shentsize != sizeof(Elf64_Shdr)) return 0;
    uint64_t end = h.e_ehsize;
    end = larger(end, end_of(h.e_phoff, (uint64_t)h.e_phnum * h.e_phentsize));
    end = larger(end, end_of(h.e_shoff, (uint64_t)h.e_shnum * h.e_shentsize));
    if (end > x->limit) return 0;
    for (uint16_t i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr ph;
        if (!peek(x, h.e_phoff + i * sizeof(ph), &ph, sizeof(ph))) return 0;
        end = larger(end, end_of(ph.p_offset, ph.p_filesz));
    }
    for (uint16_t i = 0; i < h.e_shnum; i++) {
        Elf64_Shdr sh;
        if (!peek(x, h.e_shoff + i * sizeof(sh), &sh, sizeof(sh))) return 0;
        if (sh.sh_type != SHT_NOBITS) end = larger(end, end_of(sh.sh_offset, sh.sh_size));
    }
    return whole(x, end);
}

static uint64_t measure_fatbin(const struct extent *x) {
    struct fatbin_header h;
    if (!peek(x, 0, &h, sizeof(h))) return 0;
    if (h.version != 1 || h.header_bytes < FATBIN_HEADER_MIN) return 0;
    return whole(x, end_of(h.header_bytes, h.bytes));
}

/* Measures any image but a wrapper. */
static uint64_t measure(const struct extent *x) {
    if (!x->at || !*x->at) return 0; /* empty text */
    if (is_text(x->at)) return strlen(x->at) + 1;
    if (x->limit < SELFMAG) return 0;
    if (magic_of(x->at) == FATBIN_MAGIC) return measure_fatbin(x);
    if (!memcmp(x->at, ELFMAG, SELFMAG)) return measure_elf(x);
    return whole(x, linked_bytes(x->at, x->limit));
}

static uint64_t measure_one(const void *p) {
    return measure(&(struct extent){p, FATBIN_BYTES_MAX, false});
}

size_t fatbin_measure_within(const void *code, size_t bytes) {
    if (bytes == 0) return 0;
    uint64_t measured = measure(&(struct extent){code, bytes, true});
    return measured <= (uint64_t)bytes + 1 ? measured : 0;
}

static bool is_wrapper(const void *p, struct wrapper *w) {
    if (is_text(p) || !*(const char *)p || magic_of(p) != WRAPPER_MAGIC) return false;
    memcpy(w, p, sizeof(*w));
    if (w->version < 2) w->units = NULL;
    return true;
}

/* Returns the part of an image that is sent, and its length; 0: not an image. Not for wrappers. */
static const void *travelling(const void *p, uint64_t *bytes) {
    *bytes = measure_one(p);
    if (!*bytes || is_text(p) || magic_of(p) != LINKED_MAGIC) return p;
    return linked_chain(p, bytes);
}

bool fatbin_is_one(const void *code) {
    return magic_of(code) == FATBIN_MAGIC;
}

bool fatbin_is_tile(const void *code) {
    return strncmp(code, TILE_MAGIC, strlen(TILE_MAGIC)) == 0;
}

size_t fatbin_measure(const void *code) {
    struct wrapper w;
    uint64_t total;
    if (!code) return 0;
    if (!is_wrapper(code, &w)) {
        travelling(code, &total);
        return total;
    }
    total = measure_one(w.data);
    for (uint32_t i = 0; total && w.units && w.units[i]; i++) {
        uint64_t unit = measure_one(w.units[i]);
        if (!unit || i == FATBIN_UNITS_MAX) return 0;
        total += unit;
    }
    return total <= FATBIN_BYTES_MAX ? total : 0;
}

/* The position at which the copy goes on, and the bytes left there. */
struct target {
    char *at;
    uint64_t left;
};

/* Copies one piece. The headers may give a larger size than when they were measured. */
static int copy_piece(struct target *t, const void *from, uint64_t bytes) {
    if (bytes > t->left) return -EFAULT;
    int err = program_memory_read(t->at, from, bytes);
    t->at += bytes;
    t->left -= bytes;
    return err;
}

int fatbin_copy(const void *code, void *to, size_t bytes) {
    struct target t = {to, bytes};
    struct wrapper w;
    uint64_t piece;
    if (!is_wrapper(code, &w)) {
        const void *from = travelling(code, &piece);
        return piece == bytes ? copy_piece(&t, from, piece) : -EFAULT;
    }
    int err = copy_piece(&t, w.data, measure_one(w.data));
    for (uint32_t i = 0; !err && w.units && w.units[i]; i++)
        err = copy_piece(&t, w.units[i], measure_one(w.units[i]));
    return err || !t.left ? err : -EFAULT;
}

const void *fatbin_in_place(const void *code) {
    struct wrapper w;
    uint64_t bytes;
    if (!is_wrapper(code, &w)) return travelling(code, &bytes);
    return w.units && w.units[0] ? NULL : w.data;
}

/* ---- fatbins --------------------------------------------------------------------------------- */

size_t fatbin_container_bytes(const void *data, size_t bytes) {
    uint32_t magic = FATBIN_MAGIC;
    if (bytes < sizeof(magic) || memcmp(data, &magic, sizeof(magic)) != 0) return 0;
    return measure_fatbin(&(struct extent){data, bytes, true});
}

static bool runs_on(const struct fatbin_entry *e, uint32_t capability) {
    if (e->kind != FATBIN_KIND_PTX || e->target > capability) return false;
    if (e->flags & FATBIN_ARCH) return e->target == capability;
    return !(e->flags & FATBIN_FAMILY) || e->target / 10 == capability / 10;
}

/* Returns the bytes to the next entry; `left`: those that exist from this entry's header on. 0: the
 * entry's sizes are invalid. */
static size_t step_over(const struct fatbin_entry *e, size_t left) {
    if (e->header_bytes < sizeof(*e)) return 0;
    uint64_t step = end_of(e->header_bytes, e->payload_bytes);
    return step <= left ? step : 0;
}

bool fatbin_has_ptx(const void *fatbin, size_t bytes, uint32_t capability) {
    struct fatbin_header h;
    if (bytes < sizeof(h)) return false;
    memcpy(&h, fatbin, sizeof(h));
    if (h.header_bytes < sizeof(h) || h.header_bytes > bytes) return false;
    const char *at = (const char *)fatbin + h.header_bytes;
    size_t left = bytes - h.header_bytes;
    struct fatbin_entry e;
    while (left >= sizeof(e)) {
        memcpy(&e, at, sizeof(e));
        size_t step = step_over(&e, left);
        if (!step) return false;
        if (runs_on(&e, capability)) return true;
        at += step;
        left -= step;
    }
    return false;
}
