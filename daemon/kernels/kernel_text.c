/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints and parses sets of profiles. The parser is strict: a line has its fields in this order,
 * with one space between them.
 */
#include "daemon/kernels/kernel_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE "salus-kernels"
#define LINE_BYTES 4096 /* 208 bins and a name are shorter */

/* ---- printing -------------------------------------------------------------------------------- */

static void print_shape(const uint32_t grid[3], const uint32_t block[3], struct buf *b) {
    buf_printf(b, " grid=%u,%u,%u block=%u,%u,%u", grid[0], grid[1], grid[2], block[0], block[1],
               block[2]);
}

static void print_hint(const struct kernel_profile_hint *h, struct buf *b) {
    buf_printf(b, "hint");
    print_shape(h->grid, h->block, b);
    buf_printf(b, " sms=%u class=%s compute=%u memory=%u ns=%" PRIu64 " name=%s\n", h->sms,
               kernel_profile_class_name(h->class), h->compute_milli, h->memory_milli,
               h->duration_ns, h->name);
}

static void print_profile(const struct kernel_profile *p, struct buf *b) {
    const char *comma = "";

    buf_printf(b, "kernel func=%016" PRIx64, p->key.func);
    print_shape(p->key.grid, p->key.block, b);
    buf_printf(b, " shared=%u uid=%u sms=%u class=%s source=%s compute=%u memory=%u lone=%d",
               p->key.shared_bytes, p->key.uid, p->sms, kernel_profile_class_name(p->class),
               kernel_profile_source_name(p->source), p->compute_milli, p->memory_milli, p->lone);
    buf_printf(b, " sum=%" PRIu64 " bins=", p->durations.sum_ns);
    for (uint32_t i = 0; i < KERNEL_DIST_BINS; i++) {
        if (!p->durations.bins[i]) continue;
        buf_printf(b, "%s%u:%u", comma, i, p->durations.bins[i]);
        comma = ",";
    }
    buf_printf(b, " name=%s\n", p->name);
}

void kernel_text_print(const struct kernel_set *s, struct buf *b) {
    uint32_t *order = kernel_set_order(s);

    if (!order) {
        b->failed = true;
        return;
    }
    buf_printf(b, TITLE " %d %u %u\n", KERNEL_TEXT_VERSION, s->count, s->hint_count);
    buf_printf(b, "device sms=%u name=%s\n", s->device.sms, s->device.name);
    for (uint32_t i = 0; i < s->hint_count; i++)
        print_hint(&s->hints[i], b);
    for (uint32_t i = 0; i < s->count; i++)
        print_profile(&s->items[order[i]], b);
    free(order);
}

/* ---- one line -------------------------------------------------------------------------------- */

/* State of the parser. The first error is kept; every value read after an error is 0. */
struct reader {
    const char *text, *end; /* text after the current line */
    uint64_t line;
    char *why;
    int err;
    char *at; /* position in `copy`, the current line */
    char copy[LINE_BYTES];
};

__attribute__((format(printf, 2, 3))) static int bad(struct reader *r, const char *fmt, ...) {
    char what[KERNEL_PROFILE_WHY_BYTES - 32];
    va_list ap;

    if (r->err < 0) return r->err;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    snprintf(r->why, KERNEL_PROFILE_WHY_BYTES, "line %" PRIu64 ": %s", r->line, what);
    return r->err = -EINVAL;
}

static int next_line(struct reader *r) {
    size_t left = (size_t)(r->end - r->text);
    const char *newline = left ? memchr(r->text, '\n', left) : NULL;
    size_t n = newline ? (size_t)(newline - r->text) : left;

    r->line++;
    r->copy[0] = '\0';
    r->at = r->copy;
    if (!newline) return bad(r, left ? "the line has no end" : "the text ends before this line");
    if (n >= sizeof(r->copy)) return bad(r, "the line is too long");
    if (memchr(r->text, '\0', n)) return bad(r, "the line contains a NUL byte");
    memcpy(r->copy, r->text, n);
    r->copy[n] = '\0';
    r->text = newline + 1;
    return 0;
}

