/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of the language's names: types, operations, special registers, modifiers.
 */
#include "daemon/device/soft/instructions/ptx_tables.h"

#include <stdlib.h>
#include <string.h>

static bool same(const char *name, const char *text, size_t len) {
    return strncmp(name, text, len) == 0 && name[len] == 0;
}

/* ---- types ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint8_t bytes;
    char class;
} types[PTX_TYPE_COUNT] = {[PTX_NONE] = {"none", 0, 0},
#define X(name, text, bytes, class) [PTX_##name] = {text, bytes, class},
                           PTX_TYPES(X)
#undef X
};

uint32_t ptx_type_bytes(enum ptx_type t) {
    return t < PTX_TYPE_COUNT ? types[t].bytes : 0;
}

char ptx_type_class(enum ptx_type t) {
    return t < PTX_TYPE_COUNT ? types[t].class : 0;
}

const char *ptx_type_name(enum ptx_type t) {
    return t < PTX_TYPE_COUNT ? types[t].name : "?";
}

enum ptx_type ptx_type_find(const char *text, size_t len) {
    for (int t = PTX_NONE + 1; t < PTX_TYPE_COUNT; t++)
        if (same(types[t].name, text, len)) return t;
    return PTX_NONE;
}

/* ---- operations ----------------------------------------------------------------------------- */

static const char *const ops[PTX_OP_COUNT] = {[PTX_OP_UNKNOWN] = "unknown",
#define X(name) [PTX_OP_##name] = #name,
                                              PTX_OPS(X)
#undef X
};

const char *ptx_op_name(enum ptx_op op) {
    return op < PTX_OP_COUNT ? ops[op] : "?";
}

/* A linear search: the parser remembers opcodes, so it runs once for each distinct opcode of a
 * module. */
enum ptx_op ptx_op_find(const char *text, size_t len) {
    for (int op = PTX_OP_UNKNOWN + 1; op < PTX_OP_COUNT; op++)
        if (same(ops[op], text, len)) return op;
    return PTX_OP_UNKNOWN;
}

bool ptx_op_is_raw(enum ptx_op op) {
    switch (op) {
    case PTX_OP_applypriority:
    case PTX_OP_clusterlaunchcontrol:
    case PTX_OP_cp:
    case PTX_OP_createpolicy:
    case PTX_OP_discard:
    case PTX_OP_fence:
    case PTX_OP_getctarank:
    case PTX_OP_griddepcontrol:
    case PTX_OP_istypep:
    case PTX_OP_ldmatrix:
    case PTX_OP_mapa:
    case PTX_OP_mbarrier:
    case PTX_OP_membar:
    case PTX_OP_mma:
    case PTX_OP_movmatrix:
    case PTX_OP_prefetch:
    case PTX_OP_prefetchu:
    case PTX_OP_setmaxnreg:
    case PTX_OP_stmatrix:
    case PTX_OP_suld:
    case PTX_OP_suq:
    case PTX_OP_sured:
    case PTX_OP_sust:
    case PTX_OP_tensormap:
    case PTX_OP_tex:
    case PTX_OP_tld4:
    case PTX_OP_txq:
    case PTX_OP_wgmma:
    case PTX_OP_wmma: return true;
    default: return false;
    }
}

/* True for operations that never run and whose operands have their own syntax. */
bool ptx_op_is_opaque(enum ptx_op op) {
    return op == PTX_OP_UNKNOWN;
}

/* ---- special registers ---------------------------------------------------------------------- */

static const char *const sregs[PTX_SREG_COUNT] = {
#define X(name, text) [PTX_SREG_##name] = text,
    PTX_SREGS(X)
#undef X
};

int ptx_sreg_find(const char *text, size_t len) {
    for (int i = 0; i < PTX_SREG_COUNT; i++)
        if (same(sregs[i], text, len)) return i;
    return -1;
}

/* ---- spaces --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint8_t space;
} spaces[] = {
    {"global", PTX_GLOBAL},
    {"const", PTX_CONST},
    {"shared", PTX_SHARED},
    {"local", PTX_LOCAL},
    {"param", PTX_PARAM},
    {"shared::cta", PTX_SHARED},
    {"shared::cluster", PTX_CLUSTER},
    {"param::entry", PTX_PARAM},
    {"param::func", PTX_PARAM},
};

bool ptx_space_find(const char *text, size_t len, uint8_t *space) {
    for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
        if (same(spaces[i].name, text, len)) {
            *space = spaces[i].space;
            return true;
        }
    return false;
}

/* ---- modifiers ------------------------------------------------------------------------------ */

enum mod_class { MOD_FLAG, MOD_ROUND, MOD_CMP, MOD_SUB, MOD_VEC, MOD_IGNORED };

