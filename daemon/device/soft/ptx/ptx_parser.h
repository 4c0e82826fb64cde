/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser's state, and the operations that all its parts share: fail, take memory, declare
 * names, test the current token. Each part uses only the parts below it: ptx_parse.c (the module)
 * uses functions, these use instructions (ptx_inst.h), these use operands, labels and rules.
 * Variables (ptx_decl.h) and registers (ptx_reg.h) serve several. Private to the parser and the
 * linker.
 *
 * A failure is sticky: after ptx_fail every token is PTX_TOK_END, so that every loop ends by itself
 * and only the top level looks at `err`.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_PARSER_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/arena.h"
#include "daemon/device/soft/instructions/ptx_ir.h"
#include "daemon/device/soft/ptx/ptx_lex.h"
#include "daemon/device/soft/ptx/ptx_names.h"

/* Limits on the memory that a client's text can make the parser use. */
#define PTX_MAX_TEXT_BYTES (64u << 20)
#define PTX_MAX_ARENA_BYTES ((size_t)1 << 30)
#define PTX_MAX_INSTS (1u << 20)       /* instructions of a module */
#define PTX_MAX_REGS (4u << 20)        /* declared in a module */
#define PTX_MAX_FUNC_REGS (1u << 20)   /* declared by one .reg */
#define PTX_MAX_INIT_BYTES (64u << 20) /* initialisers of a module */
#define PTX_MAX_VAR_BYTES ((uint64_t)1 << 40)
#define PTX_MAX_ALIGN (1u << 20)
#define PTX_MAX_DEPTH 64 /* nested { } of a body, parentheses, initialisers */
#define PTX_MAX_DIMS 8
#define PTX_MAX_ELEMS 65536 /* elements of one operand list */

struct ptx_vec { /* a growing array, malloc'd while it grows */
    void *items;
    uint32_t count, cap;
};

enum ptx_name_kind {
    PTX_NAME_REG = 1, /* index */
    PTX_NAME_RANGE,   /* item: private to ptx_reg.c */
    PTX_NAME_VAR,     /* item: struct ptx_var */
    PTX_NAME_FUNC,    /* item: struct ptx_func */
    PTX_NAME_LABEL,   /* index: instruction */
    PTX_NAME_PROTO,   /* item: struct ptx_func */
    PTX_NAME_TARGETS, /* item: struct ptx_targets */
    PTX_NAME_OPCODE,  /* item: private to ptx_inst.c */
};

struct ptx_parser {
    const _Atomic bool *over; /* true once the module is not needed any more; may be NULL */
    struct ptx_lex lex;
    struct ptx_token tok;
    struct ptx_module *module;
    struct arena *arena;
    struct ptx_names *globals; /* functions and variables; becomes the module's */
    struct ptx_names names, ranges, opcodes;
    struct ptx_vec funcs, vars;
    struct ptx_vec aliases; /* struct ptx_alias */
    uint64_t init_bytes, reg_total, inst_total;

    struct ptx_func *func; /* being parsed, or NULL */
    struct ptx_vec insts, regs, func_vars, fixups;
    /* The function has registers as parameters: unknown names in the body may be theirs. */
    bool opaque;
    bool lazy; /* the construct parsed last cannot run and is not checked further */

    int err;
    char *why;
    size_t why_bytes;
};

void ptx_fail(struct ptx_parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void ptx_fail_memory(struct ptx_parser *p);
void ptx_fail_cancelled(struct ptx_parser *p);
void ptx_fail_at(struct ptx_parser *p, uint32_t line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void ptx_expected(struct ptx_parser *p, const char *what); /* "expected ..., found ..." */
/* Return zeroed memory of the arena, a copy of a text in the arena, and a zeroed item added to `v`.
 * Out of memory is a failure of `p`; the results are then NULL, "" and NULL. */
void *ptx_alloc(struct ptx_parser *p, size_t count, size_t bytes);
const char *ptx_intern(struct ptx_parser *p, const char *text, size_t len);
void *ptx_push(struct ptx_parser *p, struct ptx_vec *v, size_t bytes);
/* Moves the array into the arena. */
void *ptx_take(struct ptx_parser *p, struct ptx_vec *v, size_t bytes);
/* Declares a name in the open scope. */
void ptx_declare(struct ptx_parser *p, const struct ptx_token *name, enum ptx_name_kind kind,
                 void *item, uint32_t index);
/* Declares a name in the module; `name` must live as long as the module. */
void ptx_declare_global(struct ptx_parser *p, const char *name, enum ptx_name_kind kind,
                        void *item);
/* Searches from the innermost scope to the module. Returns NULL if the name is unknown. */
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

/* Marks the function being parsed as not executable; the first reason is kept. */
void ptx_unsupported(struct ptx_parser *p, uint32_t line, const char *what, size_t len);
/* Called for a word that PTX does not have. If the module's version is newer than the rules, the
 * function is not executable; otherwise this is a failure that calls the word `kind`. */
void ptx_unknown(struct ptx_parser *p, uint32_t line, const char *kind, const char *what,
                 size_t len);

#endif
