/* SPDX-License-Identifier: Apache-2.0 */
#include "test/lib/driver/faulty_hold.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/fdutil.h"
#include "proto/cuda/cuda_abi.h"

#define HOLDS 256u
#define LOOK_US 100u

/* A word that stalled streams wait for, one at a time; the word only increases. */
struct hold {
    /* value: the one that the latest stream waits or waited for; until_ns: the time at which the
     * word gets that value, 0: no stream waits */
    uint64_t value, until_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hold holds[HOLDS];
static uint64_t *words;
static CUdeviceptr address; /* device address of the words */
static CUresult (*wait_value)(CUstream, CUdeviceptr, uint64_t, unsigned int);

static void *release_them(void *arg) {
    (void)arg;
    for (;;) {
        uint64_t now_ns = fdutil_now_ns();
        pthread_mutex_lock(&lock);
        for (uint32_t i = 0; i < HOLDS; i++) {
            if (!holds[i].until_ns || holds[i].until_ns > now_ns) continue;
            holds[i].until_ns = 0;
            atom_store_release(&words[i], holds[i].value);
        }
        pthread_mutex_unlock(&lock);
        usleep(LOOK_US);
    }
    return NULL;
}

/* Called with the lock held. */
static int begin(void *library) {
    CUresult (*alloc)(void **, size_t, unsigned int) = dlsym(library, "cuMemHostAlloc");
    CUresult (*where)(CUdeviceptr *, void *, unsigned int) =
        dlsym(library, "cuMemHostGetDevicePointer_v2");
    pthread_t thread;
    void *memory = NULL;
    wait_value = dlsym(library, "cuStreamWaitValue64_v2");
    if (!alloc || !where || !wait_value || alloc(&memory, HOLDS * sizeof(*words), 0) ||
        where(&address, memory, 0))
        return -1;
    words = memory;
    for (uint32_t i = 0; i < HOLDS; i++)
        words[i] = 0;
    return pthread_create(&thread, NULL, release_them, NULL) || pthread_detach(thread);
}

void faulty_hold(void *library, void *stream, uint32_t us) {
    uint32_t i = 0;
    pthread_mutex_lock(&lock);
    if (!words && begin(library)) {
        fprintf(stderr, "faulty: this driver's streams cannot be held\n");
        abort();
    }
    while (i < HOLDS && holds[i].until_ns)
        i++;
    if (i < HOLDS && !wait_value(stream, address + i * sizeof(*words), holds[i].value + 1, 0)) {
        holds[i].value++;
        holds[i].until_ns = fdutil_now_ns() + (uint64_t)us * 1000;
    }
    pthread_mutex_unlock(&lock);
}
