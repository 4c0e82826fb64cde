/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/instructions/ptx_texture.h"

#include <stdio.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"

uint32_t ptx_geometry_coords(enum ptx_geometry g) {
    static const uint8_t coords[] = {1, 2, 3, 2, 3, 3, 4};
    return coords[g];
}

bool ptx_geometry_layered(enum ptx_geometry g) {
    return g == PTX_GEOMETRY_A1D || g == PTX_GEOMETRY_A2D || g == PTX_GEOMETRY_ACUBE;
}

bool ptx_texture_is(enum ptx_op op) {
    switch (op) {
    case PTX_OP_istypep:
    case PTX_OP_suld:
    case PTX_OP_suq:
    case PTX_OP_sured:
    case PTX_OP_sust:
    case PTX_OP_tex:
    case PTX_OP_tld4:
    case PTX_OP_txq: return true;
    default: return false;
    }
}

/* ---- an opcode's words, one after the other -------------------------------------------------- */

struct words {
    const char *at;     /* at a dot, or the end */
    const char *wanted; /* the first list that does not contain the next word; NULL: none so far */
};

/* Returns the index of the next word in `list` (separated by blanks), and steps over the word.
 * Returns -1 if the list does not contain it. */
static int take(struct words *w, const char *list) {
    size_t len = *w->at == '.' ? strcspn(w->at + 1, ".") : 0;
    for (int n = 0; len && *list; n++) {
        size_t word = strcspn(list, " ");
        if (word == len && memcmp(list, w->at + 1, len) == 0) {
            w->at += len + 1;
            return n;
        }
        list += word;
        list += *list == ' ';
    }
    return -1;
}

/* As take, but one of the words is required. */
static uint8_t need(struct words *w, const char *list) {
    int n = take(w, list);
    if (n < 0 && !w->wanted) w->wanted = list;
    return n < 0 ? 0 : (uint8_t)n;
}

/* Reads a type, which must be in the list. */
static uint8_t need_type(struct words *w, const char *list) {
    const char *at = w->at + (*w->at == '.');
    enum ptx_type t = ptx_type_find(at, strcspn(at, "."));
    need(w, list);
    return (uint8_t)t;
}

/* ---- the forms ------------------------------------------------------------------------------- */

#define GEOMETRIES "1d 2d 3d a1d a2d"
#define QUERIES                                                                        \
    "width height depth channel_data_type channel_order normalized_coords array_size " \
    "num_mipmap_levels num_samples force_unnormalized_coords filter_mode addr_mode_0 " \
    "addr_mode_1 addr_mode_2"

static void find_tex(struct words *w, struct ptx_texture *t) {
    t->verb = PTX_TEXTURE_FETCH;
    int lod = take(w, "base level grad");
    t->lod = lod < 0 ? PTX_LOD_BASE : (uint8_t)lod;
    t->geometry = need(w, GEOMETRIES " cube acube 2dms a2dms");
    if (t->geometry > PTX_GEOMETRY_ACUBE) {
        t->verb = PTX_TEXTURE_OTHER;
        t->geometry = PTX_GEOMETRY_A2D;
    }
    bool packed = take(w, "v2") == 0;
    if (!packed) need(w, "v4");
    t->elements = packed ? 2 : 4;
    t->type = need_type(w, packed ? "f16x2" : "u32 s32 f16 f32");
    bool whole = t->geometry == PTX_GEOMETRY_CUBE || t->geometry == PTX_GEOMETRY_ACUBE;
    t->ctype = need_type(w, whole ? "f32" : t->verb == PTX_TEXTURE_OTHER ? "s32" : "s32 f32");
    take(w, "uni"); /* ptxas accepts it */
}

static void find_tld4(struct words *w, struct ptx_texture *t) {
    static const uint8_t geometry[] = {PTX_GEOMETRY_2D, PTX_GEOMETRY_A2D, PTX_GEOMETRY_CUBE,
                                       PTX_GEOMETRY_ACUBE};
    t->verb = PTX_TEXTURE_GATHER;
    t->component = need(w, "r g b a");
    t->geometry = geometry[need(w, "2d a2d cube acube")];
    need(w, "v4");
    t->elements = 4;
    t->type = need_type(w, "u32 s32 f32");
    t->ctype = need_type(w, "f32");
    take(w, "uni");
}