static const struct mod {
    const char *name;
    enum mod_class class;
    uint32_t value;
} mods[] = {
    {"wide", MOD_FLAG, PTX_MOD_WIDE},
    {"hi", MOD_FLAG, PTX_MOD_HI},
    {"lo", MOD_FLAG, PTX_MOD_LO},
    {"sat", MOD_FLAG, PTX_MOD_SAT},
    {"ftz", MOD_FLAG, PTX_MOD_FTZ},
    {"cc", MOD_FLAG, PTX_MOD_CC},
    {"approx", MOD_FLAG, PTX_MOD_APPROX},
    {"full", MOD_FLAG, PTX_MOD_FULL},
    {"volatile", MOD_FLAG, PTX_MOD_VOLATILE},
    {"to", MOD_FLAG, PTX_MOD_TO},
    {"sync", MOD_FLAG, PTX_MOD_SYNC},
    {"uni", MOD_FLAG, PTX_MOD_UNI},
    {"shiftamt", MOD_FLAG, PTX_MOD_SHIFTAMT},
    {"wrap", MOD_FLAG, PTX_MOD_WRAP},
    {"clamp", MOD_FLAG, PTX_MOD_CLAMP},
    {"l", MOD_FLAG, PTX_MOD_LEFT},
    {"r", MOD_FLAG, PTX_MOD_RIGHT},
    {"NaN", MOD_FLAG, PTX_MOD_NAN},
    {"relu", MOD_FLAG, PTX_MOD_RELU},
    {"xorsign", MOD_FLAG, PTX_MOD_XORSIGN},
    {"warp", MOD_FLAG, PTX_MOD_WARP},
    {"red", MOD_FLAG, PTX_MOD_RED},
    {"arrive", MOD_FLAG, PTX_MOD_ARRIVE},
    {"cta", MOD_FLAG, PTX_MOD_CTA},
    {"aligned", MOD_FLAG, PTX_MOD_ALIGNED},
    {"abs", MOD_FLAG, PTX_MOD_ABS},
    {"oob", MOD_FLAG, PTX_MOD_OOB},
    {"satfinite", MOD_FLAG, PTX_MOD_SATFINITE},
    {"noftz", MOD_FLAG, PTX_MOD_NOFTZ},
    {"acc", MOD_FLAG, PTX_MOD_ACC},
    {"exclusive", MOD_FLAG, PTX_MOD_EXCLUSIVE},

    {"rn", MOD_ROUND, PTX_RN},
    {"rz", MOD_ROUND, PTX_RZ},
    {"rm", MOD_ROUND, PTX_RM},
    {"rp", MOD_ROUND, PTX_RP},
    {"rni", MOD_ROUND, PTX_RNI},
    {"rzi", MOD_ROUND, PTX_RZI},
    {"rmi", MOD_ROUND, PTX_RMI},
    {"rpi", MOD_ROUND, PTX_RPI},
    {"rna", MOD_ROUND, PTX_RNA},
    {"rs", MOD_ROUND, PTX_RS},

    {"eq", MOD_CMP, PTX_EQ},
    {"ne", MOD_CMP, PTX_NE},
    {"lt", MOD_CMP, PTX_LT},
    {"le", MOD_CMP, PTX_LE},
    {"gt", MOD_CMP, PTX_GT},
    {"ge", MOD_CMP, PTX_GE},
    {"ls", MOD_CMP, PTX_LS},
    {"hs", MOD_CMP, PTX_HS},
    {"equ", MOD_CMP, PTX_EQU},
    {"neu", MOD_CMP, PTX_NEU},
    {"ltu", MOD_CMP, PTX_LTU},
    {"leu", MOD_CMP, PTX_LEU},
    {"gtu", MOD_CMP, PTX_GTU},
    {"geu", MOD_CMP, PTX_GEU},
    {"num", MOD_CMP, PTX_NUM},
    {"nan", MOD_CMP, PTX_NAN},

    {"add", MOD_SUB, PTX_SUB_ADD},
    {"and", MOD_SUB, PTX_SUB_AND},
    {"or", MOD_SUB, PTX_SUB_OR},
    {"xor", MOD_SUB, PTX_SUB_XOR},
    {"min", MOD_SUB, PTX_SUB_MIN},
    {"max", MOD_SUB, PTX_SUB_MAX},
    {"inc", MOD_SUB, PTX_SUB_INC},
    {"dec", MOD_SUB, PTX_SUB_DEC},
    {"exch", MOD_SUB, PTX_SUB_EXCH},
    {"cas", MOD_SUB, PTX_SUB_CAS},
    {"popc", MOD_SUB, PTX_SUB_POPC},
    {"all", MOD_SUB, PTX_SUB_ALL},
    {"any", MOD_SUB, PTX_SUB_ANY},
    {"ballot", MOD_SUB, PTX_SUB_BALLOT},
    {"up", MOD_SUB, PTX_SUB_UP},
    {"down", MOD_SUB, PTX_SUB_DOWN},
    {"bfly", MOD_SUB, PTX_SUB_BFLY},
    {"idx", MOD_SUB, PTX_SUB_IDX},
    {"f4e", MOD_SUB, PTX_SUB_F4E},
    {"b4e", MOD_SUB, PTX_SUB_B4E},
    {"rc8", MOD_SUB, PTX_SUB_RC8},
    {"ecl", MOD_SUB, PTX_SUB_ECL},
    {"ecr", MOD_SUB, PTX_SUB_ECR},
    {"rc16", MOD_SUB, PTX_SUB_RC16},
    {"finite", MOD_SUB, PTX_SUB_FINITE},
    {"infinite", MOD_SUB, PTX_SUB_INFINITE},
    {"number", MOD_SUB, PTX_SUB_NUMBER},
    {"notanumber", MOD_SUB, PTX_SUB_NOTANUMBER},
    {"normal", MOD_SUB, PTX_SUB_NORMAL},
    {"subnormal", MOD_SUB, PTX_SUB_SUBNORMAL},
    {"pack", MOD_SUB, PTX_SUB_PACK},

    {"v2", MOD_VEC, 2},
    {"v4", MOD_VEC, 4},
    {"v8", MOD_VEC, 8},

    /* Caches, memory order and scope have no effect: the software GPU always has the strongest
     * order. The decoder reads async, bulk, mbarrier::... and wait from the opcode's text where
     * they matter. */
    {"async", MOD_IGNORED, 0},
    {"bulk", MOD_IGNORED, 0},
    {"mask", MOD_IGNORED, 0},
    {"mbarrier::complete_tx::bytes", MOD_IGNORED, 0},
    {"weak", MOD_IGNORED, 0},
    {"relaxed", MOD_IGNORED, 0},
    {"acquire", MOD_IGNORED, 0},
    {"release", MOD_IGNORED, 0},
    {"acq_rel", MOD_IGNORED, 0},
    {"sc", MOD_IGNORED, 0},
    {"mmio", MOD_IGNORED, 0},
    {"gpu", MOD_IGNORED, 0},
    {"gl", MOD_IGNORED, 0},
    {"sys", MOD_IGNORED, 0},
    {"cluster", MOD_IGNORED, 0},
    {"wait", MOD_IGNORED, 0},
    {"nc", MOD_IGNORED, 0},
    {"ca", MOD_IGNORED, 0},
    {"cg", MOD_IGNORED, 0},
    {"cs", MOD_IGNORED, 0},
    {"lu", MOD_IGNORED, 0},
    {"cv", MOD_IGNORED, 0},
    {"wb", MOD_IGNORED, 0},
    {"wt", MOD_IGNORED, 0},
};

