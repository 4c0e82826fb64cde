# SPDX-License-Identifier: Apache-2.0
"""Selects the forms: those of test/verify/instructions.py that only read and write registers, with all roundings,
types and modifiers of each instruction. pack.py leaves out the forms that ptxas rejects for the target."""
import os
import re
import sys

from form import expanded, instruction, program

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from instructions import FORMS  # noqa: E402

RND = "[.rn,.rz,.rm,.rp]"
INT = ("u16", "s16", "u32", "s32", "u64", "s64")
COMPARED = {"u": "[eq,ne,lt,le,gt,ge,lo,ls,hi,hs]", "s": "[eq,ne,lt,le,gt,ge]", "b": "[eq,ne]",
            "f": "[eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan]"}

# First words of instructions that do more than compute registers from registers, or are covered by other tables.
LEFT = ("bar barrier bra call exit trap brkpt nanosleep cvta isspacep mapa getctarank alloca stacksave stackrestore "
        "setmaxnreg pmevent istypep createpolicy clusterlaunchcontrol wgmma mbarrier griddepcontrol ret membar fence "
        "activemask elect shfl vote match redux mma wmma ldmatrix stmatrix movmatrix addc subc madc ld st ldu atom red cp "
        "tex tld4 txq suq suld sust sured prefetch prefetchu discard applypriority tensormap tcgen05").split()
# Operands that are counts or selectors, and the kind of values that replaces arbitrary numbers.
COUNTED = [(r"sh[lr]\.", 1, "n"), (r"v?sh[lr]\.", 1, "n"), (r"shf\.", 2, "n"), (r"bfe\.", 1, "n"), (r"bfe\.", 2, "n"),
           (r"bfi\.", 2, "n"), (r"bfi\.", 3, "n"), (r"bmsk\.", 0, "n"), (r"bmsk\.", 1, "n"), (r"szext\.", 1, "n"),
           (r"fns\.", 1, "base"), (r"fns\.", 2, "nth"), (r"prmt\.", 2, "i32")]


def with_counts(form):
    for pattern, place, kind in COUNTED:
        if re.match(pattern, form.name):
            form.ins[place] = (form.ins[place][0], kind)
    return form


def of_table():
    """The forms of instructions.py that use registers only."""
    found = []
    for operands, opcodes in FORMS:
        for opcode in opcodes.split():
            word = opcode.split(".")[0]
            outside = re.search(r"\[|%|\b(L|fn|fr|gv|sv|lv|pv)\b", operands) or not operands.strip()
            if word not in LEFT and not outside and ".cc" not in opcode:
                found.append(with_counts(instruction(opcode, operands)))
    return found


def some(pattern, operands, tuples=4096):
    return [with_counts(instruction(opcode, operands, tuples)) for opcode in expanded(pattern)]


def integers():
    found = []
    for t in INT:
        three = f"{t}; {t}; {t}"
        u = "u" + t[1:]
        found += some(f"[add,sub,mul.lo,mul.hi,div,rem,min,max].{t}", three)
        found += some(f"mad.[lo,hi].{t}", three + f"; {t}") + some(f"sad.{t}", f"{three}; {u}")
        found += some(f"[abs,neg].{t}", f"{t}; {t}") + some(f"shr.{t}", f"{t}; {t}; u32")
        if t[1:] != "64":
            w = f"{t[0]}{2 * int(t[1:])}"
            found += some(f"mul.wide.{t}", f"{w}; {t}; {t}") + some(f"mad.wide.{t}", f"{w}; {t}; {t}; {w}")
    for t in ("u16x2", "s16x2"):
        found += some(f"[add,min,max,min.relu,max.relu].{t}", f"{t}; {t}; {t}")
    found += some("[add,sub].sat.s32", "s32; s32; s32") + some("[min,max].relu.s32", "s32; s32; s32")
    for t in ("u32", "s32"):
        found += some(f"mul24.[lo,hi].{t}", f"{t}; {t}; {t}") + some(f"mad24.[lo,hi].{t}", f"{t}; {t}; {t}; {t}")
    return found + some("[mad24,mad].hi.sat.s32", "s32; s32; s32; s32")


