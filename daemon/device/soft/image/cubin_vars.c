/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads variables from a cubin: objects of .symtab that lie in one of three sections. Not found are
 * variables of cubins with 65,280 or more sections, where a symbol cannot name its section.
 */
#include "daemon/device/soft/image/cubin_vars.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/image/cubin.h"
#include "daemon/device/soft/image/elf.h"
#include "daemon/device/soft/image/le.h"

#define MANAGED_FLAG 0x04 /* st_other of a variable */

static const char *const places[] = {".nv.global", ".nv.global.init", ".nv.constant3"};

#define PLACES (sizeof(places) / sizeof(places[0]))

struct reader {
    struct elf elf;
    struct elf_symbols symbols;
    const struct elf_section *sections[PLACES];
    uint64_t init_bytes_left; /* bytes still allowed: contents may not be read twice */
    struct image_var *vars;
    uint32_t count;
};

/* Returns the section of the symbol if it is a variable, else NULL. */
static const struct elf_section *place_of(const struct reader *r, const Elf64_Sym *s) {
    if (ELF64_ST_TYPE(s->st_info) != STT_OBJECT || s->st_shndx >= r->elf.section_count ||
        s->st_size == 0)
        return NULL;
    for (size_t i = 0; i < PLACES; i++)
        if (r->sections[i] == &r->elf.sections[s->st_shndx]) return r->sections[i];
    return NULL;
}

static int copy_init(struct reader *r, const struct elf_section *at, const Elf64_Sym *s,
                     unsigned char **out) {
    if (at->type == SHT_NOBITS) return 0;
    if (s->st_size > r->init_bytes_left) return ERR_INVALID_IMAGE;
    r->init_bytes_left -= s->st_size;
    *out = malloc(s->st_size);
    if (!*out) return -ENOMEM;
    memcpy(*out, r->elf.image + at->offset + s->st_value, s->st_size);
    return 0;
}

/* Adds a variable. It is counted before its parts are allocated, so that a partial one is freed
 * too. */
static int add_var(struct reader *r, const struct elf_section *at, const Elf64_Sym *s) {
    if (!le_within(s->st_value, s->st_size, at->bytes)) return ERR_INVALID_IMAGE;
    struct image_var *v = &r->vars[r->count++];
    v->bytes = s->st_size;
    v->managed = s->st_other & MANAGED_FLAG;
    int err = elf_symbol_name(&r->elf, &r->symbols, s, &v->name);
    return err ? err : copy_init(r, at, s, &v->init);
}

static int read_vars(struct reader *r) {
    uint32_t count = 0;
    for (size_t i = 0; i < PLACES; i++)
        r->sections[i] = elf_section(&r->elf, places[i], "");
    for (uint32_t i = 0; i < r->symbols.count; i++) {
        Elf64_Sym s = elf_symbol(&r->symbols, i);
        count += place_of(r, &s) != NULL;
    }
    r->vars = calloc(count + 1u, sizeof(*r->vars));
    if (!r->vars) return -ENOMEM;
    int err = 0;
    for (uint32_t i = 0; i < r->symbols.count && !err; i++) {
        Elf64_Sym s = elf_symbol(&r->symbols, i);
        const struct elf_section *at = place_of(r, &s);
        if (at) err = add_var(r, at, &s);
    }
    return err;
}

int cubin_vars_read(const void *image, size_t bytes, struct image_var **vars, uint32_t *count) {
    struct reader r = {.init_bytes_left = bytes};
    *vars = NULL;
    *count = 0;
    if (cubin_target(image, bytes) == 0) return ERR_INVALID_IMAGE;
    int err = elf_open(&r.elf, image, bytes);
    if (!err) err = elf_symbols(&r.elf, &r.symbols);
    if (!err) err = read_vars(&r);
    elf_close(&r.elf);
    if (err) {
        cubin_vars_free(r.vars, r.count);
        return err;
    }
    *vars = r.vars;
    *count = r.count;
    return 0;
}

void cubin_vars_free(struct image_var *vars, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        free(vars[i].name);
        free(vars[i].init);
    }
    free(vars);
}
