/* SPDX-License-Identifier: Apache-2.0
 *
 * PTX as data: the parser produces it and the decoder reads it. One arena owns a whole module;
 * ptx_module_free releases everything. Read-only after parsing, so threads may share it. Source of
 * the language: "Parallel Thread Execution ISA", version 9.0.
 */
#ifndef DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_IR_H
#define DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, "spelling", bytes, class): class u(nsigned) s(igned) f(loat) b(its) p(redicate) x(packed)
 */
/* clang-format off */
#define PTX_TYPES(X)                                                                               \
    X(B8, "b8", 1, 'b') X(U8, "u8", 1, 'u') X(S8, "s8", 1, 's') X(B16, "b16", 2, 'b')              \
    X(U16, "u16", 2, 'u') X(S16, "s16", 2, 's') X(F16, "f16", 2, 'f') X(BF16, "bf16", 2, 'f')      \
    X(B32, "b32", 4, 'b') X(U32, "u32", 4, 'u') X(S32, "s32", 4, 's') X(F32, "f32", 4, 'f')        \
    X(F16X2, "f16x2", 4, 'x') X(BF16X2, "bf16x2", 4, 'x') X(U16X2, "u16x2", 4, 'x')                \
    X(S16X2, "s16x2", 4, 'x') X(B64, "b64", 8, 'b') X(U64, "u64", 8, 'u') X(S64, "s64", 8, 's')    \
    X(F64, "f64", 8, 'f') X(B128, "b128", 16, 'b') X(TF32, "tf32", 4, 'f')                         \
    X(E4M3X2, "e4m3x2", 2, 'x') X(E5M2X2, "e5m2x2", 2, 'x') X(E2M3X2, "e2m3x2", 2, 'x')            \
    X(E3M2X2, "e3m2x2", 2, 'x') X(E2M1X2, "e2m1x2", 1, 'x') X(UE8M0X2, "ue8m0x2", 2, 'x')          \
    X(PRED, "pred", 1, 'p')                                                                        \
    /* types that only instructions have: */                                                      \
    X(F32X2, "f32x2", 8, 'x') X(E4M3X4, "e4m3x4", 4, 'x') X(E5M2X4, "e5m2x4", 4, 'x')              \
    X(E2M3X4, "e2m3x4", 4, 'x') X(E3M2X4, "e3m2x4", 4, 'x') X(E2M1X4, "e2m1x4", 2, 'x')
/* clang-format on */

enum ptx_type {
    PTX_NONE,
#define X(name, text, bytes, class) PTX_##name,
    PTX_TYPES(X)
#undef X
        PTX_TYPE_COUNT
};

/* CLUSTER is .shared::cluster; the block's own .shared is a part of it. */
enum ptx_space {
    PTX_GENERIC,
    PTX_GLOBAL,
    PTX_CONST,
    PTX_SHARED,
    PTX_LOCAL,
    PTX_PARAM,
    PTX_CLUSTER
};

/* Base operations: the opcode up to its first dot. Unknown spellings become PTX_OP_UNKNOWN and fail
 * only when the function that contains them is requested (CUDA compiles lazily too). */
/* clang-format off */
#define PTX_OPS(X)                                                                                 \
    X(abs) X(activemask) X(add) X(addc) X(alloca) X(and) X(applypriority) X(atom) X(bar)           \
    X(barrier) X(bfe) X(bfi) X(bfind) X(bmsk) X(bra) X(brev) X(brkpt) X(brx) X(call) X(clusterlaunchcontrol) X(clz) X(cnot) \
    X(copysign) X(cos) X(cp) X(createpolicy) X(cvt) X(cvta) X(discard) X(div) X(dp2a) X(dp4a)      \
    X(elect) X(ex2) X(exit) X(fence) X(fma) X(fns) X(getctarank) X(griddepcontrol) X(isspacep)     \
    X(istypep) X(ld) X(ldmatrix) X(ldu) X(lg2) X(lop3) X(mad) X(mad24) X(madc) X(mapa) X(match)    \
    X(max) X(mbarrier) X(membar) X(min) X(mma) X(mov) X(movmatrix) X(mul) X(mul24) X(nanosleep) X(neg) X(not)   \
    X(or) X(pmevent) X(popc) X(prefetch) X(prefetchu) X(prmt) X(rcp) X(red) X(redux) X(rem)        \
    X(ret) X(rsqrt) X(sad) X(selp) X(set) X(setmaxnreg) X(setp) X(shf) X(shfl) X(shl) X(shr)       \
    X(sin) X(slct) X(sqrt) X(st) X(stackrestore) X(stacksave) X(stmatrix) X(sub) X(subc) X(suld)   \
    X(suq) X(sured) X(sust) X(szext) X(tanh) X(tensormap) X(testp) X(tex) X(tld4) X(trap) X(txq) X(vabsdiff)    \
    X(vabsdiff2) X(vabsdiff4) X(vadd) X(vadd2) X(vadd4) X(vavrg2) X(vavrg4) X(vmad) X(vmax)        \
    X(vmax2) X(vmax4) X(vmin) X(vmin2) X(vmin4) X(vote) X(vset) X(vset2) X(vset4) X(vshl)          \
    X(vshr) X(vsub) X(vsub2) X(vsub4) X(wgmma) X(wmma) X(xor)
