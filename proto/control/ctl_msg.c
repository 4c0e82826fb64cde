/* SPDX-License-Identifier: Apache-2.0
 *
 * A message is first scanned, then parsed by msgpack. After the scan a message of n bytes makes
 * msgpack allocate at most about 24 n.
 */
#include "proto/control/ctl_msg.h"

#include <errno.h>
#include <inttypes.h>
#include <msgpack.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 3, 4))) static int bad(char *why, size_t cap, const char *fmt, ...) {
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(why, cap, fmt, ap);
    va_end(ap);
    return -EINVAL;
}

/* ---- the scan -------------------------------------------------------------------------------- */

struct scan {
    const unsigned char *p, *end;
    uint64_t payload;  /* bytes of text or binary that follow the header */
    uint64_t children; /* objects that follow the header */
};

static bool take_number(struct scan *s, unsigned width, uint64_t *out) {
    uint64_t v = 0;

    if ((size_t)(s->end - s->p) < width) return false;
    for (unsigned i = 0; i < width; i++)
        v = v << 8 | *s->p++;
    *out = v;
    return true;
}

/* Reads one header. Returns false if it is truncated or invalid. */
static bool take_header(struct scan *s) {
    unsigned char b = *s->p++;
    uint64_t n = 0;

    s->payload = s->children = 0;
    if (b <= 0x7f || b >= 0xe0 || b == 0xc0 || b == 0xc2 || b == 0xc3) return true;
    if (b <= 0x8f) {
        s->children = 2 * (b & 0xfu);
    } else if (b <= 0x9f) {
        s->children = b & 0xfu;
    } else if (b <= 0xbf) {
        s->payload = b & 0x1fu;
    } else if (b == 0xc1) {
        return false;
    } else if (b <= 0xc6 || (b >= 0xd9 && b <= 0xdb)) { /* bin, str: 1, 2, 4 bytes of length */
        if (!take_number(s, 1u << (b <= 0xc6 ? b - 0xc4 : b - 0xd9), &s->payload)) return false;
    } else if (b <= 0xc9) { /* ext: length, then a type byte */
        if (!take_number(s, 1u << (b - 0xc7), &n)) return false;
        s->payload = n + 1;
    } else if (b <= 0xcb) {
        s->payload = b == 0xca ? 4 : 8;
    } else if (b <= 0xd3) {
        s->payload = 1u << ((b - 0xcc) & 3);
    } else if (b <= 0xd8) { /* fixext: type byte and 1 to 16 bytes */
        s->payload = 1 + (1u << (b - 0xd4));
    } else {
        if (!take_number(s, b & 1 ? 4 : 2, &n)) return false;
        s->children = b >= 0xde ? 2 * n : n;
    }
    return true;
}

int ctl_msg_scan(const void *bytes, size_t n, unsigned items, char *why, size_t cap) {
    struct scan s = {.p = bytes, .end = (const unsigned char *)bytes + n};
    uint64_t open[CTL_MSG_DEPTH]; /* objects still to come at each level */
    unsigned depth = 1, seen = 0;

    open[0] = 1;
    while (depth > 0) {
        if (open[depth - 1] == 0) {
            depth--;
            continue;
        }
        open[depth - 1]--;
        if (++seen > items) return bad(why, cap, "more than %u values in one message", items);
        if (s.p == s.end || !take_header(&s))
            return bad(why, cap, "not msgpack, or cut off, at byte %zu of %zu",
                       (size_t)(s.p - (const unsigned char *)bytes), n);
        if (s.payload > (uint64_t)(s.end - s.p) || s.children > (uint64_t)(s.end - s.p))
            return bad(why, cap, "a value claims to be longer than the message (at byte %zu)",
                       (size_t)(s.p - (const unsigned char *)bytes));
        s.p += s.payload;
        if (s.children == 0) continue;
        if (depth == CTL_MSG_DEPTH)
            return bad(why, cap, "values nested deeper than %d", CTL_MSG_DEPTH);
        open[depth++] = s.children;
    }
    if (s.p != s.end) return bad(why, cap, "%zu bytes follow the message", (size_t)(s.end - s.p));
    return 0;
}

