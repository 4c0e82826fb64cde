/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels are the functions of .symtab that carry the entry flag. Their facts are spread over
 * sections named after them, so sections are indexed by name first.
 */
#include "daemon/device/soft/image/cubin.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/image/le.h"
#include "daemon/device/soft/image/nvinfo.h"
#include "daemon/device/soft/ptx/ptx_names.h"

#define CUBIN_MACHINE 190          /* EM_CUDA */
#define CUBIN_ENTRY_FLAG 0x10      /* st_other of a kernel */
#define CUBIN_NAME_MAX 8192        /* longest symbol that is believed */
#define CUBIN_RESERVED_SHARED 1024 /* bytes the system keeps of each block's shared memory */

struct section {
    uint32_t name, type, link;
    uint64_t offset, bytes;
};

struct cubin {
    const unsigned char *image;
    size_t bytes;
    uint32_t section_count;
    struct section names; /* the section with the sections' names */
    struct ptx_names index;
    struct section *sections;
    uint32_t *kernel_of; /* by symbol: kernel + 1 */
    uint32_t symbol_count;
    struct image_kernel *kernels;
    uint32_t kernel_count;
    uint64_t info_bytes, name_bytes; /* read so far: sections and names may not be told twice */
};

bool cubin_is_elf(const void *image, size_t bytes) {
    return bytes >= sizeof(Elf64_Ehdr) && memcmp(image, ELFMAG, SELFMAG) == 0 &&
           ((const unsigned char *)image)[EI_CLASS] == ELFCLASS64 &&
           ((const unsigned char *)image)[EI_DATA] == ELFDATA2LSB;
}

static Elf64_Ehdr header_of(const void *image) {
    Elf64_Ehdr h;
    memcpy(&h, image, sizeof(h));
    return h;
}

/* sm in bits 8 to 15 since ELF ABI version 8, in the lowest byte before. */
uint32_t cubin_target(const void *image, size_t bytes) {
    if (!cubin_is_elf(image, bytes)) return 0;
    Elf64_Ehdr h = header_of(image);
    if (h.e_machine != CUBIN_MACHINE) return 0;
    return h.e_ident[EI_ABIVERSION] >= 8 ? (h.e_flags >> 8) & 0xff : h.e_flags & 0xff;
}

/* Counts that do not fit the header stand in the first section's; ours are bounded by the file. */
static uint64_t count_sections(const void *image, size_t bytes, uint32_t *names) {
    Elf64_Ehdr h = header_of(image);
    Elf64_Shdr first = {0};
    if (h.e_shoff && le_within(h.e_shoff, sizeof(first), bytes))
        memcpy(&first, (const unsigned char *)image + h.e_shoff, sizeof(first));
    *names = h.e_shstrndx == SHN_XINDEX ? first.sh_link : h.e_shstrndx;
    return h.e_shnum ? h.e_shnum : first.sh_size;
}

static void extend(uint64_t *extent, uint64_t at, uint64_t bytes) {
    uint64_t end;
    if (__builtin_add_overflow(at, bytes, &end)) end = UINT64_MAX;
    if (end > *extent) *extent = end;
}

size_t cubin_extent(const void *image, size_t avail) {
    if (!cubin_is_elf(image, avail)) return 0;
    const unsigned char *p = image;
    Elf64_Ehdr h = header_of(image);
    uint64_t extent = sizeof(h);
    uint32_t names;
    uint64_t sections = count_sections(image, avail, &names), table;
    if (__builtin_mul_overflow(sections, (uint64_t)h.e_shentsize, &table)) return 0;
    if (sections) extend(&extent, h.e_shoff, table);
    if (h.e_phnum) extend(&extent, h.e_phoff, (uint64_t)h.e_phnum * h.e_phentsize);
    for (uint64_t i = 0; i < sections && h.e_shentsize >= sizeof(Elf64_Shdr); i++) {
        uint64_t at = h.e_shoff + i * h.e_shentsize;
        Elf64_Shdr s;
        if (h.e_shoff > avail || !le_within(at, sizeof(s), avail)) break;
        memcpy(&s, p + at, sizeof(s));
        if (s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL)
            extend(&extent, s.sh_offset, s.sh_size);
    }
    for (uint32_t i = 0; i < h.e_phnum && h.e_phentsize >= sizeof(Elf64_Phdr); i++) {
        uint64_t at = h.e_phoff + (uint64_t)i * h.e_phentsize;
        Elf64_Phdr s;
        if (h.e_phoff > avail || !le_within(at, sizeof(s), avail)) break;
        memcpy(&s, p + at, sizeof(s));
        extend(&extent, s.p_offset, s.p_filesz);
    }
    return extent > SIZE_MAX ? 0 : (size_t)extent;
}

