/* SPDX-License-Identifier: Apache-2.0
 *
 * State of the process: the page that identifies a forked child, and the latch for a daemon that
 * has ended.
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

static _Atomic uint32_t *page; /* the page for `alive` */

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

static void read_strict(void) {
    static bool said; /* programs call again after an error */
    char why[JOB_WHY_BYTES];
    if (job_strict(getenv(JOB_STRICT_VARIABLE), &state.strict, why) == 0 || said) return;
    said = true;
    log_error("shim", "what=\"a setting has no effect: %s\" do=\"correct or unset the variable\"",
              why);
}

int state_connect(void) {
    if (!page) page = make_page();
    if (!page) return -ENOMEM;
    state.launch_blocking = is_set("CUDA_LAUNCH_BLOCKING");
    read_strict();
    return conn_open(&state.conn);
}

void state_publish(void) {
    refusals_note("start", program_invocation_short_name, NULL, 0, "", 0);
    atom_store_relaxed(page, 1);
    atom_store_release(&state.alive, page);
}

/* True while the job waits for admission: it has a position in the queue, and no lane. */
static bool is_waiting(void) {
    const struct wire_stats *s = &state.conn.completion->stats;
    return !atom_load_relaxed(&s->lane) && atom_load_relaxed(&s->position);
}

/* Reports the end of the job once, for the first thread that sees it. The end of a job that was
 * never admitted is a refusal. */
static void say_end(const char *reason, size_t bytes) {
    static _Atomic uint32_t said;
    if (atom_exchange(&said, 1)) return;
    log_error("shim", "what=\"salusd ended this job\" job=%u reason=\"%.*s\"", state.conn.job_id,
              (int)bytes, reason);
    if (is_waiting() || !strncmp(reason, WIRE_NOT_ADMITTED, sizeof(WIRE_NOT_ADMITTED) - 1))
        refusals_tell(reason, bytes);
}

void state_lose(int err) {
    uint32_t none = 0;
    const char *reason = err_text(err);
    if (atom_cas(&state.lost, &none, (uint32_t)err_cuda(err))) say_end(reason, strlen(reason));
}

/* Returns the more precise reason. A worker that ends with its daemon reports only that; the daemon
 * wrote the real reason to submission->lost before. */
static const char *better_reason(const char *text) {
    int lost = -(int)atom_load_acquire(&state.conn.submission->lost);
    bool vague = lost && strcmp(text, err_text(ERR_BROKER_LOST)) == 0;
    return vague ? err_text(lost) : text;
}

CUresult state_say(uint32_t fault) {
    char text[sizeof(state.conn.completion->fault.text) + 1];
    bool ours = fault == CUDA_ERROR_OUT_OF_MEMORY || (int)fault == err_cuda(ERR_WORKER_LOST);
    if (!ours) return (CUresult)fault;
    memcpy(text, state.conn.completion->fault.text, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    const char *reason = better_reason(text);
    say_end(reason, strlen(reason));
    return (CUresult)fault;
}