/* Scans and unpacks a map. The caller destroys *u after success. */
static int open_map(const void *bytes, size_t n, unsigned items, msgpack_unpacked *u, char *why,
                    size_t cap) {
    size_t off = 0;
    int err = ctl_msg_scan(bytes, n, items, why, cap);

    if (err < 0) return err;
    msgpack_unpacked_init(u);
    if (msgpack_unpack_next(u, bytes, n, &off) != MSGPACK_UNPACK_SUCCESS)
        err = bad(why, cap, "not msgpack");
    else if (u->data.type != MSGPACK_OBJECT_MAP)
        err = bad(why, cap, "the message is not a map");
    if (err < 0) msgpack_unpacked_destroy(u);
    return err;
}

static bool is_text(const msgpack_object *o, const char *text) {
    return o->type == MSGPACK_OBJECT_STR && o->via.str.size == strlen(text) &&
           memcmp(o->via.str.ptr, text, strlen(text)) == 0;
}

static const msgpack_object *find(const msgpack_object *map, const char *key) {
    if (map->type != MSGPACK_OBJECT_MAP) return NULL;
    for (uint32_t i = 0; i < map->via.map.size; i++)
        if (is_text(&map->via.map.ptr[i].key, key)) return &map->via.map.ptr[i].val;
    return NULL;
}

static uint64_t number_or_0(const msgpack_object *o) {
    return o && o->type == MSGPACK_OBJECT_POSITIVE_INTEGER ? o->via.u64 : 0;
}