def bits():
    found = []
    for b in ("b16", "b32", "b64", "pred"):
        found += some(f"[and,or,xor].{b}", f"{b}; {b}; {b}") + some(f"not.{b}", f"{b}; {b}")
    for b in ("b16", "b32", "b64"):
        found += some(f"cnot.{b}", f"{b}; {b}") + some(f"[shl,shr].{b}", f"{b}; {b}; u32")
    for b in ("32", "64"):
        found += some(f"[popc,clz].b{b}", f"u32; b{b}") + some(f"brev.b{b}", f"b{b}; b{b}")
        found += some(f"bfi.b{b}", f"b{b}; b{b}; b{b}; u32; u32")
        for t in ("u" + b, "s" + b):
            found += some(f"bfe.{t}", f"{t}; {t}; u32; u32") + some(f"bfind[,.shiftamt].{t}", f"u32; {t}")
    found += some("szext.[wrap,clamp].u32", "u32; u32; u32") + some("szext.[wrap,clamp].s32", "s32; s32; u32")
    found += some("bmsk.[wrap,clamp].b32", "b32; b32; b32") + some("shf.[l,r].[wrap,clamp].b32", "b32; b32; b32; u32")
    found += some("prmt.b32[,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16]", "b32; b32; b32; b32")
    found += some("prmt.b32", "b32; b32; b32; b32:sel")
    for imm in (0x00, 0x01, 0x1b, 0x3c, 0x80, 0x96, 0xca, 0xe8, 0xfe, 0xff, 0x57, 0xd8):
        found += some("lop3.b32", f"b32; b32; b32; b32; {imm:#x}")
    for imm in (0x80, 0x96):
        found += some("lop3.[and,or].b32", f"b32|pred; b32; b32; b32; {imm:#x}; pred")
    return found + dots()


def dots():
    found = []
    for a in "us":
        for b in "us":
            d = "u32" if a + b == "uu" else "s32"
            found += some(f"[dp4a,dp2a.lo,dp2a.hi].{a}32.{b}32", f"{d}; b32; b32; {d}")
    return found


def floats():
    f, d = "f32; f32; f32", "f64; f64; f64"
    found = some(f"[add,sub,mul]{RND}[,.ftz][,.sat].f32", f) + some("[add,sub,mul][,.ftz][,.sat].f32", f)
    found += some(f"fma{RND}[,.ftz][,.sat].f32", f + "; f32") + some(f"mad{RND}[,.ftz][,.sat].f32", f + "; f32")
    found += some(f"div[.approx,.full,.rn,.rz,.rm,.rp][,.ftz].f32", f)
    found += some(f"[rcp,sqrt][.approx,.rn,.rz,.rm,.rp][,.ftz].f32", "f32; f32")
    found += some("[rsqrt,sin,cos,lg2,ex2].approx[,.ftz].f32", "f32; f32") + some("tanh.approx.f32", "f32; f32")
    found += some("[abs,neg][,.ftz].f32", "f32; f32") + some("[min,max][,.ftz][,.NaN][,.xorsign.abs].f32", f)
    found += some(f"[add,sub,mul]{RND}.f64", d) + some(f"[fma,mad]{RND}.f64", d + "; f64") + some(f"div{RND}.f64", d)
    found += some(f"[rcp,sqrt]{RND}.f64", "f64; f64") + some("[rcp.approx.ftz,rsqrt.approx,rsqrt.approx.ftz].f64", "f64; f64")
    found += some("[min,max].f64", d) + some("[abs,neg].f64", "f64; f64")
    for t in ("f32", "f64"):
        found += some(f"testp.[finite,infinite,number,notanumber,normal,subnormal].{t}", f"pred; {t}")
        found += some(f"copysign.{t}", f"{t}; {t}; {t}")
    return found + halves()