static void find_query(struct words *w, struct ptx_texture *t, bool surface) {
    t->verb = PTX_TEXTURE_QUERY;
    t->surface = surface;
    t->type = PTX_B32;
    if (surface) {
        static const uint8_t known[] = {PTX_QUERY_WIDTH,         PTX_QUERY_HEIGHT,
                                        PTX_QUERY_DEPTH,         PTX_QUERY_CHANNEL_DATA_TYPE,
                                        PTX_QUERY_CHANNEL_ORDER, PTX_QUERY_ARRAY_SIZE,
                                        PTX_QUERY_MEMORY_LAYOUT};
        t->query = known[need(
            w, "width height depth channel_data_type channel_order array_size memory_layout")];
    } else {
        t->lod = take(w, "level") == 0 ? PTX_LOD_LEVEL : PTX_LOD_BASE;
        t->query = need(w, t->lod ? "width height depth" : QUERIES);
    }
    need(w, "b32");
}

static void find_beyond(struct words *w, struct ptx_texture *t) {
    t->beyond = need(w, "trap clamp zero");
    t->ctype = PTX_S32;
}

/* suld and sust. */
static void find_access(struct words *w, struct ptx_texture *t, bool store) {
    t->verb = store ? PTX_TEXTURE_STORE : PTX_TEXTURE_LOAD;
    t->formatted = need(w, store ? "b p" : "b") == 1;
    t->geometry = need(w, GEOMETRIES);
    const char *caches = store ? "wb cg cs wt" : "ca cg cs cv";
    bool cached = take(w, caches) >= 0;
    int vector = take(w, "v2 v4");
    t->elements = vector < 0 ? 1 : vector ? 4 : 2;
    t->type = need_type(w, t->formatted ? "b32" : vector == 1 ? "b8 b16 b32" : "b8 b16 b32 b64");
    find_beyond(w, t);
    if (!cached) take(w, caches); /* ptxas accepts it here too */
}

static void find_sured(struct words *w, struct ptx_texture *t) {
    static const uint8_t subs[] = {PTX_SUB_ADD, PTX_SUB_MIN, PTX_SUB_MAX, PTX_SUB_AND, PTX_SUB_OR};
    t->verb = PTX_TEXTURE_REDUCE;
    t->formatted = need(w, "b p") == 1;
    uint8_t op = need(w, "add min max and or");
    t->reduction = subs[op];
    t->geometry = need(w, "1d 2d 3d");
    t->elements = 1;
    const char *types = op == 0 ? "u32 u64 s32" : op < 3 ? "u32 s32 u64 s64" : "b32";
    if (t->formatted) types = op == 1 || op == 2 ? "b32 b64" : "b32";
    t->type = need_type(w, types);
    find_beyond(w, t);
}

static void find_form(enum ptx_op op, struct words *w, struct ptx_texture *t) {
    switch (op) {
    case PTX_OP_tex: find_tex(w, t); break;
    case PTX_OP_tld4: find_tld4(w, t); break;
    case PTX_OP_txq: find_query(w, t, false); break;
    case PTX_OP_suq: find_query(w, t, true); break;
    case PTX_OP_suld: find_access(w, t, false); break;
    case PTX_OP_sust: find_access(w, t, true); break;
    case PTX_OP_sured: find_sured(w, t); break;
    default:
        t->verb = PTX_TEXTURE_TYPE;
        t->object = (uint8_t)(PTX_OPAQUE_TEXREF + need(w, "texref samplerref surfref"));
        return;
    }
    bool texture = op == PTX_OP_tex || op == PTX_OP_tld4 || op == PTX_OP_txq;
    t->object = texture ? PTX_OPAQUE_TEXREF : PTX_OPAQUE_SURFREF;
}

bool ptx_texture_find(enum ptx_op op, const char *text, struct ptx_texture *out, char *why,
                      size_t why_bytes) {
    struct words w = {.at = text + strcspn(text, ".")};
    *out = (struct ptx_texture){0};
    find_form(op, &w, out);
    if (w.wanted)
        snprintf(why, why_bytes, "one of %s is needed", w.wanted);
    else if (*w.at)
        snprintf(why, why_bytes, "modifier '%.60s' does not apply to the operation", w.at);
    return !w.wanted && !*w.at;
}

/* ---- operands -------------------------------------------------------------------------------- */

static struct ptx_want *add(struct ptx_sig *sig, uint16_t kinds) {
    struct ptx_want *want = &sig->wants[sig->most++];
    *want = (struct ptx_want){.regs = 1u << PTX_NONE, .kinds = kinds};
    sig->least = sig->most;
    sig->optional = PTX_OPERANDS;
    return want;
}

/* Permits registers with any 32-bit contents, and literals of the type. */
static void any_word(struct ptx_want *want, enum ptx_type literal) {
    struct ptx_want words = {0};
    ptx_rules_want(&words, PTX_B32);
    ptx_rules_want(want, literal);
    want->regs |= words.regs;
}

