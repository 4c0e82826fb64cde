/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads symbols of machine code, and declarations and operands of PTX.
 */
#include "daemon/device/cuda/module/cuda_again.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/cuda/module/cuda_code.h"
#include "daemon/device/soft/image/cubin.h"
#include "daemon/device/soft/image/elf.h"
#include "daemon/device/soft/instructions/ptx_ir.h"
#include "daemon/device/soft/ptx/ptx_parse.h"

#define NAME_SHOWN 96 /* bytes of a name in a message */

struct reader {
    struct cuda_again *out;
    int err;
};

/* ---- findings -------------------------------------------------------------------------------- */

/* Records a reason; the first one counts. */
static void lack(struct reader *r, const char *format, const char *name)
    __attribute__((format(printf, 2, 0)));

static void lack(struct reader *r, const char *format, const char *name) {
    char shown[NAME_SHOWN];
    if (r->out->lacks[0]) return;
    snprintf(shown, sizeof(shown), "%s", name);
    snprintf(r->out->lacks, sizeof(r->out->lacks), format, shown);
}

static void lack_variable(struct reader *r, const char *name) {
    lack(r, "variable %s of a module differs in a new context", name);
}

static bool begins(const char *name, const char *with) {
    return !strncmp(name, with, strlen(with));
}

/* True for data of compilers that nothing writes: strings, names of functions, tables. */
static bool is_compilers(const char *name) {
    return begins(name, "$str") || begins(name, "__unnamed_") || begins(name, "__cudart_");
}

static void add_name(struct reader *r, const char *name) {
    struct cuda_again *a = r->out;
    for (uint32_t i = 0; i < a->count; i++)
        if (!strcmp(a->names[i], name)) return;
    char **more = realloc(a->names, (a->count + 1) * sizeof(*more));
    if (more) a->names = more;
    char *copy = more ? strdup(name) : NULL;
    if (copy)
        a->names[a->count++] = copy;
    else
        r->err = -ENOMEM;
}

static void note_variable(struct reader *r, const char *name, bool constant) {
    if (constant || is_compilers(name))
        add_name(r, name);
    else
        lack_variable(r, name);
}

static void note_missing(struct reader *r, const char *name) {
    if (strstr(name, "malloc")) lack(r, "a kernel of a module may allocate memory with %s", name);
}

/* ---- machine code ---------------------------------------------------------------------------- */

static const char *const global_sections[] = {".nv.global", ".nv.global.init"};

static bool lies_in(const struct elf *e, const Elf64_Sym *s, const char *section) {
    const struct elf_section *at = elf_section(e, section, "");
    return at && s->st_shndx < e->section_count && at == &e->sections[s->st_shndx];
}

/* The compiler's own functions are only called directly. */
static bool is_inner(const char *name) {
    return strstr(name, "$__internal_") || strstr(name, "$__cuda_");
}

static void note_symbol(struct reader *r, const struct elf *e, const Elf64_Sym *s,
                        const char *name) {
    unsigned char type = ELF64_ST_TYPE(s->st_info);
    bool constant = lies_in(e, s, ".nv.constant3");
    bool global = lies_in(e, s, global_sections[0]) || lies_in(e, s, global_sections[1]);
    if (type == STT_SECTION) return;
    if (s->st_shndx == SHN_UNDEF)
        note_missing(r, name);
    else if (type == STT_FUNC && !(s->st_other & CUBIN_ENTRY_FLAG) && !is_inner(name))
        lack(r, "the address of function %s of a module differs in a new context", name);
    else if (constant || global)
        note_variable(r, name, constant);
}

static int read_symbols(struct reader *r, const struct elf *e) {
    struct elf_symbols symbols;
    int err = elf_symbols(e, &symbols);
    for (uint32_t i = 1; !err && !r->err && i < symbols.count; i++) {
        Elf64_Sym s = elf_symbol(&symbols, i);
        char *name = NULL;
        if (ELF64_ST_TYPE(s.st_info) == STT_SECTION) continue;
        err = elf_symbol_name(e, &symbols, &s, &name);
        if (!err) note_symbol(r, e, &s, name);
        free(name);
    }
    return err;
}