/* A field's name as users see it, without the leading space. */
static const char *shown(const char *field) {
    return field + (*field == ' ');
}

static bool skip(struct reader *r, const char *word) {
    size_t n = strlen(word);

    if (r->err < 0 || strncmp(r->at, word, n) != 0) return false;
    r->at += n;
    return true;
}

/* Skips the expected field name or separator, or records an error. */
static void take_word(struct reader *r, const char *field) {
    if (!skip(r, field)) bad(r, "'%s' is missing before \"%.24s\"", shown(field), r->at);
}

static uint64_t take_digits(struct reader *r, unsigned base, const char *field, uint64_t most) {
    const char *from = r->at;
    uint64_t value = 0;

    for (; r->err == 0; r->at++) {
        const char *digits = "0123456789abcdef", *d = *r->at ? strchr(digits, *r->at) : NULL;

        if (!d || d - digits >= (int)base) break;
        if (__builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, (uint64_t)(d - digits), &value) || value > most) {
            bad(r, "'%s' is more than %" PRIu64, shown(field), most);
            return 0;
        }
    }
    if (r->at == from) bad(r, "'%s' is not a number", shown(field));
    return r->err < 0 ? 0 : value;
}

static uint64_t take_number(struct reader *r, const char *field, uint64_t most) {
    take_word(r, field);
    return take_digits(r, 10, field, most);
}

static void take_triple(struct reader *r, const char *field, uint32_t out[3]) {
    take_word(r, field);
    for (int i = 0; i < 3; i++) {
        if (i > 0) take_word(r, ",");
        out[i] = (uint32_t)take_digits(r, 10, field, UINT32_MAX);
    }
}

/* Parses one of the words that `name` returns for 0 to count - 1; returns its index. */
static uint8_t take_choice(struct reader *r, const char *field, const char *(*name)(unsigned),
                           unsigned count) {
    size_t n;

    take_word(r, field);
    n = strcspn(r->at, " ");
    for (unsigned i = 0; i < count && r->err == 0; i++) {
        if (strlen(name(i)) != n || strncmp(name(i), r->at, n) != 0) continue;
        r->at += n;
        return (uint8_t)i;
    }
    bad(r, "'%s' cannot have the value \"%.*s\"", shown(field), n < 24 ? (int)n : 24, r->at);
    return 0;
}

/* Parses a name, which fills the rest of the line. */
static void take_name(struct reader *r, char *out, size_t cap) {
    take_word(r, " name=");
    if (r->err < 0) return;
    if (strlen(r->at) >= cap || !kernel_name_clean(r->at))
        bad(r, "'name=' is not 1 to %zu printable characters", cap - 1);
    else
        snprintf(out, cap, "%s", r->at);
}

static void take_bins(struct reader *r, struct kernel_dist *d) {
    int64_t last = -1;

    d->sum_ns = take_number(r, " sum=", UINT64_MAX);
    take_word(r, " bins=");
    while (r->err == 0 && *r->at != ' ') {
        if (last >= 0) take_word(r, ",");
        uint64_t bin = take_digits(r, 10, " bins=", KERNEL_DIST_BINS - 1);
        take_word(r, ":");
        uint64_t count = take_digits(r, 10, " bins=", UINT16_MAX);

        if (r->err == 0 && ((int64_t)bin <= last || count == 0))
            bad(r, "'bins=' are not sorted, or one is empty");
        d->bins[bin] = (uint16_t)count;
        last = (int64_t)bin;
    }
}

/* ---- whole lines ----------------------------------------------------------------------------- */

static void parse_title(struct reader *r, uint64_t *profiles, uint64_t *hints) {
    if (next_line(r) == 0 && !skip(r, TITLE " "))
        bad(r, "the line does not begin with '" TITLE " VERSION PROFILES HINTS'");
    uint64_t version = take_digits(r, 10, "VERSION", UINT32_MAX);
    if (r->err == 0 && version != KERNEL_TEXT_VERSION)
        bad(r, "the file has version %" PRIu64 " instead of %d", version, KERNEL_TEXT_VERSION);
    take_word(r, " ");
    *profiles = take_digits(r, 10, "PROFILES", KERNEL_SET_MAX);
    take_word(r, " ");
    *hints = take_digits(r, 10, "HINTS", KERNEL_SET_HINTS_MAX);
    if (r->err == 0 && *r->at) bad(r, "text follows the numbers");
}