/* Converts a number to its form in records; see enum ctl_kind. */
static uint64_t number_of_kind(const msgpack_object *o, enum ctl_kind kind) {
    if (kind == CTL_KIND_INT && o && o->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
        return (uint64_t)o->via.i64;
    if (kind == CTL_KIND_OPT)
        return o && o->type == MSGPACK_OBJECT_POSITIVE_INTEGER && o->via.u64 < UINT64_MAX
                   ? o->via.u64 + 1
                   : 0;
    return number_or_0(o);
}

/* Copies text without control characters, which must never reach a terminal. */
static void copy_text(const msgpack_object *o, char *out, size_t cap) {
    size_t n = 0;

    if (o && o->type == MSGPACK_OBJECT_STR)
        for (; n < o->via.str.size && n + 1 < cap; n++) {
            unsigned char c = (unsigned char)o->via.str.ptr[n];

            out[n] = c < ' ' || c == 0x7f ? '?' : (char)c;
        }
    out[n] = '\0';
}

/* ---- writing --------------------------------------------------------------------------------- */

struct ctl_out {
    msgpack_sbuffer items, whole;
    uint32_t count;
    bool failed;
};

/* Maximum size of the frame around a list of records. */
#define FRAME_BYTES 64

static void put_text(msgpack_packer *p, const char *text) {
    size_t n = strlen(text);

    msgpack_pack_str(p, n);
    msgpack_pack_str_body(p, text, n);
}

struct ctl_out *ctl_msg_create(void) {
    return calloc(1, sizeof(struct ctl_out));
}

void ctl_msg_destroy(struct ctl_out *o) {
    if (!o) return;
    msgpack_sbuffer_destroy(&o->items);
    msgpack_sbuffer_destroy(&o->whole);
    free(o);
}

/* Writes to msgpack's buffer and records failures, since the packing macros return them one by
 * one. */
static int write_checked(void *arg, const char *bytes, size_t n) {
    struct ctl_out *o = arg;

    if (!o->failed && msgpack_sbuffer_write(&o->items, bytes, n) < 0) o->failed = true;
    return 0;
}

static int write_whole(void *arg, const char *bytes, size_t n) {
    struct ctl_out *o = arg;

    if (!o->failed && msgpack_sbuffer_write(&o->whole, bytes, n) < 0) o->failed = true;
    return 0;
}

static void put_field(msgpack_packer *p, const void *record, const struct ctl_field *f) {
    uint64_t n = f->kind == CTL_KIND_TEXT ? 0 : ctl_field_number(record, f);

    switch (f->kind) {
    case CTL_KIND_TEXT: put_text(p, ctl_field_text(record, f)); break;
    case CTL_KIND_INT: msgpack_pack_int64(p, (int64_t)n); break;
    case CTL_KIND_OPT:
        if (n == 0)
            msgpack_pack_nil(p);
        else
            msgpack_pack_uint64(p, n - 1);
        break;
    default: msgpack_pack_uint64(p, n);
    }
}

bool ctl_msg_add(struct ctl_out *o, enum ctl_record kind, const void *record) {
    size_t before = o->items.size;
    msgpack_packer p;
    int count;
    const struct ctl_field *f = ctl_fields(kind, &count);

    msgpack_packer_init(&p, o, write_checked);
    msgpack_pack_map(&p, (size_t)count);
    for (int i = 0; i < count; i++) {
        put_text(&p, f[i].name);
        put_field(&p, record, &f[i]);
    }
    if (o->items.size + FRAME_BYTES > CTL_MESSAGE_MAX) {
        o->items.size = before;
        return false;
    }
    o->count++;
    return true;
}

static int finish(struct ctl_out *o, const void **bytes, size_t *n) {
    if (o->failed) return -ENOMEM;
    *bytes = o->whole.data;
    *n = o->whole.size;
    return 0;
}

int ctl_msg_reply(struct ctl_out *o, uint64_t next, const void **bytes, size_t *n) {
    msgpack_packer p;

    msgpack_packer_init(&p, o, write_whole);
    msgpack_pack_map(&p, 3);
    put_text(&p, "ok");
    msgpack_pack_true(&p);
    put_text(&p, "next");
    msgpack_pack_uint64(&p, next);
    put_text(&p, "items");
    msgpack_pack_array(&p, o->count);
    if (o->items.size > 0) write_whole(o, o->items.data, o->items.size);
    return finish(o, bytes, n);
}

int ctl_msg_refusal(struct ctl_out *o, enum ctl_error error, const char *text, const char *hint,
                    const void **bytes, size_t *n) {
    msgpack_packer p;

    msgpack_packer_init(&p, o, write_whole);
    msgpack_pack_map(&p, 4);
    put_text(&p, "ok");
    msgpack_pack_false(&p);
    put_text(&p, "code");
    put_text(&p, ctl_error_info(error)->code);
    put_text(&p, "text");
    put_text(&p, text);
    put_text(&p, "hint");
    put_text(&p, hint);
    return finish(o, bytes, n);
}

void ctl_msg_put(struct ctl_request *r, enum ctl_arg arg, int64_t number) {
    memcpy((char *)&r->args + ctl_arg_info(arg)->offset, &number, sizeof(number));
    r->given |= 1ull << arg;
}

void ctl_msg_put_text(struct ctl_request *r, enum ctl_arg arg, const char *text) {
    snprintf((char *)&r->args + ctl_arg_info(arg)->offset, CTL_ARG_BYTES, "%s", text);
    r->given |= 1ull << arg;
}

static void put_argument(msgpack_packer *p, const struct ctl_request *r, enum ctl_arg arg) {
    const struct ctl_arg_info *a = ctl_arg_info(arg);
    const char *at = (const char *)&r->args + a->offset;
    int64_t n;

    put_text(p, a->name);
    if (a->kind == CTL_KIND_TEXT) {
        put_text(p, at);
        return;
    }
    memcpy(&n, at, sizeof(n));
    if (a->kind == CTL_KIND_INT)
        msgpack_pack_int64(p, n);
    else
        msgpack_pack_uint64(p, (uint64_t)n);
}

int ctl_msg_request_encode(const struct ctl_request *r, void *out, size_t cap, size_t *bytes) {
    msgpack_sbuffer b;
    msgpack_packer p;
    int err = 0;

    msgpack_sbuffer_init(&b);
    msgpack_packer_init(&p, &b, msgpack_sbuffer_write);
    msgpack_pack_map(&p, 2 + (size_t)__builtin_popcountll(r->given));
    put_text(&p, "v");
    msgpack_pack_uint64(&p, CTL_PROTOCOL);
    put_text(&p, "verb");
    put_text(&p, ctl_verb_info(r->verb)->text);
    for (int a = 0; a < CTL_A_COUNT; a++)
        if (ctl_msg_given(r, a)) put_argument(&p, r, a);
    if (!b.data)
        err = -ENOMEM;
    else if (b.size > cap)
        err = -EMSGSIZE;
    else
        memcpy(out, b.data, *bytes = b.size);
    msgpack_sbuffer_destroy(&b);
    return err;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int check_version(const msgpack_object *map, enum ctl_error *error, char *why, size_t cap) {
    const msgpack_object *v = find(map, "v");

    if (!v || v->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return bad(why, cap, "the request has no field 'v', the protocol's version");
    if (v->via.u64 == CTL_PROTOCOL) return 0;
    *error = CTL_E_PROTOCOL;
    return bad(why, cap, "control protocol %" PRIu64 " is not spoken here, only %d", v->via.u64,
               CTL_PROTOCOL);
}

static bool names_verb(const msgpack_object *text, enum ctl_verb verb) {
    const char *alias = ctl_verb_alias(verb);

    return is_text(text, ctl_verb_info(verb)->text) || (alias && is_text(text, alias));
}

static int find_verb(const msgpack_object *map, enum ctl_verb *out, char *why, size_t cap) {
    const msgpack_object *verb = find(map, "verb");
    char shown[64];

    if (!verb || verb->type != MSGPACK_OBJECT_STR)
        return bad(why, cap, "the request has no field 'verb'");
    for (int i = 0; i < CTL_V_COUNT; i++)
        if (names_verb(verb, i)) {
            *out = i;
            return 0;
        }
    copy_text(verb, shown, sizeof(shown));
    return bad(why, cap, "unknown verb '%s'", shown);
}

static int take_argument(const msgpack_object_kv *kv, enum ctl_arg arg, struct ctl_request *out,
                         char *why, size_t cap) {
    const struct ctl_arg_info *a = ctl_arg_info(arg);
    const msgpack_object *v = &kv->val;

    if (ctl_msg_given(out, arg)) return bad(why, cap, "field '%s' is given twice", a->name);
    if (a->kind == CTL_KIND_TEXT) {
        char text[CTL_ARG_BYTES];

        if (v->type != MSGPACK_OBJECT_STR || v->via.str.size >= sizeof(text))
            return bad(why, cap, "field '%s' is not a text of at most %d bytes", a->name,
                       CTL_ARG_BYTES - 1);
        copy_text(v, text, sizeof(text));
        ctl_msg_put_text(out, arg, text);
    } else if (v->type == MSGPACK_OBJECT_POSITIVE_INTEGER &&
               (a->kind == CTL_KIND_UINT || v->via.u64 <= INT64_MAX)) {
        ctl_msg_put(out, arg, (int64_t)v->via.u64);
    } else if (v->type == MSGPACK_OBJECT_NEGATIVE_INTEGER && a->kind == CTL_KIND_INT) {
        ctl_msg_put(out, arg, v->via.i64);
    } else {
        return bad(why, cap, "field '%s' is not a whole number", a->name);
    }
    return 0;
}

static int take_arguments(const msgpack_object *map, struct ctl_request *out, char *why,
                          size_t cap) {
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object_kv *kv = &map->via.map.ptr[i];
        int arg = 0, err;
        char shown[64];

        if (is_text(&kv->key, "v") || is_text(&kv->key, "verb")) continue;
        while (arg < CTL_A_COUNT && !is_text(&kv->key, ctl_arg_info(arg)->name))
            arg++;
        if (arg == CTL_A_COUNT || !ctl_verb_takes(out->verb, arg)) {
            copy_text(&kv->key, shown, sizeof(shown));
            return bad(why, cap, "verb '%s' has no field '%s'", ctl_verb_info(out->verb)->text,
                       shown);
        }
        err = take_argument(kv, arg, out, why, cap);
        if (err < 0) return err;
    }
    return 0;
}

int ctl_msg_request_decode(const void *bytes, size_t n, struct ctl_request *out,
                           enum ctl_error *error, char *why, size_t cap) {
    msgpack_unpacked u;
    int err;

    memset(out, 0, sizeof(*out));
    *error = CTL_E_BAD_REQUEST;
    err = open_map(bytes, n, CTL_MSG_REQUEST_ITEMS, &u, why, cap);
    if (err < 0) return err;
    err = check_version(&u.data, error, why, cap);
    if (err == 0) err = find_verb(&u.data, &out->verb, why, cap);
    if (err == 0) err = take_arguments(&u.data, out, why, cap);
    msgpack_unpacked_destroy(&u);
    return err;
}

static void decode_record(const msgpack_object *map, enum ctl_record kind, union ctl_any *out) {
    int count;
    const struct ctl_field *f = ctl_fields(kind, &count);

    memset(out, 0, sizeof(*out)); /* an older daemon lacks fields: they read as empty */
    for (int i = 0; i < count; i++) {
        const msgpack_object *v = find(map, f[i].name);
        char *at = (char *)out + f[i].offset;

        if (f[i].kind == CTL_KIND_TEXT)
            copy_text(v, at, CTL_TEXT_BYTES);
        else
            *(uint64_t *)at = number_of_kind(v, f[i].kind);
    }
}

static int decode_items(const msgpack_object *map, enum ctl_record kind,
                        void (*item)(void *arg, const void *record), void *arg, char *why,
                        size_t cap) {
    const msgpack_object *list = find(map, "items");

    if (!list || list->type != MSGPACK_OBJECT_ARRAY)
        return bad(why, cap, "the reply has no list 'items'");
    for (uint32_t i = 0; i < list->via.array.size; i++) {
        union ctl_any record;

        if (list->via.array.ptr[i].type != MSGPACK_OBJECT_MAP)
            return bad(why, cap, "item %u of the reply is not a record", i);
        decode_record(&list->via.array.ptr[i], kind, &record);
        item(arg, &record);
    }
    return 0;
}

int ctl_msg_reply_decode(const void *bytes, size_t n, enum ctl_record kind, struct ctl_reply *out,
                         void (*item)(void *arg, const void *record), void *arg, char *why,
                         size_t cap) {
    const msgpack_object *ok;
    msgpack_unpacked u;
    int err;

    memset(out, 0, sizeof(*out));
    err = open_map(bytes, n, CTL_MSG_REPLY_ITEMS, &u, why, cap);
    if (err < 0) return err;
    ok = find(&u.data, "ok");
    if (!ok || ok->type != MSGPACK_OBJECT_BOOLEAN) {
        err = bad(why, cap, "the reply has no field 'ok'");
    } else if (ok->via.boolean) {
        out->ok = true;
        out->next = number_or_0(find(&u.data, "next"));
        err = decode_items(&u.data, kind, item, arg, why, cap);
    } else {
        copy_text(find(&u.data, "code"), out->code, sizeof(out->code));
        copy_text(find(&u.data, "text"), out->text, sizeof(out->text));
        copy_text(find(&u.data, "hint"), out->hint, sizeof(out->hint));
    }
    msgpack_unpacked_destroy(&u);
    return err;
}
