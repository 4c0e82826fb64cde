# SPDX-License-Identifier: Apache-2.0
"""A form: an instruction with registers, as the text of a kernel in which each thread runs it once.

Operands are written as in test/verify/instructions.py, "f32; f32; b32:n": results first, then inputs. After a
colon stands the kind of the values (values.py), if it is not the type's default. In a body of several
instructions:

    $i0, $o0    the first input, the first result
    $M, $L      32 bytes of the thread in global memory, and in local memory
    $S, $X      32 bytes of the thread in shared memory, and their generic address
    $A0         the address of the first input in global memory
    $B          1 KiB of shared memory of the warp
"""
import itertools
import re

from values import SIZE

KIND = {"pred": "p", "b8": "i8", "u8": "i8", "s8": "i8", "b16": "i16", "u16": "i16", "s16": "i16", "f16": "h", "bf16": "bh",
        "b32": "i32", "u32": "i32", "s32": "i32", "f32": "f", "f16x2": "h2", "bf16x2": "bh2", "u16x2": "i16x2",
        "s16x2": "i16x2", "tf32": "f", "b64": "i64", "u64": "i64", "s64": "i64", "f64": "d", "b128": "i128"}
HELD_IN = {"bf16": "b16", "bf16x2": "b32", "u16x2": "b32", "s16x2": "b32", "tf32": "b32"}
TOKEN = re.compile(r"(?<![%\w.:])(pred|[busf]\d+(?:x2)?|bf16(?:x2)?|tf32)(?::(\w+))?\b")
BLOCK = 128  # threads of a block


class Form:
    target = "sm_90"

    def __init__(self, name, body, outs, ins, tuples=4096):
        self.name, self.body, self.outs, self.ins, self.tuples = name, body, outs, ins, tuples

    def kinds(self):
        return tuple(kind for _, kind in self.ins)

    def in_warps(self):
        return "mask" in self.kinds()


def expanded(pattern):
    """All instructions that a pattern such as "add[.rn,.rz].f32[.sat,]" stands for."""
    parts = re.split(r"\[([^]]*)\]", pattern)
    choices = [p.split(",") if i % 2 else [p] for i, p in enumerate(parts)]
    return ["".join(c) for c in itertools.product(*choices)]


def read(operands):
    """Returns the operands' text with $o and $i, and the types and kinds of results and inputs."""
    outs, ins, texts = [], [], []
    for place, operand in enumerate(operands.split("; ") if operands else []):
        def register(m):
            if place == 0:
                outs.append(m.group(1))
                return f"$o{len(outs) - 1}"
            ins.append((m.group(1), m.group(2) or KIND[m.group(1)]))
            return f"$i{len(ins) - 1}"
        texts.append(TOKEN.sub(register, operand))
    return texts, outs, ins


def instruction(opcode, operands, tuples=4096):
    texts, outs, ins = read(operands)
    return Form(f"{opcode} {operands}", f"{opcode} {', '.join(texts)};", outs, ins, tuples)


def program(name, body, outs, ins, tuples=4096):
    """A form of several instructions; outs as in "u32; pred", ins as in "u32; b32:n"."""
    return Form(name, body, read(outs.replace("; ", "|"))[1], read("; " + ins)[2] if ins else [], tuples)


# ---- text

def size_of(kind):
    return SIZE[kind]


def out_size(kind):
    return size_of(KIND[kind])


def declared(form):
    lines = []
    for letter, types in (("o", form.outs), ("i", [t for t, _ in form.ins])):
        lines += [f".reg .{HELD_IN.get(t, t)} %{letter}{n};" for n, t in enumerate(types)]
    return lines


def word(bytes_):
    return f"b{8 * bytes_}"


def loads(form, threads):
    lines, at = [], 0
    for n, (type_, kind) in enumerate(form.ins):
        size = size_of(kind)
        lines += [f"mad.wide.u32 %x{n + 4},%t2,{size},%x0;", f"add.u64 %x{n + 4},%x{n + 4},{at};"]
        at += size * threads
        if f"$A{n}" in form.body:
            continue
        if type_ == "pred":
            lines += [f"ld.global.u8 %t3,[%x{n + 4}];", f"setp.ne.u32 %i{n},%t3,0;"]
        else:
            lines.append(f"ld.global.{word(size)} %i{n},[%x{n + 4}];")
    return lines


def stores(form, threads):
    lines, at = [], 0
    for n, type_ in enumerate(form.outs):
        size = out_size(type_)
        lines += [f"mad.wide.u32 %x3,%t2,{size},%x1;", f"add.u64 %x3,%x3,{at};"]
        at += size * threads
        if type_ == "pred":
            lines += [f"selp.u32 %t3,1,0,%o{n};", "st.global.u8 [%x3],%t3;"]
        else:
            lines.append(f"st.global.{word(size)} [%x3],%o{n};")
    return lines


def cleared(form):
    """Results of lanes that do not participate."""
    return [f"setp.ne.u32 %o{n},0,0;" if t == "pred" else f"mov.{HELD_IN.get(t, t).replace('f16x2', 'b32').replace('f16', 'b16')} %o{n},{'0f00000000' if t == 'f32' else 0};"
            for n, t in enumerate(form.outs)]


def body(form):
    text = re.sub(r"\$A(\d)", lambda m: f"%x{int(m.group(1)) + 4}", form.body)
    text = re.sub(r"\$([oi]\d+)", r"%\1", text)
    for mark, register in (("$M", "%m0"), ("$S", "%t4"), ("$X", "%m1"), ("$L", "lm"), ("$B", "%t5")):
        text = text.replace(mark, register)
    if not form.in_warps():
        return [text]
    at = [k for k in form.kinds()].index("mask")
    return cleared(form) + ["mov.u32 %t6,%lanemask_eq;", f"and.b32 %t6,%t6,%i{at};", "setp.eq.u32 %z0,%t6,0;",
                            "@%z0 bra AFTER;", text, "AFTER:"]


def places(form):
    lines = []
    if "$M" in form.body:
        lines += ["ld.param.u64 %m0,[c];", "mad.wide.u32 %m0,%t2,32,%m0;"]
    if "$S" in form.body or "$X" in form.body:
        lines += ["mov.u32 %t4,sm;", "mad.lo.u32 %t4,%t1,32,%t4;", "cvt.u64.u32 %m1,%t4;", "cvta.shared.u64 %m1,%m1;"]
    if "$B" in form.body:
        lines += ["mov.u32 %t5,sm;", "and.b32 %t6,%t1,0x60;", "mad.lo.u32 %t5,%t6,32,%t5;"]
    return lines


def kernel(form, index, threads):
    lines = [f".visible .entry f{index}(.param .u64 a, .param .u64 b, .param .u64 c)", "{", ".reg .pred %z<2>;",
             ".reg .b32 %t<7>;", f".reg .b64 %x<{len(form.ins) + 4}>;", ".reg .b64 %m<2>;", *declared(form)]
    if "$S" in form.body or "$X" in form.body or "$B" in form.body:
        lines.append(".shared .align 128 .b8 sm[4096];")
    if "$L" in form.body:
        lines.append(".local .align 32 .b8 lm[32];")
    lines += ["ld.param.u64 %x0,[a];", "ld.param.u64 %x1,[b];", "mov.u32 %t0,%ctaid.x;", "mov.u32 %t1,%tid.x;",
              f"mad.lo.u32 %t2,%t0,{BLOCK},%t1;", *places(form), *loads(form, threads), *body(form),
              *stores(form, threads), "ret;", "}"]
    return "\n".join(lines) + "\n"
