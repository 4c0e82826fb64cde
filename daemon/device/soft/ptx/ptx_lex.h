/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of PTX text. Works on a bounded buffer that needs no NUL (a NUL ends the text early),
 * stores pointers into it and owns nothing. Never fails: unreadable text becomes a PTX_TOK_BAD
 * token.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_LEX_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptx_tok {
    PTX_TOK_END,
    PTX_TOK_BAD,
    PTX_TOK_WORD,   /* name, %name, $name, _ */
    PTX_TOK_DOT,    /* .name: text and len cover the part after the dot, "L2::128B" included */
    PTX_TOK_INT,    /* value */
    PTX_TOK_FLOAT,  /* value: the bits; float_bytes 4 (0f...) or 8 (0d..., decimal) */
    PTX_TOK_STRING, /* text and len without the quotes */
    PTX_TOK_PUNCT,  /* one character, in punct */
};

struct ptx_token {
    enum ptx_tok kind;
    char punct;
    uint8_t float_bytes;
    uint32_t line, len;
    const char *text;
    uint64_t value;
};

struct ptx_lex {
    const char *at, *end;
    uint32_t line;
};

void ptx_lex_init(struct ptx_lex *l, const char *text, size_t bytes);
void ptx_lex_next(struct ptx_lex *l, struct ptx_token *t);

/* Called directly after a word. Consumes the modifiers (".global.v4.f32") that follow without a gap
 * and returns their length. */
size_t ptx_lex_modifiers(struct ptx_lex *l);

#endif
