/* SPDX-License-Identifier: Apache-2.0
 *
 * An archive's member is a header of 60 bytes of text, with its length in ten decimal digits at 48,
 * then the data, padded to an even length. nvcc puts fatbins into sections of host objects, one
 * after the other, at multiples of eight.
 */
#include "shim/code/object.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "shim/code/fatbin.h"

#define ARCHIVE_MAGIC "!<arch>\n"
#define ARCHIVE_HEADER_BYTES 60u
#define ARCHIVE_SIZE_AT 48u
#define ARCHIVE_SIZE_BYTES 10u
#define OBJECT_CUDA 190 /* e_machine of a cubin */

static const char *const fatbin_sections[] = {".nv_fatbin", "__nv_relfatbin"};

/* ---- archives -------------------------------------------------------------------------------- */

bool archive_open(struct archive *a, const void *data, size_t bytes) {
    const size_t magic = strlen(ARCHIVE_MAGIC);
    if (bytes < magic || memcmp(data, ARCHIVE_MAGIC, magic) != 0) return false;
    *a = (struct archive){(const unsigned char *)data + magic, bytes - magic};
    return true;
}

/* Reads digits followed by blanks. False when there is no number, or it is greater than `most`. */
static bool read_size(const unsigned char *text, size_t most, size_t *out) {
    size_t i = 0, value = 0;
    for (; i < ARCHIVE_SIZE_BYTES && text[i] >= '0' && text[i] <= '9'; i++)
        value = value * 10 + (size_t)(text[i] - '0');
    if (i == 0 || value > most) return false;
    *out = value;
    return true;
}

/* True for the archive's own tables "/", "//" and "/SYM64/"; "/12" is a member with a long name. */
static bool is_table(const unsigned char *name) {
    return name[0] == '/' && !(name[1] >= '0' && name[1] <= '9');
}

int archive_next(struct archive *a, struct object_piece *member) {
    for (;;) {
        const unsigned char *header = a->at;
        size_t bytes;
        if (a->left == 0) return 0;
        if (a->left < ARCHIVE_HEADER_BYTES || header[58] != '`' || header[59] != '\n')
            return -EINVAL;
        if (!read_size(header + ARCHIVE_SIZE_AT, a->left - ARCHIVE_HEADER_BYTES, &bytes))
            return -EINVAL;
        *member = (struct object_piece){header + ARCHIVE_HEADER_BYTES, bytes};
        size_t step = ARCHIVE_HEADER_BYTES + bytes + (bytes & 1);
        if (step > a->left) step = a->left; /* the last member may lack its padding */
        a->at += step;
        a->left -= step;
        if (!is_table(header)) return 1;
    }
}

/* ---- objects --------------------------------------------------------------------------------- */

static bool within(uint64_t at, uint64_t bytes, size_t total) {
    return at <= total && bytes <= total - at;
}

static Elf64_Ehdr header_of(const struct object *o) {
    Elf64_Ehdr h;
    memcpy(&h, o->data, sizeof(h));
    return h;
}

bool object_open(struct object *o, const void *data, size_t bytes) {
    *o = (struct object){.data = data, .bytes = bytes};
    if (bytes < sizeof(Elf64_Ehdr) || memcmp(data, ELFMAG, SELFMAG) != 0) return false;
    Elf64_Ehdr h = header_of(o);
    if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine == OBJECT_CUDA) return false;
    if (h.e_shentsize != sizeof(Elf64_Shdr) || h.e_shstrndx >= h.e_shnum) return false;
    if (!within(h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr), bytes)) return false;
    o->sections = h.e_shnum;
    return true;
}

static Elf64_Shdr section_at(const struct object *o, size_t i) {
    Elf64_Shdr s;
    memcpy(&s, o->data + header_of(o).e_shoff + i * sizeof(s), sizeof(s));
    return s;
}

/* True when the section has this name. A name outside of the name table never matches. */
static bool is_named(const struct object *o, const Elf64_Shdr *s, const char *name) {
    Elf64_Shdr names = section_at(o, header_of(o).e_shstrndx);
    size_t n = strlen(name) + 1;
    if (!within(names.sh_offset, names.sh_size, o->bytes)) return false;
    if (!within(s->sh_name, n, names.sh_size)) return false;
    return memcmp(o->data + names.sh_offset + s->sh_name, name, n) == 0;
}

static bool holds_fatbins(const struct object *o, const Elf64_Shdr *s) {
    if (s->sh_type == SHT_NOBITS) return false;
    for (size_t i = 0; i < sizeof(fatbin_sections) / sizeof(*fatbin_sections); i++)
        if (is_named(o, s, fatbin_sections[i])) return true;
    return false;
}

/* Enters the next section that holds fatbins. 1, or 0 when there is none, or -EINVAL. */
static int enter_section(struct object *o) {
    while (o->section < o->sections) {
        Elf64_Shdr s = section_at(o, o->section++);
        if (!holds_fatbins(o, &s)) continue;
        if (!within(s.sh_offset, s.sh_size, o->bytes)) return -EINVAL;
        o->inside = (struct object_piece){o->data + s.sh_offset, s.sh_size};
        return 1;
    }
    return 0;
}

/* Skips the zeros that pad a fatbin. */
static void skip_padding(struct object_piece *p) {
    while (p->bytes && *p->data == 0) {
        p->data++;
        p->bytes--;
    }
}

int object_next(struct object *o, struct object_piece *fatbin) {
    for (;;) {
        skip_padding(&o->inside);
        if (o->inside.bytes) break;
        int more = enter_section(o);
        if (more <= 0) return more;
    }
    size_t bytes = fatbin_container_bytes(o->inside.data, o->inside.bytes);
    if (!bytes) return -EINVAL;
    *fatbin = (struct object_piece){o->inside.data, bytes};
    o->inside.data += bytes;
    o->inside.bytes -= bytes;
    return 1;
}
