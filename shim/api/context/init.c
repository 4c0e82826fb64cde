/* SPDX-License-Identifier: Apache-2.0
 *
 * cuInit: opens the connection, then sets up the modules that use it, bottom up and once.
 * Everything is ready before state_publish lets the other calls in.
 */
#include <errno.h>
#include <pthread.h>

#include "common/err.h"
#include "proto/gen/prototypes.h"
#include "shim/connection/process_exit.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/memory/mem.h"
#include "shim/process/mps_variables.h"

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult open_once(void) {
    state_log();
    int err = state_connect();
    if (!err) err = mem_init();
    if (err) {
        bool memory = err == -ENOMEM || err == ERR_NO_MEMORY;
        return memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NO_DEVICE;
    }
    submit_init();
    mps_variables_say();
    process_exit_watch_end();
    state_publish();
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int Flags) {
    if (Flags) return CUDA_ERROR_INVALID_VALUE;
    if (state_published()) return state_ready();
    int saved = errno;
    pthread_mutex_lock(&init_lock);
    CUresult r = state_published() ? state_ready() : open_once();
    pthread_mutex_unlock(&init_lock);
    errno = saved;
    return r;
}