/* Addresses stored in variables differ in another context. */
static bool has_addresses(const struct elf *e) {
    static const char *const sections[] = {".nv.global.init", ".nv.constant3"};
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        if (elf_section(e, ".rela", sections[i]) || elf_section(e, ".rel", sections[i]))
            return true;
    return false;
}

static int read_cubin(struct reader *r, const void *code, size_t bytes) {
    struct elf e;
    int err = elf_open(&e, code, bytes);
    if (!err) err = read_symbols(r, &e);
    if (!err && has_addresses(&e)) lack(r, "%s", "variables of a module contain addresses");
    elf_close(&e);
    return err;
}

/* ---- PTX ------------------------------------------------------------------------------------- */

static void note_ptx_variable(struct reader *r, const struct ptx_var *v) {
    if (v->space == PTX_SHARED || v->space == PTX_LOCAL || v->space == PTX_PARAM) return;
    if (v->opaque || v->managed || v->reloc_count)
        lack_variable(r, v->name);
    else
        note_variable(r, v->name, v->space == PTX_CONST);
}

static const struct ptx_func *find_func(const struct ptx_operand *o) {
    if (o->kind == PTX_OPND_FUNC) return o->func;
    for (uint32_t i = 0; o->kind == PTX_OPND_VEC && i < o->elem_count; i++)
        if (o->elems[i].kind == PTX_OPND_FUNC) return o->elems[i].func;
    return NULL;
}

/* Records uses of a function's address, except as the target of a call. */
static void note_instruction(struct reader *r, const struct ptx_inst *inst) {
    for (uint32_t i = 0; i < inst->operand_count; i++) {
        bool called = inst->op == PTX_OP_call && i == 1;
        const struct ptx_func *f = find_func(&inst->operands[i]);
        if (f && !called)
            lack(r, "the address of function %s of a module differs in a new context", f->name);
    }
}

static void note_function(struct reader *r, const struct ptx_func *f) {
    if (!f->defined) note_missing(r, f->name);
    if (f->unsupported) lack(r, "function %s of a module cannot be read", f->name);
    for (uint32_t i = 0; i < f->var_count; i++)
        note_ptx_variable(r, f->vars[i]);
    for (uint32_t i = 0; i < f->inst_count; i++)
        note_instruction(r, &f->insts[i]);
}

static int read_ptx(struct reader *r, const void *code, size_t bytes) {
    struct ptx_module *m;
    char why[256];
    int err = ptx_parse(code, bytes, &m, why, sizeof(why));
    if (err) return err;
    for (uint32_t i = 0; i < m->var_count; i++)
        note_ptx_variable(r, m->vars[i]);
    for (uint32_t i = 0; i < m->func_count; i++)
        note_function(r, m->funcs[i]);
    ptx_module_free(m);
    return 0;
}

/* ---- images ---------------------------------------------------------------------------------- */

static bool look(void *arg, const void *code, size_t bytes) {
    struct reader *r = arg;
    int err = !code                 ? -EINVAL
              : elf_is(code, bytes) ? read_cubin(r, code, bytes)
                                    : read_ptx(r, code, bytes);
    if (err == -ENOMEM) r->err = err;
    if (err) lack(r, "%s", "code of a module cannot be read");
    return r->err || r->out->lacks[0];
}

int cuda_again_read(struct cuda_again *a, const void *image, size_t bytes, uint32_t capability) {
    struct reader r = {.out = a};
    *a = (struct cuda_again){0};
    cuda_code_any(image, bytes, capability, look, &r);
    return r.err;
}

void cuda_again_finish(struct cuda_again *a) {
    for (uint32_t i = 0; i < a->count; i++)
        free(a->names[i]);
    free(a->names);
    *a = (struct cuda_again){0};
}
