/* SPDX-License-Identifier: Apache-2.0
 *
 * The three phases of a wait: PAUSE for about a microsecond, then sched_yield for as long as the
 * worker's hint allows, then a futex in the client's own page. A spinner on the worker's CPU only
 * keeps the worker from running, so there the thread sleeps at once.
 */
#include "shim/connection/wait.h"
#include "shim/connection/process_exit.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "shim/connection/state.h"
#include "shim/lock.h"

#define WAIT_PAUSES 64
#define WAIT_SPIN_MAX_NS 10000000ull
/* One in this many queries asks the kernel whether the broker has ended. */
#define WAIT_POLLS_A_CHECK 1024u
/* A sleeping thread checks at this interval whether a worker is left to wake it. */
#define WAIT_TICK_NS 50000000l

static __thread enum wait_how self_how __attribute__((tls_model("initial-exec")));

enum wait_how wait_as(enum wait_how how) {
    enum wait_how before = self_how;
    self_how = how;
    return before;
}

bool wait_follow(void) {
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    uint32_t number = atom_load_acquire(&state.conn.submission->moved);
    if (__builtin_expect(number == atom_load_acquire(&state.conn.moved), 1)) return false;
    lock_enter(&turn);
    int err = conn_follow(&state.conn);
    lock_leave(&turn);
    if (err) state_lose(err == ERR_BROKER_LOST ? err : ERR_WORKER_LOST);
    return true;
}

/* Checks for the end of the worker or the broker, and latches it. */
static CUresult gone(bool ask_kernel) {
    uint32_t lost = atom_load_acquire(&state.conn.submission->lost);
    if (lost)
        state_lose(-(int)lost);
    else if (!wait_follow() && ask_kernel && conn_closed(&state.conn))
        state_lose(ERR_BROKER_LOST);
    return state_fault();
}

static CUresult sleep_until(bool (*ready)(const void *arg), const void *arg) {
    _Atomic uint32_t *sleeping = &state.conn.submission->client_sleeping;
    const struct timespec tick = {.tv_nsec = WAIT_TICK_NS};
    for (;;) {
        /* The exchange is a full fence: the flag must be visible before the condition is read
         * again. */
        atom_exchange(sleeping, 1);
        if (ready(arg)) return CUDA_SUCCESS;
        if (wait_follow() && ready(arg))
            return CUDA_SUCCESS; /* the wake-up may have meant that the job moved to another worker
                                  */
        CUresult r = gone(false);
        if (r) return r;
        long slept = syscall(SYS_futex, sleeping, FUTEX_WAIT, 1, &tick, NULL, 0);
        bool ticked = slept < 0 && errno == ETIMEDOUT;
        if (ready(arg)) return CUDA_SUCCESS;
        r = gone(ticked);
        if (r) return ready(arg) ? CUDA_SUCCESS : r;
    }
}

static bool spin_until(bool (*ready)(const void *arg), const void *arg) {
    const struct wire_completion *comp = state.conn.completion;
    if (self_how == WAIT_BLOCK) return false;
    if (atom_load_relaxed(&comp->worker_cpu) == (uint32_t)sched_getcpu()) return false;
    for (int i = 0; i < WAIT_PAUSES; i++) {
        if (ready(arg)) return true;
        atom_pause();
    }
    uint64_t budget = atom_load_relaxed(&comp->spin_ns);
    if (budget > WAIT_SPIN_MAX_NS || self_how == WAIT_SPIN) budget = WAIT_SPIN_MAX_NS;
    uint64_t start = fdutil_now_ns();
    while (fdutil_now_ns() - start < budget) {
        if (ready(arg)) return true;
        if (state_fault()) return ready(arg);
        sched_yield();
    }
    return false;
}

CUresult wait_until(bool (*ready)(const void *arg), const void *arg) {
    lock_assert_none();
    if (ready(arg)) return CUDA_SUCCESS;
    int saved = errno;
    CUresult r = spin_until(ready, arg) ? CUDA_SUCCESS : sleep_until(ready, arg);
    errno = saved;
    return r;
}

CUresult wait_not_ready(void) {
    static _Atomic uint32_t asked;
    int saved = errno;
    CUresult r = gone(atom_add_relaxed(&asked, 1) % WAIT_POLLS_A_CHECK == 0);
    errno = saved;
    return r ? r : CUDA_ERROR_NOT_READY;
}

struct stream_point {
    uint32_t id;
    uint64_t seq;
};

static bool stream_reached(const void *arg) {
    const struct stream_point *p = arg;
    return atom_load_acquire(WIRE_DONE(state.conn.completion, p->id)) >= p->seq;
}

/* Reads the fault after the completion: a fault that invalidates the completion was written before
 * it. */
CUresult wait_stream(uint32_t id, uint64_t seq) {
    struct stream_point p = {id, seq};
    /* Work may be endless, and no thread waits for it after the driver's end. */
    if (process_exit_over() && !stream_reached(&p)) return CUDA_ERROR_DEINITIALIZED;
    CUresult r = wait_until(stream_reached, &p);
    return r ? r : state_fault();
}
