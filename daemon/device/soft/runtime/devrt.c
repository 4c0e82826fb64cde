/* SPDX-License-Identifier: Apache-2.0
 *
 * The system's functions that kernels call: vprintf, malloc, free, __assertfail. Their arguments
 * are hostile: strings are read byte by byte through the range check, formats are parsed and
 * rebuilt, lengths are limited.
 */
#include "daemon/device/soft/runtime/devrt.h"

#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/launch/block_state.h"
#include "daemon/device/soft/memory/mem.h"
#include "daemon/device/soft/runtime/heap.h"
#include "daemon/device/soft/runtime/native_call.h"

#define DEVRT_TEXT_MAX 4096  /* bytes of one printf */
#define DEVRT_FIELD_MAX 1024 /* limit of width and precision */

/* State of one printf. */
struct devrt_print {
    struct warp_ctx *x;
    const struct code_inst *inst;
    uint32_t lane;
    uint64_t values; /* address of the argument buffer */
    uint64_t at;     /* offset of the next argument in the buffer */
    int count;       /* arguments taken */
    bool failed;     /* a fault was reported */
    size_t len;
    char text[DEVRT_TEXT_MAX];
};

/* ---- printf ------------------------------------------------------------------------------------
 */

static bool read_byte(struct devrt_print *p, uint64_t addr, char *out) {
    if (!mem_lane_ok(p->x, p->lane, addr, 1, false)) {
        warp_fault(&p->x->w, p->inst, p->lane, ERR_ILLEGAL_ADDRESS, addr, NULL);
        p->failed = true;
        return false;
    }
    *out = *(const char *)(uintptr_t)addr;
    return true;
}

static void put_char(struct devrt_print *p, char c) {
    if (p->len < sizeof(p->text)) p->text[p->len++] = c;
}

/* Reads the next argument: 4 bytes, or 8 aligned to 8. */
static uint64_t next_argument(struct devrt_print *p, uint32_t bytes) {
    uint64_t v = 0;
    p->at = (p->at + bytes - 1) & ~(uint64_t)(bytes - 1);
    uint64_t addr = p->values + p->at;
    p->at += bytes;
    p->count++;
    if (!mem_lane_ok(p->x, p->lane, addr, bytes, false)) {
        warp_fault(&p->x->w, p->inst, p->lane, ERR_ILLEGAL_ADDRESS, addr, NULL);
        p->failed = true;
        return 0;
    }
    memcpy(&v, (const void *)(uintptr_t)addr, bytes);
    return v;
}

struct devrt_spec {
    char flags[8];
    int width, precision; /* -1: none */
    bool wide;            /* l, ll, j, z, t */
    int narrow;           /* h: 1, hh: 2 */
    char conversion;
};

static int clamp(int64_t v) {
    return v > DEVRT_FIELD_MAX ? DEVRT_FIELD_MAX : (int)v;
}

static void parse_number(struct devrt_print *p, const char **s, int *out) {
    if (**s == '*') {
        *out = clamp((int32_t)next_argument(p, 4));
        (*s)++;
        return;
    }
    int64_t v = 0;
    for (; **s >= '0' && **s <= '9'; (*s)++)
        v = clamp(v * 10 + (**s - '0'));
    *out = (int)v;
}

static void add_flag(struct devrt_spec *spec, char c) {
    size_t n = strlen(spec->flags);
    if (n + 1 < sizeof(spec->flags) && !strchr(spec->flags, c)) spec->flags[n] = c;
}

/* Reads a conversion after its `%`; `*s` then points after the conversion. */
static void parse_spec(struct devrt_print *p, const char **s, struct devrt_spec *spec) {
    memset(spec, 0, sizeof(*spec));
    spec->width = spec->precision = -1;
    while (**s && strchr("-+ #0", **s))
        add_flag(spec, *(*s)++);
    if (**s == '*' || (**s >= '0' && **s <= '9')) parse_number(p, s, &spec->width);
    if (spec->width < -1) { /* a negative `*` means the left flag */
        add_flag(spec, '-');
        spec->width = clamp(-(int64_t)spec->width);
    }
    if (**s == '.') {
        (*s)++;
        parse_number(p, s, &spec->precision);
    }
    for (; **s && strchr("lhjztLq", **s); (*s)++) {
        if (**s == 'h')
            spec->narrow++;
        else if (**s != 'L')
            spec->wide = true;
    }
    spec->conversion = **s;
    if (**s) (*s)++;
}

