/* SPDX-License-Identifier: Apache-2.0
 *
 * Process state: the page that tells a forked child apart, and the latch for a daemon that died.
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
#include "proto/wire/job.h"
#include "shim/connection/refusals.h"

struct state state;

static _Atomic uint32_t *page; /* what `alive` will point to */

static _Atomic uint32_t *make_page(void) {
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (madvise(p, bytes, MADV_WIPEONFORK) < 0) {
        munmap(p, bytes);
        return NULL;
    }
    return p;
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

int state_connect(void) {
    if (!page) page = make_page();
    if (!page) return -ENOMEM;
    state.launch_blocking = is_set("CUDA_LAUNCH_BLOCKING");
    state.strict = is_set(JOB_STRICT_VARIABLE);
    return conn_open(&state.conn);
}

void state_publish(void) {
    refusals_note("start", program_invocation_short_name, NULL, 0, "", 0);
    atom_store_relaxed(page, 1);
    atom_store_release(&state.alive, page);
}

void state_lose(int err) {
    uint32_t none = 0;
    if (atom_cas(&state.lost, &none, (uint32_t)err_cuda(err)))
        log_warn("shim", "what=\"%s\" job=%u", err_text(err), state.conn.job_id);
}

CUresult state_say(uint32_t fault) {
    static _Atomic uint32_t said;
    const char *text = state.conn.completion->fault.text;
    size_t bytes = sizeof(state.conn.completion->fault.text);
    bool ours = fault == CUDA_ERROR_OUT_OF_MEMORY || (int)fault == err_cuda(ERR_WORKER_LOST);
    bool first = ours && !atom_exchange(&said, 1);
    if (first)
        log_error("shim", "what=\"salusd ended this job\" job=%u reason=\"%.*s\"",
                  state.conn.job_id, (int)bytes, text);
    if (first && !strncmp(text, WIRE_NOT_ADMITTED, sizeof(WIRE_NOT_ADMITTED) - 1))
        refusals_tell(text, bytes);
    return (CUresult)fault;
}
