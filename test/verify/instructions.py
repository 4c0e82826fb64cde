# SPDX-License-Identifier: Apache-2.0
"""Valid instructions of PTX, a form for each, and the substitutions that make other instructions of them.

Registers are named by their type: %u32a to %u32h, %preda, ... ; gv, cv, sv, lv and pv are variables in global,
constant, shared, local and parameter memory, fn and fr functions, L a label (test/data/verify/frame.ptx declares
them).
"""
import re

REGISTERS = ("pred b8 u8 s8 b16 u16 s16 f16 b32 u32 s32 f32 f16x2 b64 u64 s64 f64 b128").split()
HELD_IN = {"bf16": "b16", "bf16x2": "b32", "u16x2": "b32", "s16x2": "b32", "tf32": "b32"}
TYPES = "u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64 b8 b16 b32 b64 pred f16x2".split()

# Operands that replace another operand.
KINDS = [f"%{t}h" for t in REGISTERS] + [
    "5", "-5", "0f3F800000", "0d3FF0000000000000", "1.5", "_", "L", "gv", "sv", "lv", "pv", "%tid.x",
    "%clock64", "[%b64h]", "[gv]", "{%b32g,%b32h}", "!%predh", "%nope", "nope", "%b32g|%predh"]

# Words that are appended to an opcode.
WORDS = ("wide hi sat ftz cc approx full volatile to sync uni shiftamt wrap clamp l NaN relu xorsign "
         "noftz rn rz rni rzi eq lt gt num add and xor min inc cas popc all ballot up bfly f4e finite v2 v4 weak "
         "relaxed acquire acq_rel gpu sys nc ca wb global shared local const param L1::no_allocate "
         "L2::64B L2::cache_hint bogus u16 s32 u64 f32 f64 b32 b64 pred f16x2").split()

INSTRUCTIONS = []


def registers(operand, n):
    """Replaces types by registers, lettered by the operand's position: "{b32,b32}" becomes "{%b32b,%b32c}"."""
    count = 0

    def register(m):
        nonlocal count
        word = m.group(0)
        if word not in REGISTERS and word not in HELD_IN:
            return word
        count += 1
        return "%" + HELD_IN.get(word, word) + "abcdefgh"[(n + count - 1) % 8]

    return re.sub(r"(?<![%\w.])[a-z]+[0-9]+(x2)?\b|\bpred\b", register, operand)


def t(opcode, *operands):
    INSTRUCTIONS.append((opcode, [registers(x, n) for n, x in enumerate(operands)]))


