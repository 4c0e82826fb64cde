# SPDX-License-Identifier: Apache-2.0
"""Matrix products by four warps (wgmma), for sm_90a.

Each block of 128 threads fills 4 KiB of shared memory with its inputs. Matrix b, and a if it is not in registers,
lies there in the layout of its descriptor."""
from form import program

NONE, BYTES_128, BYTES_64, BYTES_32 = range(4)  # swizzle modes as encoded in a descriptor
TUPLES = 2048  # 16 products
# Bytes between neighbours along k (LBO), and between groups of 8 rows (SBO), of a matrix whose k is innermost.
STRIDES = {NONE: (128, 256), BYTES_32: (16, 256), BYTES_64: (16, 512), BYTES_128: (16, 1024)}


def descriptor(register, at, swizzle, strides):
    upper = strides[1] >> 4 | swizzle << 30
    return (f"mov.u32 %t5,sm;\nadd.u32 %t5,%t5,{at};\nshr.u32 %t5,%t5,4;\nor.b32 %t5,%t5,{strides[0] >> 4 << 16:#x};\n"
            f"mov.u32 %t6,{upper:#x};\nmov.b64 {register},{{%t5,%t6}};\n")


def product(shape, n, types, sums, factor, b, a=None, tail="p,1,1"):
    """`sums`: type and kind of d; `factor`: kind of the factors; a and b: (offset, swizzle, strides), or a None:
    in registers. `$S` reserves all 4 KiB."""
    count = n // 2 if sums[0] != "b32" else n // 4
    regs_a = 0 if a else 4
    first_c = 8 + regs_a
    d = "{" + ",".join(f"$o{i}" for i in range(count)) + "}"
    lines = [f"st.shared.b32 [$S+{4 * i}],$i{i};" for i in range(8)]
    lines += ["fence.proxy.async;", "bar.sync 0;", "{ .reg .b64 da, db; .reg .pred p; setp.eq.u32 p,0,0;"]
    lines += [f"mov.b32 $o{i},$i{first_c + i};" for i in range(count)]
    lines.append(descriptor("db", *b))
    if a:
        lines.append(descriptor("da", *a))
    source = "da" if a else "{" + ",".join(f"$i{8 + i}" for i in range(4)) + "}"
    op = f"wgmma.mma_async.sync.aligned.m64n{n}{shape}.{types}"
    lines += ["wgmma.fence.sync.aligned;", f"{op} {d},{source},db,{tail};", "wgmma.commit_group.sync.aligned;",
              "wgmma.wait_group.sync.aligned 0; }"]
    ins = "; ".join([f"b32:{factor}"] * (8 + regs_a) + [f"{sums[0]}:{sums[1]}"] * count)
    where = f"a {a if a else 'in registers'}, b {b}, {tail}"
    form = program(f"{op} {where}", "\n".join(lines), "; ".join([sums[0]] * count), ins, TUPLES)
    form.target = "sm_90a"
    return form


KINDS = [("k16", "f32.f16.f16", ("f32", "gf"), "gh2", "p,1,1,0"), ("k16", "f16.f16.f16", ("b32", "gh2"), "gh2", "p,1,1,0"),
         ("k16", "f32.bf16.bf16", ("f32", "gf"), "gbh2", "p,1,1,0"), ("k8", "f32.tf32.tf32", ("f32", "gf"), "gtf", "p,1,1"),
         ("k32", "f32.e4m3.e4m3", ("f32", "gf"), "gfp8", "p,1,1"), ("k32", "f32.e5m2.e4m3", ("f32", "gf"), "gfp8", "p,1,1"),
         ("k32", "f16.e4m3.e5m2", ("b32", "gh2"), "gfp8", "p,1,1"), ("k32", "s32.s8.s8", ("s32", "i32"), "i32", "p"),
         ("k32", "s32.u8.s8", ("s32", "i32"), "i32", "p"), ("k32", "s32.u8.u8.satfinite", ("s32", "i32"), "i32", "p"),
         ("k256", "s32.b1.b1.and.popc", ("s32", "i32"), "i32", "p")]


def groups():
    found = []
    for shape, types, sums, factor, tail in KINDS:
        for n in (8, 32):
            for swizzle in (NONE, BYTES_32, BYTES_64, BYTES_128):
                for at in (0,) if swizzle == NONE else (0, 32) if swizzle in (BYTES_64, BYTES_128) else (0,):
                    found.append(product(shape, n, types, sums, factor, (at, swizzle, STRIDES[swizzle]), tail=tail))
        both = tail + ",0" if tail.count(",") == 3 else tail
        for swizzle in (NONE, BYTES_32, BYTES_64):
            found.append(product(shape, 16, types, sums, factor, (0, swizzle, STRIDES[swizzle]),
                                 (0 if swizzle == BYTES_64 else 2048, swizzle, STRIDES[swizzle]), both))
    return found + turned() + negated()


def turned():
    """Forms with n, or m, innermost, for types of 16 bits."""
    found, f16, f = [], ("k16", 64, "f32.f16.f16"), ("f32", "gf")
    for swizzle, strides in ((NONE, (128, 512)), (BYTES_32, (512, 256)), (BYTES_64, (1024, 512)),
                             (BYTES_128, (1024, 1024))):
        found.append(product(*f16, f, "gh2", (0, swizzle, strides), tail="p,1,1,1"))
        found.append(product(*f16, f, "gh2", (0, swizzle, strides), (0 if swizzle == NONE else 2048, swizzle, strides),
                             "p,1,1,1,1"))
    return found


def negated():
    f16, f, b = ("k16", 8, "f32.f16.f16"), ("f32", "gf"), (0, NONE, STRIDES[NONE])
    return [product(*f16, f, "gh2", b, tail=f"p,{x},{y},0") for x in (1, -1) for y in (1, -1)]
