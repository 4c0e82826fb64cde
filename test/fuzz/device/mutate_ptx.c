/* SPDX-License-Identifier: Apache-2.0
 *
 * Mutations of PTX text. libFuzzer's byte mutations hardly ever leave a text that the parser
 * accepts. So statements are added, removed and moved, registers are exchanged, and numbers become
 * limits. Instructions of every form come from the table of verdicts, into a frame that declares
 * all their registers and sets them to addresses, masks and small numbers.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "test/fuzz/device/ptx_table.h"

#define LINE_BYTES 512u

/* NOLINTBEGIN(readability-identifier-naming): libFuzzer's names. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t cap);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t cap, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t cap, unsigned seed);
/* NOLINTEND(readability-identifier-naming) */

struct text {
    char *at;
    size_t len, cap;
    uint64_t state; /* state of the random numbers */
};

struct span {
    size_t from, to;
};

static uint32_t chance(struct text *t, uint32_t below) {
    t->state ^= t->state << 13;
    t->state ^= t->state >> 7;
    t->state ^= t->state << 17;
    return below ? (uint32_t)(t->state >> 33) % below : 0;
}

/* Replaces a span by other bytes; returns false if there is no space. */
static bool put(struct text *t, struct span s, const char *bytes, size_t count) {
    const size_t len = t->len - (s.to - s.from) + count;
    if (len > t->cap) return false;
    memmove(t->at + s.from + count, t->at + s.to, t->len - s.to);
    memcpy(t->at + s.from, bytes, count);
    t->len = len;
    return true;
}

/* ---- statements ------------------------------------------------------------------------------ */

static bool ends(char c) {
    return c == ';' || c == '\n';
}

/* Chooses a statement, including its end. */
static struct span statement(struct text *t) {
    struct span s;
    s.from = s.to = chance(t, (uint32_t)t->len);
    while (s.from && !ends(t->at[s.from - 1]))
        s.from--;
    while (s.to < t->len && !ends(t->at[s.to]))
        s.to++;
    s.to += s.to < t->len;
    return s;
}

static size_t keep(const struct text *t, struct span s, char out[LINE_BYTES]) {
    size_t n = s.to - s.from < LINE_BYTES ? s.to - s.from : LINE_BYTES;
    memcpy(out, t->at + s.from, n);
    return n;
}

static bool drop(struct text *t) {
    return put(t, statement(t), "", 0);
}

static bool repeat(struct text *t) {
    char one[LINE_BYTES];
    size_t n = keep(t, statement(t), one);
    struct span to = statement(t);
    to.to = to.from;
    return put(t, to, one, n);
}

static bool exchange(struct text *t) {
    char first[LINE_BYTES], second[LINE_BYTES];
    struct span a = statement(t), b = statement(t);
    if (a.to > b.from || a.to - a.from > LINE_BYTES || b.to - b.from > LINE_BYTES) return false;
    size_t n = keep(t, a, first), m = keep(t, b, second);
    return put(t, b, first, n) && put(t, a, second, m);
}