static void result(struct ptx_sig *sig, const struct ptx_texture *t, bool pair) {
    struct ptx_want *d = add(sig, PTX_WANT_RESULT | PTX_WANT_ELEMENTS);
    d->count = t->elements;
    if (pair) d->kinds |= PTX_WANT_PAIR;
    if (t->elements == 1) d->kinds |= PTX_WANT_SINGLE;
    if (t->type == PTX_F32)
        any_word(d, PTX_F32);
    else
        ptx_rules_want(d, (enum ptx_type)t->type);
    if (t->verb == PTX_TEXTURE_LOAD) ptx_rules_want_wider(d, (enum ptx_type)t->type);
    d->kinds &= (uint16_t) ~(PTX_WANT_INT | PTX_WANT_FLOAT4 | PTX_WANT_FLOAT8);
}

static void address(struct ptx_sig *sig, const struct ptx_texture *t, bool coordinates) {
    add(sig, PTX_WANT_ADDRESS | PTX_WANT_ANY_SPACE);
    sig->object = t->object;
    if (!coordinates) return;
    uint32_t n = ptx_geometry_coords((enum ptx_geometry)t->geometry);
    sig->coords = (uint8_t)(n == 3 ? 4 : n);
    sig->layered = ptx_geometry_layered((enum ptx_geometry)t->geometry);
    if (t->ctype == PTX_F32)
        any_word(&sig->coord, PTX_F32);
    else
        ptx_rules_want(&sig->coord, PTX_S32);
    ptx_rules_want(&sig->layer, PTX_U32);
}

/* Adds a vector with one element for each coordinate of a layer. */
static struct ptx_want *along(struct ptx_sig *sig, const struct ptx_texture *t,
                              enum ptx_type type) {
    enum ptx_geometry g = (enum ptx_geometry)t->geometry;
    uint32_t n = ptx_geometry_coords(g) - ptx_geometry_layered(g);
    struct ptx_want *want = add(sig, PTX_WANT_ELEMENTS);
    want->count = (uint8_t)(n == 3 ? 4 : n);
    ptx_rules_want(want, type);
    return want;
}

static void fetch(struct ptx_sig *sig, const struct ptx_texture *t) {
    bool whole = t->geometry == PTX_GEOMETRY_CUBE || t->geometry == PTX_GEOMETRY_ACUBE;
    result(sig, t, true);
    address(sig, t, true);
    if (t->lod == PTX_LOD_LEVEL) ptx_rules_want(add(sig, 0), (enum ptx_type)t->ctype);
    if (t->lod == PTX_LOD_GRAD) {
        along(sig, t, PTX_F32);
        along(sig, t, PTX_F32);
    }
    /* {, offset} {, depth reference}: either may be there without the other. */
    uint8_t least = sig->least;
    if (!whole) {
        struct ptx_want *offset = along(sig, t, PTX_S32);
        offset->kinds |= PTX_WANT_SINGLE;
        ptx_rules_want(offset, PTX_F32);
    }
    ptx_rules_want(add(sig, 0), PTX_F32);
    sig->least = least;
}

static void signature(const struct ptx_texture *t, struct ptx_sig *sig) {
    struct ptx_want *value;
    switch (t->verb) {
    case PTX_TEXTURE_FETCH:
    case PTX_TEXTURE_GATHER: fetch(sig, t); return;
    case PTX_TEXTURE_QUERY:
        any_word(add(sig, PTX_WANT_RESULT), PTX_B32);
        sig->wants[0].kinds = PTX_WANT_RESULT;
        address(sig, t, false);
        if (t->lod == PTX_LOD_LEVEL) ptx_rules_want(add(sig, 0), PTX_U32);
        return;
    case PTX_TEXTURE_LOAD:
        result(sig, t, false);
        address(sig, t, true);
        return;
    case PTX_TEXTURE_STORE:
        address(sig, t, true);
        value = add(sig, PTX_WANT_ELEMENTS);
        value->count = t->elements;
        if (t->elements == 1) value->kinds |= PTX_WANT_SINGLE;
        ptx_rules_want_wider(value, (enum ptx_type)t->type);
        return;
    case PTX_TEXTURE_REDUCE:
        address(sig, t, true);
        ptx_rules_want_wider(add(sig, 0), (enum ptx_type)t->type);
        return;
    case PTX_TEXTURE_TYPE:
        ptx_rules_want(add(sig, PTX_WANT_RESULT), PTX_PRED);
        sig->wants[0].kinds = PTX_WANT_RESULT;
        ptx_rules_want(add(sig, 0), PTX_U64);
        return;
    default: sig->open = true; return;
    }
}

bool ptx_texture_match(enum ptx_op op, const char *text, struct ptx_sig *sig, char *why,
                       size_t why_bytes) {
    struct ptx_texture t;
    *sig = (struct ptx_sig){.open = true};
    if (!ptx_texture_find(op, text, &t, why, why_bytes)) return false;
    *sig = (struct ptx_sig){0};
    signature(&t, sig);
    return true;
}
