# SPDX-License-Identifier: Apache-2.0
"""Forms that use memory, warps and matrices."""
from form import expanded, instruction, program

SPACES = {".global": "$M", ".shared": "$S", "": "$X"}
BYTES = {"b8": 1, "u8": 1, "s8": 1, "b16": 2, "u16": 2, "s16": 2, "b32": 4, "u32": 4, "s32": 4, "f32": 4, "b64": 8, "u64": 8,
         "s64": 8, "f64": 8}


# ---- atomics: the old value, and the value in memory afterwards

def moved(t):
    """The untyped (.b) type of the same width, which moves a value of type t."""
    return {"f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}.get(t, "b" + t[1:])


def atom(op, t, space, compared=False, more=""):
    place, held = SPACES[space], moved(t)
    read = "global" if place == "$M" else "shared"
    at = "$M" if place == "$M" else "$S"
    last = ",$i2" if compared else ""
    ins = "; ".join([t] * (3 if compared else 2))
    body = (f"st.{read}.{held} [{at}],$i0;\natom{more}{space}.{op}.{t} $o0,[{place}],$i1{last};\n"
            f"ld.{read}.{held} $o1,[{at}];")
    return program(f"atom{more}{space}.{op}.{t} {ins}", body, f"{t}; {t}", ins, 2048)


def red(op, t, space):
    place = SPACES[space]
    read, at = ("global", "$M") if place == "$M" else ("shared", "$S")
    body = f"st.{read}.{moved(t)} [{at}],$i0;\nred{space}.{op}.{t} [{place}],$i1;\nld.{read}.{moved(t)} $o0,[{at}];"
    return program(f"red{space}.{op}.{t} {t}; {t}", body, t, f"{t}; {t}", 2048)


ATOMS = [("add", "u32 s32 u64 f32 f64"), ("min", "u32 s32 u64 s64"), ("max", "u32 s32 u64 s64"), ("inc", "u32"), ("dec", "u32"),
         ("and", "b32 b64"), ("or", "b32 b64"), ("xor", "b32 b64"), ("add.noftz", "f16 bf16 f16x2 bf16x2"),
         ("min.noftz", "f16 bf16 f16x2 bf16x2"), ("max.noftz", "f16 bf16 f16x2 bf16x2")]


def atomics():
    found = []
    for space in SPACES:
        for op, types in ATOMS:
            for t in types.split():
                found += [atom(op, t, space), red(op, t, space)]
        found += [atom("exch", t, space) for t in ("b32", "b64", "b128")]
        found += [atom("cas", t, space, True) for t in ("b16", "b32", "b64", "b128")]
    return found + vectors_added()


def vectors_added():
    found = []
    for t, n in (("f32", 2), ("f32", 4), ("f16", 2), ("f16", 4), ("f16", 8), ("bf16", 2), ("bf16", 4), ("f16x2", 2),
                 ("f16x2", 4), ("bf16x2", 4)):
        noftz = "" if t == "f32" else ".noftz"
        size = {"f32": 4, "f16": 2, "bf16": 2}.get(t, 4)
        old, new = "{" + ",".join(f"$o{i}" for i in range(n)) + "}", "{" + ",".join(f"$i{n + i}" for i in range(n)) + "}"
        lines = [f"st.global.{moved(t)} [$M+{i * size}],$i{i};" for i in range(n)]
        lines.append(f"atom.global.v{n}.{t}.add{noftz} {old},[$M],{new};")
        lines += [f"ld.global.{moved(t)} $o{n + i},[$M+{i * size}];" for i in range(n)]
        if 2 * n <= 10:
            found.append(program(f"atom.global.v{n}.{t}.add{noftz}", "\n".join(lines), "; ".join([t] * 2 * n),
                                 "; ".join([t] * 2 * n), 2048))
    return found


# ---- loads and stores of types into and from wider registers

def loaded(t, register, space):
    """Copies the value at the address to that space first."""
    copy = {"global": "", "shared": "st.shared.b64 [$S],%x2;\n", "local": "st.local.b64 [$L],%x2;\n"}[space]
    place = {"global": "$A0", "shared": "$S", "local": "$L"}[space]
    body = ("ld.global.b64 %x2,[$A0];\n" + copy if copy else "") + f"ld.{space}.{t} $o0,[{place}];"
    return program(f"ld.{space}.{t} {register}", body, register, "b64", 1024)


def stored(t, register, space):
    place = {"global": "$M", "shared": "$S", "local": "$L"}[space]
    body = (f"st.{space}.b64 [{place}],0xA5A5A5A5A5A5A5A5;\nst.{space}.{t} [{place}],$i0;\nld.{space}.b64 $o0,[{place}];")
    return program(f"st.{space}.{t} {register}", body, "b64", register, 1024)


def accesses():
    found = []
    for space in ("global", "shared", "local"):
        for t, size in BYTES.items():
            for register in ("b8", "u16", "s16", "b16", "u32", "s32", "b32", "u64", "s64", "b64", "f32", "f64"):
                if BYTES[register] >= size and not (t[0] == "f" or register[0] == "f") or t == register:
                    found += [loaded(t, register, space), stored(t, register, space)]
        found += vectors_moved(space)
    return found


def vectors_moved(space):
    found, place = [], {"global": "$M", "shared": "$S", "local": "$L"}[space]
    for n, types in ((2, "u8 s8 u16 s16 b32 f32 b64 f64"), (4, "u8 s8 u16 s16 b32 f32")):
        for t in types.split():
            register = {"u8": "u32", "s8": "s32"}.get(t, t)
            vector = ",".join(f"$i{i}" for i in range(n))
            back = ",".join(f"$o{i}" for i in range(n))
            body = f"st.{space}.v{n}.{t} [{place}],{{{vector}}};\nld.{space}.v{n}.{t} {{{back}}},[{place}];"
            regs = "; ".join([register] * n)
            found.append(program(f"st and ld.{space}.v{n}.{t} {register}", body, regs, regs, 1024))
    return found


# ---- operations of a warp

def warps():
    found = []
    for mode in ("up", "down", "bfly", "idx"):
        found.append(instruction(f"shfl.sync.{mode}.b32", "b32|pred; b32; b32:lane; b32:clamp; b32:mask"))
        found.append(instruction(f"shfl.sync.{mode}.b32", "b32; b32; b32:lane; b32:clamp; b32:full"))
    for mask in ("mask", "full"):
        found += [instruction(f"vote.sync.{m}.pred", f"pred; pred:uni; b32:{mask}") for m in ("all", "any", "uni")]
        found += [instruction("vote.sync.ballot.b32", f"b32; pred:uni; b32:{mask}"),
                  instruction("vote.sync.ballot.b32", f"b32; !pred:uni; b32:{mask}")]
        for t, few in (("b32", "few"), ("b64", "few64")):
            found += [instruction(f"match.any.sync.{t}", f"b32; {t}:{few}; b32:{mask}"),
                      instruction(f"match.all.sync.{t}", f"b32|pred; {t}:{few}; b32:{mask}")]
        for t, ops in (("u32", "add min max"), ("s32", "add min max"), ("b32", "and or xor")):
            few = ":few" if t == "b32" else ""
            found += [instruction(f"redux.sync.{op}.{t}", f"{t}; {t}{few}; b32:{mask}") for op in ops.split()]
        found.append(instruction("elect.sync", f"b32|pred; b32:{mask}"))
    found.append(program("activemask.b32 mask", "activemask.b32 $o0;", "b32", "b32:mask"))
    for name in ("lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "laneid"):
        found.append(program(f"mov.u32 %{name}", f"mov.u32 $o0,%{name};", "u32", "b32:full", 128))
    for op, out in (("popc.u32", "u32"), ("and.pred", "pred"), ("or.pred", "pred")):
        found.append(program(f"bar.red.{op}", f"bar.red.{op} $o0,0,$i0;", out, "pred:quad"))
    return found + [instruction("movmatrix.sync.aligned.m8n8.trans.b16", "b32; b32", 1024)] + matrices_moved()


def matrices_moved():
    """ldmatrix and stmatrix on 1 KiB a warp; each lane fills 32 bytes, and lanes give the rows' addresses."""
    found = []
    fill = "\n".join(f"st.shared.b32 [$S+{4 * i}],$i{i};" for i in range(8)) + "\nbar.warp.sync -1;\nadd.u32 %t6,$B,$i8;\n"
    ins = "; ".join(["b32"] * 8) + "; b32:row"
    for n in (1, 2, 4):
        regs = "{" + ",".join(f"$o{i}" for i in range(n)) + "}"
        for op in expanded(f"ldmatrix.sync.aligned.m8n8.x{n}[,.trans].shared.b16"):
            found.append(program(f"{op} x{n}", f"{fill}{op} {regs},[%t6];", "; ".join(["b32"] * n), ins, 1024))
        values = "{" + ",".join(f"$i{i}" for i in range(n)) + "}"
        clear = "\n".join(f"st.shared.b32 [$S+{4 * i}],0;" for i in range(8)) + "\nbar.warp.sync -1;\n"
        rows = "mov.u32 %t6,%laneid;\nmad.lo.u32 %t6,%t6,16,$B;\n"
        back = "\nbar.warp.sync -1;\n" + "\n".join(f"ld.shared.b32 $o{i},[$S+{4 * i}];" for i in range(8))
        for op in expanded(f"stmatrix.sync.aligned.m8n8.x{n}[,.trans].shared.b16"):
            found.append(program(f"{op} x{n}", f"{clear}{rows}{op} [%t6],{values};{back}", "; ".join(["b32"] * 8),
                                 "; ".join(["b32"] * n), 1024))
    return found
