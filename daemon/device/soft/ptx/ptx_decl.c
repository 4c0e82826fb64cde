/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables and parameters: attributes, dimensions, layout.
 */
#include "daemon/device/soft/ptx/ptx_decl.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/ptx/ptx_parser.h"
#include "daemon/device/soft/ptx/ptx_reg.h"

struct decl {
    uint8_t space, type, vec;
    uint32_t align; /* 0: not given */
    bool managed;
    uint8_t opaque; /* enum ptx_opaque */
};

bool ptx_at_space(const struct ptx_parser *p) {
    uint8_t space;
    return p->tok.kind == PTX_TOK_DOT && ptx_space_find(p->tok.text, p->tok.len, &space);
}

static uint32_t alignment(struct ptx_parser *p) {
    uint64_t a = ptx_expect_int(p, "an alignment");
    if (p->err) return 1;
    if (a == 0 || a > PTX_MAX_ALIGN || (a & (a - 1))) {
        ptx_fail(p, "alignment is not a power of two up to %u", PTX_MAX_ALIGN);
        return 1;
    }
    return (uint32_t)a;
}

static void attributes(struct ptx_parser *p, struct decl *d) {
    ptx_expect(p, '(');
    while (!p->err && !ptx_at(p, ')')) {
        if (ptx_at_dot(p, "managed")) d->managed = true;
        if (ptx_at(p, '('))
            ptx_skip_nested(p, '(', ')');
        else if (p->tok.kind == PTX_TOK_END)
            return ptx_expected(p, "')'");
        else
            ptx_next(p);
    }
    ptx_expect(p, ')');
}

/* Skips the description of a pointee: in ".param .u64 .ptr .global .align 16 p" the space and
 * alignment are the pointee's. */
static void pointee(struct ptx_parser *p) {
    if (ptx_at_space(p)) ptx_next(p);
    if (ptx_accept_dot(p, "align")) alignment(p);
}

static enum ptx_opaque opaque_type(const struct ptx_token *t) {
    if (ptx_token_is(t, "texref")) return PTX_OPAQUE_TEXREF;
    if (ptx_token_is(t, "samplerref")) return PTX_OPAQUE_SAMPLERREF;
    return ptx_token_is(t, "surfref") ? PTX_OPAQUE_SURFREF : PTX_OPAQUE_NONE;
}

static struct decl declaration(struct ptx_parser *p) {
    struct decl d = {.vec = 1};
    ptx_space_find(p->tok.text, p->tok.len, &d.space);
    ptx_next(p);
    while (p->tok.kind == PTX_TOK_DOT) {
        struct ptx_token t = p->tok;
        ptx_next(p);
        enum ptx_type type = ptx_type_find(t.text, t.len);
        enum ptx_opaque opaque = opaque_type(&t);
        if (opaque) d.opaque = (uint8_t)opaque;
        if (type || opaque)
            d.type = (uint8_t)(type ? type : PTX_B64);
        else if (ptx_token_is(&t, "align"))
            d.align = alignment(p);
        else if (ptx_token_is(&t, "ptr"))
            pointee(p);
        else if (ptx_token_is(&t, "v2") || ptx_token_is(&t, "v4"))
            d.vec = (uint8_t)(t.text[1] - '0');
        else if (ptx_token_is(&t, "attribute"))
            attributes(p, &d);
        else
            ptx_fail_at(p, t.line, "unknown attribute '.%.*s' of a variable", (int)t.len, t.text);
    }
    if (!p->err && d.type == PTX_NONE) ptx_fail(p, "a variable needs a type");
    return d;
}

/* ---- dimensions and initialisers ------------------------------------------------------------ */

struct shape {
    uint64_t dims[PTX_MAX_DIMS]; /* innermost last; a vector's width is one more dimension */
    uint32_t count;
    bool open; /* dims[0] was [] */
};

static void dimensions(struct ptx_parser *p, struct shape *s) {
    while (ptx_accept(p, '[')) {
        if (s->count == PTX_MAX_DIMS - 1) return ptx_fail(p, "too many dimensions");
        uint64_t n = 0;
        if (ptx_at(p, ']') && s->count == 0) {
            s->open = true;
        } else {
            struct ptx_token t;
            if (!ptx_const(p, &t)) return;
            if (t.kind != PTX_TOK_INT) return ptx_fail(p, "expected an array size");
            n = t.value;
        }
        s->dims[s->count++] = n;
        ptx_expect(p, ']');
    }
}

