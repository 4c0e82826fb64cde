/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills only the fields that the readers use; the layout of the sections is the plainest possible.
 */
#include "test/lib/ptx/image_build.h"

#include <elf.h>
#include <lz4.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define BUILD_ENTRY_BYTES 64
#define BUILD_MAX_SECTIONS 64
#define BUILD_RESERVED_SHARED 1024

static void put(struct buf *b, uint64_t value, size_t bytes) {
    buf_append(b, &value, bytes); /* little-endian, like every machine this runs on */
}

static void put_at(struct buf *b, size_t at, uint64_t value, size_t bytes) {
    if (!b->failed) memcpy(b->data + at, &value, bytes);
}

/* ---- fatbin ---------------------------------------------------------------------------------- */

static size_t pack(const struct image_entry *e, char **packed) {
    size_t cap = e->packing == IMAGE_ZSTD ? ZSTD_compressBound(e->bytes)
                                          : (size_t)LZ4_compressBound((int)e->bytes);
    *packed = malloc(cap ? cap : 1);
    if (!*packed) abort();
    if (e->packing == IMAGE_ZSTD) return ZSTD_compress(*packed, cap, e->data, e->bytes, 3);
    return (size_t)LZ4_compress_default(e->data, *packed, (int)e->bytes, (int)cap);
}

static void add_entry(struct buf *out, const struct image_entry *e) {
    char *packed = NULL;
    size_t packed_bytes = e->packing == IMAGE_PLAIN ? 0 : pack(e, &packed);
    size_t stored = packed ? packed_bytes : e->bytes;
    size_t padded = (stored + 7) & ~(size_t)7;
    static const uint64_t flag[] = {[IMAGE_LZ4] = 0x2000, [IMAGE_ZSTD] = 0x8000};
    put(out, e->kind, 2);
    put(out, 0x101, 2);
    put(out, BUILD_ENTRY_BYTES, 4);
    put(out, padded, 8);
    put(out, packed_bytes, 4);
    put(out, 0, 8);
    put(out, e->target, 4);
    put(out, 0, 8);
    put(out, 0x11 | e->flags | flag[e->packing], 8);
    put(out, 0, 8);
    put(out, packed ? e->bytes : 0, 8);
    buf_append(out, packed ? packed : e->data, stored);
    buf_extend(out, padded - stored);
    free(packed);
}

void image_build_fatbin(struct buf *out, const struct image_entry *entries, size_t count) {
    size_t start = out->len;
    put(out, 0xBA55ED50u, 4);
    put(out, 1, 2);
    put(out, 16, 2);
    put(out, 0, 8);
    for (size_t i = 0; i < count; i++)
        add_entry(out, &entries[i]);
    put_at(out, start + 8, out->len - start - 16, 8);
}

/* ---- .nv.info -------------------------------------------------------------------------------- */

static void put_pair(struct buf *b, uint8_t attribute, uint32_t symbol, uint32_t value) {
    put(b, 4, 1);
    put(b, attribute, 1);
    put(b, 8, 2);
    put(b, symbol, 4);
    put(b, value, 4);
}

void image_build_info(struct buf *out, const struct image_build_kernel *kernels, size_t count) {
    for (size_t i = 0; i < count; i++) {
        put_pair(out, 0x2f, (uint32_t)i + 1, kernels[i].regs);
        put_pair(out, 0x11, (uint32_t)i + 1, kernels[i].stack_bytes);
        put_pair(out, 0x12, (uint32_t)i + 1, kernels[i].stack_bytes);
    }
}

void image_build_kernel_info(struct buf *out, const struct image_build_kernel *k) {
    put(out, 3, 1); /* a record that readers must step over */
    put(out, 0x1b, 1);
    put(out, 0xff, 2);
    for (size_t i = 0; i < k->param_count; i++) {
        const struct image_param *p = &k->params[i];
        put(out, 4, 1);
        put(out, p->large ? 0x45 : 0x17, 1);
        put(out, 12, 2);
        put(out, 0, 4);
        put(out, p->ordinal, 2);
        put(out, p->offset, 2);
        put(out, p->large ? p->bytes : p->bytes << 18 | 0x1f000, 4);
    }
    put(out, 3, 1);
    put(out, 0x19, 1);
    put(out, k->param_bytes, 2);
    if (!k->block[0]) return;
    put(out, 4, 1);
    put(out, 0x05, 1);
    put(out, 12, 2);
    for (int i = 0; i < 3; i++)
        put(out, k->block[i], 4);
}

/* ---- cubin ----------------------------------------------------------------------------------- */

struct elf {
    struct buf body, names, strings, symbols;
    Elf64_Shdr sections[BUILD_MAX_SECTIONS];
    uint16_t count;
};

static void add_section(struct elf *e, const char *prefix, const char *name, uint32_t type,
                        const struct buf *data, uint64_t bytes) {
    if (e->count == BUILD_MAX_SECTIONS) abort();
    Elf64_Shdr *s = &e->sections[e->count++];
    *s = (Elf64_Shdr){.sh_name = (uint32_t)e->names.len, .sh_type = type, .sh_addralign = 1};
    buf_append(&e->names, prefix, strlen(prefix));
    buf_append(&e->names, name, strlen(name) + 1);
    s->sh_offset = sizeof(Elf64_Ehdr) + e->body.len;
    s->sh_size = data ? data->len : bytes;
    if (data) buf_append(&e->body, data->data, data->len);
}

