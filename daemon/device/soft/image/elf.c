/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads ELF files. Sections are found by name, so an index of names is built first.
 */
#include "daemon/device/soft/image/elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/image/le.h"

bool elf_is(const void *image, size_t bytes) {
    return bytes >= sizeof(Elf64_Ehdr) && memcmp(image, ELFMAG, SELFMAG) == 0 &&
           ((const unsigned char *)image)[EI_CLASS] == ELFCLASS64 &&
           ((const unsigned char *)image)[EI_DATA] == ELFDATA2LSB;
}

static Elf64_Ehdr header_of(const void *image) {
    Elf64_Ehdr h;
    memcpy(&h, image, sizeof(h));
    return h;
}

/* Counts sections. Counts that do not fit the header are in the first section header. The count is
 * limited by the file's size later. */
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

size_t elf_extent(const void *image, size_t avail) {
    if (!elf_is(image, avail)) return 0;
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

const char *elf_string(const struct elf *e, const struct elf_section *table, uint32_t at,
                       size_t *len) {
    if (at >= table->bytes) return NULL;
    const char *s = (const char *)e->image + table->offset + at;
    size_t room = (size_t)(table->bytes - at);
    const char *nul = memchr(s, 0, room < ELF_NAME_MAX ? room : ELF_NAME_MAX);
    if (!nul) return NULL;
    *len = (size_t)(nul - s);
    return s;
}

static int read_sections(struct elf *e) {
    Elf64_Ehdr h = header_of(e->image);
    uint32_t names;
    uint64_t count = count_sections(e->image, e->bytes, &names);
    if (h.e_shentsize != sizeof(Elf64_Shdr) || count > e->bytes / sizeof(Elf64_Shdr) ||
        names >= count || !le_within(h.e_shoff, count * sizeof(Elf64_Shdr), e->bytes))
        return ERR_INVALID_IMAGE;
    e->sections = calloc(count, sizeof(*e->sections));
    if (!e->sections) return -ENOMEM;
    e->section_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        Elf64_Shdr s;
        memcpy(&s, e->image + h.e_shoff + (uint64_t)i * sizeof(s), sizeof(s));
        /* A section without bytes in the file gets offset 0. */
        bool absent = s.sh_type == SHT_NULL || s.sh_type == SHT_NOBITS;
        if (!absent && !le_within(s.sh_offset, s.sh_size, e->bytes)) return ERR_INVALID_IMAGE;
        e->sections[i] = (struct elf_section){
            .name = s.sh_name,
            .type = s.sh_type,
            .link = s.sh_link,
            .offset = absent ? 0 : s.sh_offset,
            .bytes = s.sh_type == SHT_NULL ? 0 : s.sh_size,
        };
    }
    e->names = e->sections[names];
    return e->names.type == SHT_STRTAB ? 0 : ERR_INVALID_IMAGE;
}

static int index_sections(struct elf *e) {
    for (uint32_t i = 0; i < e->section_count; i++) {
        size_t len = 0;
        const char *name = elf_string(e, &e->names, e->sections[i].name, &len);
        if (!name) return ERR_INVALID_IMAGE;
        if (!ptx_names_add(&e->index, name, len, 0, &e->sections[i])) return -ENOMEM;
    }
    return 0;
}

int elf_open(struct elf *e, const void *image, size_t bytes) {
    *e = (struct elf){.image = image, .bytes = bytes};
    ptx_names_init(&e->index);
    if (!elf_is(image, bytes)) return ERR_INVALID_IMAGE;
    int err = read_sections(e);
    return err ? err : index_sections(e);
}

void elf_close(struct elf *e) {
    ptx_names_finish(&e->index);
    free(e->sections);
}

const struct elf_section *elf_section(const struct elf *e, const char *prefix, const char *rest) {
    char name[ELF_NAME_MAX + 64];
    size_t a = strlen(prefix), b = strlen(rest);
    if (a + b > sizeof(name)) return NULL;
    memcpy(name, prefix, a);
    memcpy(name + a, rest, b);
    const struct ptx_name *found = ptx_names_find(&e->index, name, a + b);
    return found ? found->item : NULL;
}

/* ---- symbols --------------------------------------------------------------------------------- */

int elf_symbols(const struct elf *e, struct elf_symbols *out) {
    const struct elf_section *table = elf_section(e, ".symtab", "");
    if (!table || table->type != SHT_SYMTAB || table->link >= e->section_count)
        return ERR_INVALID_IMAGE;
    const struct elf_section *strings = &e->sections[table->link];
    if (strings->type != SHT_STRTAB || table->bytes / sizeof(Elf64_Sym) > UINT32_MAX)
        return ERR_INVALID_IMAGE;
    *out = (struct elf_symbols){
        .at = e->image + table->offset,
        .count = (uint32_t)(table->bytes / sizeof(Elf64_Sym)),
        .strings = strings,
        .name_bytes_left = 2 * strings->bytes,
    };
    return 0;
}

Elf64_Sym elf_symbol(const struct elf_symbols *s, uint32_t i) {
    Elf64_Sym symbol;
    memcpy(&symbol, s->at + (uint64_t)i * sizeof(symbol), sizeof(symbol));
    return symbol;
}

int elf_symbol_name(const struct elf *e, struct elf_symbols *s, const Elf64_Sym *symbol,
                    char **out) {
    size_t len = 0;
    const char *name = elf_string(e, s->strings, symbol->st_name, &len);
    if (!name || len == 0 || len >= s->name_bytes_left) return ERR_INVALID_IMAGE;
    s->name_bytes_left -= len + 1;
    *out = strndup(name, len);
    return *out ? 0 : -ENOMEM;
}