/* clang-format on */

enum ptx_op {
    PTX_OP_UNKNOWN,
#define X(name) PTX_OP_##name,
    PTX_OPS(X)
#undef X
        PTX_OP_COUNT
};

/* Modifiers that are plain flags. */
enum ptx_mod {
    PTX_MOD_WIDE = 1u << 0,
    PTX_MOD_HI = 1u << 1,
    PTX_MOD_LO = 1u << 2,
    PTX_MOD_SAT = 1u << 3,
    PTX_MOD_FTZ = 1u << 4,
    PTX_MOD_CC = 1u << 5,
    PTX_MOD_APPROX = 1u << 6,
    PTX_MOD_FULL = 1u << 7,
    PTX_MOD_VOLATILE = 1u << 8,
    PTX_MOD_TO = 1u << 9,
    PTX_MOD_SYNC = 1u << 10,
    PTX_MOD_UNI = 1u << 11,
    PTX_MOD_SHIFTAMT = 1u << 12,
    PTX_MOD_WRAP = 1u << 13,
    PTX_MOD_CLAMP = 1u << 14,
    PTX_MOD_LEFT = 1u << 15,
    PTX_MOD_RIGHT = 1u << 16,
    PTX_MOD_NAN = 1u << 17,
    PTX_MOD_RELU = 1u << 18,
    PTX_MOD_XORSIGN = 1u << 19,
    PTX_MOD_WARP = 1u << 20,
    PTX_MOD_RED = 1u << 21,
    PTX_MOD_ARRIVE = 1u << 22,
    PTX_MOD_CTA = 1u << 23,
    PTX_MOD_ALIGNED = 1u << 24,
    PTX_MOD_ABS = 1u << 25,
    PTX_MOD_OOB = 1u << 26,
    PTX_MOD_SATFINITE = 1u << 27,
    PTX_MOD_NOFTZ = 1u << 28,
    PTX_MOD_ACC = 1u << 29,
    PTX_MOD_EXCLUSIVE = 1u << 30,
};

enum ptx_round { /* roundings to an integer end in I */
                 PTX_ROUND_NONE,
                 PTX_RN,
                 PTX_RZ,
                 PTX_RM,
                 PTX_RP,
                 PTX_RNI,
                 PTX_RZI,
                 PTX_RMI,
                 PTX_RPI,
                 PTX_RNA,
                 PTX_RS,
};

enum ptx_cmp {
    PTX_CMP_NONE,
    PTX_EQ,
    PTX_NE,
    PTX_LT,
    PTX_LE,
    PTX_GT,
    PTX_GE,
    PTX_LO,
    PTX_LS,
    PTX_HI,
    PTX_HS,
    PTX_EQU,
    PTX_NEU,
    PTX_LTU,
    PTX_LEU,
    PTX_GTU,
    PTX_GEU,
    PTX_NUM,
    PTX_NAN,
};

/* The operation of atom, red, redux, vote, match, setp, set, shfl, bar.red, prmt, testp. */
enum ptx_sub {
    PTX_SUB_NONE,
    PTX_SUB_ADD,
    PTX_SUB_AND,
    PTX_SUB_OR,
    PTX_SUB_XOR,
    PTX_SUB_MIN,
    PTX_SUB_MAX,
    PTX_SUB_INC,
    PTX_SUB_DEC,
    PTX_SUB_EXCH,
    PTX_SUB_CAS,
    PTX_SUB_POPC,
    PTX_SUB_ALL,
    PTX_SUB_ANY,
    PTX_SUB_UNI,
    PTX_SUB_BALLOT,
    PTX_SUB_UP,
    PTX_SUB_DOWN,
    PTX_SUB_BFLY,
    PTX_SUB_IDX,
    PTX_SUB_F4E,
    PTX_SUB_B4E,
    PTX_SUB_RC8,
    PTX_SUB_ECL,
    PTX_SUB_ECR,
    PTX_SUB_RC16,
    PTX_SUB_FINITE,
    PTX_SUB_INFINITE,
    PTX_SUB_NUMBER,
    PTX_SUB_NOTANUMBER,
    PTX_SUB_NORMAL,
    PTX_SUB_SUBNORMAL,
    PTX_SUB_PACK, /* cvt */
};

