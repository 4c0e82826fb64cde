/* SPDX-License-Identifier: Apache-2.0
 *
 * Lengths of code images. Layouts were measured with nvcc 13.0: the wrapper that the runtime
 * registers (version 1 names one fatbin; version 2, of -rdc=true, the linked code and then a
 * NULL-terminated array of relocatable fatbins), the fatbin container and 64-bit ELF.
 */
#include "shim/code/fatbin.h"

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shim/code/fatbin_layout.h"
#include "shim/code/linked.h"

#define WRAPPER_MAGIC 0x466243b1u
#define TILE_MAGIC "\x7fTileIR"
#define FATBIN_UNITS_MAX 65536

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *units; /* version 2 */
};

static uint32_t magic_of(const void *p) {
    uint32_t magic;
    memcpy(&magic, p, sizeof(magic));
    return magic;
}

/* Callers may pass text of three characters. */
static bool is_text(const void *p) {
    const unsigned char *c = p;
    return *c == '/' || *c == '.' || *c == ' ' || (*c >= '\t' && *c <= '\r');
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* UINT64_MAX when it wraps. */
static uint64_t end_of(uint64_t offset, uint64_t bytes) {
    return offset + bytes < offset ? UINT64_MAX : offset + bytes;
}

/* `limit`: bytes that can be read. */
static uint64_t measure_elf(const char *p, uint64_t limit) {
    Elf64_Ehdr h;
    if (limit < sizeof(h)) return 0;
    memcpy(&h, p, sizeof(h));
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ehsize < sizeof(h)) return 0;
    if (h.e_phnum && h.e_phentsize != sizeof(Elf64_Phdr)) return 0;
    if (h.e_shnum && h.e_shentsize != sizeof(Elf64_Shdr)) return 0;
    uint64_t end = h.e_ehsize;
    end = larger(end, end_of(h.e_phoff, (uint64_t)h.e_phnum * h.e_phentsize));
    end = larger(end, end_of(h.e_shoff, (uint64_t)h.e_shnum * h.e_shentsize));
    if (end > limit) return 0;
    for (uint16_t i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr ph;
        memcpy(&ph, p + h.e_phoff + i * sizeof(ph), sizeof(ph));
        end = larger(end, end_of(ph.p_offset, ph.p_filesz));
    }
    for (uint16_t i = 0; i < h.e_shnum; i++) {
        Elf64_Shdr sh;
        memcpy(&sh, p + h.e_shoff + i * sizeof(sh), sizeof(sh));
        if (sh.sh_type != SHT_NOBITS) end = larger(end, end_of(sh.sh_offset, sh.sh_size));
    }
    return end <= limit ? end : 0;
}

static uint64_t measure_fatbin(const void *p, uint64_t limit) {
    struct fatbin_header h;
    if (limit < sizeof(h)) return 0;
    memcpy(&h, p, sizeof(h));
    if (h.version != 1 || h.header_bytes < FATBIN_HEADER_MIN) return 0;
    uint64_t bytes = end_of(h.header_bytes, h.bytes);
    return bytes <= limit ? bytes : 0;
}

/* Anything but a wrapper. */
static uint64_t measure(const void *p, uint64_t limit) {
    if (!p || !*(const char *)p) return 0; /* empty text */
    if (is_text(p)) return strlen(p) + 1;
    if (limit < SELFMAG) return 0;
    if (magic_of(p) == FATBIN_MAGIC) return measure_fatbin(p, limit);
    if (!memcmp(p, ELFMAG, SELFMAG)) return measure_elf(p, limit);
    return linked_bytes(p, limit);
}

static uint64_t measure_one(const void *p) {
    return measure(p, FATBIN_BYTES_MAX);
}

size_t fatbin_measure_within(const void *code, size_t bytes) {
    if (bytes == 0) return 0;
    uint64_t measured = measure(code, bytes);
    return measured <= (uint64_t)bytes + 1 ? measured : 0;
}

static bool is_wrapper(const void *p, struct wrapper *w) {
    if (is_text(p) || !*(const char *)p || magic_of(p) != WRAPPER_MAGIC) return false;
    memcpy(w, p, sizeof(*w));
    if (w->version < 2) w->units = NULL;
    return true;
}

/* What is sent of anything but a wrapper, and its length; 0: it is no image. */
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

void fatbin_copy(const void *code, void *to) {
    struct wrapper w;
    uint64_t bytes;
    if (!is_wrapper(code, &w)) {
        const void *from = travelling(code, &bytes);
        memcpy(to, from, bytes);
        return;
    }
    char *at = to;
    bytes = measure_one(w.data);
    memcpy(at, w.data, bytes);
    at += bytes;
    for (uint32_t i = 0; w.units && w.units[i]; i++) {
        bytes = measure_one(w.units[i]);
        memcpy(at, w.units[i], bytes);
        at += bytes;
    }
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
    return measure_fatbin(data, bytes);
}

static bool runs_on(const struct fatbin_entry *e, uint32_t capability) {
    if (e->kind != FATBIN_KIND_PTX || e->target > capability) return false;
    if (e->flags & FATBIN_ARCH) return e->target == capability;
    return !(e->flags & FATBIN_FAMILY) || e->target / 10 == capability / 10;
}

bool fatbin_has_ptx(const void *fatbin, size_t bytes, uint32_t capability) {
    struct fatbin_header h;
    memcpy(&h, fatbin, sizeof(h));
    const char *at = (const char *)fatbin + h.header_bytes;
    size_t left = bytes - h.header_bytes;
    struct fatbin_entry e;
    while (left >= sizeof(e)) {
        memcpy(&e, at, sizeof(e));
        if (runs_on(&e, capability)) return true;
        uint64_t step = end_of(e.header_bytes, e.payload_bytes);
        if (step < sizeof(e) || step > left) return false;
        at += step;
        left -= step;
    }
    return false;
}
