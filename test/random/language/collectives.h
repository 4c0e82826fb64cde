/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations of several threads: barriers, shuffles, votes, matches, reductions, atomics. A shuffle
 * whose source is not in the mask has no defined value; such lanes get 0 here, on both sides.
 */
#ifndef TEST_RANDOM_COLLECTIVES_H
#define TEST_RANDOM_COLLECTIVES_H

/* ---- the block ---------------------------------------------------------------------------------
 */

HD inline void sync_block(void) {
    EITHER(__syncthreads(), (void)model_barrier(false));
}
HD inline u32 sync_count(bool p) {
    return EITHER((u32)__syncthreads_count(p), model_barrier(p));
}
HD inline u32 sync_and(bool p) {
    return EITHER(__syncthreads_and(p) != 0, model_barrier(p) == model_count);
}
HD inline u32 sync_or(bool p) {
    return EITHER(__syncthreads_or(p) != 0, model_barrier(p) != 0);
}

/* ---- votes and matches -------------------------------------------------------------------------
 */

HD inline u32 ballot(u32 mask, bool p) {
#ifdef __CUDACC__
    return __ballot_sync(mask, p);
#else
    const u64 *v = model_meet(mask, p, 1);
    u32 bits = 0;
    for (u32 l = 0; l < 32; l++)
        bits |= (u32)(v[l] != 0) << l;
    return bits;
#endif
}
HD inline u32 vote_any(u32 mask, bool p) {
    return EITHER(__any_sync(mask, p) != 0, ballot(mask, p) != 0);
}
HD inline u32 vote_all(u32 mask, bool p) {
    return EITHER(__all_sync(mask, p) != 0, ballot(mask, p) == mask);
}
HD inline u32 match_any(u32 mask, u64 value) {
#ifdef __CUDACC__
    return __match_any_sync(mask, value);
#else
    const u64 *v = model_meet(mask, value, 2);
    u32 bits = 0;
    for (u32 l = 0; l < 32; l++)
        bits |= (u32)(mask >> l & 1 && v[l] == value) << l;
    return bits;
#endif
}
HD inline u32 match_any_narrow(u32 mask, u32 value) {
    return EITHER(__match_any_sync(mask, value), match_any(mask, value));
}
HD inline u32 match_all(u32 mask, u32 value) {
#ifdef __CUDACC__
    int all;
    const u32 bits = __match_all_sync(mask, value, &all);
    return bits ^ (all ? 0x40u : 0u);
#else
    const bool all = match_any(mask, value) == mask;
    /* Votes over all lanes, not only over the lanes that agree with this one. */
    return ballot(mask, all) == mask ? mask ^ 0x40u : 0;
#endif
}

/* ---- shuffles ----------------------------------------------------------------------------------
 */

#ifndef __CUDACC__
template <typename T> static T model_shuffle(u32 mask, T value, u32 source) {
    u64 bits = 0;
    memcpy(&bits, &value, sizeof(value));
    const u64 got = model_meet(mask, bits, 3)[source & 31];
    memcpy(&value, &got, sizeof(value));
    return value;
}
#endif

/* The lane of `mask` that is `n` lanes after its first one, cyclically. */
HD inline u32 lane_of(u32 mask, u32 n) {
    n %= popc32(mask);
    for (u32 l = 0;; l++)
        if ((mask >> l & 1u) && !n--) return l;
}

/* Width 8, 16 or 32: the source is in the lane's own segment; beyond it, the lane itself. */
template <typename T> HD inline T shuffle_idx(u32 mask, u32 lane, T v, u32 source, u32 width) {
    const u32 from = (lane & ~(width - 1u)) | (source & (width - 1u));
    const T got =
        EITHER(__shfl_sync(mask, v, (int)source, (int)width), model_shuffle(mask, v, from));
    return mask >> from & 1u ? got : (T)0;
}
template <typename T> HD inline T shuffle_up(u32 mask, u32 lane, T v, u32 by, u32 width) {
    const u32 from = (lane & (width - 1u)) >= by ? lane - by : lane;
    const T got = EITHER(__shfl_up_sync(mask, v, by, (int)width), model_shuffle(mask, v, from));
    return mask >> from & 1u ? got : (T)0;
}
template <typename T> HD inline T shuffle_down(u32 mask, u32 lane, T v, u32 by, u32 width) {
    const u32 from = (lane & (width - 1u)) + by < width ? lane + by : lane;
    const T got = EITHER(__shfl_down_sync(mask, v, by, (int)width), model_shuffle(mask, v, from));
    return mask >> from & 1u ? got : (T)0;
}
/* Lanes may read from a lower segment, not from a higher one. */
template <typename T> HD inline T shuffle_xor(u32 mask, u32 lane, T v, u32 by, u32 width) {
    const u32 last = (lane & ~(width - 1u)) | (width - 1u);
    const u32 from = (lane ^ (by & 31u)) <= last ? lane ^ (by & 31u) : lane;
    const T got =
        EITHER(__shfl_xor_sync(mask, v, (int)(by & 31u), (int)width), model_shuffle(mask, v, from));
    return mask >> from & 1u ? got : (T)0;
}

/* ---- reductions --------------------------------------------------------------------------------
 */

/* Instructions since compute_80; before that, a loop over lanes. */
#if !defined(__CUDACC__) || __CUDA_ARCH__ >= 800
#define REDUCE_LANES(name, T, intrinsic, expression)                               \
    HD inline T reduce_##name(u32 mask, T value) {                                 \
        return EITHER(intrinsic(mask, value), reduce_##name##_model(mask, value)); \
    }
