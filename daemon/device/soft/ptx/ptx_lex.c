/* SPDX-License-Identifier: Apache-2.0
 *
 * The scanner. It classifies characters itself, so that locale and signedness of char cannot
 * matter.
 */
#include "daemon/device/soft/ptx/ptx_lex.h"

#include <stdlib.h>
#include <string.h>

#define LEX_NUMBER_MAX 64

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_name(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static int digit_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

void ptx_lex_init(struct ptx_lex *l, const char *text, size_t bytes) {
    const char *nul = bytes ? memchr(text, 0, bytes) : NULL;
    l->at = text;
    l->end = nul ? nul : bytes ? text + bytes : text; /* an empty text may be NULL */
    l->line = 1;
}

static char peek(const struct ptx_lex *l, size_t ahead) {
    return (size_t)(l->end - l->at) > ahead ? l->at[ahead] : 0;
}

static void skip_line(struct ptx_lex *l) {
    const char *nl = memchr(l->at, '\n', (size_t)(l->end - l->at));
    l->at = nl ? nl : l->end;
}

static void skip_block_comment(struct ptx_lex *l) {
    l->at += 2;
    while (l->at < l->end && !(l->at[0] == '*' && peek(l, 1) == '/')) {
        if (*l->at == '\n') l->line++;
        l->at++;
    }
    l->at = l->end - l->at >= 2 ? l->at + 2 : l->end;
}

static void skip_blank(struct ptx_lex *l) {
    while (l->at < l->end) {
        char c = *l->at;
        if (c == '\n') l->line++;
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v')
            l->at++;
        else if (c == '/' && peek(l, 1) == '/')
            skip_line(l);
        else if (c == '/' && peek(l, 1) == '*')
            skip_block_comment(l);
        else if (c == '@' && peek(l, 1) == '@') /* "@@DWARF" lines of old compilers */
            skip_line(l);
        else
            break;
    }
}

static void take_name(struct ptx_lex *l) {
    while (l->at < l->end && is_name(*l->at))
        l->at++;
}

/* Takes a modifier. It may carry a level or a space: L2::cache_hint, shared::cta. */
static void take_modifier(struct ptx_lex *l) {
    take_name(l);
    while (peek(l, 0) == ':' && peek(l, 1) == ':' && is_name(peek(l, 2))) {
        l->at += 2;
        take_name(l);
    }
}

size_t ptx_lex_modifiers(struct ptx_lex *l) {
    const char *from = l->at;
    while (peek(l, 0) == '.' && is_name(peek(l, 1))) {
        l->at++;
        take_modifier(l);
    }
    return (size_t)(l->at - from);
}

/* Takes 0f or 0d, which give the bits of the number: exactly 8 or 16 hexadecimal digits. */
static void take_float_bits(struct ptx_lex *l, struct ptx_token *t, unsigned digits) {
    l->at += 2;
    t->kind = PTX_TOK_FLOAT;
    t->float_bytes = (uint8_t)(digits / 2);
    unsigned n = 0;
    for (; digit_value(peek(l, 0)) < 16; l->at++, n++)
        t->value = t->value << 4 | (unsigned)digit_value(*l->at);
    if (n != digits) t->kind = PTX_TOK_BAD;
}

static void take_integer(struct ptx_lex *l, struct ptx_token *t, int base, int prefix) {
    l->at += prefix;
    t->kind = PTX_TOK_INT;
    unsigned n = 0;
    for (int d; (d = digit_value(peek(l, 0))) < base; l->at++, n++)
        if (__builtin_mul_overflow(t->value, (uint64_t)base, &t->value) ||
            __builtin_add_overflow(t->value, (uint64_t)d, &t->value))
            t->kind = PTX_TOK_BAD;
    if (peek(l, 0) == 'U' || peek(l, 0) == 'u') l->at++;
    if (n == 0 || is_name(peek(l, 0))) t->kind = PTX_TOK_BAD;
}

static void take_decimal_float(struct ptx_lex *l, struct ptx_token *t, size_t len) {
    char copy[LEX_NUMBER_MAX];
    t->kind = PTX_TOK_BAD;
    if (len < sizeof(copy)) {
        memcpy(copy, l->at, len);
        copy[len] = 0;
        char *stop;
        double d = strtod(copy, &stop);
        if (*stop == 0) {
            t->kind = PTX_TOK_FLOAT;
            t->float_bytes = 8;
            memcpy(&t->value, &d, 8);
        }
    }
    l->at += len;
}

static void take_number(struct ptx_lex *l, struct ptx_token *t) {
    char second = peek(l, 1);
    if (*l->at == '0') {
        if (second == 'f' || second == 'F') return take_float_bits(l, t, 8);
        if (second == 'd' || second == 'D') return take_float_bits(l, t, 16);
        if (second == 'x' || second == 'X') return take_integer(l, t, 16, 2);
        if (second == 'b' || second == 'B') return take_integer(l, t, 2, 2);
    }
    size_t n = 0;
    while (is_digit(peek(l, n)))
        n++;
    bool fraction = peek(l, n) == '.' && is_digit(peek(l, n + 1));
    if (fraction)
        for (n++; is_digit(peek(l, n));)
            n++;
    bool exponent = peek(l, n) == 'e' || peek(l, n) == 'E';
    if (exponent) {
        n++;
        if (peek(l, n) == '+' || peek(l, n) == '-') n++;
        while (is_digit(peek(l, n)))
            n++;
    }
    if (fraction || exponent) return take_decimal_float(l, t, n);
    take_integer(l, t, *l->at == '0' && is_digit(second) ? 8 : 10, 0);
}

static void take_string(struct ptx_lex *l, struct ptx_token *t) {
    l->at++;
    t->text = l->at;
    while (l->at < l->end && *l->at != '"' && *l->at != '\n')
        l->at += *l->at == '\\' && l->end - l->at > 1 && l->at[1] != '\n' ? 2 : 1;
    t->len = (uint32_t)(l->at - t->text);
    t->kind = peek(l, 0) == '"' ? PTX_TOK_STRING : PTX_TOK_BAD;
    if (t->kind == PTX_TOK_STRING) l->at++;
}

void ptx_lex_next(struct ptx_lex *l, struct ptx_token *t) {
    skip_blank(l);
    *t = (struct ptx_token){.kind = PTX_TOK_END, .line = l->line, .text = l->at};
    if (l->at >= l->end) return;
    char c = *l->at;
    if (c == '"') return take_string(l, t);
    if (is_digit(c)) {
        take_number(l, t);
    } else if (is_name(c) || (c == '%' && is_name(peek(l, 1)))) {
        l->at++;
        take_name(l);
        t->kind = PTX_TOK_WORD;
    } else if (c == '.' && is_name(peek(l, 1))) {
        t->text = ++l->at;
        take_modifier(l);
        t->kind = PTX_TOK_DOT;
    } else {
        l->at++;
        t->punct = c;
        t->kind = c > ' ' && c < 127 ? PTX_TOK_PUNCT : PTX_TOK_BAD;
    }
    t->len = (uint32_t)(l->at - t->text);
}