/* ---- sections and strings -------------------------------------------------------------------- */

/* A NUL-terminated string inside a string table, or NULL. */
static const char *string_at(const struct cubin *c, const struct section *table, uint32_t at,
                             size_t *len) {
    if (at >= table->bytes) return NULL;
    const char *s = (const char *)c->image + table->offset + at;
    size_t room = (size_t)(table->bytes - at);
    const char *nul = memchr(s, 0, room < CUBIN_NAME_MAX ? room : CUBIN_NAME_MAX);
    if (!nul) return NULL;
    *len = (size_t)(nul - s);
    return s;
}

static int read_sections(struct cubin *c) {
    Elf64_Ehdr h = header_of(c->image);
    uint32_t names;
    uint64_t count = count_sections(c->image, c->bytes, &names);
    if (h.e_shentsize != sizeof(Elf64_Shdr) || count > c->bytes / sizeof(Elf64_Shdr) ||
        names >= count || !le_within(h.e_shoff, count * sizeof(Elf64_Shdr), c->bytes))
        return ERR_INVALID_IMAGE;
    c->sections = calloc(count, sizeof(*c->sections));
    if (!c->sections) return -ENOMEM;
    c->section_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        Elf64_Shdr s;
        memcpy(&s, c->image + h.e_shoff + (uint64_t)i * sizeof(s), sizeof(s));
        /* What has no bytes in the file gets no place in it either. */
        bool absent = s.sh_type == SHT_NULL || s.sh_type == SHT_NOBITS;
        if (!absent && !le_within(s.sh_offset, s.sh_size, c->bytes)) return ERR_INVALID_IMAGE;
        c->sections[i] = (struct section){
            .name = s.sh_name,
            .type = s.sh_type,
            .link = s.sh_link,
            .offset = absent ? 0 : s.sh_offset,
            .bytes = s.sh_type == SHT_NULL ? 0 : s.sh_size,
        };
    }
    c->names = c->sections[names];
    return c->names.type == SHT_STRTAB ? 0 : ERR_INVALID_IMAGE;
}

static int index_sections(struct cubin *c) {
    for (uint32_t i = 0; i < c->section_count; i++) {
        size_t len = 0;
        const char *name = string_at(c, &c->names, c->sections[i].name, &len);
        if (!name) return ERR_INVALID_IMAGE;
        if (!ptx_names_add(&c->index, name, len, 0, &c->sections[i])) return -ENOMEM;
    }
    return 0;
}