static void make_format(struct devrt_print *p, const struct devrt_spec *spec, const char *length,
                        char *format, size_t bytes) {
    size_t n = (size_t)snprintf(format, bytes, "%%%s", spec->flags);
    if (spec->width >= 0) n += (size_t)snprintf(format + n, bytes - n, "%d", spec->width);
    if (spec->precision >= 0) n += (size_t)snprintf(format + n, bytes - n, ".%d", spec->precision);
    snprintf(format + n, bytes - n, "%s%c", length, spec->conversion);
    (void)p;
}

/* Writes text padded to the requested width. */
static void put_padded(struct devrt_print *p, const struct devrt_spec *spec, const char *text,
                       size_t n) {
    size_t pad = spec->width > 0 && (size_t)spec->width > n ? (size_t)spec->width - n : 0;
    bool left = strchr(spec->flags, '-') != NULL;
    for (size_t k = 0; !left && k < pad; k++)
        put_char(p, ' ');
    for (size_t k = 0; k < n; k++)
        put_char(p, text[k]);
    for (size_t k = 0; left && k < pad; k++)
        put_char(p, ' ');
}

static void put_string(struct devrt_print *p, const struct devrt_spec *spec, uint64_t addr) {
    char text[DEVRT_FIELD_MAX + 1];
    size_t n = 0, most = sizeof(text) - 1;
    if (spec->precision >= 0 && (size_t)spec->precision < most) most = (size_t)spec->precision;
    while (addr && n < most && read_byte(p, addr + n, &text[n]) && text[n])
        n++;
    if (p->failed) return;
    put_padded(p, spec, addr ? text : "(null)", addr ? n : 6);
}

static uint64_t next_integer(struct devrt_print *p, const struct devrt_spec *spec) {
    bool is_signed = spec->conversion == 'd' || spec->conversion == 'i';
    uint64_t v = next_argument(p, spec->wide ? 8 : 4);
    if (spec->wide) return v;
    uint32_t bits = spec->narrow >= 2 ? 8 : spec->narrow ? 16 : 32;
    uint64_t mask = (1ull << bits) - 1;
    v &= mask;
    return is_signed && v >> (bits - 1) ? v | ~mask : v;
}

static void put_converted(struct devrt_print *p, const struct devrt_spec *spec) {
    /* A double has about 310 digits before the point. */
    char format[48], out[DEVRT_FIELD_MAX + 400];
    out[0] = 0;
    if (strchr("diuoxX", spec->conversion)) {
        uint64_t v = next_integer(p, spec);
        make_format(p, spec, "ll", format, sizeof(format));
        snprintf(out, sizeof(out), format, (long long)v);
    } else if (spec->conversion == 'c') {
        char c = (char)next_argument(p, 4);
        put_padded(p, spec, &c, 1);
    } else if (strchr("eEfFgGaA", spec->conversion)) {
        uint64_t bits = next_argument(p, 8);
        double v;
        memcpy(&v, &bits, sizeof(v));
        make_format(p, spec, "", format, sizeof(format));
        snprintf(out, sizeof(out), format, v);
    } else if (spec->conversion == 'p') {
        int n = snprintf(format, sizeof(format), "0x%llx", (unsigned long long)next_argument(p, 8));
        put_padded(p, spec, format, (size_t)n);
    } else if (spec->conversion == 's') {
        put_string(p, spec, next_argument(p, 8));
    } else if (spec->conversion == 'n') {
        next_argument(p, 8); /* %n is never written */
    } else {
        put_char(p, '%');
        if (spec->conversion && spec->conversion != '%') put_char(p, spec->conversion);
    }
    for (const char *c = out; *c; c++)
        put_char(p, *c);
}

