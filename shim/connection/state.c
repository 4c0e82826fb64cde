/* SPDX-License-Identifier: Apache-2.0
 *
 * Process state: the first connection, the page that tells a forked child apart, and the latch for
 * a daemon that died.
 */
#include "shim/connection/state.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/err.h"
#include "common/log.h"
#include "proto/job.h"
#include "shim/connection/submit.h"
#include "shim/memory/mem.h"

struct state state;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

/* The driver's own rule: an ordinal that does not exist ends the list. One device exists. */
static bool device_hidden(void) {
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    if (!list) return false;
    if (!strncmp(list, "GPU-", 4)) return false;
    char *end;
    long first = strtol(list, &end, 10);
    return end == list || first != 0;
}

static _Atomic uint32_t *make_alive_page(void) {
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (madvise(p, bytes, MADV_WIPEONFORK) < 0) {
        munmap(p, bytes);
        return NULL;
    }
    _Atomic uint32_t *alive = p;
    atom_store_relaxed(alive, 1);
    return alive;
}

static void read_log_levels(void) {
    log_init("error");
}

void state_log(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_log_levels);
}

static bool is_set(const char *variable) {
    const char *value = getenv(variable);
    return value && atoi(value) != 0;
}

static CUresult connect_once(void) {
    state_log();
    if (device_hidden()) return CUDA_ERROR_NO_DEVICE;
    _Atomic uint32_t *alive = make_alive_page();
    if (!alive) return CUDA_ERROR_OUT_OF_MEMORY;
    int err = conn_open(&state.conn);
    if (!err) err = mem_init();
    if (err) {
        munmap((void *)alive, (size_t)sysconf(_SC_PAGESIZE));
        bool memory = err == -ENOMEM || err == ERR_NO_MEMORY;
        return memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NO_DEVICE;
    }
    state.launch_blocking = is_set("CUDA_LAUNCH_BLOCKING");
    state.strict = is_set(JOB_STRICT_VARIABLE);
    submit_init();
    atom_store_release(&state.alive, alive);
    return CUDA_SUCCESS;
}

CUresult state_init(void) {
    if (atom_load_acquire(&state.alive)) return state_ready();
    int saved = errno;
    pthread_mutex_lock(&init_lock);
    CUresult r = atom_load_acquire(&state.alive) ? state_ready() : connect_once();
    pthread_mutex_unlock(&init_lock);
    errno = saved;
    return r;
}

void state_lose(int err) {
    uint32_t none = 0;
    if (atom_cas(&state.lost, &none, (uint32_t)err_cuda(err)))
        log_warn("shim", "what=\"%s\" job=%u", err_text(err), state.conn.job_id);
}

CUresult state_say(uint32_t fault) {
    static _Atomic uint32_t said;
    const char *text = state.conn.completion->fault.text;
    if (fault == CUDA_ERROR_OUT_OF_MEMORY && !atom_exchange(&said, 1))
        log_error("shim", "what=\"salusd ended this job\" job=%u reason=\"%.*s\"",
                  state.conn.job_id, (int)sizeof(state.conn.completion->fault.text), text);
    return (CUresult)fault;
}