# Operands (separated by ';'), and the opcodes that take them.
FORMS = [
    ("u16; u16; u16",
     "add.u16 sub.u16 mul.lo.u16 mul.hi.u16 div.u16 rem.u16 min.u16 max.u16"),
    ("s16; s16; s16",
     "add.s16 sub.s16 mul.lo.s16 mul.hi.s16 div.s16 rem.s16 min.s16 max.s16"),
    ("u32; u32; u32",
     "add.u32 add.cc.u32 addc.cc.u32 sub.u32 sub.cc.u32 subc.cc.u32 mul.lo.u32 mul.hi.u32 div.u32 "
     "rem.u32 min.u32 max.u32 mul24.lo.u32 mul24.hi.u32 szext.wrap.u32 shr.u32 set.eq.u32.u32 "
     "mapa.shared::cluster.u32 vadd.u32.u32.u32.sat vsub.u32.u32.u32.sat vabsdiff.u32.u32.u32.sat "
     "vmin.u32.u32.u32.sat vmax.u32.u32.u32.sat vshl.u32.u32.u32.clamp vshr.u32.u32.u32.clamp"),
    ("s32; s32; s32",
     "add.s32 add.sat.s32 sub.s32 sub.sat.s32 mul.lo.s32 mul.hi.s32 div.s32 rem.s32 min.s32 "
     "max.s32 mul24.lo.s32 mul24.hi.s32 min.relu.s32 vadd.s32.s32.s32 vsub.s32.s32.s32 "
     "vabsdiff.s32.s32.s32 vmin.s32.s32.s32 vmax.s32.s32.s32"),
    ("u64; u64; u64",
     "add.u64 addc.u64 sub.u64 subc.u64 mul.lo.u64 mul.hi.u64 div.u64 rem.u64 min.u64 max.u64"),
    ("s64; s64; s64",
     "add.s64 sub.s64 mul.lo.s64 mul.hi.s64 div.s64 rem.s64 min.s64 max.s64"),
    ("f16; f16; f16",
     "add.f16 add.rn.f16 sub.f16 sub.rn.f16 min.f16 max.f16 mul.f16 max.ftz.NaN.f16 set.eq.f16.f16"),
    ("f16x2; f16x2; f16x2",
     "add.f16x2 sub.f16x2 min.f16x2 max.f16x2 mul.f16x2 set.eq.f16x2.f16x2"),
    ("bf16; bf16; bf16",
     "add.bf16 sub.bf16 min.bf16 max.bf16 mul.bf16 set.eq.bf16.bf16"),
    ("bf16x2; bf16x2; bf16x2",
     "add.bf16x2 sub.bf16x2 min.bf16x2 max.bf16x2 mul.bf16x2 set.eq.bf16x2.bf16x2"),
    ("f32; f32; f32",
     "add.f32 add.rn.f32 add.rz.ftz.sat.f32 sub.f32 sub.rn.f32 sub.rz.ftz.sat.f32 min.f32 max.f32 "
     "mul.f32 min.NaN.xorsign.abs.f32 mul.rn.f32 div.rn.f32 copysign.f32 div.approx.ftz.f32 "
     "div.full.f32 set.eq.f32.f32"),
    ("f64; f64; f64",
     "add.f64 sub.f64 min.f64 max.f64 mul.f64 div.rn.f64 copysign.f64"),
    ("u16x2; u16x2; u16x2",
     "add.u16x2 max.u16x2"),
    ("s16x2; s16x2; s16x2",
     "add.s16x2 min.s16x2 min.relu.s16x2"),
    ("f32; f16; f32",
     "add.f32.f16 sub.f32.f16"),
    ("b64; b64; b64",
     "add.rn.f32x2 add.rz.ftz.f32x2 sub.rn.f32x2 mul.rn.f32x2 mul.rp.f32x2 and.b64 or.b64 xor.b64"),
    ("u16; u16; u16; u16",
     "mad.lo.u16 mad.hi.u16 sad.u16"),
    ("s16; s16; s16; s16",
     "mad.lo.s16 mad.hi.s16"),
    ("u32; u32; u32; u32",
     "mad.lo.u32 mad.hi.u32 mad24.lo.u32 mad24.hi.u32 mad.lo.cc.u32 madc.hi.u32 madc.lo.cc.u32 "
     "sad.u32 bfe.u32 vadd2.u32.u32.u32.add vadd4.u32.u32.u32.add vsub2.u32.u32.u32.add "
     "vsub4.u32.u32.u32.add vavrg2.u32.u32.u32.add vavrg4.u32.u32.u32.add "
     "vabsdiff2.u32.u32.u32.add vabsdiff4.u32.u32.u32.add vmin2.u32.u32.u32.add "
     "vmin4.u32.u32.u32.add vmax2.u32.u32.u32.add vmax4.u32.u32.u32.add vset4.u32.u32.ge"),
    ("s32; s32; s32; s32",
     "mad.lo.s32 mad.hi.s32 mad24.lo.s32 mad24.hi.s32 mad24.hi.sat.s32 mad.hi.sat.s32 "
     "mad.lo.cc.s32 madc.hi.s32 madc.lo.cc.s32 slct.s32.s32 vmad.s32.s32.s32 vadd2.s32.s32.s32 "
     "vadd4.s32.s32.s32 vsub2.s32.s32.s32 vsub4.s32.s32.s32 vavrg2.s32.s32.s32 vavrg4.s32.s32.s32 "
     "vabsdiff2.s32.s32.s32 vabsdiff4.s32.s32.s32 vmin2.s32.s32.s32 vmin4.s32.s32.s32 "
     "vmax2.s32.s32.s32 vmax4.s32.s32.s32 vset2.s32.s32.lt"),
    ("u64; u64; u64; u64",
     "mad.lo.u64 mad.hi.u64 mad.lo.cc.u64 madc.hi.u64 madc.lo.cc.u64 sad.u64"),
    ("s64; s64; s64; s64",
     "mad.lo.s64 mad.hi.s64 mad.lo.cc.s64 madc.hi.s64 madc.lo.cc.s64"),
    ("u32; u16; u16",
     "mul.wide.u16 set.eq.u32.u16"),
    ("u32; u16; u16; u32",
     "mad.wide.u16"),
    ("s32; s16; s16",
     "mul.wide.s16"),
    ("s32; s16; s16; s32",
     "mad.wide.s16"),
    ("u64; u32; u32",
     "mul.wide.u32"),
    ("u64; u32; u32; u64",
     "mad.wide.u32"),
    ("s64; s32; s32",
     "mul.wide.s32"),
    ("s64; s32; s32; s64",
     "mad.wide.s32"),
    ("s16; s16; s16; u16",
     "sad.s16"),
    ("s32; s32; s32; u32",
     "sad.s32"),
    ("s64; s64; s64; u64",
     "sad.s64"),
    ("s16; s16",
     "abs.s16 neg.s16 mov.s16"),
    ("s32; s32",
     "abs.s32 neg.s32 mov.s32 cvt.s32.s32"),
    ("s64; s64",
     "abs.s64 neg.s64 mov.s64"),
    ("f16; f16",
     "abs.f16 neg.f16 tanh.approx.f16 ex2.approx.f16 cvt.rni.f16.f16 cvt.rzi.f16.f16 cvt.f16.f16"),
    ("f16; f16; f16; f16",
     "fma.rn.f16 fma.rn.relu.f16 fma.rn.oob.f16"),
    ("f16x2; f16x2",
     "abs.f16x2 neg.f16x2 tanh.approx.f16x2 ex2.approx.f16x2"),
    ("f16x2; f16x2; f16x2; f16x2",
     "fma.rn.f16x2"),
    ("bf16; bf16",
     "abs.bf16 neg.bf16 tanh.approx.bf16 ex2.approx.ftz.bf16 cvt.rni.bf16.bf16 cvt.rzi.bf16.bf16 "
     "cvt.bf16.bf16"),
    ("bf16; bf16; bf16; bf16",
     "fma.rn.bf16"),
    ("bf16x2; bf16x2",
     "abs.bf16x2 neg.bf16x2 tanh.approx.bf16x2 ex2.approx.ftz.bf16x2"),
    ("bf16x2; bf16x2; bf16x2; bf16x2",
     "fma.rn.bf16x2"),
    ("f32; f32",
     "abs.f32 neg.f32 rcp.rn.f32 sqrt.rn.f32 rcp.approx.f32 sqrt.approx.f32 rsqrt.approx.f32 "
     "sin.approx.f32 cos.approx.f32 lg2.approx.f32 ex2.approx.f32 tanh.approx.f32 mov.f32 "
     "cvt.rni.f32.f32 cvt.rzi.f32.f32 cvt.f32.f32 cvt.sat.f32.f32 cvt.ftz.f32.f32"),
    ("f32; f32; f32; f32",
     "fma.rn.f32 min.f32 fma.rn.ftz.sat.f32 mad.rn.f32 slct.f32.f32"),
    ("f64; f64",
     "abs.f64 neg.f64 rcp.rn.f64 sqrt.rn.f64 rcp.approx.ftz.f64 rsqrt.approx.f64 "
     "rsqrt.approx.ftz.f64 mov.f64 cvt.rni.f64.f64 cvt.rzi.f64.f64 cvt.f64.f64"),
    ("f64; f64; f64; f64",
     "fma.rn.f64 mad.rn.f64"),
    ("f32; f16; f16; f32",
     "fma.rn.f32.f16"),
    ("b64; b64; b64; b64",
     "fma.rn.f32x2"),
    ("pred; f32",
     "testp.finite.f32 testp.f32"),
    ("pred; f64",
     "testp.finite.f64 testp.f64"),
    ("u32; b32",
     "popc.b32 clz.b32"),
    ("b32; b32",
     "brev.b32 not.b32 cnot.b32 mov.b32 bar.sync"),
    ("b32; b32; b32; u32; u32",
     "bfi.b32"),
    ("u32; b64",
     "popc.b64 clz.b64"),
    ("b64; b64",
     "brev.b64 not.b64 cnot.b64 mov.b64"),
    ("b64; b64; b64; u32; u32",
     "bfi.b64"),
    ("u32; u32",
     "bfind.u32 bfind.shiftamt.u32 mov.u32 cvt.u32.u32 getctarank.u32 "
     "getctarank.shared::cluster.u32 alloca.u32"),
    ("u32; s32",
     "bfind.s32 bfind.shiftamt.s32 cvt.u32.s32"),
    ("s32; s32; u32; u32",
     "bfe.s32"),
    ("u32; u64",
     "bfind.u64 bfind.shiftamt.u64 cvt.u32.u64 getctarank.u64"),
    ("u64; u64; u32; u32",
     "bfe.u64"),
    ("u32; s64",
     "bfind.s64 bfind.shiftamt.s64"),
    ("s64; s64; u32; u32",
     "bfe.s64"),
    ("b32; b32; b32",
     "bmsk.clamp.b32 and.b32 or.b32 xor.b32 match.any.sync.b32 redux.sync.and.b32 "
     "redux.sync.or.b32 redux.sync.xor.b32"),
    ("s32; s32; u32",
     "szext.clamp.s32 shr.s32 vshl.s32.s32.u32.wrap vshr.s32.s32.u32.wrap"),
    ("b32; b32; b32; s32",
     "fns.b32 slct.b32.s32"),
    ("pred; pred; pred",
     "and.pred or.pred xor.pred"),
    ("pred; pred",
     "not.pred mov.pred"),
    ("b16; b16; b16",
     "and.b16 or.b16 xor.b16"),
    ("b16; b16",
     "not.b16 cnot.b16 mov.b16"),
    ("b16; b16; u32",
     "shl.b16 shr.b16"),
    ("b32; b32; u32",
     "shl.b32 shr.b32"),
    ("b64; b64; u32",
     "shl.b64 shr.b64"),
    ("u16; u16; u32",
     "shr.u16"),
    ("s16; s16; u32",
     "shr.s16"),
    ("u64; u64; u32",
     "shr.u64 mapa.u64"),
    ("s64; s64; u32",
     "shr.s64"),
    ("b32; b32; b32; b32; 0x80",
     "lop3.b32"),
    ("b32|pred; b32; b32; b32; 0x80; pred",
     "lop3.or.b32"),
    ("_|pred; b32; b32; b32; 0x80; pred",
     "lop3.and.b32"),
    ("b32; b32; b32; u32",
     "shf.l.wrap.b32 shf.r.clamp.b32"),
    ("b32; b32; b32; b32",
     "prmt.b32 prmt.b32.f4e"),
    ("u32; b32; b32; u32",
     "dp4a.u32.u32 dp2a.lo.u32.u32"),
    ("s32; b32; b32; s32",
     "dp4a.u32.s32 dp2a.lo.u32.s32 dp4a.s32.u32 dp2a.lo.s32.u32 dp4a.s32.s32 dp2a.lo.s32.s32"),
    ("pred; b16; b16",
     "setp.eq.b16"),
    ("pred; b16; b16; pred",
     "setp.ne.and.b16"),
    ("pred|pred; b16; b16",
     "setp.eq.b16"),
    ("u32; b16; b16",
     "set.eq.u32.b16"),
    ("f32; b16; b16",
     "set.eq.f32.b16"),
    ("s32; b16; b16; pred",
     "set.ne.xor.s32.b16"),
    ("pred; b32; b32",
     "setp.eq.b32"),
    ("pred; b32; b32; pred",
     "setp.ne.and.b32"),
    ("pred|pred; b32; b32",
     "setp.eq.b32"),
    ("u32; b32; b32",
     "set.eq.u32.b32"),
    ("f32; b32; b32",
     "set.eq.f32.b32"),
    ("s32; b32; b32; pred",
     "set.ne.xor.s32.b32"),
    ("pred; b64; b64",
     "setp.eq.b64"),
    ("pred; b64; b64; pred",
     "setp.ne.and.b64"),
    ("pred|pred; b64; b64",
     "setp.eq.b64"),
    ("u32; b64; b64",
     "set.eq.u32.b64"),
    ("f32; b64; b64",
     "set.eq.f32.b64"),
    ("s32; b64; b64; pred",
     "set.ne.xor.s32.b64"),
    ("pred; u16; u16",
     "setp.eq.u16"),
    ("pred; u16; u16; pred",
     "setp.ne.and.u16"),
    ("pred|pred; u16; u16",
     "setp.eq.u16"),
    ("f32; u16; u16",
     "set.eq.f32.u16"),
    ("s32; u16; u16; pred",
     "set.ne.xor.s32.u16"),
    ("pred; s16; s16",
     "setp.eq.s16"),
    ("pred; s16; s16; pred",
     "setp.ne.and.s16"),
    ("pred|pred; s16; s16",
     "setp.eq.s16"),
    ("u32; s16; s16",
     "set.eq.u32.s16"),
    ("f32; s16; s16",
     "set.eq.f32.s16"),
    ("s32; s16; s16; pred",
     "set.ne.xor.s32.s16"),
    ("pred; u32; u32",
     "setp.eq.u32 setp.lt.u32 setp.lo.u32"),
    ("pred; u32; u32; pred",
     "setp.ne.and.u32"),
    ("pred|pred; u32; u32",
     "setp.eq.u32"),
    ("f32; u32; u32",
     "set.eq.f32.u32"),
    ("s32; u32; u32; pred",
     "set.ne.xor.s32.u32"),
    ("pred; s32; s32",
     "setp.eq.s32 setp.lt.s32"),
    ("pred; s32; s32; pred",
     "setp.ne.and.s32"),
    ("pred|pred; s32; s32",
     "setp.eq.s32"),
    ("u32; s32; s32",
     "set.eq.u32.s32 vset.s32.s32.lt"),
    ("f32; s32; s32",
     "set.eq.f32.s32"),
    ("s32; s32; s32; pred",
     "set.ne.xor.s32.s32 selp.s32"),
    ("pred; u64; u64",
     "setp.eq.u64"),
    ("pred; u64; u64; pred",
     "setp.ne.and.u64"),
    ("pred|pred; u64; u64",
     "setp.eq.u64"),
    ("u32; u64; u64",
     "set.eq.u32.u64"),
    ("f32; u64; u64",
     "set.eq.f32.u64"),
    ("s32; u64; u64; pred",
     "set.ne.xor.s32.u64"),
    ("pred; s64; s64",
     "setp.eq.s64"),
    ("pred; s64; s64; pred",
     "setp.ne.and.s64"),
    ("pred|pred; s64; s64",
     "setp.eq.s64"),
    ("u32; s64; s64",
     "set.eq.u32.s64"),
    ("f32; s64; s64",
     "set.eq.f32.s64"),
    ("s32; s64; s64; pred",
     "set.ne.xor.s32.s64"),
    ("pred; f32; f32",
     "setp.eq.f32 setp.lt.f32 setp.ltu.f32 setp.num.f32"),
    ("pred; f32; f32; pred",
     "setp.ne.and.f32"),
    ("pred|pred; f32; f32",
     "setp.eq.f32"),
    ("u32; f32; f32",
     "set.eq.u32.f32"),
    ("s32; f32; f32; pred",
     "set.ne.xor.s32.f32"),
    ("pred; f64; f64",
     "setp.eq.f64 setp.lt.f64 setp.ltu.f64 setp.num.f64"),
    ("pred; f64; f64; pred",
     "setp.ne.and.f64"),
    ("pred|pred; f64; f64",
     "setp.eq.f64"),
    ("u32; f64; f64",
     "set.eq.u32.f64"),
    ("f32; f64; f64",
     "set.eq.f32.f64"),
    ("s32; f64; f64; pred",
     "set.ne.xor.s32.f64"),
    ("pred; f16; f16",
     "setp.eq.f16 setp.lt.f16 setp.ltu.f16 setp.num.f16"),
    ("pred; f16; f16; pred",
     "setp.ne.and.f16"),
    ("u32; f16; f16",
     "set.eq.u32.f16"),
    ("s32; f16; f16; pred",
     "set.ne.xor.s32.f16"),
    ("pred; bf16; bf16",
     "setp.eq.bf16 setp.lt.bf16 setp.ltu.bf16 setp.num.bf16"),
    ("pred; bf16; bf16; pred",
     "setp.ne.and.bf16"),
    ("u32; bf16; bf16",
     "set.eq.u32.bf16"),
    ("s32; bf16; bf16; pred",
     "set.ne.xor.s32.bf16"),
    ("pred; f16x2; f16x2",
     "setp.eq.f16x2"),
    ("pred; f16x2; f16x2; pred",
     "setp.ne.and.f16x2"),
    ("pred|pred; f16x2; f16x2",
     "setp.eq.f16x2"),
    ("u32; f16x2; f16x2",
     "set.eq.u32.f16x2"),
    ("s32; f16x2; f16x2; pred",
     "set.ne.xor.s32.f16x2"),
    ("pred; bf16x2; bf16x2",
     "setp.eq.bf16x2"),
    ("pred; bf16x2; bf16x2; pred",
     "setp.ne.and.bf16x2"),
    ("pred|pred; bf16x2; bf16x2",
     "setp.eq.bf16x2"),
    ("u32; bf16x2; bf16x2",
     "set.eq.u32.bf16x2"),
    ("s32; bf16x2; bf16x2; pred",
     "set.ne.xor.s32.bf16x2"),
    ("bf16; f16; f16",
     "set.eq.bf16.f16"),
    ("u16; f16; f16",
     "set.eq.u16.f16"),
    ("u16; bf16; bf16",
     "set.eq.u16.bf16"),
    ("s16; f16; f16",
     "set.eq.s16.f16"),
    ("s16; bf16; bf16",
     "set.eq.s16.bf16"),
    ("b16; b16; b16; pred",
     "selp.b16"),
    ("b16; b16; b16; s32",
     "slct.b16.s32"),
    ("b16; b16; b16; f32",
     "slct.b16.f32"),
    ("b32; b32; b32; pred",
     "selp.b32"),
    ("b32; b32; b32; f32",
     "slct.b32.f32"),
    ("b64; b64; b64; pred",
     "selp.b64"),
    ("b64; b64; b64; s32",
     "slct.b64.s32"),
    ("b64; b64; b64; f32",
     "slct.b64.f32"),
    ("u16; u16; u16; pred",
     "selp.u16"),
    ("u16; u16; u16; s32",
     "slct.u16.s32"),
    ("u16; u16; u16; f32",
     "slct.u16.f32"),
    ("s16; s16; s16; pred",
     "selp.s16"),
    ("s16; s16; s16; s32",
     "slct.s16.s32"),
    ("s16; s16; s16; f32",
     "slct.s16.f32"),
    ("u32; u32; u32; pred",
     "selp.u32"),
    ("u32; u32; u32; s32",
     "slct.u32.s32"),
    ("u32; u32; u32; f32",
     "slct.u32.f32 slct.ftz.u32.f32"),
    ("s32; s32; s32; f32",
     "slct.s32.f32"),
    ("u64; u64; u64; pred",
     "selp.u64"),
    ("u64; u64; u64; s32",
     "slct.u64.s32"),
    ("u64; u64; u64; f32",
     "slct.u64.f32"),
    ("s64; s64; s64; pred",
     "selp.s64"),
    ("s64; s64; s64; s32",
     "slct.s64.s32"),
    ("s64; s64; s64; f32",
     "slct.s64.f32"),
    ("f32; f32; f32; pred",
     "selp.f32"),
    ("f32; f32; f32; s32",
     "slct.f32.s32"),
    ("f64; f64; f64; pred",
     "selp.f64"),
    ("f64; f64; f64; s32",
     "slct.f64.s32"),
    ("f64; f64; f64; f32",
     "slct.f64.f32"),
    ("u16; u16",
     "mov.u16"),
    ("u64; u64",
     "mov.u64 cvt.u64.u64 cvta.global.u64 cvta.to.global.u64 cvta.shared.u64 cvta.to.shared.u64 "
     "cvta.local.u64 cvta.to.local.u64 cvta.const.u64 cvta.to.const.u64 cvta.param.u64 "
     "cvta.to.param.u64"),
    ("b128; b128",
     "mov.b128"),
    ("b32; {b16,b16}",
     "mov.b32"),
    ("{b16,b16}; b32",
     "mov.b32"),
    ("b64; {b32,b32}",
     "mov.b64"),
    ("{b32,b32}; b64",
     "mov.b64"),
    ("{b16,b16,b16,b16}; b64",
     "mov.b64"),
    ("b64; {b16,b16,b16,b16}",
     "mov.b64"),
    ("b32; {b8,b8,b8,b8}",
     "mov.b32"),
    ("b16; {b8,b8}",
     "mov.b16"),
    ("{b8,b8}; b16",
     "mov.b16"),
    ("{b8,b8,b8,b8}; b32",
     "mov.b32"),
    ("b128; {b64,b64}",
     "mov.b128"),
    ("{b64,b64}; b128",
     "mov.b128"),
    ("u32; %tid.x",
     "mov.u32"),
    ("u64; %clock64",
     "mov.u64"),
    ("u64; gv",
     "mov.u64 cvta.global.u64"),
    ("u32; sv",
     "mov.u32"),
    ("u64; fn",
     "mov.u64"),
    ("u32; %laneid",
     "mov.u32"),
    ("b8; [gv]",
     "ld.global.b8"),
    ("[gv]; b8",
     "st.global.b8"),
    ("b8; [b64]",
     "ld.b8"),
    ("[b64]; b8",
     "st.b8"),
    ("u8; [gv]",
     "ld.global.u8"),
    ("[gv]; u8",
     "st.global.u8"),
    ("u8; [b64]",
     "ld.u8"),
    ("[b64]; u8",
     "st.u8"),
    ("s8; [gv]",
     "ld.global.s8"),
    ("[gv]; s8",
     "st.global.s8"),
    ("s8; [b64]",
     "ld.s8"),
    ("[b64]; s8",
     "st.s8"),
    ("b16; [gv]",
     "ld.global.b16"),
    ("[gv]; b16",
     "st.global.b16"),
    ("b16; [b64]",
     "ld.b16"),
    ("[b64]; b16",
     "st.b16"),
    ("u16; [gv]",
     "ld.global.u16"),
    ("[gv]; u16",
     "st.global.u16"),
    ("u16; [b64]",
     "ld.u16"),
    ("[b64]; u16",
     "st.u16"),
    ("s16; [gv]",
     "ld.global.s16"),
    ("[gv]; s16",
     "st.global.s16"),
    ("s16; [b64]",
     "ld.s16"),
    ("[b64]; s16",
     "st.s16"),
    ("b32; [gv]",
     "ld.global.b32"),
    ("[gv]; b32",
     "st.global.b32 red.global.and.b32 red.global.or.b32 red.global.xor.b32"),
    ("b32; [b64]",
     "ld.b32"),
    ("[b64]; b32",
     "st.b32"),
    ("u32; [gv]",
     "ld.global.u32 ld.global.nc.u32 ldu.global.u32 ld.volatile.global.u32 ld.global.ca.u32 "
     "ld.acquire.gpu.global.u32 ld.global.L1::no_allocate.u32 ld.global.L2::128B.u32"),
    ("[gv]; u32",
     "st.global.u32 st.global.wb.u32 st.release.sys.global.u32 red.global.add.u32 "
     "red.global.min.u32 red.global.inc.u32 red.global.max.u32 red.global.dec.u32"),
    ("u32; [b64]",
     "ld.u32 ld.weak.u32"),
    ("[b64]; u32",
     "st.u32 st.volatile.u32"),
    ("s32; [gv]",
     "ld.global.s32"),
    ("[gv]; s32",
     "st.global.s32 red.global.add.s32 red.global.min.s32 red.global.max.s32 "
     "red.relaxed.sys.global.add.s32"),
    ("s32; [b64]",
     "ld.s32"),
    ("[b64]; s32",
     "st.s32"),
    ("b64; [gv]",
     "ld.global.b64"),
    ("[gv]; b64",
     "st.global.b64 red.global.and.b64 red.global.or.b64 red.global.xor.b64"),
    ("b64; [b64]",
     "ld.b64"),
    ("[b64]; b64",
     "st.b64"),
    ("u64; [gv]",
     "ld.global.u64"),
    ("[gv]; u64",
     "st.global.u64 red.global.add.u64 red.global.min.u64 red.global.max.u64"),
    ("u64; [b64]",
     "ld.u64"),
    ("[b64]; u64",
     "st.u64"),
    ("s64; [gv]",
     "ld.global.s64"),
    ("[gv]; s64",
     "st.global.s64 red.global.min.s64 red.global.max.s64"),
    ("s64; [b64]",
     "ld.s64"),
    ("[b64]; s64",
     "st.s64"),
    ("f32; [gv]",
     "ld.global.f32"),
    ("[gv]; f32",
     "st.global.f32 red.global.add.f32"),
    ("f32; [b64]",
     "ld.f32"),
    ("[b64]; f32",
     "st.f32 red.add.f32"),
    ("f64; [gv]",
     "ld.global.f64"),
    ("[gv]; f64",
     "st.global.f64 red.global.add.f64"),
    ("f64; [b64]",
     "ld.f64"),
    ("[b64]; f64",
     "st.f64"),
    ("b128; [gv]",
     "ld.global.b128"),
    ("[gv]; b128",
     "st.global.b128"),
    ("b128; [b64]",
     "ld.b128"),
    ("[b64]; b128",
     "st.b128"),
    ("u32; [b32]",
     "ld.shared.u32 ld.local.u32 ld.relaxed.cta.shared.u32"),
    ("[b32]; u32",
     "st.shared.u32 st.local.u32"),
    ("u32; [cv]",
     "ld.const.u32"),
    ("u32; [pv]",
     "ld.param.u32"),
    ("u32; [gv]; b64",
     "ld.global.L2::cache_hint.u32"),
    ("[gv]; u32; b64",
     "st.global.L2::cache_hint.u32"),
    ("{u8,u8}; [gv]",
     "ld.global.v2.u8"),
    ("[gv]; {u8,u8}",
     "st.global.v2.u8"),
    ("{u8,u8,u8,u8}; [gv]",
     "ld.global.v4.u8"),
    ("[gv]; {u8,u8,u8,u8}",
     "st.global.v4.u8"),
    ("{u16,u16}; [gv]",
     "ld.global.v2.u16"),
    ("[gv]; {u16,u16}",
     "st.global.v2.u16"),
    ("{u16,u16,u16,u16}; [gv]",
     "ld.global.v4.u16"),
    ("[gv]; {u16,u16,u16,u16}",
     "st.global.v4.u16"),
    ("{b32,b32}; [gv]",
     "ld.global.v2.b32"),
    ("[gv]; {b32,b32}",
     "st.global.v2.b32"),
    ("{b32,b32,b32,b32}; [gv]",
     "ld.global.v4.b32"),
    ("[gv]; {b32,b32,b32,b32}",
     "st.global.v4.b32"),
    ("{f32,f32}; [gv]",
     "ld.global.v2.f32"),
    ("[gv]; {f32,f32}",
     "st.global.v2.f32 red.global.add.v2.f32"),
    ("{f32,f32,f32,f32}; [gv]",
     "ld.global.v4.f32"),
    ("[gv]; {f32,f32,f32,f32}",
     "st.global.v4.f32"),
    ("{b64,b64}; [gv]",
     "ld.global.v2.b64"),
    ("[gv]; {b64,b64}",
     "st.global.v2.b64"),
    ("{f64,f64}; [gv]",
     "ld.global.v2.f64"),
    ("[gv]; {f64,f64}",
     "st.global.v2.f64"),
    ("{b32,b32,b32,b32,b32,b32,b32,b32}; [gv]",
     "ld.global.v8.b32"),
    ("{b64,b64,b64,b64}; [gv]",
     "ld.global.v4.b64"),
    ("[gv]",
     "prefetch.global.L1"),
    ("b32; f32; f32; b32",
     "cvt.rs.f16x2.f32 cvt.rs.relu.satfinite.bf16x2.f32"),
    ("b32; {f32,f32,f32,f32}; b32",
     "cvt.rs.satfinite.e4m3x4.f32 cvt.rs.relu.satfinite.e5m2x4.f32 cvt.rs.satfinite.e2m3x4.f32 "
     "cvt.rs.satfinite.e3m2x4.f32"),
    ("b16; {f32,f32,f32,f32}; b32",
     "cvt.rs.satfinite.e2m1x4.f32"),
    ("{f32,f32,f32,f32}; {b32,b32,b32,b32}; {b32,b32}; {f32,f32,f32,f32}; b32; {0,1}; b32; {u16,u16}",
     "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e2m1.f32.ue8m0 "
     "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e3m2.e5m2.f32.ue8m0 "
     "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0 "
     "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 "
     "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"),
    ("[b64]; [b64,{b32}]; [b64]",
     "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes"),
    ("[b64]; [b64,{b32,b32}]; [b64]",
     "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"),
    ("[b64]; [b64,{b32,b32,b32}]; [b64]; u16; b64",
     "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint"),
    ("[b64,{b32,b32,b32,b32}]; [b64]",
     "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group "
     "cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group"),
    ("[b64,{b32,b32,b32,b32,b32}]",
     "cp.async.bulk.prefetch.tensor.5d.L2.global.tile"),
    ("[b64]; u64; 0",
     "st.bulk st.bulk.weak.shared::cta"),
    ("[b64]",
     "prefetch.L2 prefetchu.L1"),
    ("s32; u32",
     "cvt.s32.u32"),
    ("u64; u32",
     "cvt.u64.u32"),
    ("f16; u32",
     "cvt.rn.f16.u32"),
    ("bf16; u32",
     "cvt.rn.bf16.u32"),
    ("f32; u32",
     "cvt.rn.f32.u32"),
    ("f64; u32",
     "cvt.rn.f64.u32"),
    ("u64; s32",
     "cvt.u64.s32"),
    ("f16; s32",
     "cvt.rn.f16.s32"),
    ("bf16; s32",
     "cvt.rn.bf16.s32"),
    ("f32; s32",
     "cvt.rn.f32.s32"),
    ("f64; s32",
     "cvt.rn.f64.s32"),
    ("s32; u64",
     "cvt.s32.u64"),
    ("f16; u64",
     "cvt.rn.f16.u64"),
    ("bf16; u64",
     "cvt.rn.bf16.u64"),
    ("f32; u64",
     "cvt.rn.f32.u64"),
    ("f64; u64",
     "cvt.rn.f64.u64"),
    ("f16; u8",
     "cvt.rn.f16.u8"),
    ("f32; u8",
     "cvt.rn.f32.u8"),
    ("u32; f16",
     "cvt.rni.u32.f16 cvt.rzi.u32.f16"),
    ("s32; f16",
     "cvt.rni.s32.f16 cvt.rzi.s32.f16"),
    ("u64; f16",
     "cvt.rni.u64.f16 cvt.rzi.u64.f16"),
    ("u8; f16",
     "cvt.rni.u8.f16 cvt.rzi.u8.f16"),
    ("bf16; f16",
     "cvt.rn.bf16.f16 cvt.bf16.f16"),
    ("f32; f16",
     "cvt.f32.f16"),
    ("f64; f16",
     "cvt.f64.f16"),
    ("u32; bf16",
     "cvt.rni.u32.bf16 cvt.rzi.u32.bf16"),
    ("s32; bf16",
     "cvt.rni.s32.bf16 cvt.rzi.s32.bf16"),
    ("u64; bf16",
     "cvt.rni.u64.bf16 cvt.rzi.u64.bf16"),
    ("f16; bf16",
     "cvt.rn.f16.bf16 cvt.f16.bf16"),
    ("f32; bf16",
     "cvt.rn.f32.bf16 cvt.f32.bf16"),
    ("f64; bf16",
     "cvt.rn.f64.bf16 cvt.f64.bf16"),
    ("u32; f32",
     "cvt.rni.u32.f32 cvt.rzi.u32.f32"),
    ("s32; f32",
     "cvt.rni.s32.f32 cvt.rzi.s32.f32"),
    ("u64; f32",
     "cvt.rni.u64.f32 cvt.rzi.u64.f32"),
    ("u8; f32",
     "cvt.rni.u8.f32 cvt.rzi.u8.f32"),
    ("f16; f32",
     "cvt.rn.f16.f32 cvt.rn.relu.f16.f32 cvt.rn.satfinite.f16.f32"),
    ("bf16; f32",
     "cvt.rn.bf16.f32"),
    ("f64; f32",
     "cvt.f64.f32"),
    ("u32; f64",
     "cvt.rni.u32.f64 cvt.rzi.u32.f64"),
    ("s32; f64",
     "cvt.rni.s32.f64 cvt.rzi.s32.f64"),
    ("u64; f64",
     "cvt.rni.u64.f64 cvt.rzi.u64.f64"),
    ("f16; f64",
     "cvt.rn.f16.f64"),
    ("bf16; f64",
     "cvt.rn.bf16.f64"),
    ("f32; f64",
     "cvt.rn.f32.f64"),
    ("b32; f32",
     "cvt.rna.tf32.f32"),
    ("b32; f32; f32",
     "cvt.rn.f16x2.f32 cvt.rn.bf16x2.f32 cvt.rn.relu.f16x2.f32"),
    ("f32; f32; u32",
     "redux.sync.min.abs.NaN.f32 redux.sync.max.f32"),
    ("b16; f32; f32",
     "cvt.rn.satfinite.e4m3x2.f32"),
    ("b16; b32",
     "cvt.rn.satfinite.e5m2x2.f16x2"),
    ("b32; b16",
     "cvt.rn.f16x2.e4m3x2"),
    ("u32; s32; s32; u32",
     "cvt.pack.sat.u8.s32.b32"),
    ("pred; u64",
     "isspacep.global isspacep.shared isspacep.local isspacep.const isspacep.param"),
    ("u32; [gv]; u32",
     "atom.global.add.u32 atom.global.min.u32 atom.global.inc.u32 atom.global.max.u32 "
     "atom.global.dec.u32 atom.relaxed.gpu.global.add.u32"),
    ("s32; [gv]; s32",
     "atom.global.add.s32 atom.global.min.s32 atom.global.max.s32"),
    ("u64; [gv]; u64",
     "atom.global.add.u64 atom.global.min.u64 atom.global.max.u64"),
    ("f32; [gv]; f32",
     "atom.global.add.f32"),
    ("f64; [gv]; f64",
     "atom.global.add.f64"),
    ("f16; [gv]; f16",
     "atom.global.add.noftz.f16"),
    ("[gv]; f16",
     "red.global.add.noftz.f16"),
    ("bf16; [gv]; bf16",
     "atom.global.add.noftz.bf16"),
    ("[gv]; bf16",
     "red.global.add.noftz.bf16"),
    ("f16x2; [gv]; f16x2",
     "atom.global.add.noftz.f16x2"),
    ("[gv]; f16x2",
     "red.global.add.noftz.f16x2"),
    ("bf16x2; [gv]; bf16x2",
     "atom.global.add.noftz.bf16x2"),
    ("[gv]; bf16x2",
     "red.global.add.noftz.bf16x2"),
    ("s64; [gv]; s64",
     "atom.global.min.s64 atom.global.max.s64"),
    ("b32; [gv]; b32",
     "atom.global.and.b32 atom.global.exch.b32 atom.global.or.b32 atom.global.xor.b32"),
    ("b64; [gv]; b64",
     "atom.global.and.b64 atom.global.exch.b64 atom.global.or.b64 atom.global.xor.b64"),
    ("b128; [gv]; b128",
     "atom.global.exch.b128"),
    ("b16; [gv]; b16; b16",
     "atom.global.cas.b16"),
    ("b32; [gv]; b32; b32",
     "atom.global.cas.b32"),
    ("b64; [gv]; b64; b64",
     "atom.global.cas.b64"),
    ("b128; [gv]; b128; b128",
     "atom.global.cas.b128"),
    ("u32; [b32]; u32",
     "atom.shared.add.u32"),
    ("u32; [b64]; u32",
     "atom.add.u32"),
    ("{f32,f32}; [gv]; {f32,f32}",
     "atom.global.v2.f32.add"),
    ("b32; b32; b32; b32; b32",
     "shfl.sync.up.b32 shfl.sync.down.b32 shfl.sync.bfly.b32 shfl.sync.idx.b32"),
    ("b32|pred; b32; b32; b32; b32",
     "shfl.sync.up.b32 shfl.sync.down.b32 shfl.sync.bfly.b32 shfl.sync.idx.b32"),
    ("pred; pred; b32",
     "vote.sync.all.pred vote.sync.any.pred vote.sync.uni.pred"),
    ("b32; pred; b32",
     "vote.sync.ballot.b32"),
    ("b32|pred; b32; b32",
     "match.all.sync.b32"),
    ("b32|pred; b64; b32",
     "match.all.sync.b64"),
    ("b32; b64; b32",
     "match.any.sync.b64"),
    ("b32",
     "activemask.b32 bar.sync bar.warp.sync"),
    ("_|pred; b32",
     "elect.sync"),
    ("b32|pred; b32",
     "elect.sync"),
    ("u32; u32; b32",
     "redux.sync.add.u32 redux.sync.min.u32 redux.sync.max.u32"),
    ("s32; s32; b32",
     "redux.sync.add.s32 redux.sync.min.s32 redux.sync.max.s32"),
    ("f32; f32; b32",
     "redux.sync.min.f32 redux.sync.max.abs.NaN.f32"),
    ("0",
     "bar.sync barrier.sync bar.cta.sync barrier.cta.sync cp.async.wait_group"),
    ("1; 64",
     "bar.arrive barrier.arrive"),
    ("u32; 0; pred",
     "bar.red.popc.u32 barrier.red.popc.u32"),
    ("pred; 0; pred",
     "bar.red.and.pred"),
    ("pred; 0; 64; pred",
     "bar.red.or.pred"),
    ("0; 64",
     "barrier.sync.aligned"),
    ("",
     "barrier.cluster.arrive barrier.cluster.wait barrier.cluster.arrive.release.aligned membar.gl "
     "membar.cta membar.sys fence.acq_rel.gpu fence.sc.sys fence.proxy.async "
     "fence.mbarrier_init.release.cluster fence.proxy.alias trap brkpt exit griddepcontrol.wait "
     "griddepcontrol.launch_dependents cp.async.commit_group cp.async.wait_all ret ret.uni"),
    ("u32",
     "nanosleep.u32 stacksave.u32 stackrestore.u32"),
    ("20",
     "nanosleep.u32"),
    ("1",
     "pmevent pmevent.mask"),
    ("40",
     "setmaxnreg.inc.sync.aligned.u32"),
    ("[b32]; [b64]; 4",
     "cp.async.ca.shared.global cp.async.ca.shared.global.L2::128B"),
    ("[b32]; [b64]; 16",
     "cp.async.cg.shared.global"),
    ("[b32]; [b64]; 4; b32",
     "cp.async.ca.shared.global"),
    ("[b32]; [b64]; 4; pred",
     "cp.async.ca.shared.global"),
    ("b64",
     "createpolicy.fractional.L2::evict_last.b64"),
    ("b64; 0f3F000000",
     "createpolicy.fractional.L2::evict_last.b64"),
    ("[gv]; 128",
     "discard.global.L2 applypriority.global.L2::evict_normal"),
    ("s32; u32; s32; s32",
     "vadd.s32.u32.s32.add vsub.s32.u32.s32.add vabsdiff.s32.u32.s32.add vmin.s32.u32.s32.add "
     "vmax.s32.u32.s32.add"),
    ("L",
     "bra bra.uni"),
    ("u64",
     "stacksave.u64"),
    ("fn",
     "call call.uni"),
    ("[sv]; [gv]; u32; [sv]",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"),
    ("[sv]; [sv]; 16; [sv]",
     "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"),
    ("[gv]; [sv]; 32",
     "cp.async.bulk.global.shared::cta.bulk_group"),
    ("b16; f32; f32",
     "cvt.rn.satfinite.e2m3x2.f32 cvt.rn.satfinite.relu.e3m2x2.f32 cvt.rz.satfinite.ue8m0x2.f32"),
    ("b8; f32; f32",
     "cvt.rn.satfinite.relu.e2m1x2.f32"),
    ("b32; b8",
     "cvt.rn.f16x2.e2m1x2"),
    ("b32; b16",
     "cvt.rn.relu.f16x2.e3m2x2 cvt.rn.bf16x2.ue8m0x2"),
    ("b16; b32",
     "cvt.rp.satfinite.ue8m0x2.bf16x2"),
    ("[sv]; [gv]; u32; [sv]; b16",
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"),
    ("[gv]; [sv]; 32; b16",
     "cp.async.bulk.global.shared::cta.bulk_group.cp_mask"),
    ("[gv]; u32",
     "cp.async.bulk.prefetch.L2.global"),
    ("[sv]; [sv]; 16; [sv]",
     "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u64 "
     "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.inc.u32 "
     "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.min.s32 "
     "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.or.b32"),
    ("[gv]; [sv]; 32",
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.f16 "
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u64 "
     "cp.reduce.async.bulk.global.shared::cta.bulk_group.xor.b64"),
    ("[sv]; u32; [sv]",
     "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 "
     "st.async.mbarrier::complete_tx::bytes.s32 "
     "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
     "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.min.u32 "
     "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.dec.u32"),
    ("[sv]; b32; [sv]",
     "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.and.b32"),
    ("[sv]; {b32,b32}; [sv]",
     "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32"),
    ("",
     "cp.async.bulk.commit_group"),
    ("0",
     "cp.async.bulk.wait_group cp.async.bulk.wait_group.read"),
    ("[sv]; u32",
     "mbarrier.init.shared.b64 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 "
     "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64"),
    ("[b64]; 7",
     "mbarrier.init.b64"),
    ("[sv]",
     "mbarrier.inval.shared.b64 cp.async.mbarrier.arrive.shared.b64 cp.async.mbarrier.arrive.noinc.shared::cta.b64"),
    ("b64; [sv]",
     "mbarrier.arrive.shared.b64 mbarrier.arrive_drop.release.cta.shared::cta.b64"),
    ("b64; [sv]; u32",
     "mbarrier.arrive.shared.b64 mbarrier.arrive.noComplete.shared.b64 mbarrier.arrive.expect_tx.shared.b64"),
    ("_; [sv]; 5",
     "mbarrier.arrive.release.cluster.shared::cluster.b64 "
     "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64"),
    ("pred; [sv]; b64",
     "mbarrier.test_wait.shared.b64 mbarrier.try_wait.acquire.cta.shared.b64"),
    ("pred; [sv]; u32",
     "mbarrier.test_wait.parity.shared.b64 mbarrier.try_wait.parity.shared.b64"),
    ("pred; [sv]; u32; 100",
     "mbarrier.try_wait.parity.shared.b64"),
    ("b32; b64",
     "mbarrier.pending_count.b64"),
    ("{b32}; [b64]",
     "ldmatrix.sync.aligned.m8n8.x1.b16 wmma.load.a.sync.aligned.row.m8n8k32.s4 "
     "wmma.load.b.sync.aligned.col.m8n8k128.b1"),
    ("{b32,b32}; [sv]",
     "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 "
     "ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.b6x16_p32"),
    ("{b32,b32,b32,b32}; [sv]",
     "ldmatrix.sync.aligned.m8n8.x4.shared::cta.b16 ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.b4x16_p64 "
     "ldmatrix.sync.aligned.m16n16.x2.trans.shared.b8x16.b4x16_p64 wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16"),
    ("[sv]; {b32}",
     "stmatrix.sync.aligned.m8n8.x1.shared.b16 stmatrix.sync.aligned.m16n8.x1.trans.shared.b8"),
    ("[b64]; {b32,b32,b32,b32}",
     "stmatrix.sync.aligned.m8n8.x4.trans.b16 wmma.store.d.sync.aligned.row.m16n16k16.f16"),
    ("b32; b32",
     "movmatrix.sync.aligned.m8n8.trans.b16"),
    ("{b32,b32}; {b32,b32,b32,b32}; {b32,b32}; {b32,b32}",
     "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16"),
    ("{f32,f32,f32,f32}; {b32,b32,b32,b32}; {b32,b32}; {f32,f32,f32,f32}",
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("{f32,f32,f32,f32,f32,f32,f32,f32}; {b32,b32}; {b32,b32}; {f32,f32,f32,f32,f32,f32,f32,f32}",
     "mma.sync.aligned.m8n8k4.col.row.f32.f16.f16.f32"),
    ("{f32,f32,f32,f32}; {b32,b32}; {b32,b32}; {f32,f32,f32,f32}; b32; 1",
     "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
     "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
    ("{b32,b32}; {b32,b32,b32,b32}; {b32,b32,b32,b32}; {b32,b32}; b32; 0",
     "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f16.f16.f16.f16"),
    ("{s32,s32,s32,s32}; {b32,b32,b32,b32}; {b32,b32,b32,b32}; {s32,s32,s32,s32}; b32; 0",
     "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.satfinite.s32.u8.s8.s32 "
     "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.s32.s4.u4.s32"),
    ("{f32,f32,f32,f32}; {b32,b32,b32,b32}; {b32,b32,b32,b32}; {f32,f32,f32,f32}; b32; 0; b32; {0,1}; b32; {u16,u16}",
     "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e2m3.f32.ue8m0 "
     "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 "
     "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"),
    ("{f64,f64}; {f64}; {f64}; {f64,f64}",
     "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 wmma.mma.sync.aligned.row.row.m8n8k4.rz.f64.f64.f64.f64"),
    ("{s32,s32,s32,s32}; {b32,b32,b32,b32}; {b32,b32}; {s32,s32,s32,s32}",
     "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32 mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 "
     "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc"),
    ("{s32,s32}; {b32}; {b32}; {s32,s32}",
     "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc "
     "wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 "
     "wmma.mma.sync.aligned.row.col.m8n8k32.s32.u4.u4.s32.satfinite"),
    ("{f32,f32,f32,f32,f32,f32,f32,f32}; [gv]; u32",
     "wmma.load.c.sync.aligned.col.m8n32k16.global.f32"),
    ("[gv]; {s32,s32,s32,s32,s32,s32,s32,s32}; 16",
     "wmma.store.d.sync.aligned.row.m16n16k16.global.s32"),
    ("{f32,f32,f32,f32,f32,f32,f32,f32}; {b32,b32,b32,b32,b32,b32,b32,b32}; "
     "{b32,b32,b32,b32,b32,b32,b32,b32}; {b32,b32,b32,b32}",
     "wmma.mma.sync.aligned.row.col.m32n8k16.f32.f16"),
    # ---- wgmma: instructions of four warps
    ("", "wgmma.fence.sync.aligned wgmma.commit_group.sync.aligned"),
    ("1", "wgmma.wait_group.sync.aligned"),
    ("{f32,f32,f32,f32}; b64; b64; pred; 1; -1; 0; 1",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"),
    ("{f32,f32,f32,f32}; {b32,b32,b32,b32}; b64; pred; 1; 1; 0",
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"),
    ("{b32,b32,b32,b32}; b64; b64; pred; 1; 1; 1; 0", "wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16"),
    ("{f32,f32,f32,f32}; b64; b64; pred; 1; 1",
     "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2"),
    ("{b32,b32}; {b32,b32,b32,b32}; b64; pred; -1; 1", "wgmma.mma_async.sync.aligned.m64n8k32.f16.e5m2.e5m2"),
    ("{s32,s32,s32,s32}; b64; b64; pred",
     "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.u8 wgmma.mma_async.sync.aligned.m64n8k32.satfinite.s32.s8.s8 "
     "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.u8.satfinite wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc"),
    ("{s32,s32,s32,s32}; {b32,b32,b32,b32}; b64; pred", "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8"),
    ("{f32,f32,f32,f32}; b64; b64; b32; 0; pred; 1; 1; 0; 0",
     "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16"),
    # ---- textures and surfaces
    ("{f32,f32,f32,f32}; [%b64a,{f32}]", "tex.1d.v4.f32.f32"),
    ("{u32,u32,u32,u32}; [%u64a,{s32}]", "tex.1d.v4.u32.s32"),
    ("{f32,f32,f32,f32}|%preda; [%b64a,{f32,f32}]", "tex.2d.v4.f32.f32 tex.base.2d.v4.f32.f32"),
    ("{s32,s32,_,s32}; [texv,{f32,f32}]", "tex.2d.v4.s32.f32 tld4.b.2d.v4.s32.f32"),
    ("{f32,f32,f32,f32}; [%b64a,{s32,s32}]", "tex.2d.v4.f32.s32"),
    ("{f32,f32,f32,f32}; [%b64a,{f32,f32,f32,f32}]",
     "tex.3d.v4.f32.f32 tex.cube.v4.f32.f32 tld4.r.cube.v4.f32.f32"),
    ("{f32,f32,f32,f32}; [%b64a,{u32,f32}]", "tex.a1d.v4.f32.f32"),
    ("{f32,f32,f32,f32}; [%b64a,{b32,f32,f32,f32}]",
     "tex.a2d.v4.f32.f32 tex.acube.v4.f32.f32 tld4.a.a2d.v4.f32.f32 tld4.g.acube.v4.f32.f32"),
    ("{f16,f16,f16,f16}; [%b64a,{f32,f32}]", "tex.2d.v4.f16.f32"),
    ("{b32,b32}; [%b64a,{f32,f32}]", "tex.2d.v2.f16x2.f32"),
    ("{f32,f32,f32,f32}; [%b64a,{f32,f32}]; f32", "tex.level.2d.v4.f32.f32"),
    ("{f32,f32,f32,f32}; [%b64a,{s32,s32}]; s32", "tex.level.2d.v4.f32.s32"),
    ("{f32,f32,f32,f32}; [%b64a,{f32,f32}]; {f32,f32}; {f32,f32}", "tex.grad.2d.v4.f32.f32"),
    ("{f32,f32,f32,f32}; [%b64a,{f32,f32,f32,f32}]; {f32,f32,f32,f32}; {f32,f32,f32,f32}",
     "tex.grad.3d.v4.f32.f32"),
    ("{f32,f32,f32,f32}; [%b64a,{f32,f32}]; {s32,s32}", "tex.2d.v4.f32.f32 tld4.r.2d.v4.f32.f32"),
    ("{f32,f32,f32,f32}; [%b64a,{f32,f32}]; f32; {5,-3}; f32", "tex.level.2d.v4.f32.f32"),
    ("b32; [%b64a]",
     "txq.width.b32 txq.channel_order.b32 txq.addr_mode_2.b32 suq.height.b32 suq.memory_layout.b32"),
    ("b32; [texv]", "txq.normalized_coords.b32"),
    ("b32; [surfv]", "suq.array_size.b32"),
    ("b32; [%b64a]; b32", "txq.level.depth.b32"),
    ("pred; b64", "istypep.texref istypep.surfref istypep.samplerref"),
    ("{b32}; [%b64a,{s32}]", "suld.b.1d.b32.trap suld.b.1d.cg.b32.zero"),
    ("b16; [surfv,{s32,s32}]", "suld.b.2d.b8.trap suld.b.2d.b16.clamp suld.b.a1d.b16.trap"),
    ("{b64,b64}; [%b64a,{s32,s32,s32,s32}]", "suld.b.3d.v2.b64.clamp suld.b.a2d.v2.b64.trap"),
    ("{b32,b32,b32,b32}; [%b64a,{s32,s32}]", "suld.b.2d.v4.b32.trap"),
    ("[%b64a,{s32}]; {b32}", "sust.b.1d.b32.trap sust.p.1d.b32.zero"),
    ("[surfv,{s32,s32}]; {b16,b16}", "sust.b.2d.v2.b16.clamp"),
    ("[%b64a,{s32,s32,s32,s32}]; {b32,b32,b32,b32}", "sust.b.3d.wt.v4.b32.zero sust.p.3d.v4.b32.trap"),
    ("[%b64a,{s32}]; b64", "sust.b.1d.b64.trap sured.b.add.1d.u64.trap sured.p.max.1d.b64.zero"),
    ("[%b64a,{s32,s32}]; b32",
     "sured.b.add.2d.u32.trap sured.b.min.2d.s32.clamp sured.b.and.2d.b32.zero sured.p.add.2d.b32.trap"),
    ("b128; {b32,b32,b32,b32}",
     "mov.b128"),
    ("b128; [sv]",
     "ld.shared.b128 ld.volatile.shared.b128"),
    ("b128; [lv]",
     "ld.local.b128"),
    ("b128; [pv]",
     "ld.param.b128"),
    ("b128; [cv]",
     "ld.const.b128"),
    ("b128; [gv]",
     "ld.relaxed.sys.global.b128 ld.acquire.gpu.global.b128 ldu.global.b128 ld.global.nc.b128"),
    ("[gv]; b128",
     "st.release.gpu.global.b128 st.relaxed.sys.global.b128"),
    ("b128; [sv]; b128",
     "atom.shared.exch.b128 atom.acq_rel.cluster.shared::cluster.exch.b128"),
    ("b128; [b64]; b128; b128",
     "atom.cas.b128 atom.acquire.gpu.cas.b128"),
    ("[gv]; b64",
     "tensormap.replace.tile.global_address.global.b1024.b64"),
    ("[sv]; b32",
     "tensormap.replace.tile.rank.shared::cta.b1024.b32"),
    ("[b64]; 1; b32",
     "tensormap.replace.tile.box_dim.b1024.b32 tensormap.replace.tile.global_dim.b1024.b32 "
     "tensormap.replace.tile.element_stride.b1024.b32"),
    ("[gv]; 0; b64",
     "tensormap.replace.tile.global_stride.global.b1024.b64"),
    ("[gv]; 0",
     "tensormap.replace.tile.elemtype.global.b1024.b32 tensormap.replace.tile.swizzle_mode.global.b1024.b32 "
     "tensormap.replace.tile.interleave_layout.global.b1024.b32 tensormap.replace.tile.fill_mode.global.b1024.b32 "
     "tensormap.replace.tile.swizzle_atomicity.global.b1024.b32"),
    ("[gv]; [sv]; 128",
     "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"),
    ("[gv]; 128",
     "fence.proxy.tensormap::generic.acquire.gpu"),
    ("[sv]; [b64,{b32,b32,b32,b32}]; [sv]; {b16,b16}",
     "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"),
    ("[sv]; [b64,{b32,b32,b32,b32,b32}]; [sv]",
     "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes"),
    ("[b64,{b32,b32,b32,b32,b32}]; [sv]",
     "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group "
     "cp.async.bulk.tensor.5d.global.shared::cta.im2col_no_offs.bulk_group"),
    ("[sv]; [sv]",
     "clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128"),
    ("pred; b128",
     "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128"),
    ("{b32,b32,b32,_}; b128",
     "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128"),
    ("b32; b128",
     "clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128"),
]
for operand_list, opcodes in FORMS:
    for opcode in opcodes.split():
        t(opcode, *(operand_list.split("; ") if operand_list else []))

# Other statements; braces separate the scopes of their names.
STATEMENTS = """
ld.global.f16 %f16a,[gv];
ld.global.pred %preda,[gv];
mov.b64 %b64a,{%b32a,0};
mov.b64 %b64a,{%f32a,%u32a};
mov.b64 {%f32a,_},%b64a;
mov.b64 {%u16a,%u16b},%b64a;
mov.b64 {%b32a,%b32b,%b32c},%b64a;
mov.u64 {%b32a,%b32b},%b64a;
mov.f64 {%b32a,%b32b},%f64a;
mov.b64 {%b32a,%b32b},5;
mov.b32 %b32a,{%f16a,%f16b};
mov.b32 %b32a,{%preda,%predb};
mov.b32 {%b32a},%b32b;
mov.f32 %f32a,%tid.x;
mov.b32 %b32a,%tid.x;
mov.f64 %f64a,%clock64;
mov.pred %preda,%is_explicit_cluster;
mov.u32 %u32a,%is_explicit_cluster;
setp.eq.f16x2 %preda|%predb,%f16x2a,%f16x2b;
setp.eq.f16x2 %preda,%f16x2a,%f16x2b;
setp.eq.u32 %preda|_,%u32a,%u32b;
setp.eq.u32 _|%preda,%u32a,%u32b;
setp.eq.u32 %preda,%u32a,%u32b,%predb;
setp.eq.and.u32 %preda,%u32a,%u32b;
setp.eq.and.u32 %preda,%u32a,%u32b,!%predb;
vote.sync.all.pred %preda,!%predb,-1;
vote.all.pred %preda,%predb;
shfl.up.b32 %b32a,%b32b,%b32c,%b32d;
shfl.sync.up.b32 %b32a,%b32b,%b32c,%b32d;
and.pred %preda,%predb,!%predc;
selp.u32 %u32a,%u32b,%u32c,!%preda;
add.u32 %u32a,!%u32b,%u32c;
add.u32 !%u32a,%u32b,%u32c;
@!%tid.x ret;
call (%u32a), fr, (%u32b);
call (%u32a), fr, (5);
call (%f32a), fr, (%u32b);
call (%u64a), fr, (%u32b);
call (%u32a), fr, (%u64b);
call (%u32a), fr;
call fr, (%u32b);
call (%u32a), fr, (%u32b, %u32c);
{ .param .b32 q; .param .b32 w; st.param.b32 [q],%b32a; call (w), fr, (q); ld.param.b32 %b32a,[w]; }
{ .param .b64 q; .param .b32 w; st.param.b64 [q],%b64a; call (w), fr, (q); ld.param.b32 %b32a,[w]; }
{ .param .f32 q; .param .b32 w; st.param.f32 [q],%f32a; call (w), fr, (q); ld.param.b32 %b32a,[w]; }
{ .param .b32 q; .param .f32 w; st.param.b32 [q],%b32a; call (w), fr, (q); ld.param.f32 %f32a,[w]; }
{ .param .u32 q; .param .b32 w; st.param.b32 [q],%b32a; call (w), fr, (q); ld.param.b32 %b32a,[w]; }
{ .param .b8 q[4]; .param .b32 w; st.param.b32 [q],%b32a; call (w), fr, (q); ld.param.b32 %b32a,[w]; }
{ .reg .u32 x; .reg .u32 x; }
{ .reg .u32 x<4>; .reg .u32 x2; }
{ .reg .u32 x2; .reg .u32 x<4>; }
{ .reg .u32 x<4>; .reg .u32 x<2>; }
{ .reg .u32 x<4>; .reg .u32 x4; }
{ .reg .u32 x; { .reg .f32 x; add.f32 x,x,x; } add.u32 x,x,x; }
{ .reg .u32 L; }
{ L: }
{ L2: L2: }
{ L3: bra L3; } { L3: bra L3; }
{ .local .u32 z; .reg .u32 z; }
{ .reg .u32 gv; }
{ .reg .u32 fn; }
{ .reg .v4 .u32 vv; mov.v4.u32 vv,%tid; add.u32 %u32a,vv.x,vv.y; ld.global.v4.u32 vv,[gv]; }
{ .reg .v4 .u32 vv; add.u32 %u32a,vv.q,vv.y; }
{ .reg .pred x<2>; .local .pred y; }
{ .reg .foo x; }
{ .reg .u32 x }
{ bra L9; { L9: } }
{ pp: .callprototype (.param .b32 _) _ (.param .b32 _); call (%u32a), %u64a, (%u32b), pp; }
{ pp: .callprototype (.param .b32 _) _ (.param .b32 _); call (%u32a), %u32a, (%u32b), pp; }
{ pp: .callprototype (.param .b32 _) _ (.param .b32 _); call (%u32a), %u64a, (%u64b), pp; }
{ tt: .branchtargets L, M9; brx.idx %u32a, tt; M9: }
{ tt: .branchtargets L, M9; brx.idx %u64a, tt; M9: }
{ tt: .branchtargets L, M8; brx.idx %u32a, tt; M9: }
cnot.b32 %b32a,%b32b;
vadd.u32.u32.u32 %u32a,%u32b.b0,%u32c.h1;
vadd.u32.u32.u32 %u32a.h1,%u32b.b0,%u32c.h1,%u32d;
ld.global.v2.u32 %u64a,[gv];
ld.global.u32 {%u32a,%u32b},[gv];
mov.u64 %u64a,L;
mov.u64 %u64a,k;
mov.u32 %u32a,fn;
atom.add.u32 %u32a,[gv],%u32b;
atom.add.u32 %u32a,[sv],%u32b;
atom.add.u32 %u32a,[lv],%u32b;
atom.global.add.u32 %u32a,[sv],%u32b;
atom.const.add.u32 %u32a,[cv],%u32b;
red.global.add.u32 [gv],5;
ld.param.u32 %u32a,[gv];
prefetch.global.L1 [sv];
isspacep.global %preda,%u32a;
lop3.b32 %b32a,%b32b,%b32c,%b32d,256;
shf.l.b32 %b32a,%b32b,%b32c,%b32d;
cvt.u32.u32.u32 %u32a,%u32b;
cvt.u32 %u32a,%u32b;
cvt.rn.sat.f32.u32 %f32a,%u32b;
cvt.ftz.f64.f32 %f64a,%f32b;
cvt.sat.f64.f32 %f64a,%f32b;
cvt.sat.u32.u64 %u32a,%u64b;
cvt.ftz.u32.u64 %u32a,%u64b;
cvt.rzi.sat.ftz.u32.f32 %u32a,%f32b;
cvt.rzi.ftz.u32.f64 %u32a,%f64b;
bar.sync 16;
bar.sync -1;
ld.u32 %u32a,[5];
ld.u32 %u32a,[%b64a+gv];
ld.u32 %u32a,[%u32a];
ld.shared.u32 %u32a,[%f32a];
ld.shared.u32 %u32a,[%f64a];
ld.shared.u32 %u32a,[%u16a];
ld.shared.u32 %u32a,[%preda];
.pragma "nounroll";
.loc 1 2 3
.foo 3;
;
:
add.u32.sat %s32a,%s32b,%s32c;
add.s32.sat %s32a,%s32b,%s32c;
add.f32.rn %f32a,%f32b,%f32c;
add.ftz.rn.f32 %f32a,%f32b,%f32c;
add.sat.ftz.f32 %f32a,%f32b,%f32c;
ld.u32.global %u32a,[gv];
ld.v2.global.u32 {%u32a,%u32b},[gv];
ld.global.u32.v2 {%u32a,%u32b},[gv];
setp.u32.eq %preda,%u32a,%u32b;
setp.and.eq.u32 %preda,%u32a,%u32b,%predb;
atom.add.u32.global %u32a,[gv],%u32b;
atom.add.gpu.relaxed.global.u32 %u32a,[gv],%u32b;
mul.u32.lo %u32a,%u32b,%u32c;
mul.lo.lo.u32 %u32a,%u32b,%u32c;
mul.lo.hi.u32 %u32a,%u32b,%u32c;
add.rn.rz.f32 %f32a,%f32b,%f32c;
add.u32.u32 %u32a,%u32b,%u32c;
add.u32.s32 %u32a,%u32b,%u32c;
cvt.rn.ftz.f32.f32 %f32a,%f32b;
cvt.f32.rn.u32 %f32a,%u32b;
shfl.b32.sync.up %b32a,%b32b,%b32c,%b32d,%b32e;
bar.sync.u32 0;
bra.foo L;
ret.rn;
mov.u32.rn %u32a,%u32b;
mov.u32 %u32a,%u32b,%u32c;
mov %u32a,%u32b;
ld.global %u32a,[gv];
ld.global.shared.u32 %u32a,[gv];
ld.global.ca.cg.u32 %u32a,[gv];
ld.weak.volatile.u32 %u32a,[gv];
exit.uni;
trap.uni;
atom.global.u32.add %u32a,[gv],%u32b;
add.u32 %u32a,%u32b,c4;
add.u32 %u32a,%u32b,WARP_SZ;
add.u32 %u32a,%u32b,0xffffffffff;
add.u16 %u16a,%u16b,0x1ffff;
add.s64 %u64a,gv,4;
add.s64 %u64a,%u64b,gv;
mov.u64 %u64a,gv+4;
mov.u64 %u64a,[gv];
ld.global.u32 %u32a,gv;
ld.global.u32 %u32a,[gv+%b64a];
ld.global.u32 %u32a,[%b64a+%b64b];
ld.global.u32 %u32a,[%b64a+-4];
ld.global.u32 %u32a,[%b64a-4];
ld.global.u32 %u32a,[nope];
ld.global.u32 %u32a,[sv];
ld.shared.u32 %u32a,[gv];
ld.u32 %u32a,[gv];
ld.u32 %u32a,[sv];
ld.u32 %u32a,[pv];
ld.u32 %u32a,[lv];
ld.const.u32 %u32a,[gv];
ld.param.u32 %u32a,[lv];
ld.param.u32 %u32a,[pv+60];
ld.param.u32 %u32a,[pv+64];
ld.param.u32 %u32a,[%b64a];
ld.global.u32 %u32a,[gv+64];
st.const.u32 [cv],%u32a;
st.param.u32 [pv],%u32a;
st.global.u32 [gv],_;
ld.global.u32 _,[gv];
ld.global.v2.u32 {_,%u32a},[gv];
st.global.v2.u32 [gv],{%u32a,5};
st.global.v2.u32 [gv],{_,5};
ld.global.v2.u32 {%u32a,%u32b,%u32c},[gv];
ld.global.v2.u32 {%u32a},[gv];
ld.global.v3.u32 {%u32a,%u32b,%u32c},[gv];
ld.global.v4.u64 {%u64a,%u64b,%u64c,%u64d},[gv];
ld.global.u32 %u32a,[gv],%u32b;
@%b32a add.u32 %u32a,%u32b,%u32c;
@!%preda add.u32 %u32a,%u32b,%u32c;
@%nope add.u32 %u32a,%u32b,%u32c;
@%preda bra L;
bra fn;
bra nolabel;
bra %b32a;
call nofn;
call (%u32a), fn, (%u32b);
call fn, (%u32b);
call %b64a;
add.u32 %u32a,%u32b,-%u32c;
neg.s32 %s32a,-5;
add.u32 %tid.x,%u32b,5;
mov.u32 %u32a,%foo.x;
mov.u32 %u32a,%tid;
mov.u32 %u32a,%tid.w;
mov.u32 %u32a,%pm0;
mov.u32 %u32a,%envreg7;
mov.u32 %u32a,%clock64;
mov.u64 %u64a,%clock;
mov.u16 %u16a,%tid.x;
mov.u32 %u32a,%laneid;
mov.v4.u32 {%u32a,%u32b,%u32c,%u32d},%tid;
cvt.u32.u32 %u32a,%tid.x;
st.global.u32 [gv],%tid.x;
mov.b32 %f32a,%b32a;
mov.f32 %f32a,%b32a;
mov.u32 %u32a,%f32a;
mov.u32 %u32a,0f3F800000;
mov.f32 %f32a,5;
mov.b32 %b32a,0f3F800000;
mov.b32 %b32a,1.5;
mov.b64 %b64a,1.5;
mov.b64 %b64a,0f3F800000;
mov.f64 %f64a,0f3F800000;
mov.f32 %f32a,1.5;
mov.pred %preda,1;
mov.pred %preda,%predb;
mov.u32 %preda,3;
setp.eq.u32 %preda,%u32a,1.0;
setp.eq.f32 %preda,%f32a,1;
selp.f32 %f32a,%f32b,1,%preda;
nonsense.u32 %u32a;
cvta.shared.u64 %u64a, gv;
cvta.local.u64 %u64a, lv;
elect.sync %b32a, %b32b;
lop3.or.b32 %b32a, %b32b, %b32c, %b32d, 0x80, %preda;
{ .local .u32 z; .local .u32 z; }
mma.sync.aligned.m16n8k8.col.col.f32.f16.f16.f32 {%f32a,%f32b,%f32c,%f32d},{%b32a,%b32b},{%b32c},{%f32e,%f32f,%f32g,%f32h};
mma.sync.aligned.m16n8k8.row.row.f32.tf32.tf32.f32 {%f32a,%f32b,%f32c,%f32d},{%b32a,%b32b,%b32c,%b32d},{%b32c,%b32d},{%f32e,%f32f,%f32g,%f32h};
mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f32 {%b32a,%b32b},{%b32a,%b32b},{%b32c},{%f32e,%f32f,%f32g,%f32h};
mma.sync.aligned.m16n8k8.row.col.f32.f16.bf16.f32 {%f32a,%f32b,%f32c,%f32d},{%b32a,%b32b},{%b32c},{%f32e,%f32f,%f32g,%f32h};
mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32 {%s32a,%s32b},{%b32a},{%b32c},{%s32e,%s32f};
mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32.xor.popc {%s32a,%s32b},{%b32a},{%b32c},{%s32e,%s32f};
wmma.mma.sync.aligned.row.row.m16n16k16.s32.s8.u8.s32 {%b32a,%b32b,%b32c,%b32d,%b32e,%b32f,%b32g,%b32h},{%b32a,%b32b},{%b32c,%b32d},{%b32a,%b32b,%b32c,%b32d,%b32e,%b32f,%b32g,%b32h};
wmma.mma.sync.aligned.col.col.m8n8k32.s32.s4.s4.s32 {%b32a,%b32b},{%b32c},{%b32d},{%b32e,%b32f};
wmma.load.a.sync.aligned.col.m8n8k32.s4 {%b32a}, [%b64a];
wmma.load.b.sync.aligned.row.m8n8k128.b1 {%b32a}, [%b64a];
wmma.load.a.sync.aligned.row.m16n16k16.f16 {%b32a,%b32b,%b32c,%b32d}, [%b64a];
wmma.load.a.sync.aligned.row.m16n16k16.local.f16 {%b32a,%b32b,%b32c,%b32d,%b32e,%b32f,%b32g,%b32h}, [lv];
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%b32a}, [sv];
ldmatrix.sync.aligned.m8n8.x2.global.b16 {%b32a,%b32b}, [gv];
ldmatrix.sync.m8n8.x1.shared.b16 {%b32a}, [sv];
stmatrix.sync.aligned.m8n8.x1.shared.b16 [sv], {5};
movmatrix.sync.aligned.m8n8.b16 %b32a, %b32b;
tex.1d.v4.f32.f32 {%f32a,%f32b,%f32c,%f32d}, [%b64a+8,{%f32e}];
tex.1d.v4.f32.f32 {%f32a,%f32b,%f32c,%f32d}, [surfv,{%f32e}];
tex.1d.v4.f32.f32 {%f32a,%f32b,%f32c,%f32d}, [gv,{%f32e}];
tex.1d.v4.f32.f32 {%f32a,%f32b,%f32c,%f32d}, [%b64a];
tex.2d.v4.f32.f32 {%f32a,%f32b,%f32c,%f32d}, [%b64a,{%f32e}];
txq.width.b32 %b32a, [%b64a,{%f32e}];
suld.b.1d.b32.trap %b32a, [texv,{%s32a}];
ld.global.u32 %u32a, [%b64a,{%u32b}];
""".strip().splitlines()