static void run_printf(struct warp_ctx *x, const struct code_inst *i, uint32_t lane) {
    struct devrt_print p;
    p.x = x;
    p.inst = i;
    p.lane = lane;
    p.values = native_argument(x, i, lane, 1);
    p.at = p.len = 0;
    p.count = 0;
    p.failed = false;
    char format[DEVRT_TEXT_MAX];
    uint64_t from = native_argument(x, i, lane, 0);
    if (!from) {
        native_result(x, i, lane, (uint64_t)-1);
        return;
    }
    size_t n = 0;
    while (n < sizeof(format) - 1 && read_byte(&p, from + n, &format[n]) && format[n])
        n++;
    if (p.failed) return;
    format[n] = 0;
    for (const char *s = format; *s && !p.failed;) {
        if (*s != '%') {
            put_char(&p, *s++);
            continue;
        }
        struct devrt_spec spec;
        s++;
        parse_spec(&p, &s, &spec);
        put_converted(&p, &spec);
    }
    if (p.failed) return;
    const struct launch_config *g = x->block->config;
    if (g->text && p.len) g->text(g->text_arg, 0, p.text, p.len);
    native_result(x, i, lane, (uint64_t)p.count);
}

/* ---- assert ------------------------------------------------------------------------------------
 */

/* Reads a kernel's C string, truncated to fit. Returns false after a fault. */
static bool read_string(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t addr,
                        char *out, size_t bytes) {
    size_t n = 0;
    for (; addr && n + 1 < bytes; n++) {
        if (!mem_lane_ok(x, lane, addr + n, 1, false)) {
            warp_fault(&x->w, i, lane, ERR_ILLEGAL_ADDRESS, addr + n, NULL);
            return false;
        }
        out[n] = *(const char *)(uintptr_t)(addr + n);
        if (!out[n]) break;
    }
    out[n] = 0;
    return true;
}

static void run_assertfail(struct warp_ctx *x, const struct code_inst *i, uint32_t lane) {
    char expr[512], file[512], func[512], text[2048];
    if (!read_string(x, i, lane, native_argument(x, i, lane, 0), expr, sizeof(expr)) ||
        !read_string(x, i, lane, native_argument(x, i, lane, 1), file, sizeof(file)) ||
        !read_string(x, i, lane, native_argument(x, i, lane, 3), func, sizeof(func)))
        return;
    const struct block *b = x->block;
    int n = snprintf(text, sizeof(text),
                     "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                     file, (uint32_t)native_argument(x, i, lane, 2), func, b->index[0], b->index[1],
                     b->index[2], x->tid[0][lane], x->tid[1][lane], x->tid[2][lane], expr);
    const struct launch_config *g = b->config;
    if (g->text && n > 0)
        g->text(g->text_arg, 1, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
    warp_fault(&x->w, i, lane, ERR_ASSERT, 0, "assertion failed");
}

/* ---- dispatch ----------------------------------------------------------------------------------
 */

static void run_free(struct warp_ctx *x, const struct code_inst *i, uint32_t lane) {
    struct heap *heap = x->block->config->heap;
    uint64_t addr = native_argument(x, i, lane, 0);
    if (addr && (!heap || heap_free(heap, addr)))
        warp_fault(&x->w, i, lane, ERR_ILLEGAL_ADDRESS, addr,
                   "free() got a pointer that malloc() did not return");
}

void devrt_call(struct warp *w, const struct code_inst *i, uint32_t mask) {
    struct warp_ctx *x = (struct warp_ctx *)w;
    const struct code_extra *c = i->extra;
    struct heap *heap = x->block->config->heap;
    bool assertion = c->native == NATIVE___assertfail;
    for (uint32_t left = mask; left && (!x->stop || assertion); left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        switch (c->native) {
        case NATIVE_vprintf: run_printf(x, i, lane); break;
        case NATIVE_malloc: {
            uint64_t bytes = native_argument(x, i, lane, 0);
            native_result(x, i, lane, heap ? heap_alloc(heap, bytes) : 0);
            break;
        }
        case NATIVE_free: run_free(x, i, lane); break;
        default: run_assertfail(x, i, lane); break;
        }
    }
}