static void add_kernel(struct elf *e, const struct image_build_kernel *k, int reserved) {
    struct buf info;
    buf_init(&info);
    image_build_kernel_info(&info, k);
    add_section(e, ".nv.info.", k->name, 0x70000000, &info, 0);
    if (k->shared_bytes)
        add_section(e, ".nv.shared.", k->name, SHT_NOBITS, NULL,
                    k->shared_bytes + (reserved ? BUILD_RESERVED_SHARED : 0));
    Elf64_Sym s = {
        .st_name = (uint32_t)e->strings.len,
        .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
        .st_other = k->function ? 0 : 0x10,
        .st_shndx = k->missing ? 0 : 1,
    };
    buf_append(&e->strings, k->name, strlen(k->name) + 1);
    buf_append(&e->symbols, &s, sizeof(s));
    buf_finish(&info);
}

enum place { ZEROS, FILLED, CONSTANT, PLACES };

static const char *const place_names[PLACES] = {".nv.global", ".nv.global.init", ".nv.constant3"};

static enum place place_of(const struct image_build_var *v) {
    return v->constant ? CONSTANT : v->init ? FILLED : ZEROS;
}

static void add_vars(struct elf *e, const struct image_build_var *vars, size_t count) {
    for (int place = 0; place < PLACES; place++) {
        struct buf data;
        uint64_t bytes = 0;
        bool relocated = false;
        buf_init(&data);
        for (size_t i = 0; i < count; i++) {
            const struct image_build_var *v = &vars[i];
            if (place_of(v) != (enum place)place) continue;
            relocated |= v->relocated;
            Elf64_Sym s = {
                .st_name = (uint32_t)e->strings.len,
                .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
                .st_other = v->managed ? 4 : 0,
                .st_shndx = e->count,
                .st_value = bytes,
                .st_size = v->bytes,
            };
            if (v->init)
                buf_append(&data, v->init, v->bytes);
            else if (place != ZEROS)
                buf_extend(&data, v->bytes);
            bytes += v->bytes;
            buf_append(&e->strings, v->name, strlen(v->name) + 1);
            buf_append(&e->symbols, &s, sizeof(s));
        }
        if (bytes)
            add_section(e, place_names[place], "", place == ZEROS ? SHT_NOBITS : SHT_PROGBITS,
                        place == ZEROS ? NULL : &data, bytes);
        if (relocated) add_section(e, ".rela", place_names[place], SHT_RELA, NULL, 0);
        buf_finish(&data);
    }
}

static void finish(struct elf *e, struct buf *out, uint32_t target) {
    add_section(e, ".symtab", "", SHT_SYMTAB, &e->symbols, 0);
    e->sections[e->count - 1].sh_link = e->count;
    add_section(e, ".strtab", "", SHT_STRTAB, &e->strings, 0);
    uint32_t name = (uint32_t)e->names.len;
    buf_append(&e->names, ".shstrtab", 10);
    add_section(e, "", "", SHT_STRTAB, &e->names, 0);
    e->sections[e->count - 1].sh_name = name;
    Elf64_Ehdr h = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 65, 8},
        .e_type = ET_EXEC,
        .e_machine = 190,
        .e_version = EV_CURRENT,
        .e_shoff = sizeof(h) + e->body.len,
        .e_flags = target << 8 | 4,
        .e_ehsize = sizeof(h),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = e->count,
        .e_shstrndx = (uint16_t)(e->count - 1),
    };
    buf_append(out, &h, sizeof(h));
    buf_append(out, e->body.data, e->body.len);
    buf_append(out, e->sections, e->count * sizeof(e->sections[0]));
}

void image_build_cubin(struct buf *out, uint32_t target, const struct image_build_kernel *kernels,
                       size_t count) {
    image_build_cubin_vars(out, target, kernels, count, NULL, 0);
}

void image_build_cubin_vars(struct buf *out, uint32_t target,
                            const struct image_build_kernel *kernels, size_t count,
                            const struct image_build_var *vars, size_t var_count) {
    struct elf e = {0};
    Elf64_Sym none = {0};
    struct buf info;
    int reserved = target >= 90;
    buf_init(&e.body);
    buf_init(&e.names);
    buf_init(&e.strings);
    buf_init(&e.symbols);
    buf_init(&info);
    buf_append(&e.strings, "", 1);
    buf_append(&e.symbols, &none, sizeof(none));
    add_section(&e, "", "", SHT_NULL, NULL, 0);
    image_build_info(&info, kernels, count);
    add_section(&e, ".nv.info", "", 0x70000000, &info, 0);
    if (reserved) add_section(&e, ".nv.shared.reserved.0", "", SHT_NOBITS, NULL, 0);
    for (size_t i = 0; i < count; i++)
        add_kernel(&e, &kernels[i], reserved);
    add_vars(&e, vars, var_count);
    finish(&e, out, target);
    buf_finish(&e.body);
    buf_finish(&e.names);
    buf_finish(&e.strings);
    buf_finish(&e.symbols);
    buf_finish(&info);
}
