/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads kernels from a cubin. They are the functions of .symtab with the entry flag; their facts
 * are spread over sections named after them.
 */
#include "daemon/device/soft/image/cubin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/image/elf.h"
#include "daemon/device/soft/image/le.h"
#include "daemon/device/soft/image/nvinfo.h"

#define CUBIN_MACHINE 190 /* EM_CUDA */
/* Bytes of each block's shared memory reserved for the system. */
#define CUBIN_RESERVED_SHARED 1024

struct cubin {
    struct elf elf;
    struct elf_symbols symbols;
    uint32_t *kernel_of; /* indexed by symbol: kernel + 1 */
    struct image_kernel *kernels;
    uint32_t kernel_count;
    uint64_t info_bytes; /* bytes read so far: sections may not be read twice */
};

/* The target is in bits 8 to 15 since ELF ABI version 8, and in the lowest byte before. */
uint32_t cubin_target(const void *image, size_t bytes) {
    Elf64_Ehdr h;
    if (!elf_is(image, bytes)) return 0;
    memcpy(&h, image, sizeof(h));
    if (h.e_machine != CUBIN_MACHINE) return 0;
    return h.e_ident[EI_ABIVERSION] >= 8 ? (h.e_flags >> 8) & 0xff : h.e_flags & 0xff;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool is_kernel(const Elf64_Sym *s) {
    return ELF64_ST_TYPE(s->st_info) == STT_FUNC && (s->st_other & CUBIN_ENTRY_FLAG) &&
           s->st_shndx != SHN_UNDEF;
}

static uint32_t count_kernels(const struct elf_symbols *symbols) {
    uint32_t kernels = 0;
    for (uint32_t i = 0; i < symbols->count; i++) {
        Elf64_Sym s = elf_symbol(symbols, i);
        kernels += is_kernel(&s);
    }
    return kernels;
}

/* Reads the symbols that are kernels. They are counted first, so that no more memory is allocated
 * than the file justifies. */
static int read_symbols(struct cubin *c) {
    int err = elf_symbols(&c->elf, &c->symbols);
    if (err) return err;
    uint32_t kernels = count_kernels(&c->symbols);
    /* each kernel has a section of its own for its code */
    if (kernels > c->elf.section_count) return ERR_INVALID_IMAGE;
    c->kernels = calloc(kernels + 1u, sizeof(*c->kernels));
    c->kernel_of = calloc(c->symbols.count + 1u, sizeof(*c->kernel_of));
    if (!c->kernels || !c->kernel_of) return -ENOMEM;
    for (uint32_t i = 0; i < c->symbols.count && !err; i++) {
        Elf64_Sym s = elf_symbol(&c->symbols, i);
        if (!is_kernel(&s)) continue;
        err = elf_symbol_name(&c->elf, &c->symbols, &s, &c->kernels[c->kernel_count].name);
        if (!err) c->kernel_of[i] = ++c->kernel_count;
    }
    return err;
}

static uint32_t clamp_32(uint64_t n) {
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static int read_kernel(struct cubin *c, struct image_kernel *k) {
    const struct elf_section *info = elf_section(&c->elf, ".nv.info.", k->name);
    const struct elf_section *shared = elf_section(&c->elf, ".nv.shared.", k->name);
    const struct elf_section *constant = elf_section(&c->elf, ".nv.constant3", "");
    if (shared) {
        k->shared_bytes = clamp_32(shared->bytes);
        bool reserved = elf_section(&c->elf, ".nv.shared.reserved.0", "");
        if (reserved && k->shared_bytes >= CUBIN_RESERVED_SHARED)
            k->shared_bytes -= CUBIN_RESERVED_SHARED;
    }
    if (constant) k->const_bytes = clamp_32(constant->bytes);
    if (!info) return 0;
    if (info->type == SHT_NOBITS) return ERR_INVALID_IMAGE;
    c->info_bytes += info->bytes;
    if (c->info_bytes > c->elf.bytes) return ERR_INVALID_IMAGE;
    return nvinfo_kernel(k, c->elf.image + info->offset, (size_t)info->bytes);
}

/* Reads .nv.info itself: registers and stack of every function, by symbol. */
static int read_resources(struct cubin *c) {
    const struct elf_section *info = elf_section(&c->elf, ".nv.info", "");
    if (!info) return 0;
    if (info->type == SHT_NOBITS) return ERR_INVALID_IMAGE;
    struct nvinfo n;
    struct nvinfo_record r;
    int more;
    nvinfo_open(&n, c->elf.image + info->offset, (size_t)info->bytes);
    while ((more = nvinfo_next(&n, &r)) > 0) {
        if (r.bytes < 8) continue;
        uint32_t symbol = le_32(r.data), value = le_32(r.data + 4);
        if (symbol >= c->symbols.count || c->kernel_of[symbol] == 0) continue;
        struct image_kernel *k = &c->kernels[c->kernel_of[symbol] - 1];
        if (r.attribute == NVINFO_REGS) k->regs = value;
        bool stack = r.attribute == NVINFO_FRAME_BYTES || r.attribute == NVINFO_MIN_STACK ||
                     r.attribute == NVINFO_MAX_STACK;
        if (stack && value > k->local_bytes) k->local_bytes = value;
    }
    return more;
}

void cubin_free(struct image_kernel *kernels, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        free(kernels[i].name);
        free(kernels[i].params);
    }
    free(kernels);
}

int cubin_read(const void *image, size_t bytes, struct image_kernel **kernels, uint32_t *count) {
    struct cubin c = {0};
    *kernels = NULL;
    *count = 0;
    if (cubin_target(image, bytes) == 0) return ERR_INVALID_IMAGE;
    int err = elf_open(&c.elf, image, bytes);
    if (!err) err = read_symbols(&c);
    for (uint32_t i = 0; i < c.kernel_count && !err; i++)
        err = read_kernel(&c, &c.kernels[i]);
    if (!err) err = read_resources(&c);
    elf_close(&c.elf);
    free(c.kernel_of);
    if (err) {
        cubin_free(c.kernels, c.kernel_count);
        return err;
    }
    *kernels = c.kernels;
    *count = c.kernel_count;
    return 0;
}