/* Adjusts names that mean another thing after some operations. */
static struct mod in_context(enum ptx_op op, struct mod m) {
    bool compares = op == PTX_OP_setp || op == PTX_OP_set;
    if (compares && m.class == MOD_FLAG && m.value == PTX_MOD_LO)
        return (struct mod){m.name, MOD_CMP, PTX_CMP_NONE + PTX_LO};
    if (compares && m.class == MOD_FLAG && m.value == PTX_MOD_HI)
        return (struct mod){m.name, MOD_CMP, PTX_HI};
    if (op == PTX_OP_vote && m.class == MOD_FLAG && m.value == PTX_MOD_UNI)
        return (struct mod){m.name, MOD_SUB, PTX_SUB_UNI};
    return m;
}

static bool apply(struct ptx_inst *i, struct mod m) {
    switch (m.class) {
    case MOD_FLAG: i->mods |= m.value; return true;
    case MOD_ROUND: i->round = (uint8_t)m.value; return true;
    case MOD_CMP: i->cmp = (uint8_t)m.value; return true;
    case MOD_VEC: i->vec = (uint8_t)m.value; return true;
    case MOD_IGNORED: return true;
    case MOD_SUB: break;
    }
    if (i->op == PTX_OP_setp || i->op == PTX_OP_set) i->sub2 = (uint8_t)m.value;
    if (i->sub == PTX_SUB_NONE)
        i->sub = (uint8_t)m.value;
    else
        i->sub2 = (uint8_t)m.value;
    return true;
}

static bool add_type(struct ptx_inst *i, enum ptx_type t) {
    if (i->type_count == sizeof(i->types)) return false;
    i->types[i->type_count++] = (uint8_t)t;
    return true;
}

bool ptx_modifier(struct ptx_inst *i, const char *text, size_t len) {
    enum ptx_type t = ptx_type_find(text, len);
    if (t) return add_type(i, t);
    if (ptx_space_find(text, len, &i->space)) return true;
    if (len > 4 && (memcmp(text, "L1::", 4) == 0 || memcmp(text, "L2::", 4) == 0)) return true;
    for (size_t m = 0; m < sizeof(mods) / sizeof(mods[0]); m++)
        if (same(mods[m].name, text, len)) return apply(i, in_context(i->op, mods[m]));
    return false;
}