static void parse_device(struct reader *r, struct kernel_set_device *d) {
    next_line(r);
    take_word(r, "device");
    d->sms = (uint32_t)take_number(r, " sms=", KERNEL_PROFILE_SMS_MAX);
    take_name(r, d->name, sizeof(d->name));
}

static void parse_hint(struct reader *r, struct kernel_set *s) {
    struct kernel_profile_hint h = {0};
    uint32_t before = s->hint_count;
    char why[KERNEL_PROFILE_WHY_BYTES];

    next_line(r);
    take_word(r, "hint");
    take_triple(r, " grid=", h.grid);
    take_triple(r, " block=", h.block);
    h.sms = (uint32_t)take_number(r, " sms=", KERNEL_PROFILE_SMS_MAX);
    h.class = take_choice(r, " class=", kernel_profile_class_name, KERNEL_PROFILE_CLASSES);
    h.compute_milli = (uint16_t)take_number(r, " compute=", 1000);
    h.memory_milli = (uint16_t)take_number(r, " memory=", 1000);
    h.duration_ns = take_number(r, " ns=", KERNEL_PROFILE_NS_MAX);
    take_name(r, h.name, sizeof(h.name));
    if (r->err == 0 && kernel_profile_hint_check(&h, why) < 0) bad(r, "%s", why);
    if (r->err == 0) r->err = kernel_set_add_hints(s, &h, 1);
    if (r->err == 0 && s->hint_count == before) bad(r, "the hint is a duplicate");
}

static void parse_profile(struct reader *r, struct kernel_set *s) {
    struct kernel_profile p = {0};
    uint32_t before = s->count;
    char why[KERNEL_PROFILE_WHY_BYTES];

    next_line(r);
    take_word(r, "kernel func=");
    p.key.func = take_digits(r, 16, "func", UINT64_MAX);
    take_triple(r, " grid=", p.key.grid);
    take_triple(r, " block=", p.key.block);
    p.key.shared_bytes = (uint32_t)take_number(r, " shared=", UINT32_MAX);
    p.key.uid = (uint32_t)take_number(r, " uid=", UINT32_MAX - 1);
    p.sms = (uint32_t)take_number(r, " sms=", KERNEL_PROFILE_SMS_MAX);
    p.class = take_choice(r, " class=", kernel_profile_class_name, KERNEL_PROFILE_CLASSES);
    p.source = take_choice(r, " source=", kernel_profile_source_name, KERNEL_PROFILE_SOURCES);
    p.compute_milli = (uint16_t)take_number(r, " compute=", 1000);
    p.memory_milli = (uint16_t)take_number(r, " memory=", 1000);
    p.lone = (uint8_t)take_number(r, " lone=", 1);
    take_bins(r, &p.durations);
    take_name(r, p.name, sizeof(p.name));
    if (r->err == 0 && kernel_profile_check(&p, why) < 0) bad(r, "%s", why);
    if (r->err == 0 && kernel_set_find(s, &p.key)) bad(r, "the kernel is a duplicate");
    if (r->err == 0) r->err = kernel_set_learn(s, &p);
    if (r->err == 0 && s->count == before) bad(r, "user %u has too many kernels", p.key.uid);
}

int kernel_text_parse(struct kernel_set *s, const char *text, size_t bytes, char *why) {
    struct reader r = {.text = text, .end = text + bytes, .why = why, .at = r.copy};
    uint64_t profiles = 0, hints = 0;

    parse_title(&r, &profiles, &hints);
    parse_device(&r, &s->device);
    for (uint64_t i = 0; i < hints && r.err == 0; i++)
        parse_hint(&r, s);
    for (uint64_t i = 0; i < profiles && r.err == 0; i++)
        parse_profile(&r, s);
    if (r.err == 0 && r.text != r.end) {
        r.line++;
        bad(&r, "the text has more lines than its header announces");
    }
    if (r.err < 0) kernel_set_finish(s);
    return r.err;
}
