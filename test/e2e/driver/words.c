/* SPDX-License-Identifier: Apache-2.0
 * The ways in which a worker learns of completed work: words that streams write into host
 * memory, events, host functions; and streams with priorities. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "common/atomics.h"
#include "test/e2e/driver/driver.h"

#define STREAMS 8
#define ROUNDS 200
#define WORDS 4096u
#define IN_FLIGHT 64 /* operations of a stream, each followed by a word */

static CUstream streams[STREAMS];
static CUdeviceptr memory[STREAMS];

/* ---- words that a thread polls --------------------------------------------------------------- */

static _Atomic uint64_t *words; /* one word per stream, 64 bytes apart; the program's address */
static CUdeviceptr device_words;

static _Atomic uint64_t *word_of(int stream) {
    return words + (ptrdiff_t)stream * 8;
}

/* Sees each stream's word grow to the last value and never fall. */
static void *poll_words(void *arg) {
    uint64_t seen[STREAMS] = {0};
    (void)arg;
    for (int left = STREAMS; left > 0;) {
        for (int i = 0; i < STREAMS; i++) {
            uint64_t now = atom_load_acquire(word_of(i));
            REQUIRE(now >= seen[i] && now <= ROUNDS);
            if (now == ROUNDS && seen[i] != ROUNDS) left--;
            seen[i] = now;
        }
        sched_yield();
    }
    return NULL;
}

static void write_words(void) {
    for (unsigned round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < STREAMS; i++) {
            uint64_t ahead = round - atom_load_relaxed(word_of(i));
            while (ahead > IN_FLIGHT) {
                sched_yield();
                ahead = round - atom_load_relaxed(word_of(i));
            }
            driver_fill_words(memory[i], WORDS, round, streams[i]);
            WORKS(cu.StreamWriteValue64(streams[i], device_words + (CUdeviceptr)i * 64, round, 0));
        }
    }
}

static void begin_words(void *host) {
    memset(host, 0, 4096);
    words = host;
    WORKS(cu.MemHostGetDevicePointer(&device_words, host, 0));
}

/* An operation is complete when its word is written, and its output is then visible. */
static void completion_words(void *host) {
    pthread_t poller;
    begin_words(host);
    REQUIRE(pthread_create(&poller, NULL, poll_words, NULL) == 0);
    unsigned long long begin = driver_now();
    write_words();
    pthread_join(poller, NULL);
    driver_took("launch with a word", ROUNDS * STREAMS, begin);
    for (int i = 0; i < STREAMS; i++)
        driver_check_words(memory[i], WORDS, ROUNDS, "behind the last word");
}

/* Writes of 32 bits leave the neighbours unchanged. */
static void small_words(void *host) {
    volatile uint32_t *w = host;
    begin_words(host);
    w[3] = 99;
    WORKS(cu.StreamWriteValue32(streams[0], device_words + 8, 5, 0));
    WORKS(cu.StreamSynchronize(streams[0]));
    REQUIRE(w[2] == 5 && w[3] == 99);
    GIVES(CUDA_ERROR_INVALID_VALUE, cu.StreamWriteValue64(streams[0], device_words + 4, 5, 0));
}

/* ---- events and functions -------------------------------------------------------------------- */

static _Atomic uint32_t called;

static void call(void *arg) {
    REQUIRE(atom_add(&called, 1) == (uint32_t)(intptr_t)arg);
}

static void events(void) {
    CUevent begin, end;
    float ms;
    WORKS(cu.EventCreate(&begin, CU_EVENT_DEFAULT));
    WORKS(cu.EventCreate(&end, CU_EVENT_DEFAULT));
    WORKS(cu.EventQuery(end)); /* never recorded */
    WORKS(cu.EventRecord(begin, streams[0]));
    driver_fill_words(memory[0], WORDS, 1, streams[0]);
    WORKS(cu.EventRecord(end, streams[0]));
    WORKS(cu.StreamWaitEvent(streams[1], end, 0));
    driver_fill_words(memory[0], WORDS, 2, streams[1]);
    while (cu.EventQuery(end) == CUDA_ERROR_NOT_READY)
        sched_yield();
    WORKS(cu.EventQuery(end));
    WORKS(cu.EventElapsedTime(&ms, begin, end));
    REQUIRE(ms >= 0);
    WORKS(cu.StreamSynchronize(streams[1]));
    driver_check_words(memory[0], WORDS, 2, "behind an event");
    WORKS(cu.EventDestroy(begin));
    WORKS(cu.EventDestroy(end));
}