static bool guard(struct text *t) {
    static const char *const guards[] = {"@%preda ", "@!%preda ", "@%predb ", "@%p1 ", "@!%p1 "};
    const char *one = guards[chance(t, 5)];
    struct span s = statement(t);
    s.to = s.from;
    return put(t, s, one, strlen(one));
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The next register after a random place; false: there is none. */
static bool find_register(struct text *t, struct span *out) {
    size_t at = chance(t, (uint32_t)t->len);
    while (at < t->len && t->at[at] != '%')
        at++;
    out->from = at++;
    while (at < t->len && is_word(t->at[at]))
        at++;
    out->to = at;
    return out->from < t->len;
}

static bool other_register(struct text *t) {
    struct span to, from;
    char name[LINE_BYTES];
    if (!find_register(t, &to) || !find_register(t, &from)) return false;
    /* mostly skips registers of another kind */
    if (t->at[to.from + 1] != t->at[from.from + 1]) return false;
    return put(t, to, name, keep(t, from, name));
}

static bool other_number(struct text *t) {
    static const char *const bounds[] = {"0",
                                         "1",
                                         "-1",
                                         "2",
                                         "3",
                                         "4",
                                         "7",
                                         "8",
                                         "15",
                                         "16",
                                         "31",
                                         "32",
                                         "33",
                                         "63",
                                         "64",
                                         "127",
                                         "128",
                                         "255",
                                         "256",
                                         "-16",
                                         "-4",
                                         "511",
                                         "512",
                                         "1023",
                                         "1024",
                                         "4095",
                                         "65535",
                                         "2147483647",
                                         "4294967295",
                                         "-2147483648",
                                         "0x7fffffffffffffff",
                                         "0xffffffffffffffff",
                                         "0x8000000000000000"};
    struct span s;
    s.from = chance(t, (uint32_t)t->len);
    while (s.from < t->len && !(t->at[s.from] >= '0' && t->at[s.from] <= '9'))
        s.from++;
    if (s.from && is_word(t->at[s.from - 1])) return false; /* the position is inside a word */
    for (s.to = s.from; s.to < t->len && is_word(t->at[s.to]);)
        s.to++;
    const char *one = bounds[chance(t, sizeof(bounds) / sizeof(bounds[0]))];
    return s.from < t->len && put(t, s, one, strlen(one));
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Sometimes turns %u32a into %u32f, or the like. */
static void shuffle(struct text *t, char *line, size_t n) {
    for (size_t k = 4; k + 1 < n; k++) {
        bool letter = line[k] >= 'a' && line[k] <= 'h' && !is_word(line[k + 1]);
        bool named = line[k - 1] >= '0' && line[k - 1] <= '9' && memchr(line + k - 4, '%', 3);
        if (letter && named && chance(t, 4) == 0) line[k] = (char)('a' + chance(t, 8));
    }
}

/* Returns 0 if the line is too long. */
static size_t table_line(struct text *t, char out[LINE_BYTES]) {
    struct ptx_table_text line = ptx_table_line(chance(t, ptx_table_count()));
    if (line.bytes > LINE_BYTES) return 0;
    memcpy(out, line.at, line.bytes);
    shuffle(t, out, line.bytes);
    return line.bytes;
}

static bool from_table(struct text *t) {
    char line[LINE_BYTES];
    struct span s = statement(t);
    const size_t n = table_line(t, line);
    s.to = s.from;
    return n && put(t, s, line, n);
}

static bool append(struct text *t, struct ptx_table_text text) {
    return put(t, (struct span){t->len, t->len}, text.at, text.bytes);
}

/* A new text: some instructions in the frame. */
static bool afresh(struct text *t) {
    char line[LINE_BYTES];
    t->len = 0;
    bool ok = append(t, ptx_table_frame()) && append(t, ptx_table_registers());
    for (uint32_t k = chance(t, 8) + 1; ok && k; k--) {
        const size_t n = table_line(t, line);
        ok = n && append(t, (struct ptx_table_text){line, n});
    }
    return ok && append(t, ptx_table_end());
}

/* ---- libFuzzer's interface ------------------------------------------------------------------- */

static bool change(struct text *t) {
    switch (chance(t, 16)) {
    case 0: return drop(t);
    case 1: return repeat(t);
    case 2: return exchange(t);
    case 3: return guard(t);
    case 4:
    case 5:
    case 6: return other_register(t);
    case 7:
    case 8: return other_number(t);
    case 9:
    case 10:
    case 11: return from_table(t);
    case 12: return chance(t, 4) == 0 && afresh(t);
    default: return false;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t cap, unsigned seed) {
    struct text t = {(char *)data, size, cap, seed + 1ull * 0x9e3779b97f4a7c15};
    bool changed = false;
    chance(&t, 1);
    for (uint32_t k = chance(&t, 3) + 1; k; k--)
        changed |= change(&t);
    return changed ? t.len : LLVMFuzzerMutate(data, size, cap);
}

/* Inserts some statements of one text into the other. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t cap, unsigned seed) {
    if (!a_size || !b_size || a_size > cap) return 0;
    struct text t = {memcpy(out, a, a_size), a_size, cap, seed + 1ull * 0x9e3779b97f4a7c15};
    struct text other = {(char *)b, b_size, b_size, t.state ^ seed};
    for (uint32_t k = chance(&t, 4) + 1; k; k--) {
        struct span from = statement(&other), to = statement(&t);
        to.to = to.from;
        put(&t, to, other.at + from.from, from.to - from.from);
    }
    return t.len;
}
