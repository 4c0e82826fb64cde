/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads of a block that meet at an mbarrier, and asynchronous copies with several kinds of waits:
 * by groups, by barriers, by bytes. On architectures without these, a plain barrier or a plain copy
 * takes their place, with the same result; the host's model does that too.
 */
#ifndef TEST_RANDOM_ARRIVALS_H
#define TEST_RANDOM_ARRIVALS_H

#include "test/random/language/collectives.h"
#include "test/random/language/matrices.h"

#if defined(__CUDACC__) && TARGET >= 80
#define ARRIVALS 1
#else
#define ARRIVALS 0
#endif

/* ---- barriers in shared memory -----------------------------------------------------------------
 */

/* Called by one thread, between barriers of the block. */
HD inline void bar_init(u64 *bar, u32 count) {
#if ARRIVALS
    asm volatile("mbarrier.init.shared.b64 [%0],%1;" ::"r"(shared_address(bar)), "r"(count)
                 : "memory");
#else
    *bar = count;
#endif
}
HD inline void bar_inval(u64 *bar) {
#if ARRIVALS
    asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared_address(bar)) : "memory");
#else
    *bar = 0;
#endif
}

#if ARRIVALS
HD inline void bar_wait(u64 *bar, u32 parity) {
    u32 over = 0;
    while (!over)
        asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared.b64 p,[%1],%2;"
                     "selp.u32 %0,1,0,p;}"
                     : "=r"(over)
                     : "r"(shared_address(bar)), "r"(parity)
                     : "memory");
}
#if TARGET >= 90
HD inline void bar_try_wait(u64 *bar, u32 parity) {
    u32 over = 0;
    while (!over)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p,[%1],%2;"
                     "selp.u32 %0,1,0,p;}"
                     : "=r"(over)
                     : "r"(shared_address(bar)), "r"(parity)
                     : "memory");
}
#else
#define bar_try_wait bar_wait
#endif
#endif

/* All arrive, and each waits for the phase in which it arrived. */
HD inline void meet_by_token(u64 *bar) {
#if ARRIVALS
    u64 token;
    u32 over = 0;
    asm volatile("mbarrier.arrive.shared.b64 %0,[%1];"
                 : "=l"(token)
                 : "r"(shared_address(bar))
                 : "memory");
    while (!over)
        asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p,[%1],%2; selp.u32 %0,1,0,p;}"
                     : "=r"(over)
                     : "r"(shared_address(bar)), "l"(token)
                     : "memory");
#else
    (void)bar;
    sync_block();
#endif
}

/* Some threads arrive, all wait. */
HD inline void meet_by_parity(u64 *bar, bool arrives, u32 parity) {
#if ARRIVALS
    if (arrives)
        asm volatile("{.reg .b64 t; mbarrier.arrive.shared.b64 t,[%0];}" ::"r"(shared_address(bar))
                     : "memory");
    bar_try_wait(bar, parity);
#else
    (void)bar, (void)arrives, (void)parity;
    sync_block();
#endif
}

/* Two phases: threads that drop out in the first are not awaited in the second. They do not wait
 * either: by then the barrier may have advanced further than a parity can tell. */
HD inline void meet_and_drop(u64 *bar, bool drops) {
#if ARRIVALS
    if (drops) {
        asm volatile(
            "{.reg .b64 t; mbarrier.arrive_drop.shared.b64 t,[%0];}" ::"r"(shared_address(bar))
            : "memory");
    } else {
        meet_by_parity(bar, true, 0);
        meet_by_parity(bar, true, 1);
    }
#else
    (void)bar, (void)drops;
    sync_block();
#endif
}

/* A thread arrives for several: the phase ends with the last arrival of the count. */
HD inline void meet_by_count(u64 *bar, u32 t, u32 threads) {
#if ARRIVALS && TARGET >= 90
    if (t == 0)
        asm volatile(
            "{.reg .b64 t; mbarrier.arrive.shared.b64 t,[%0],%1;}" ::"r"(shared_address(bar)),
            "r"(threads)
            : "memory");
    asm volatile("{.reg .b64 t; mbarrier.arrive.shared.b64 t,[%0];}" ::"r"(shared_address(bar))
                 : "memory");
    bar_wait(bar, 0);
#elif ARRIVALS
    for (u32 k = 0; k < (t == 0 ? threads + 1u : 1u); ++k)
        asm volatile("{.reg .b64 t; mbarrier.arrive.shared.b64 t,[%0];}" ::"r"(shared_address(bar))
                     : "memory");
    bar_wait(bar, 0);
#else
    (void)bar, (void)t, (void)threads;
    sync_block();
#endif
}

/* ---- copies of threads
 * -------------------------------------------------------------------------
 *
 * `bytes` is 4, 8 or 16; `given` of them come from memory, the rest are zeros. */

template <u32 bytes> HD inline void copy_async(u32 *to, const u32 *from, u32 given) {
#if ARRIVALS
    const u32 at = shared_address(to);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0],[%1],16,%2;" ::"r"(at), "l"(from), "r"(given)
                     : "memory");
    else if (bytes == 8)
        asm volatile("cp.async.ca.shared.global [%0],[%1],8,%2;" ::"r"(at), "l"(from), "r"(given)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0],[%1],4,%2;" ::"r"(at), "l"(from), "r"(given)
                     : "memory");
#else
    for (u32 k = 0; k < bytes; k++)
        ((u8 *)to)[k] = k < given ? ((const u8 *)from)[k] : (u8)0;
#endif
}
HD inline void copies_commit() {
#if ARRIVALS
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
/* Waits until all but the latest `left` groups have completed. */
template <u32 left> HD inline void copies_wait() {
#if ARRIVALS
    asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
#endif
}
/* This thread's copies arrive at the barrier when they complete, in place of one arrival of the
 * thread. */
HD inline void copies_arrive(u64 *bar) {
#if ARRIVALS
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(bar))
                 : "memory");
#else
    (void)bar;
#endif
}
/* A thread waits for a phase in which other threads arrive. */
HD inline void bar_join(u64 *bar, u32 parity) {
#if ARRIVALS
    bar_wait(bar, parity);
#else
    (void)bar, (void)parity;
    sync_block();
#endif
}

/* ---- copies of a block -------------------------------------------------------------------------
 */

/* Called by one thread; the barrier counts one arrival and the bytes. Sizes are multiples of 16. */
HD inline void copy_bulk(u32 *to, const u32 *from, u32 bytes, u64 *bar) {
#if ARRIVALS && TARGET >= 90
    asm volatile(
        "{.reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t,[%0],%1;}" ::"r"(shared_address(bar)),
        "r"(bytes)
        : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0],[%1],%2,"
                 "[%3];" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(bar))
                 : "memory");
#else
    for (u32 k = 0; k < bytes / 4u; k++)
        to[k] = from[k];
    (void)bar;
#if ARRIVALS
    asm volatile("{.reg .b64 t; mbarrier.arrive.shared.b64 t,[%0];}" ::"r"(shared_address(bar))
                 : "memory");
#endif
#endif
}

#undef ARRIVALS
#endif