/* Bytes of one element at nesting level `level`; UINT64_MAX: too large. */
static uint64_t stride(const struct shape *s, uint32_t level, uint64_t element) {
    uint64_t bytes = element;
    for (uint32_t i = level; i < s->count; i++)
        if (__builtin_mul_overflow(bytes, s->dims[i], &bytes) || bytes > PTX_MAX_VAR_BYTES)
            return UINT64_MAX;
    return bytes;
}

struct init {
    struct ptx_var *var;
    const struct shape *shape;
    struct buf data;
    struct ptx_vec relocs;
    uint32_t element;
    uint64_t limit; /* bytes, UINT64_MAX for [] */
};

/* Makes space for `bytes` at `at`. Returns NULL on failure. */
static unsigned char *room(struct ptx_parser *p, struct init *in, uint64_t at, uint32_t bytes) {
    if (at > in->limit || bytes > in->limit - at) {
        ptx_fail(p, "too many initialisers");
        return NULL;
    }
    if (p->init_bytes + at + bytes > PTX_MAX_INIT_BYTES) {
        ptx_fail(p, "more than %u bytes of initialisers", PTX_MAX_INIT_BYTES);
        return NULL;
    }
    if (in->data.len < at + bytes && !buf_extend(&in->data, at + bytes - in->data.len)) {
        ptx_fail_memory(p);
        return NULL;
    }
    return in->data.data + at;
}

static uint64_t constant_bits(const struct ptx_token *t, uint8_t type) {
    bool is_float = ptx_type_class(type) == 'f';
    if (t->kind == PTX_TOK_FLOAT && is_float && type == PTX_F32 && t->float_bytes == 8) {
        double d;
        memcpy(&d, &t->value, 8);
        float f = (float)d;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        return bits;
    }
    if (t->kind == PTX_TOK_FLOAT && type == PTX_F64 && t->float_bytes == 4) {
        uint32_t bits = (uint32_t)t->value;
        float f;
        memcpy(&f, &bits, 4);
        double d = f;
        uint64_t wide;
        memcpy(&wide, &d, 8);
        return wide;
    }
    return t->value;
}

/* Parses name, name+4, generic(name)+4. */
static void address(struct ptx_parser *p, struct init *in, uint64_t at, uint64_t mask) {
    struct ptx_token name = ptx_expect_word(p, "a name");
    if (ptx_token_is(&name, "generic") && ptx_accept(p, '(')) {
        name = ptx_expect_word(p, "a name");
        ptx_expect(p, ')');
    }
    struct ptx_token addend = {0};
    if ((ptx_at(p, '+') || ptx_at(p, '-')) && !ptx_const(p, &addend)) return;
    if (p->err || !room(p, in, at, in->element)) return;
    struct ptx_reloc *r = ptx_push(p, &in->relocs, sizeof(*r));
    if (!r) return;
    r->at = at;
    r->symbol = ptx_intern(p, name.text, name.len);
    r->addend = (int64_t)addend.value;
    r->bytes = (uint8_t)in->element;
    r->shift = mask ? (uint8_t)__builtin_ctzll(mask) : 0;
}

/* Parses 0xff00(name): the second byte of the address of `name`. */
static void masked_address(struct ptx_parser *p, struct init *in, uint64_t at, uint64_t mask) {
    ptx_expect(p, '(');
    if (mask == 0) return ptx_fail(p, "empty mask");
    address(p, in, at, mask);
    ptx_expect(p, ')');
}

static void scalar(struct ptx_parser *p, struct init *in, uint64_t at) {
    if (p->tok.kind == PTX_TOK_WORD && !ptx_token_is(&p->tok, "WARP_SZ"))
        return address(p, in, at, 0);
    struct ptx_token t;
    if (!ptx_const(p, &t)) return;
    if (t.kind == PTX_TOK_INT && ptx_at(p, '(')) return masked_address(p, in, at, t.value);
    uint64_t bits = constant_bits(&t, in->var->type);
    unsigned char *to = room(p, in, at, in->element);
    if (to) memcpy(to, &bits, in->element < 8 ? in->element : 8);
}

