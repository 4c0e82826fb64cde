/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser's state and the helpers its parts share (ptx_parse.c module, ptx_decl.c variables,
 * ptx_func.c functions, ptx_inst.c instructions, ptx_operand.c operands, ptx_verify.c what is
 * asked of them). Private to those files.
 *
 * A failure is sticky: after ptx_fail every token is PTX_TOK_END, so that every loop ends by itself
 * and only the top looks at `err`.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_PARSER_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "daemon/device/soft/ptx/ptx_ir.h"
#include "daemon/device/soft/ptx/ptx_lex.h"
#include "daemon/device/soft/ptx/ptx_names.h"
#include "daemon/device/soft/ptx/ptx_rules.h"

/* What a client can make the parser hold. */
#define PTX_MAX_TEXT_BYTES (64u << 20)
#define PTX_MAX_ARENA_BYTES ((size_t)1 << 30)
#define PTX_MAX_INSTS (1u << 20)       /* of a module */
#define PTX_MAX_REGS (4u << 20)        /* declared in a module */
#define PTX_MAX_FUNC_REGS (1u << 20)   /* declared by one .reg */
#define PTX_MAX_INIT_BYTES (64u << 20) /* initialisers of a module */
#define PTX_MAX_VAR_BYTES ((uint64_t)1 << 40)
#define PTX_MAX_ALIGN (1u << 20)
#define PTX_MAX_DEPTH 64 /* nested { } of a body, parentheses, initialisers */
#define PTX_MAX_DIMS 8
#define PTX_MAX_ELEMS 65536 /* of one operand list */

struct ptx_vec { /* growing array, malloc'd while it grows */
    void *items;
    uint32_t count, cap;
};

enum ptx_name_kind {
    PTX_NAME_REG = 1, /* index */
    PTX_NAME_RANGE,   /* item: struct ptx_reg_range */
    PTX_NAME_VAR,     /* item: struct ptx_var */
    PTX_NAME_FUNC,    /* item: struct ptx_func */
    PTX_NAME_LABEL,   /* index: instruction */
    PTX_NAME_PROTO,   /* item: struct ptx_func */
    PTX_NAME_TARGETS, /* item: struct ptx_targets */
    PTX_NAME_OPCODE,  /* item: struct ptx_opcode */
};

struct ptx_reg_range { /* .reg .b32 %r<8>: registers come into being when first named */
    const char *prefix;
    uint32_t count;
    uint8_t type;
    int32_t *regs; /* index into the function's registers, or -1 */
};

struct ptx_opcode {       /* of one spelling */
    struct ptx_inst inst; /* to start from */
    struct ptx_sig sig;
};

struct ptx_targets {
    int32_t *table;
    uint32_t count;
};

struct ptx_fixup { /* a label that was named before it was seen */
    const char *text;
    uint32_t len, line;
    uint32_t inst, operand;
    int32_t *where; /* entry of a branch table; NULL: operand `operand` of `inst` */
};

struct ptx_parser {
    struct ptx_lex lex;
    struct ptx_token tok;
    struct ptx_module *module;
    struct arena *arena;
    struct ptx_names *globals; /* functions and variables of the module; becomes the module's */
    struct ptx_names names, ranges, opcodes;
    struct ptx_vec funcs, vars;
    struct ptx_vec aliases; /* struct ptx_alias */
    uint64_t init_bytes, reg_total, inst_total;

    struct ptx_func *func; /* being parsed, or NULL */
    struct ptx_vec insts, regs, func_vars, fixups;
    bool opaque; /* its parameters are registers: names in its body may be theirs */
    bool lazy;   /* what was parsed last cannot run, and is not looked at more closely */

    int err;
    char *why;
    size_t why_bytes;
};

