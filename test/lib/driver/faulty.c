/* SPDX-License-Identifier: Apache-2.0
 *
 * Each export jumps to the real driver's function with registers and stack unchanged, once
 * faulty_before allows it.
 */
#include "test/lib/driver/faulty.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/device/cuda/driver/driver.h"
#include "test/lib/driver/fake.h"
#include "test/lib/driver/faulty_hold.h"

enum {
#define CALL(name) INDEX_##name,
#include "daemon/device/cuda/driver/calls.def"
#undef CALL
    CALL_COUNT
};

#define RULES 8

static const char *const names[] = {
#define CALL(name) #name,
#include "daemon/device/cuda/driver/calls.def"
#undef CALL
};

void *faulty_real[CALL_COUNT] __attribute__((visibility("hidden")));
int faulty_before(uint32_t call, void *first, void *fourth) __attribute__((visibility("hidden")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct faulty_rule rules[RULES];
static uint32_t rule_count, counts[CALL_COUNT], all, fired;
static uint64_t chance = 1;
static int dead;
static void *behind;

/* ---- rules ----------------------------------------------------------------------------------- */

static int call_of(const char *name) {
    for (int i = 0; i < CALL_COUNT; i++)
        if (!strcmp(names[i], name)) return i;
    return -1;
}

static void read_rules(char *text) {
    char *save = NULL;
    for (char *one = strtok_r(text, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
        char name[64], nth[16], what[16];
        if (rule_count == RULES || sscanf(one, "%63[^:]:%15[^:]:%15s", name, nth, what) != 3) {
            fprintf(stderr, "faulty: what is \"%s\"?\n", one);
            abort();
        }
        bool delays = strchr("+~^", what[0]);
        rules[rule_count++] = (struct faulty_rule){.call = call_of(name),
                                                   .nth = (uint32_t)atoi(nth),
                                                   .result = delays ? 0 : atoi(what),
                                                   .delay_us = delays ? atoi(what + 1) : 0,
                                                   .random = what[0] == '~' || what[0] == '^',
                                                   .holds = what[0] == '^'};
    }
}

static void load(void) {
    const char *path = getenv("SALUS_FAULTY_DRIVER"), *text = getenv("SALUS_FAULTY");
    behind = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!behind) {
        fprintf(stderr, "faulty: no driver behind it: %s\n", path ? dlerror() : "none is named");
        abort();
    }
    for (uint32_t i = 0; i < CALL_COUNT; i++)
        faulty_real[i] = dlsym(behind, names[i]);
    char *copy = text ? strdup(text) : NULL;
    if (copy) read_rules(copy);
    free(copy);
    const char *seed = getenv("SALUS_FAULTY_SEED");
    chance = seed ? strtoull(seed, NULL, 10) : 0;
    chance = chance * 2 + 1; /* never 0 */
}

/* True unless another process has created the file of SALUS_FAULTY_ONCE. */
static bool is_first(void) {
    const char *path = getenv("SALUS_FAULTY_ONCE");
    int fd = path ? open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) close(fd);
    return !path || fd >= 0;
}

static int fail(const struct faulty_rule *r) {
    if (!is_first()) return 0;
    fired++;
    if (!driver_is_fatal((CUresult)r->result)) return r->result;
    const struct fake_control *fake = dlsym(behind, "fake_control");
    dead = r->result;
    if (fake) fake->end((CUresult)r->result);
    return dead;
}

/* xorshift64: a random number up to `most`. */
static uint32_t at_random(uint32_t most) {
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    return (uint32_t)((chance >> 16) % (most + 1ull));
}

static bool says_nothing_of_contexts(uint32_t call) {
    return call == INDEX_cuGetErrorName || call == INDEX_cuGetErrorString ||
           call == INDEX_cuDriverGetVersion;
}

/* Gets the stream that a call concerns, from its arguments; returns false for calls without a
 * stream. */
static bool stream_of(uint32_t call, void *first, void *fourth, void **stream) {
    switch (call) {
    case INDEX_cuStreamWriteValue64_v2: *stream = first; return true;
    case INDEX_cuMemcpyAsync: *stream = fourth; return true;
    case INDEX_cuLaunchKernelEx: *stream = ((const CUlaunchConfig *)first)->hStream; return true;
    default: return false;
    }
}

/* Returns the result that replaces the call; 0: make the call. */
int faulty_before(uint32_t call, void *first, void *fourth) {
    uint32_t delay_us = 0, hold_us = 0;
    int result = 0;
    pthread_once(&once, load);
    if (says_nothing_of_contexts(call)) return 0;
    pthread_mutex_lock(&lock);
    counts[call]++;
    all++;
    for (uint32_t i = 0; i < rule_count && !dead && !result; i++) {
        const struct faulty_rule *r = &rules[i];
        if (r->call >= 0 && (uint32_t)r->call != call) continue;
        if (r->nth && r->nth != (r->call < 0 ? all : counts[call])) continue;
        *(r->holds ? &hold_us : &delay_us) += r->random ? at_random(r->delay_us) : r->delay_us;
        if (r->result) result = fail(r);
    }
    if (dead) result = dead;
    pthread_mutex_unlock(&lock);
    if (delay_us) usleep(delay_us);
    void *stream;
    if (hold_us && !result && stream_of(call, first, fourth, &stream))
        faulty_hold(behind, stream, hold_us);
    return result;
}

/* ---- control --------------------------------------------------------------------------------- */

static bool gives_back(uint32_t call) {
    /* Calls that free objects. References are bound to something else before the memory they
     * read is freed. */
    static const char *const words[] = {"Destroy",    "Release", "Free",       "Unmap",
                                        "Unregister", "Unload",  "RefSetArray"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(names[call], words[i])) return true;
    return false;
}

static void set(const struct faulty_rule *rule) {
    pthread_once(&once, load);
    pthread_mutex_lock(&lock);
    memset(counts, 0, sizeof(counts));
    all = fired = rule_count = 0;
    dead = 0;
    if (rule) rules[rule_count++] = *rule;
    pthread_mutex_unlock(&lock);
}

static uint32_t count(uint32_t call) {
    pthread_mutex_lock(&lock);
    uint32_t n = counts[call];
    pthread_mutex_unlock(&lock);
    return n;
}

static uint32_t fired_count(void) {
    pthread_mutex_lock(&lock);
    uint32_t n = fired;
    pthread_mutex_unlock(&lock);
    return n;
}

const struct faulty_control faulty_control = {.call_count = CALL_COUNT,
                                              .names = names,
                                              .gives_back = gives_back,
                                              .set = set,
                                              .count = count,
                                              .fired = fired_count};