static const struct section *section_named(const struct cubin *c, const char *prefix,
                                           const char *kernel) {
    char name[CUBIN_NAME_MAX + 64];
    size_t a = strlen(prefix), b = strlen(kernel);
    if (a + b > sizeof(name)) return NULL;
    memcpy(name, prefix, a);
    memcpy(name + a, kernel, b);
    const struct ptx_name *e = ptx_names_find(&c->index, name, a + b);
    return e ? e->item : NULL;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static bool is_kernel(const Elf64_Sym *s) {
    return ELF64_ST_TYPE(s->st_info) == STT_FUNC && (s->st_other & CUBIN_ENTRY_FLAG) &&
           s->st_shndx != SHN_UNDEF;
}

static int add_kernel(struct cubin *c, uint32_t symbol, const struct section *strings,
                      uint32_t name_at) {
    size_t len = 0;
    const char *name = string_at(c, strings, name_at, &len);
    if (!name || len == 0) return ERR_INVALID_IMAGE;
    c->name_bytes += len + 1;
    if (c->name_bytes > 2 * strings->bytes) return ERR_INVALID_IMAGE;
    struct image_kernel *k = &c->kernels[c->kernel_count];
    k->name = strndup(name, len);
    if (!k->name) return -ENOMEM;
    c->kernel_of[symbol] = ++c->kernel_count;
    return 0;
}

/* Symbols that are kernels; counted first, so that memory follows what is there. */
static int read_symbols(struct cubin *c) {
    const struct section *table = section_named(c, ".symtab", "");
    if (!table || table->type != SHT_SYMTAB || table->link >= c->section_count)
        return ERR_INVALID_IMAGE;
    const struct section *strings = &c->sections[table->link];
    if (strings->type != SHT_STRTAB || table->bytes / sizeof(Elf64_Sym) > UINT32_MAX)
        return ERR_INVALID_IMAGE;
    c->symbol_count = (uint32_t)(table->bytes / sizeof(Elf64_Sym));
    uint32_t kernels = 0;
    Elf64_Sym s;
    for (uint32_t i = 0; i < c->symbol_count; i++) {
        memcpy(&s, c->image + table->offset + (uint64_t)i * sizeof(s), sizeof(s));
        kernels += is_kernel(&s);
    }
    if (kernels > c->section_count) return ERR_INVALID_IMAGE; /* each has one for its code */
    c->kernels = calloc(kernels + 1u, sizeof(*c->kernels));
    c->kernel_of = calloc(c->symbol_count + 1u, sizeof(*c->kernel_of));
    if (!c->kernels || !c->kernel_of) return -ENOMEM;
    int err = 0;
    for (uint32_t i = 0; i < c->symbol_count && !err; i++) {
        memcpy(&s, c->image + table->offset + (uint64_t)i * sizeof(s), sizeof(s));
        if (is_kernel(&s)) err = add_kernel(c, i, strings, s.st_name);
    }
    return err;
}

static uint32_t clamp_32(uint64_t n) {
    return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static int read_kernel(struct cubin *c, struct image_kernel *k) {
    const struct section *info = section_named(c, ".nv.info.", k->name);
    const struct section *shared = section_named(c, ".nv.shared.", k->name);
    const struct section *constant = section_named(c, ".nv.constant3", "");
    if (shared) {
        k->shared_bytes = clamp_32(shared->bytes);
        bool reserved = section_named(c, ".nv.shared.reserved.0", "");
        if (reserved && k->shared_bytes >= CUBIN_RESERVED_SHARED)
            k->shared_bytes -= CUBIN_RESERVED_SHARED;
    }
    if (constant) k->const_bytes = clamp_32(constant->bytes);
    if (!info) return 0;
    if (info->type == SHT_NOBITS) return ERR_INVALID_IMAGE;
    c->info_bytes += info->bytes;
    if (c->info_bytes > c->bytes) return ERR_INVALID_IMAGE;
    return nvinfo_kernel(k, c->image + info->offset, (size_t)info->bytes);
}

/* .nv.info proper: registers and stack of every function, by symbol. */
static int read_resources(struct cubin *c) {
    const struct section *info = section_named(c, ".nv.info", "");
    if (!info) return 0;
    if (info->type == SHT_NOBITS) return ERR_INVALID_IMAGE;
    struct nvinfo n;
    struct nvinfo_record r;
    int more;
    nvinfo_open(&n, c->image + info->offset, (size_t)info->bytes);
    while ((more = nvinfo_next(&n, &r)) > 0) {
        if (r.bytes < 8) continue;
        uint32_t symbol = le_32(r.data), value = le_32(r.data + 4);
        if (symbol >= c->symbol_count || c->kernel_of[symbol] == 0) continue;
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
    struct cubin c = {.image = image, .bytes = bytes};
    *kernels = NULL;
    *count = 0;
    if (cubin_target(image, bytes) == 0) return ERR_INVALID_IMAGE;
    ptx_names_init(&c.index);
    int err = read_sections(&c);
    if (!err) err = index_sections(&c);
    if (!err) err = read_symbols(&c);
    for (uint32_t i = 0; i < c.kernel_count && !err; i++)
        err = read_kernel(&c, &c.kernels[i]);
    if (!err) err = read_resources(&c);
    ptx_names_finish(&c.index);
    free(c.sections);
    free(c.kernel_of);
    if (err) {
        cubin_free(c.kernels, c.kernel_count);
        return err;
    }
    *kernels = c.kernels;
    *count = c.kernel_count;
    return 0;
}