static void functions(void) {
    for (int i = 0; i < 20; i++) {
        driver_fill_words(memory[2], WORDS, (unsigned)i, streams[2]);
        WORKS(cu.LaunchHostFunc(streams[2], call, (void *)(intptr_t)i));
    }
    WORKS(cu.StreamSynchronize(streams[2]));
    REQUIRE(atom_load_acquire(&called) == 20);
}

static void make_streams(void) {
    int least, greatest, priority;
    WORKS(cu.CtxGetStreamPriorityRange(&least, &greatest));
    REQUIRE(greatest <= least);
    for (int i = 0; i < STREAMS; i++) {
        int want = least - i % (least - greatest + 1);
        WORKS(cu.StreamCreateWithPriority(&streams[i], CU_STREAM_NON_BLOCKING, want));
        WORKS(cu.StreamGetPriority(streams[i], &priority));
        REQUIRE(priority == want);
        WORKS(cu.MemAlloc(&memory[i], WORDS * 4));
    }
}

void topic_words(void) {
    static char own[8192] __attribute__((aligned(4096)));
    void *host;
    make_streams();
    WORKS(cu.MemHostRegister(own, 4096, CU_MEMHOSTREGISTER_DEVICEMAP));
    completion_words(own);
    small_words(own);
    WORKS(cu.MemHostUnregister(own));
    WORKS(cu.MemHostAlloc(&host, 4096, 0));
    completion_words(host);
    WORKS(cu.MemFreeHost(host));
    events();
    functions();
    for (int i = 0; i < STREAMS; i++) {
        WORKS(cu.StreamDestroy(streams[i]));
        WORKS(cu.MemFree(memory[i]));
    }
}

/* ---- a part of the multiprocessors ----------------------------------------------------------- */

static CUgreenCtx make_green(unsigned sms) {
    CUdevResource all, part;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    unsigned groups = 1;
    WORKS(cu.DeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    WORKS(cu.DevSmResourceSplitByCount(&part, &groups, &all, NULL, 0, sms));
    REQUIRE(groups == 1 && part.sm.smCount >= sms);
    WORKS(cu.DevResourceGenerateDesc(&desc, &part, 1));
    WORKS(cu.GreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    return green;
}

/* Kernels of the primary context on a green context's stream, beside one on all of the device. */
void topic_green(void) {
    CUstream part, whole;
    CUdeviceptr p;
    CUevent done;
    CUgreenCtx green = make_green(4);
    unsigned n = 100000, v = 5;
    WORKS(cu.GreenCtxStreamCreate(&part, green, CU_STREAM_NON_BLOCKING, 0));
    WORKS(cu.StreamCreate(&whole, CU_STREAM_NON_BLOCKING));
    WORKS(cu.EventCreate(&done, CU_EVENT_DISABLE_TIMING));
    WORKS(cu.MemAlloc(&p, n * 4));
    WORKS(cu.CtxSetCurrent(driver_context));
    for (int i = 0; i < 10; i++) {
        void *params[] = {&p, &n, &v};
        driver_fill_words(p, n, (unsigned)i, i % 2 ? part : whole);
        WORKS(cu.EventRecord(done, i % 2 ? part : whole));
        WORKS(cu.StreamWaitEvent(i % 2 ? whole : part, done, 0));
        driver_launch(driver_add, i % 2 ? whole : part, n, params);
        WORKS(cu.EventRecord(done, i % 2 ? whole : part));
        WORKS(cu.StreamWaitEvent(i % 2 ? part : whole, done, 0));
    }
    driver_fill_words(p, n, 77, part);
    WORKS(cu.StreamSynchronize(part));
    WORKS(cu.StreamSynchronize(whole));
    driver_check_words(p, n, 77, "on a part of the device");
    WORKS(cu.StreamDestroy(part));
    WORKS(cu.StreamDestroy(whole));
    WORKS(cu.EventDestroy(done));
    WORKS(cu.MemFree(p));
    WORKS(cu.GreenCtxDestroy(green));
}