/* Special registers. */
/* clang-format off */
#define PTX_SREGS(X)                                                                               \
    X(TID_X, "%tid.x") X(TID_Y, "%tid.y") X(TID_Z, "%tid.z") X(NTID_X, "%ntid.x")                  \
    X(NTID_Y, "%ntid.y") X(NTID_Z, "%ntid.z") X(CTAID_X, "%ctaid.x") X(CTAID_Y, "%ctaid.y")        \
    X(CTAID_Z, "%ctaid.z") X(NCTAID_X, "%nctaid.x") X(NCTAID_Y, "%nctaid.y")                       \
    X(NCTAID_Z, "%nctaid.z") X(LANEID, "%laneid") X(WARPID, "%warpid") X(NWARPID, "%nwarpid")      \
    X(SMID, "%smid") X(NSMID, "%nsmid") X(GRIDID, "%gridid") X(CLOCK, "%clock")                    \
    X(CLOCK_HI, "%clock_hi") X(CLOCK64, "%clock64") X(GLOBALTIMER, "%globaltimer")                 \
    X(GLOBALTIMER_LO, "%globaltimer_lo") X(GLOBALTIMER_HI, "%globaltimer_hi")                      \
    X(LANEMASK_EQ, "%lanemask_eq") X(LANEMASK_LE, "%lanemask_le") X(LANEMASK_LT, "%lanemask_lt")   \
    X(LANEMASK_GE, "%lanemask_ge") X(LANEMASK_GT, "%lanemask_gt")                                  \
    X(DYNAMIC_SMEM, "%dynamic_smem_size") X(TOTAL_SMEM, "%total_smem_size")                        \
    X(AGGR_SMEM, "%aggr_smem_size") X(ENVREG1, "%envreg1") X(ENVREG2, "%envreg2")                  \
    X(CLUSTERID_X, "%clusterid.x") X(CLUSTERID_Y, "%clusterid.y") X(CLUSTERID_Z, "%clusterid.z")   \
    X(NCLUSTERID_X, "%nclusterid.x") X(NCLUSTERID_Y, "%nclusterid.y")                              \
    X(NCLUSTERID_Z, "%nclusterid.z") X(CLUSTER_CTAID_X, "%cluster_ctaid.x")                        \
    X(CLUSTER_CTAID_Y, "%cluster_ctaid.y") X(CLUSTER_CTAID_Z, "%cluster_ctaid.z")                  \
    X(CLUSTER_NCTAID_X, "%cluster_nctaid.x") X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y")              \
    X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z") X(CLUSTER_CTARANK, "%cluster_ctarank")                \
    X(CLUSTER_NCTARANK, "%cluster_nctarank") X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster")        \
    X(RESERVED_SMEM_BEGIN, "%reserved_smem_offset_begin")                                          \
    X(RESERVED_SMEM_END, "%reserved_smem_offset_end")                                              \
    X(RESERVED_SMEM_CAP, "%reserved_smem_offset_cap")                                              \
    X(RESERVED_SMEM_0, "%reserved_smem_offset_0") X(RESERVED_SMEM_1, "%reserved_smem_offset_1")    \
    X(CURRENT_GRAPH_EXEC, "%current_graph_exec")
/* clang-format on */

enum ptx_sreg {
#define X(name, text) PTX_SREG_##name,
    PTX_SREGS(X)
#undef X
        PTX_SREG_COUNT
};

struct ptx_var;
struct ptx_func;

enum ptx_operand_kind {
    PTX_OPND_NONE, /* absent, or the sink `_` */
    PTX_OPND_REG,  /* reg; negated: `!p` */
    /* imm: the bits, converted to the type of the instruction's operand where that is known (0f/0d
     * literals keep their own width, in imm_float_bytes) */
    PTX_OPND_IMM,
    PTX_OPND_SREG,  /* sreg */
    PTX_OPND_ADDR,  /* [reg + offset], [var + offset], [imm] (reg < 0 and var NULL) */
    PTX_OPND_VAR,   /* address of a variable as a value, plus offset */
    PTX_OPND_FUNC,  /* address of a function as a value */
    PTX_OPND_LABEL, /* target: instruction index (resolved) */
    PTX_OPND_VEC,   /* {a, b, ...}, (a, b) of a call, and the pair d|p */
};

struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated;
    uint8_t imm_float_bytes; /* 0: integer literal; 4, 8: a float literal of that width */
    int32_t reg;             /* index into ptx_func.regs, or -1 */
    int32_t target;
    enum ptx_sreg sreg;
    uint64_t imm;
    int64_t offset;
    struct ptx_var *var;
    struct ptx_func *func;
    struct ptx_operand *elems;
    uint32_t elem_count;
};

