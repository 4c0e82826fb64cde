/* SPDX-License-Identifier: Apache-2.0
 *
 * An ELF file's sections and symbols, bounded by the file and found by name. Reads hostile bytes;
 * points into them while it is open.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_ELF_H
#define DAEMON_DEVICE_SOFT_IMAGE_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/device/soft/ptx/ptx_names.h"

#define ELF_NAME_MAX 8192 /* longest name that is believed */

/* What has no bytes in the file lies at offset 0. */
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

/* Names may not be told twice: what is copied of them is bounded by the file. */
struct elf_symbols {
    const unsigned char *at;
    uint32_t count;
    const struct elf_section *strings;
    uint64_t name_bytes_left;
};

/* 64 bits, little-endian. */
bool elf_is(const void *image, size_t bytes);
/* Bytes that the file spans as far as its first `avail` bytes tell; 0: not an ELF file. */
size_t elf_extent(const void *image, size_t avail);

/* 0, ERR_INVALID_IMAGE or -ENOMEM; elf_close follows in any case. */
int elf_open(struct elf *e, const void *image, size_t bytes);
void elf_close(struct elf *e);

/* The section of this name, which is given in two parts; NULL: there is none. */
const struct elf_section *elf_section(const struct elf *e, const char *prefix, const char *rest);
/* A NUL-terminated string inside a string table, or NULL. */
const char *elf_string(const struct elf *e, const struct elf_section *table, uint32_t at,
                       size_t *len);

/* Those of .symtab: 0 or ERR_INVALID_IMAGE. */
int elf_symbols(const struct elf *e, struct elf_symbols *out);
Elf64_Sym elf_symbol(const struct elf_symbols *s, uint32_t i);
/* Its name, malloc'd: 0, ERR_INVALID_IMAGE (it has none, too) or -ENOMEM. */
int elf_symbol_name(const struct elf *e, struct elf_symbols *s, const Elf64_Sym *symbol,
                    char **out);

#endif
