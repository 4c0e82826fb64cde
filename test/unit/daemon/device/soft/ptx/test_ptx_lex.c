/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/ptx/ptx_lex.h"

static struct ptx_lex lex;
static struct ptx_token tok;

static enum ptx_tok first(const char *text) {
    ptx_lex_init(&lex, text, strlen(text));
    ptx_lex_next(&lex, &tok);
    return tok.kind;
}

static enum ptx_tok next(void) {
    ptx_lex_next(&lex, &tok);
    return tok.kind;
}

static bool text_is(const char *text) {
    return tok.len == strlen(text) && memcmp(tok.text, text, tok.len) == 0;
}

Test(ptx_lex, words_and_lines) {
    cr_assert_eq(first("  // comment\n/* two\nlines */ %rd12 $L__BB0_1 _ .global\n"), PTX_TOK_WORD);
    cr_assert(text_is("%rd12"));
    cr_assert_eq(tok.line, 3);
    cr_assert_eq(next(), PTX_TOK_WORD);
    cr_assert(text_is("$L__BB0_1"));
    cr_assert_eq(next(), PTX_TOK_WORD);
    cr_assert(text_is("_"));
    cr_assert_eq(next(), PTX_TOK_DOT);
    cr_assert(text_is("global"));
    cr_assert_eq(next(), PTX_TOK_END);
    cr_assert_eq(tok.line, 4);
    cr_assert_eq(next(), PTX_TOK_END);
}

Test(ptx_lex, integers) {
    static const struct {
        const char *text;
        uint64_t value;
    } cases[] = {
        {"0", 0},
        {"42", 42},
        {"0x1F", 31},
        {"0XffU", 255},
        {"010", 8},
        {"0b101", 5},
        {"7U", 7},
        {"18446744073709551615", UINT64_MAX},
        {"0xffffffffffffffff", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert_eq(first(cases[i].text), PTX_TOK_INT, "%s", cases[i].text);
        cr_assert_eq(tok.value, cases[i].value, "%s", cases[i].text);
        cr_assert_eq(next(), PTX_TOK_END, "%s", cases[i].text);
    }
}

Test(ptx_lex, unreadable_numbers) {
    static const char *const cases[] = {
        "18446744073709551616",
        "0x",
        "0xg",
        "12ab",
        "08",
        "0b2",
        "0f3F80000",
        "0f3F8000000",
        "0d3FF",
        "1e",
        "0x1ffffffffffffffff",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        cr_assert_eq(first(cases[i]), PTX_TOK_BAD, "%s", cases[i]);
}

Test(ptx_lex, floats) {
    double d = 1.5e-3;
    uint64_t bits;
    memcpy(&bits, &d, 8);
    cr_assert_eq(first("0f3F800000"), PTX_TOK_FLOAT);
    cr_assert(tok.float_bytes == 4 && tok.value == 0x3F800000);
    cr_assert_eq(first("0d3FF0000000000000"), PTX_TOK_FLOAT);
    cr_assert(tok.float_bytes == 8 && tok.value == 0x3FF0000000000000);
    cr_assert_eq(first("1.5e-3"), PTX_TOK_FLOAT);
    cr_assert(tok.float_bytes == 8 && tok.value == bits);
}

Test(ptx_lex, modifiers_adjoin_their_word) {
    cr_assert_eq(first("ld.global.L2::128B.v4.f32 \t.x"), PTX_TOK_WORD);
    cr_assert(text_is("ld"));
    cr_assert_eq(ptx_lex_modifiers(&lex), strlen(".global.L2::128B.v4.f32"));
    cr_assert_eq(ptx_lex_modifiers(&lex), 0);
    cr_assert_eq(next(), PTX_TOK_DOT);
    cr_assert(text_is("x"));
    cr_assert_eq(first(".shared::cta:"), PTX_TOK_DOT);
    cr_assert(text_is("shared::cta"));
    cr_assert_eq(next(), PTX_TOK_PUNCT);
    cr_assert_eq(tok.punct, ':');
}

Test(ptx_lex, strings_and_strange_characters) {
    cr_assert_eq(first("\"a \\\" b\""), PTX_TOK_STRING);
    cr_assert(text_is("a \\\" b"));
    cr_assert_eq(first("\"open\n"), PTX_TOK_BAD);
    cr_assert_eq(first("\x80"), PTX_TOK_BAD);
    cr_assert_eq(first("\x01"), PTX_TOK_BAD);
    cr_assert_eq(first("@@DWARF anything ' \x80\nx"), PTX_TOK_WORD);
    cr_assert_eq(tok.line, 2);
    cr_assert_eq(first("/* never closed"), PTX_TOK_END);
    cr_assert_eq(first("%"), PTX_TOK_PUNCT);
    cr_assert_eq(first("."), PTX_TOK_PUNCT);
}

Test(ptx_lex, a_nul_ends_the_text) {
    ptx_lex_init(&lex, "a\0b", 3);
    cr_assert_eq(next(), PTX_TOK_WORD);
    cr_assert_eq(next(), PTX_TOK_END);
    ptx_lex_init(&lex, NULL, 0);
    cr_assert_eq(next(), PTX_TOK_END);
}

/* No token reads past the end: each prefix lies in memory of exactly its length. */
Test(ptx_lex, prefixes) {
    static const char text[] =
        "@%p1 ld.a::b 0f3F800000 0x1F 1.5e-3 \"s\\\"\" /* c */ // d\n@@e\n0b1 / .";
    for (size_t n = 0; n < sizeof(text); n++) {
        char *copy = malloc(n ? n : 1);
        memcpy(copy, text, n);
        ptx_lex_init(&lex, copy, n);
        size_t tokens = 0;
        while (next() != PTX_TOK_END) {
            cr_assert(tok.text >= copy && tok.text + tok.len <= copy + n);
            cr_assert_lt(++tokens, n + 1);
        }
        free(copy);
    }
}
