/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads of the input with every width. Built without strict aliasing.
 */
#ifndef TEST_RANDOM_MEMORY_H
#define TEST_RANDOM_MEMORY_H

HD inline u32 load_ldg(const u32 *p) {
    return EITHER(__ldg(p), *p);
}
HD inline u32 load_byte(const u32 *in, u32 at) {
    return ((const u8 *)in)[at];
}
HD inline i32 load_signed_byte(const u32 *in, u32 at) {
    return ((const i8 *)in)[at];
}
HD inline u32 load_bytes(const u32 *in, u32 at) {
    const uchar4 v = ((const uchar4 *)in)[at];
    return ((u32)v.x << 3 ^ v.y) + (v.z ^ v.w); /* products of bytes are avoided: see README.md */
}
HD inline i32 load_half_word(const u32 *in, u32 at) {
    return ((const i16 *)in)[at];
}
HD inline u64 load_long(const u32 *in, u32 at) {
    return ((const u64 *)in)[at >> 1];
}
HD inline u64 load_pair(const u32 *in, u32 at) {
    const int2 v = ((const int2 *)in)[at >> 1];
    return (u64)(i64)v.x * 3u ^ (u64)(i64)v.y;
}
HD inline u32 load_quad(const u32 *in, u32 at) {
    const uint4 v = ((const uint4 *)in)[at >> 2];
    return v.x ^ v.y * 3u ^ v.z * 5u ^ v.w * 7u;
}
HD inline u64 load_longs(const u32 *in, u32 at) {
    const longlong2 v = ((const longlong2 *)in)[at >> 2];
    return (u64)v.x - 3u * (u64)v.y;
}
HD inline u32 load_shorts(const u32 *in, u32 at) {
    const short4 v = ((const short4 *)in)[at >> 1];
    return ((u32)(i32)v.x ^ (u32)(i32)v.y * 3u) + ((u32)(i32)v.z ^ (u32)(i32)v.w * 5u);
}

/* Returns an object's offset from its required alignment. The host's compilers misalign some
 * temporaries, so the host returns a constant. */
HD NOINLINE inline u32 misalignment(const void *p, u32 align) {
    return EITHER((u32)((u64)p & (align - 1u)), 0u * align * (p == nullptr));
}

#endif