#define PTX_OPERANDS 10 /* largest number of operands of an instruction */

struct ptx_inst {
    uint16_t op; /* enum ptx_op */
    uint8_t types[4], type_count;
    uint8_t space, round, cmp;
    uint8_t sub, sub2; /* setp and set: both have the boolop; others: a second sub */
    uint8_t vec;       /* 1 2 4 8 */
    bool pred_neg;
    int32_t pred; /* guarding register, or -1 */
    uint32_t mods;
    uint8_t operand_count;
    uint32_t line;
    struct ptx_operand *operands; /* operand_count of them */
    const char *text;             /* the whole opcode, e.g. "ld.global.nc.v4.f32" (ptx_legacy.h) */
    int32_t *table;               /* brx.idx: instruction indices */
    uint32_t table_count;
    struct ptx_func *proto; /* indirect call: its prototype's params and rets, else NULL */
};

/* Returns operand `k`; if the instruction has none, one of kind PTX_OPND_NONE. */
static inline const struct ptx_operand *ptx_operand_at(const struct ptx_inst *i, uint32_t k) {
    static const struct ptx_operand none = {.kind = PTX_OPND_NONE, .reg = -1};
    return k < i->operand_count ? &i->operands[k] : &none;
}

struct ptx_reg {
    const char *name;
    uint8_t type; /* enum ptx_type; PTX_NONE: a vector, in a function that is not supported */
};

/* Stores the address of the variable or function `symbol`, plus addend, shifted, at `at` in the
 * initialiser. */
struct ptx_reloc {
    uint64_t at;
    const char *symbol; /* resolved by name at load, since forward references are legal */
    int64_t addend;
    uint8_t bytes; /* width of the store */
    uint8_t shift; /* mask(): right shift in bits, else 0 */
};

enum ptx_linkage {
    PTX_LINK_NONE,
    PTX_LINK_EXTERN,
    PTX_LINK_VISIBLE,
    PTX_LINK_WEAK,
    PTX_LINK_COMMON
};

/* Variables whose contents the driver writes: handles of textures, samplers and surfaces. */
enum ptx_opaque { PTX_OPAQUE_NONE, PTX_OPAQUE_TEXREF, PTX_OPAQUE_SAMPLERREF, PTX_OPAQUE_SURFREF };

struct ptx_var {
    const char *name;
    uint8_t space, type, linkage, opaque; /* opaque: enum ptx_opaque; its type is .b64 then */
    uint32_t align;
    uint64_t bytes;      /* 0 for extern arrays of unknown size (dynamic shared memory) */
    unsigned char *init; /* `bytes` long, or NULL: zeros */
    struct ptx_reloc *relocs;
    uint32_t reloc_count;
    /* a kernel's parameters: offset in the parameter block; others: filled when placed, as an
     * address, or an offset in shared or local memory */
    uint64_t offset;
    bool func_scope; /* declared inside a function or as its parameter */
    bool managed;
    uint32_t index;         /* position in its list */
    struct ptx_var *linked; /* set by ptx_link: the variable that this declaration means, or NULL */
};

struct ptx_func {
    const char *name;
    bool entry, defined;
    uint8_t linkage;
    struct ptx_var **params, **rets, **vars; /* vars: all variables declared in the body */
    uint32_t param_count, ret_count, var_count;
    uint32_t param_bytes;
    struct ptx_reg *regs;
    uint32_t reg_count;
    struct ptx_inst *insts;
    uint32_t inst_count;
    uint32_t max_block[3], req_block[3]; /* zeros when not given */
    uint32_t max_regs, min_blocks;       /* per thread; per multiprocessor; 0: not given */
    uint32_t req_cluster[3];             /* .reqnctapercluster; zeros when not given */
    uint32_t max_cluster;                /* .maxclusterrank; 0 when not given */
    bool explicit_cluster;               /* .explicitcluster: launches give the size */
    uint32_t index;
    /* First unknown construct inside, as "line 12: wgmma.fence"; or NULL. */
    const char *unsupported;
    /* Set by ptx_link: the function that this declaration means, or NULL. */
    struct ptx_func *linked;
};

struct ptx_module {
    struct ptx_func **funcs;
    uint32_t func_count;
    struct ptx_var **vars; /* module scope: .global .const .shared (.extern .shared included) */
    uint32_t var_count;
    uint32_t version;          /* 90 for ".version 9.0" */
    uint32_t target;           /* 75 for ".target sm_75" */
    struct ptx_module **units; /* modules joined by ptx_link, owned; else NULL */
    uint32_t unit_count;
    struct arena *arena;
    struct ptx_names *names; /* index of funcs and vars, for ptx_find_func and ptx_find_var */
};

#endif
