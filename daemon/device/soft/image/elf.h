/* SPDX-License-Identifier: Apache-2.0
 *
 * An ELF file's sections and symbols, limited to the file and found by name. The input is hostile;
 * an open file has pointers into it.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_ELF_H
#define DAEMON_DEVICE_SOFT_IMAGE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/ptx/ptx_names.h"

#define ELF_NAME_MAX 8192 /* longest name accepted */

/* A section; one without bytes in the file has offset 0. */
struct elf_section {
    uint32_t name, type, link;
    uint64_t offset, bytes;
};

struct elf {
    const unsigned char *image;
    size_t bytes;
    uint32_t section_count;
    struct elf_section names; /* the section with the sections' names */
    struct ptx_names index;
    struct elf_section *sections;
};

/* The symbol table. The total of copied names is limited to twice the bytes of the string table, so
 * that a file cannot repeat long names without end. */
struct elf_symbols {
    const unsigned char *at;
    uint32_t count;
    const struct elf_section *strings;
    uint64_t name_bytes_left;
};

/* True for a 64-bit little-endian ELF file. */
bool elf_is(const void *image, size_t bytes);
/* Returns the file's size as far as its first `avail` bytes show, or 0 if it is not an ELF file. */
size_t elf_extent(const void *image, size_t avail);

/* Returns 0, ERR_INVALID_IMAGE or -ENOMEM. The caller calls elf_close in any case. */
int elf_open(struct elf *e, const void *image, size_t bytes);
void elf_close(struct elf *e);

/* Finds the section whose name is `prefix` followed by `rest`. Returns NULL if there is none. */
const struct elf_section *elf_section(const struct elf *e, const char *prefix, const char *rest);
/* Returns a NUL-terminated string inside a string table, and its length in *len, or NULL. */
const char *elf_string(const struct elf *e, const struct elf_section *table, uint32_t at,
                       size_t *len);

/* Finds .symtab. Returns 0 or ERR_INVALID_IMAGE. */
int elf_symbols(const struct elf *e, struct elf_symbols *out);
Elf64_Sym elf_symbol(const struct elf_symbols *s, uint32_t i);
/* Returns the symbol's name, malloc'd. Errors: ERR_INVALID_IMAGE (also if it has no name),
 * -ENOMEM. */
int elf_symbol_name(const struct elf *e, struct elf_symbols *s, const Elf64_Sym *symbol,
                    char **out);

#endif
