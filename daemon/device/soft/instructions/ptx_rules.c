/* SPDX-License-Identifier: Apache-2.0
 *
 * Matches an opcode with the rules of its operation (ptx_rules.def).
 */
#include "daemon/device/soft/instructions/ptx_rules.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"

struct ptx_rule {
    enum ptx_op op;
    const char *types, *words, *operands;
};

#define RULE(op, types, words, operands) {PTX_OP_##op, types, words, operands},
static const struct ptx_rule rules[] = {
#include "daemon/device/soft/instructions/ptx_rules.def"
};
#undef RULE

/* ---- words ----------------------------------------------------------------------------------- */

struct word {
    const char *at;
    size_t len;
};

/* Finds the next word of `text` up to `end`. Returns NULL after the last. */
static const char *next_word(const char *text, char end, struct word *w) {
    while (*text == end)
        text++;
    w->at = text;
    w->len = 0;
    while (text[w->len] && text[w->len] != end)
        w->len++;
    return w->len ? text + w->len : NULL;
}

static bool same(struct word a, struct word b) {
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* True if `w` fits one of the alternatives in `list`, which '|' separates. One that ends in '*'
 * fits every word with its beginning. */
static bool one_of(struct word list, struct word w) {
    struct word alt = {list.at, 0};
    for (const char *at = list.at, *end = list.at + list.len; at < end; at = alt.at + alt.len + 1) {
        alt.at = at;
        const char *bar = memchr(at, '|', (size_t)(end - at));
        alt.len = (size_t)((bar ? bar : end) - at);
        if (same(alt, w)) return true;
        if (alt.len && at[alt.len - 1] == '*' && w.len >= alt.len - 1 &&
            memcmp(at, w.at, alt.len - 1) == 0)
            return true;
    }
    return false;
}

static bool in_list(const char *list, const char *text, size_t len) {
    struct word w;
    while ((list = next_word(list, ' ', &w)))
        if (same(w, (struct word){text, len})) return true;
    return false;
}

bool ptx_rules_other_op(const char *text, size_t len) {
    return in_list("multimem tcgen05", text, len);
}

bool ptx_rules_other_sreg(const char *text, size_t len) {
    static const char names[] = "%tid %ntid %ctaid %nctaid %clusterid %nclusterid %cluster_ctaid "
                                "%cluster_nctaid %tid.w %ntid.w %ctaid.w %nctaid.w %clusterid.w "
                                "%nclusterid.w %cluster_ctaid.w %cluster_nctaid.w";
    char numbered[16];
    for (int i = 0; i < 32 && len < sizeof(numbered); i++) {
        int n = snprintf(numbered, sizeof(numbered), "%%envreg%d", i);
        if ((size_t)n == len && memcmp(numbered, text, len) == 0) return true;
        n = snprintf(numbered, sizeof(numbered), "%%pm%d%s", i & 7, i & 8 ? "_64" : "");
        if ((size_t)n == len && memcmp(numbered, text, len) == 0) return true;
    }
    return in_list(names, text, len);
}

/* ---- an opcode's words against a rule -------------------------------------------------------- */

#define OPCODE_WORDS 24
#define OPCODE_GROUPS 24

struct opcode {
    struct word types[PTX_OPERANDS], words[OPCODE_WORDS];
    uint32_t type_count, word_count, vec;
    bool hint;       /* has .L2::cache_hint */
    bool word_first; /* words[0] directly follows the operation */
};

/* True for names of types. All of them but one end in a digit. */
static bool is_type(struct word w) {
    char last = w.at[w.len - 1];
    if ((last < '0' || last > '9') && last != 'd') return false;
    return ptx_type_find(w.at, w.len) ||
           in_list("b1 b4 u4 s4 b1024 b6x16_p32 b4x16_p64 s64x2 s2f6x2 "
                   "e4m3 e5m2 e2m1",
                   w.at, w.len);
}

/* Splits an opcode into words. Returns false if there are more than any instruction has. */
static bool split(const char *text, struct opcode *o) {
    struct word w;
    text = next_word(text, '.', &w);
    for (uint32_t i = 0; text && (text = next_word(text, '.', &w)); i++) {
        if (is_type(w)) {
            if (o->type_count == PTX_OPERANDS) return false;
            o->types[o->type_count++] = w;
            continue;
        }
        if (o->word_count == OPCODE_WORDS) return false;
        if (i == 0) o->word_first = true;
        o->hint |= same(w, (struct word){"L2::cache_hint", 14});
        if (w.len == 2 && w.at[0] == 'v') o->vec = (uint32_t)(w.at[1] - '0');
        o->words[o->word_count++] = w;
    }
    return true;
}

static bool types_match(const struct ptx_rule *r, const struct opcode *o) {
    struct word w;
    uint32_t i = 0;
    for (const char *at = r->types; (at = next_word(at, ' ', &w)); i++) {
        if (w.len == 1 && w.at[0] == '*') return true;
        if (i == o->type_count || !one_of(w, o->types[i])) return false;
    }
    return i == o->type_count;
}

/* Progress of matching a rule. The error shown is that of the rule that matched farthest. */
enum progress { RULE_TYPES, RULE_WORDS, RULE_MISSING, RULE_MATCH };

static enum progress words_match(const struct ptx_rule *r, const struct opcode *o,
                                 struct word *culprit) {
    struct word groups[OPCODE_GROUPS];
    bool taken[OPCODE_GROUPS] = {false};
    uint32_t count = 0, k;
    for (const char *at = r->words; count < OPCODE_GROUPS; count++)
        if (!(at = next_word(at, ' ', &groups[count]))) break;
    for (uint32_t i = 0; i < o->word_count; i++) {
        for (k = 0; k < count; k++) {
            struct word g = groups[k];
            bool first = g.at[0] == '^', any = g.len == 1 && g.at[0] == '*';
            if (any) break;
            if (g.at[0] == '+' || first) g = (struct word){g.at + 1, g.len - 1};
            bool open = memchr(g.at, '*', g.len); /* L1::..., which may occur several times */
            if ((taken[k] && !open) || !one_of(g, o->words[i])) continue;
            taken[k] = true;
            if (!first || (i == 0 && o->word_first)) break;
        }
        *culprit = o->words[i];
        if (k == count) return RULE_WORDS;
    }
    for (k = 0; k < count; k++) {
        *culprit = (struct word){groups[k].at + 1, groups[k].len - 1};
        if (!taken[k] && (groups[k].at[0] == '+' || groups[k].at[0] == '^')) return RULE_MISSING;
    }
    return RULE_MATCH;
}

/* ---- permitted operands ---------------------------------------------------------------------- */

static uint8_t literals(enum ptx_type t) {
    switch (ptx_type_class(t)) {
    case 'u':
    case 's':
    case 'p': return PTX_WANT_INT;
    case 'b':
        return PTX_WANT_INT | (t == PTX_B32 ? PTX_WANT_FLOAT4 : 0) |
               (t == PTX_B64 ? PTX_WANT_FLOAT8 : 0);
    default: return t == PTX_F32 || t == PTX_F64 ? PTX_WANT_FLOAT4 | PTX_WANT_FLOAT8 : 0;
    }
}

/* True if a register fits an operand, as in "Operand types": bits fit any type of their size,
 * integers fit integers, floats fit themselves and bits. .f16x2 registers also serve as 32 bits of
 * any kind. */
static bool reg_fits(enum ptx_type want, enum ptx_type reg, bool wider) {
    char w = ptx_type_class(want), r = ptx_type_class(reg);
    uint32_t need = ptx_type_bytes(want), have = ptx_type_bytes(reg);
    if (w == 'p' || r == 'p') return w == r;
    if (want == reg) return true;
    if (w == 'f' && want != PTX_F16 && want != PTX_F32 && want != PTX_F64) wider = false;
    if (wider ? have < need : have != need) return false;
    if (w == 'b' || r == 'b') return true;
    bool integers = (w == 'u' || w == 's') && (r == 'u' || r == 's');
    return integers || (reg == PTX_F16X2 && w != 'f');
}

/* ---- tables shared by all modules ------------------------------------------------------------ */

#define RULES (sizeof(rules) / sizeof(rules[0]))

static struct {
    /* Indexed by operation: number of a rule + 1, or 0. */
    uint16_t first[PTX_OP_COUNT], next[RULES];
    /* Registers that fit a type, exactly or including wider ones. */
    uint32_t regs[2][PTX_TYPE_COUNT];
} known;

static void learn(void) {
    for (size_t i = RULES; i-- > 0;) {
        known.next[i] = known.first[rules[i].op];
        known.first[rules[i].op] = (uint16_t)(i + 1);
    }
    for (int t = PTX_NONE + 1; t < PTX_TYPE_COUNT; t++)
        for (int r = PTX_NONE + 1; r <= PTX_PRED; r++)
            for (int wider = 0; wider < 2; wider++)
                if (reg_fits((enum ptx_type)t, (enum ptx_type)r, wider))
                    known.regs[wider][t] |= 1u << r;
}

static pthread_once_t once = PTHREAD_ONCE_INIT; /* guards learn() */

static void want_type(struct ptx_want *want, struct word name, bool wider) {
    enum ptx_type t = ptx_type_find(name.at, name.len);
    if (!t) { /* unknown here, but held in registers of bits */
        want->regs |= 1u << PTX_B64 | 1u << PTX_B32 | 1u << PTX_B16 | 1u << PTX_B128;
        return;
    }
    want->bytes = (uint8_t)ptx_type_bytes(t);
    want->kinds |= literals(t);
    want->regs |= known.regs[wider][t];
}

static void add_type(struct ptx_want *want, enum ptx_type t, bool wider) {
    pthread_once(&once, learn);
    want->bytes = (uint8_t)ptx_type_bytes(t);
    want->kinds |= literals(t);
    want->regs |= known.regs[wider][t] | 1u << PTX_NONE;
}

void ptx_rules_want(struct ptx_want *want, enum ptx_type t) {
    add_type(want, t, false);
}

void ptx_rules_want_wider(struct ptx_want *want, enum ptx_type t) {
    add_type(want, t, true);
}

static uint16_t suffix_kind(char c) {
    switch (c) {
    case 's': return PTX_WANT_SPECIAL;
    case '@': return PTX_WANT_NAME;
    case '_': return PTX_WANT_SINK;
    case '|': return PTX_WANT_PAIR;
    case '&': return PTX_WANT_PAIR | PTX_WANT_ONLY_PAIR;
    case 'v': return PTX_WANT_ELEMENTS;
    case 'p': return PTX_WANT_PARTS;
    default: return 0;
    }
}

/* Reads the types at the beginning of `spec`; returns their length. */
static size_t want_types(struct ptx_want *want, const struct opcode *o, struct word spec) {
    bool wider = memchr(spec.at, '~', spec.len) != NULL;
    size_t n = 0;
    if (spec.at[0] >= '0' && spec.at[0] < '0' + PTX_OPERANDS) {
        want_type(want, o->types[spec.at[0] - '0'], wider);
        return 1;
    }
    while (n < spec.len) {
        struct word t = {spec.at + n, 0};
        while (n + t.len < spec.len && strchr("bfpreduxs0123456789", t.at[t.len]))
            t.len++;
        want_type(want, t, wider);
        n += t.len;
        if (n + 1 >= spec.len || spec.at[n] != '|') break;
        n++;
    }
    return n;
}

static void want_operand(struct ptx_want *want, const struct opcode *o, struct word spec) {
    want->regs = 1u << PTX_NONE; /* vector registers and their parts are not checked */
    if (spec.at[0] == '=') {
        want->kinds |= PTX_WANT_RESULT;
        spec = (struct word){spec.at + 1, spec.len - 1};
    }
    switch (spec.at[0]) {
    case '[': want->kinds |= PTX_WANT_ADDRESS; return;
    case ']': want->kinds |= PTX_WANT_ADDRESS | PTX_WANT_ANY_SPACE; return;
    case '#': want->kinds |= PTX_WANT_INT; return;
    case 'L': want->kinds |= PTX_WANT_LABEL; return;
    case '*': want->kinds |= PTX_WANT_ANY; return;
    default: break;
    }
    size_t n = want_types(want, o, spec);
    bool no_literal = memchr(spec.at, '!', spec.len) || want->kinds & PTX_WANT_RESULT;
    if (no_literal) want->kinds &= (uint16_t) ~(PTX_WANT_INT | PTX_WANT_FLOAT4 | PTX_WANT_FLOAT8);
    for (; n < spec.len; n++)
        want->kinds |= suffix_kind(spec.at[n]);
    if (o->vec < 2) want->kinds &= (uint16_t)~PTX_WANT_ELEMENTS;
    if (memchr(spec.at, 'q', spec.len)) {
        want->kinds |= PTX_WANT_ELEMENTS;
        want->count = 4;
    }
}

static void describe(const struct ptx_rule *r, const struct opcode *o, struct ptx_sig *sig) {
    struct word spec;
    *sig = (struct ptx_sig){0};
    for (const char *at = r->operands; (at = next_word(at, ' ', &spec)); sig->most++) {
        if (spec.at[0] == '.') {
            sig->open = true;
            return;
        }
        bool optional = spec.at[0] == '?', hint = spec.at[0] == 'h';
        if (hint && !o->hint) return;
        if (optional || hint) spec = (struct word){spec.at + 1, spec.len - 1};
        want_operand(&sig->wants[sig->most], o, spec);
        sig->least += !optional;
        if (optional) sig->optional = sig->most;
    }
}

/* ---- an opcode ------------------------------------------------------------------------------- */

static void complain(enum progress got, struct word w, char *why, size_t why_bytes) {
    int len = w.len > 60 ? 60 : (int)w.len;
    if (got == RULE_TYPES)
        snprintf(why, why_bytes, "the operation does not exist for these types");
    else if (got == RULE_WORDS)
        snprintf(why, why_bytes,
                 "modifier '.%.*s' does not apply to the operation with these types", len, w.at);
    else
        snprintf(why, why_bytes, "one of %.*s is needed", len, w.at);
}

bool ptx_rules_match(enum ptx_op op, const char *text, struct ptx_sig *sig, char *why,
                     size_t why_bytes) {
    struct opcode o = {.vec = 1};
    enum progress best = RULE_TYPES;
    struct word culprit = {0};
    pthread_once(&once, learn);
    bool ruled = known.first[op], split_up = split(text, &o);
    for (uint32_t n = known.first[op]; n && split_up; n = known.next[n - 1]) {
        const struct ptx_rule *r = &rules[n - 1];
        struct word w = {0};
        if (!types_match(r, &o)) continue;
        enum progress got = words_match(r, &o, &w);
        if (got == RULE_MATCH) {
            describe(r, &o, sig);
            return true;
        }
        if (got > best && r->types[0] != '*') {
            best = got;
            culprit = w;
        }
    }
    *sig = (struct ptx_sig){.open = true};
    if (ruled) complain(best, culprit, why, why_bytes);
    return !ruled;
}