def halves():
    found = []
    for t in ("f16", "f16x2", "bf16", "bf16x2"):
        three = f"{t}; {t}; {t}"
        found += some(f"[add,sub,mul][,.rn][,.ftz][,.sat].{t}", three) + some(f"[min,max][,.ftz][,.NaN][,.xorsign.abs].{t}", three)
        found += some(f"fma.rn[,.ftz][,.sat,.relu].{t}", three + f"; {t}") + some(f"fma.rn.oob[,.relu].{t}", three + f"; {t}")
        found += some(f"[abs,neg][,.ftz].{t}", f"{t}; {t}") + some(f"[tanh.approx,ex2.approx,ex2.approx.ftz].{t}", f"{t}; {t}")
    return found


def comparisons():
    found = []
    for t in INT + ("b16", "b32", "b64", "f32", "f64", "f16", "bf16"):
        c = COMPARED["f" if "f" in t else t[0]]
        ftz = "[,.ftz]" if t in ("f32", "f16") else ""
        found += some(f"setp.{c}{ftz}.{t}", f"pred|pred; {t}; {t}", 2048)
        found += some(f"setp.[lt,ne].[and,or,xor].{t}", f"pred|pred; {t}; {t}; pred", 2048)
        found += some(f"setp.eq.[and,or,xor].{t}", f"pred; {t}; {t}; !pred", 2048)
        for d in ("u32", "s32", "f32"):
            found += some(f"set.{c if d == 'u32' else '[eq,ge,ltu]'}{ftz}.{d}.{t}", f"{d}; {t}; {t}", 2048)
        found += some(f"set.[le,ne].[and,or,xor].u32.{t}", f"u32; {t}; {t}; pred", 2048)
    for t in ("f16x2", "bf16x2"):
        found += some(f"setp.{COMPARED['f']}.{t}", f"pred|pred; {t}; {t}", 2048)
        found += some(f"setp.lt.[and,or,xor].{t}", f"pred|pred; {t}; {t}; pred", 2048)
        found += some(f"set.{COMPARED['f']}.{t}.{t}", f"{t}; {t}; {t}", 2048)
        found += some(f"set.[eq,ltu,nan].[u32,s32].{t}", f"u32; {t}; {t}", 2048)
    for t in ("f16", "bf16"):
        for d in ("u16", "s16", "f16", "bf16"):
            found += some(f"set.{COMPARED['f']}.{d}.{t}", f"{d}; {t}; {t}", 2048)
    return found + choices()


def choices():
    found = []
    for t in INT + ("b16", "b32", "b64", "f32", "f64"):
        found += some(f"selp.{t}", f"{t}; {t}; {t}; pred", 2048) + some(f"slct.{t}.s32", f"{t}; {t}; {t}; s32", 2048)
        found += some(f"slct[,.ftz].{t}.f32", f"{t}; {t}; {t}; f32", 2048)
    return found


# ---- conversions

WIDE = {"u8": "u32", "s8": "s32"}  # registers for types that have no register as narrow


def conversions():
    found, whole = [], ("u8", "s8") + INT
    for a in whole:
        for b in whole:
            found += some(f"cvt[,.sat].{a}.{b}", f"{WIDE.get(a, a)}; {WIDE.get(b, b)}")
        for t in ("f16", "bf16", "f32", "f64"):
            found += some(f"cvt{RND}[,.sat].{t}.{a}", f"{t}; {WIDE.get(a, a)}")
            found += some(f"cvt[.rni,.rzi,.rmi,.rpi]{'[,.ftz]' if t == 'f32' else ''}[,.sat].{a}.{t}", f"{WIDE.get(a, a)}; {t}")
    for a in ("f16", "bf16", "f32", "f64"):
        for b in ("f16", "bf16", "f32", "f64"):
            found += some(f"cvt[,.rn,.rz,.rm,.rp,.rni,.rzi,.rmi,.rpi][,.ftz][,.sat].{a}.{b}", f"{a}; {b}")
    for a in ("u32", "s64"):  # into wider registers
        found += some(f"cvt[,.sat].{'u8' if a == 'u32' else 's16'}.u32", f"{a}; u32")
    return found + packed()