/* ptx_parser.c */
void ptx_fail(struct ptx_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ptx_fail_memory(struct ptx_parser *p);
void ptx_fail_at(struct ptx_parser *p, uint32_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ptx_expected(struct ptx_parser *p, const char *what); /* "expected ..., found ..." */
void *ptx_alloc(struct ptx_parser *p, size_t count, size_t bytes);
const char *ptx_intern(struct ptx_parser *p, const char *text, size_t len);
void *ptx_push(struct ptx_parser *p, struct ptx_vec *v, size_t bytes);
void *ptx_take(struct ptx_parser *p, struct ptx_vec *v, size_t bytes); /* into the arena */
/* In the scope that is open. */
void ptx_declare(struct ptx_parser *p, const struct ptx_token *name, enum ptx_name_kind kind,
                 void *item, uint32_t index);
/* In the module; `name` must live as long. */
void ptx_declare_global(struct ptx_parser *p, const char *name, enum ptx_name_kind kind,
                        void *item);
/* Innermost scope first, the module last; NULL: unknown. */
const struct ptx_name *ptx_lookup(const struct ptx_parser *p, const struct ptx_token *name);

void ptx_next(struct ptx_parser *p);
bool ptx_at(const struct ptx_parser *p, char punct);
bool ptx_accept(struct ptx_parser *p, char punct);
void ptx_expect(struct ptx_parser *p, char punct);
bool ptx_at_dot(const struct ptx_parser *p, const char *name);
bool ptx_accept_dot(struct ptx_parser *p, const char *name);
bool ptx_token_is(const struct ptx_token *t, const char *text);
struct ptx_token ptx_expect_word(struct ptx_parser *p, const char *what);
uint64_t ptx_expect_int(struct ptx_parser *p, const char *what);
void ptx_skip_to(struct ptx_parser *p, char punct);                /* consumes it */
void ptx_skip_nested(struct ptx_parser *p, char open, char close); /* at `open` */
bool ptx_const(struct ptx_parser *p, struct ptx_token *out);       /* signed constant expression */

/* Marks the function being parsed as not executable; the first reason stays. */
void ptx_unsupported(struct ptx_parser *p, uint32_t line, const char *what, size_t len);
/* For a word that PTX does not have: not executable where the module is of a newer version than the
 * rules are, else a failure that calls it `kind`. */
void ptx_unknown(struct ptx_parser *p, uint32_t line, const char *kind, const char *what,
                 size_t len);

/* ptx_tables.c */
enum ptx_type ptx_type_find(const char *text, size_t len);
enum ptx_op ptx_op_find(const char *text, size_t len);
int ptx_sreg_find(const char *text, size_t len); /* enum ptx_sreg or -1 */
bool ptx_space_find(const char *text, size_t len, uint8_t *space);
/* Adds one modifier to `i`; false: unknown. */
bool ptx_modifier(struct ptx_inst *i, const char *text, size_t len);
/* Operations whose modifiers are left to the decoder, which has the text. */
bool ptx_op_is_raw(enum ptx_op op);
/* Operations whose operands are not parsed, only held to names that exist. */
bool ptx_op_is_opaque(enum ptx_op op);

/* ptx_decl.c */
bool ptx_at_space(const struct ptx_parser *p);
void ptx_module_var(struct ptx_parser *p, enum ptx_linkage linkage);
void ptx_body_var(struct ptx_parser *p);
struct ptx_var **ptx_param_list(struct ptx_parser *p, uint32_t *count, bool declare);
uint32_t ptx_layout(struct ptx_parser *p, struct ptx_var **params, uint32_t count);

/* ptx_parse.c: .file 1 "name" [, time, size] */
void ptx_file_line(struct ptx_parser *p);

/* ptx_func.c */
void ptx_function(struct ptx_parser *p, enum ptx_linkage linkage);
void ptx_alias(struct ptx_parser *p);
void ptx_apply_aliases(struct ptx_parser *p);

/* ptx_reg.c */
void ptx_reg_decl(struct ptx_parser *p);
int32_t ptx_reg_find(struct ptx_parser *p, const struct ptx_token *name); /* -1: none */
/* A variable of a body may not bear the name of a register or variable of the same block. */
bool ptx_name_taken(const struct ptx_parser *p, const struct ptx_token *name);

/* ptx_inst.c */
void ptx_inst(struct ptx_parser *p);
void ptx_label(struct ptx_parser *p, const struct ptx_token *name);
void ptx_resolve_labels(struct ptx_parser *p, uint32_t from, bool all);

/* ptx_verify.c; nothing is checked of what is wrong already */
void ptx_verify_inst(struct ptx_parser *p, const struct ptx_inst *i, const struct ptx_sig *sig);
void ptx_verify_call(struct ptx_parser *p, const struct ptx_inst *i);

/* ptx_operand.c */
void ptx_operand(struct ptx_parser *p, struct ptx_operand *out, uint32_t index);
void ptx_operand_list(struct ptx_parser *p, struct ptx_operand *out, char close);
void ptx_call_operands(struct ptx_parser *p, struct ptx_inst *i);

#endif