/* Parses braces. Values without braces of their own fill the level's elements in order, as in C. */
static void braces(struct ptx_parser *p, struct init *in, uint32_t level, uint64_t at) {
    ptx_expect(p, '{');
    uint64_t inner = stride(in->shape, level + 1, in->element);
    while (!p->err && !ptx_at(p, '}')) {
        if (ptx_at(p, '{')) {
            if (level + 1 >= in->shape->count) return ptx_fail(p, "initialiser nested too deeply");
            braces(p, in, level + 1, at);
            if (__builtin_add_overflow(at, inner, &at)) return ptx_fail(p, "initialiser too large");
        } else {
            scalar(p, in, at);
            at += in->element;
        }
        if (!ptx_accept(p, ',')) break;
    }
    ptx_expect(p, '}');
}

static void initialiser(struct ptx_parser *p, struct ptx_var *v, struct shape *s) {
    struct init in = {
        .var = v,
        .shape = s,
        .element = ptx_type_bytes(v->type),
        .limit = s->open ? UINT64_MAX : v->bytes,
    };
    buf_init(&in.data);
    if (ptx_at(p, '{') && s->count > 0)
        braces(p, &in, 0, 0);
    else
        scalar(p, &in, 0);
    if (!p->err && s->open) {
        uint64_t row = stride(s, 1, in.element);
        uint64_t rows = row ? (in.data.len + row - 1) / row : 0;
        if (row == UINT64_MAX || (row && rows > PTX_MAX_VAR_BYTES / row))
            ptx_fail(p, "variable too large");
        else
            v->bytes = rows * row;
    }
    if (!p->err && p->init_bytes + v->bytes > PTX_MAX_INIT_BYTES)
        ptx_fail(p, "more than %u bytes of initialisers", PTX_MAX_INIT_BYTES);
    if (!p->err) v->init = ptx_alloc(p, v->bytes, 1);
    if (!p->err && in.data.len) memcpy(v->init, in.data.data, in.data.len);
    p->init_bytes += v->bytes;
    v->reloc_count = in.relocs.count;
    if (!p->err) v->relocs = ptx_take(p, &in.relocs, sizeof(struct ptx_reloc));
    buf_finish(&in.data);
    free(in.relocs.items);
}

/* ---- variables ------------------------------------------------------------------------------ */

static struct ptx_var *new_var(struct ptx_parser *p, const struct decl *d,
                               const struct ptx_token *name, struct shape *s) {
    struct ptx_var *v = ptx_alloc(p, 1, sizeof(*v));
    if (!v) return NULL;
    uint32_t element = ptx_type_bytes(d->type);
    v->name = ptx_intern(p, name->text, name->len);
    v->space = d->space;
    v->type = d->type;
    v->managed = d->managed;
    v->opaque = d->opaque;
    v->align = d->align ? d->align : element * d->vec;
    *s = (struct shape){0};
    dimensions(p, s);
    if (d->vec > 1) s->dims[s->count++] = d->vec;
    uint64_t bytes = stride(s, 0, element);
    if (bytes > PTX_MAX_VAR_BYTES)
        ptx_fail(p, "variable '%s' is too large", v->name);
    else
        v->bytes = bytes;
    return v;
}

/* Adds a variable to the module. A declaration (.extern) and a definition of one name are one
 * variable. */
static void add_module_var(struct ptx_parser *p, const struct ptx_token *name, struct ptx_var *v) {
    const struct ptx_name *e = ptx_names_find(p->globals, name->text, name->len);
    if (e) {
        struct ptx_var *old = e->kind == PTX_NAME_VAR ? e->item : NULL;
        if (!old) return ptx_fail_at(p, name->line, "'%s' is a function", v->name);
        if (old->linkage != PTX_LINK_EXTERN && v->linkage != PTX_LINK_EXTERN)
            return ptx_fail_at(p, name->line, "'%s' is defined twice", v->name);
        if (v->linkage == PTX_LINK_EXTERN) return;
        v->index = old->index;
        *old = *v;
        return;
    }
    struct ptx_var **slot = ptx_push(p, &p->vars, sizeof(*slot));
    if (!slot) return;
    *slot = v;
    v->index = p->vars.count - 1;
    ptx_declare_global(p, v->name, PTX_NAME_VAR, v);
}