def packed():
    found = []
    for a in ("f16x2", "bf16x2"):
        found += some(f"cvt.[rn,rz][,.relu][,.satfinite].{a}.f32", f"{a}; f32; f32")
    for a in ("f16", "bf16"):
        found += some(f"cvt.[rn,rz][,.relu][,.satfinite].{a}.f32", f"{a}; f32")
    found += some("cvt.[rna,rn,rz][,.relu][,.satfinite].tf32.f32", "b32; f32")
    for e in ("e4m3x2", "e5m2x2"):
        found += some(f"cvt.rn.satfinite[,.relu].{e}.f32", "b16; f32; f32")
        found += some(f"cvt.rn.satfinite[,.relu].{e}.f16x2", "b16; f16x2") + some(f"cvt.rn[,.relu].f16x2.{e}", "b32; b16:fp8")
    found += some("cvt.pack.sat.[u16,s16].[u32,s32]", "u32; s32; s32")
    return found + some("cvt.pack.sat.[u2,s2,u4,s4,u8,s8].[u32,s32].b32", "u32; s32; s32; b32")


# ---- video instructions

def video():
    found, t2 = [], ("u32", "s32")
    for d in t2:
        for a in t2:
            for b in t2:
                for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
                    found += some(f"{op}.{d}.{a}.{b}[,.sat]", f"{d}; {a}; {b}", 1024)
                    found += some(f"{op}.{d}.{a}.{b}[,.sat].[add,min,max]", f"{d}; {a}; {b}; {d}", 1024)
                for n in (2, 4):
                    for op in ("vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"):
                        found += some(f"{op}{n}.{d}.{a}.{b}[,.sat,.add]", f"{d}; {a}; {b}; {d}", 1024)
            for op in ("vshl", "vshr"):
                found += some(f"{op}.{d}.{a}.u32[,.sat].[clamp,wrap]", f"{d}; {a}; u32", 1024)
    for a in t2:
        for b in t2:
            found += some(f"vset.{a}.{b}.[eq,ne,lt,le,gt,ge]", f"u32; {a}; {b}", 1024)
            found += some(f"vset[2,4].{a}.{b}.[eq,ne,lt,le,gt,ge]", f"u32; {a}; {b}; u32", 1024)
            found += some(f"vset[2,4].{a}.{b}.[lt,ge].add", f"u32; {a}; {b}; u32", 1024)
    return found


# ---- operations on the carry

SETTERS = {"add": "add.cc.u32 %t6,$i{n},0xffffffff;", "sub": "sub.cc.u32 %t6,0,$i{n};"}


def carried(op, t, count, how):
    """The operation, after one that sets the carry (from 0 or 1) and before one that reads it."""
    setter, reader = how
    ins = "; ".join([t] * count) + "; u32:bit"
    lines, outs = [], t
    if setter:
        lines.append(SETTERS[setter].format(n=count))
    lines.append(f"{op}.{t} $o0,{','.join(f'$i{n}' for n in range(count))};")
    if ".cc" in op:
        lines.append(f"{reader}.u32 $o1,0,0;")
        outs += "; u32"
    return program(f"{setter}.cc; {op}.{t} {ins}; {reader}", "\n".join(lines), outs, ins)


def carries():
    found = []
    for t in ("u32", "s32", "u64", "s64"):
        for count, ops in ((2, "add.cc addc.cc sub.cc subc.cc addc subc"),
                           (3, "mad.lo.cc mad.hi.cc madc.lo.cc madc.hi.cc madc.lo madc.hi")):
            for op in ops.split():
                reads = op.split(".")[0].endswith("c")
                for setter in ("add", "sub") if reads else ("",):
                    for reader in ("addc", "subc") if ".cc" in op else ("",):
                        found.append(carried(op, t, count, (setter, reader)))
    return found