#else
#define REDUCE_LANES(name, T, intrinsic, expression)                    \
    HD inline T reduce_##name(u32 mask, T value) {                      \
        T r = __shfl_sync(mask, value, __ffs((int)mask) - 1);           \
        for (u32 left = mask & (mask - 1u); left; left &= left - 1u) {  \
            const T v = __shfl_sync(mask, value, __ffs((int)left) - 1); \
            r = expression;                                             \
        }                                                               \
        return r;                                                       \
    }
#endif
#ifdef __CUDACC__
#define REDUCE(name, T, intrinsic, expression) REDUCE_LANES(name, T, intrinsic, expression)
#else
#define REDUCE(name, T, intrinsic, expression)                         \
    static T reduce_##name##_model(u32 mask, T value) {                \
        const u64 *all = model_meet(mask, (u64)value, 4);              \
        T r = (T)all[__builtin_ctz(mask)];                             \
        for (u32 left = mask & (mask - 1u); left; left &= left - 1u) { \
            const T v = (T)all[__builtin_ctz(left)];                   \
            r = expression;                                            \
        }                                                              \
        return r;                                                      \
    }                                                                  \
    REDUCE_LANES(name, T, intrinsic, expression)
#endif
REDUCE(add, u32, __reduce_add_sync, r + v)
REDUCE(and, u32, __reduce_and_sync, r &v)
REDUCE(or, u32, __reduce_or_sync, r | v)
REDUCE(xor, u32, __reduce_xor_sync, r ^ v)
REDUCE(min, u32, __reduce_min_sync, v < r ? v : r)
REDUCE(max, u32, __reduce_max_sync, v > r ? v : r)
REDUCE(smin, i32, __reduce_min_sync, v < r ? v : r)
REDUCE(smax, i32, __reduce_max_sync, v > r ? v : r)

/* ---- atomics: each returns the old value
 * ------------------------------------------------------- */

#define ATOMIC(name, T, intrinsic, expression)              \
    HD inline T atomic_##name(T *p, T v) {                  \
        return EITHER(intrinsic(p, v), model_##name(p, v)); \
    }
#ifdef __CUDACC__
#define ATOMIC_BOTH(name, T, intrinsic, expression) ATOMIC(name, T, intrinsic, expression)
#else
#define ATOMIC_BOTH(name, T, intrinsic, expression) \
    static T model_##name(T *p, T v) {              \
        const T old = *p;                           \
        *p = expression;                            \
        return old;                                 \
    }                                               \
    ATOMIC(name, T, intrinsic, expression)
#endif
#ifndef __CUDACC__
/* Global atomics, which all of these are, flush subnormal f32 operands and sums to 0. */
static f32 flushed(f32 a) {
    return fpclassify(a) == FP_SUBNORMAL ? copysignf(0, a) : a;
}
#endif
ATOMIC_BOTH(add_u32, u32, atomicAdd, old + v)
ATOMIC_BOTH(sub_u32, u32, atomicSub, old - v)
ATOMIC_BOTH(and_u32, u32, atomicAnd, old &v)
ATOMIC_BOTH(or_u32, u32, atomicOr, old | v)
ATOMIC_BOTH(xor_u32, u32, atomicXor, old ^ v)
ATOMIC_BOTH(min_u32, u32, atomicMin, v < old ? v : old)
ATOMIC_BOTH(max_u32, u32, atomicMax, v > old ? v : old)
ATOMIC_BOTH(min_i32, i32, atomicMin, v < old ? v : old)
ATOMIC_BOTH(max_i32, i32, atomicMax, v > old ? v : old)
ATOMIC_BOTH(add_u64, u64, atomicAdd, old + v)
ATOMIC_BOTH(and_u64, u64, atomicAnd, old &v)
ATOMIC_BOTH(or_u64, u64, atomicOr, old | v)
ATOMIC_BOTH(xor_u64, u64, atomicXor, old ^ v)
ATOMIC_BOTH(min_u64, u64, atomicMin, v < old ? v : old)
ATOMIC_BOTH(max_u64, u64, atomicMax, v > old ? v : old)
ATOMIC_BOTH(min_i64, i64, atomicMin, v < old ? v : old)
ATOMIC_BOTH(max_i64, i64, atomicMax, v > old ? v : old)
ATOMIC_BOTH(exch_u32, u32, atomicExch, v)
ATOMIC_BOTH(exch_u64, u64, atomicExch, v)
ATOMIC_BOTH(inc_u32, u32, atomicInc, old >= v ? 0 : old + 1)
ATOMIC_BOTH(dec_u32, u32, atomicDec, old == 0 || old > v ? v : old - 1)
ATOMIC_BOTH(add_f32, f32, atomicAdd, flushed(flushed(old) + flushed(v)))
ATOMIC_BOTH(add_f64, f64, atomicAdd, old + v)

HD inline u32 atomic_cas_u32(u32 *p, u32 compare, u32 v) {
#ifdef __CUDACC__
    return atomicCAS(p, compare, v);
#else
    const u32 old = *p;
    if (old == compare) *p = v;
    return old;
#endif
}
HD inline u64 atomic_cas_u64(u64 *p, u64 compare, u64 v) {
#ifdef __CUDACC__
    return atomicCAS(p, compare, v);
#else
    const u64 old = *p;
    if (old == compare) *p = v;
    return old;
#endif
}
/* An operation without an instruction, by compare and swap: multiplication is commutative. */
HD inline void atomic_mul_u32(u32 *p, u32 v) {
    u32 old = *p, seen;
    while ((seen = atomic_cas_u32(p, old, old * v)) != old)
        old = seen;
}

#endif
