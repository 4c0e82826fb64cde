/* SPDX-License-Identifier: Apache-2.0
 *
 * The only file that names memory orders. Every shared word of the project is read and written
 * through these macros, so that a reader can audit the ordering in one place.
 */
#ifndef COMMON_ATOMICS_H
#define COMMON_ATOMICS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Order a producer's stores before a consumer's loads of the data that the word announces. */
#define atom_load_acquire(p) atomic_load_explicit((p), memory_order_acquire)
#define atom_store_release(p, v) atomic_store_explicit((p), (v), memory_order_release)

/* No ordering: for counters, hints, and words that are checked again under a stronger order. */
#define atom_load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define atom_store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)
#define atom_add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define atom_sub_relaxed(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_relaxed)
#define atom_or_relaxed(p, v) atomic_fetch_or_explicit((p), (v), memory_order_relaxed)

/* Drops a reference: the last owner sees every earlier owner's writes. */
#define atom_sub_acq_rel(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_acq_rel)

/* Read-modify-write in the single total order. On x86 this is a locked instruction, so also a full
 * fence. */
#define atom_exchange(p, v) atomic_exchange_explicit((p), (v), memory_order_seq_cst)
#define atom_add(p, v) atomic_fetch_add_explicit((p), (v), memory_order_seq_cst)
#define atom_cas(p, expected, desired)                                                        \
    atomic_compare_exchange_strong_explicit((p), (expected), (desired), memory_order_seq_cst, \
                                            memory_order_seq_cst)

/* Compare-and-swap of 16 aligned bytes. x86-64 compilers call a library for it. */
struct atom_pair {
    uint64_t lo, hi;
};
static inline bool atom_cas_pair(void *p, struct atom_pair *expected, struct atom_pair desired) {
    struct atom_pair *at = p;
    bool done;
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(done), "+m"(*at), "+a"(expected->lo), "+d"(expected->hi)
                     : "b"(desired.lo), "c"(desired.hi)
                     : "memory");
    return done;
}

/* Orders an earlier store before a later load of another word. This is the one reordering that x86
 * performs, and a doorbell must forbid it on both sides (publish; fence; check whether the other
 * side sleeps). */
#if defined(__x86_64__)
/* As compilers implement the fence, but always with the cheaper locked instruction instead of
 * mfence. ThreadSanitizer cannot model fences; that is acceptable, since no data is handed over by
 * this one. */
#define atom_fence() __asm__ volatile("lock addl $0, -4(%%rsp)" ::: "memory", "cc")
#else
#define atom_fence() atomic_thread_fence(memory_order_seq_cst)
#endif

/* Prevents the compiler from moving or repeating plain accesses across it; emits no instruction. */
#define atom_compiler_fence() __asm__ volatile("" ::: "memory")

/* Requests a cache line that this CPU will write soon. */
static inline void atom_prefetch_write(const void *p) {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
    __builtin_prefetch(p, 1);
#endif
}

static inline void atom_pause(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

#endif