static void add_body_var(struct ptx_parser *p, const struct ptx_token *name, struct ptx_var *v) {
    struct ptx_var **slot = ptx_push(p, &p->func_vars, sizeof(*slot));
    if (!slot) return;
    *slot = v;
    if (ptx_name_taken(p, name))
        return ptx_fail_at(p, name->line, "'%s' is declared twice", v->name);
    if (v->type == PTX_PRED)
        return ptx_fail_at(p, name->line, "'%s' is a predicate, which only registers are", v->name);
    v->func_scope = true;
    v->index = p->func_vars.count - 1;
    ptx_declare(p, name, PTX_NAME_VAR, v, 0);
}

static void vars(struct ptx_parser *p, enum ptx_linkage linkage, bool body) {
    struct decl d = declaration(p);
    do {
        struct ptx_token name = ptx_expect_word(p, "a variable's name");
        struct shape s;
        struct ptx_var *v = p->err ? NULL : new_var(p, &d, &name, &s);
        if (!v || p->err) return;
        v->linkage = (uint8_t)linkage;
        if (body) add_body_var(p, &name, v);
        if (ptx_accept(p, '=')) {
            if (d.opaque)
                ptx_skip_nested(p, '{', '}'); /* { addr_mode_0 = clamp_to_edge, ... } */
            else
                initialiser(p, v, &s);
        }
        if (!body && !p->err) add_module_var(p, &name, v);
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';');
}

void ptx_module_var(struct ptx_parser *p, enum ptx_linkage linkage) {
    vars(p, linkage, false);
}

void ptx_body_var(struct ptx_parser *p) {
    vars(p, PTX_LINK_NONE, true);
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* ".reg .u32 a" as a parameter is an old convention that no current compiler emits. */
static void reg_param(struct ptx_parser *p) {
    ptx_unsupported(p, p->tok.line, ".reg parameter", 14);
    p->opaque = true;
    while (p->tok.kind == PTX_TOK_DOT)
        ptx_next(p);
    ptx_expect_word(p, "a parameter's name");
}

static void param(struct ptx_parser *p, struct ptx_vec *list, bool declare) {
    if (ptx_at_dot(p, "reg")) return reg_param(p);
    if (!ptx_at_dot(p, "param")) return ptx_expected(p, "'.param'");
    struct decl d = declaration(p);
    struct ptx_token name = ptx_expect_word(p, "a parameter's name");
    struct shape s;
    struct ptx_var *v = p->err ? NULL : new_var(p, &d, &name, &s);
    struct ptx_var **slot = v && !p->err ? ptx_push(p, list, sizeof(*slot)) : NULL;
    if (!slot) return;
    if (v->bytes > UINT32_MAX / 2) return ptx_fail(p, "parameter '%s' is too large", v->name);
    *slot = v;
    v->func_scope = true;
    v->index = list->count - 1;
    if (declare) ptx_declare(p, &name, PTX_NAME_VAR, v, 0);
}

struct ptx_var **ptx_param_list(struct ptx_parser *p, uint32_t *count, bool declare) {
    struct ptx_vec list = {0};
    ptx_expect(p, '(');
    while (!p->err && !ptx_at(p, ')')) {
        param(p, &list, declare);
        if (!ptx_accept(p, ',')) break;
    }
    ptx_expect(p, ')');
    *count = list.count;
    struct ptx_var **params = p->err ? NULL : ptx_take(p, &list, sizeof(*params));
    if (!params) *count = 0;
    free(list.items);
    return params;
}

/* Natural alignment in order of declaration. The end is not rounded up; the driver reports it
 * so. */
uint32_t ptx_layout(struct ptx_parser *p, struct ptx_var **params, uint32_t count) {
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        at = (at + params[i]->align - 1) & ~((uint64_t)params[i]->align - 1);
        params[i]->offset = at;
        at += params[i]->bytes;
        if (at > INT32_MAX) {
            ptx_fail(p, "parameters are too large");
            return 0;
        }
    }
    return (uint32_t)at;
}
