/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures a fill of four bytes with its completion: the calls, the way to the GPU and back, and
 * the checks. An event behind no work at all may complete without the GPU.
 */
#include "daemon/device/cuda/queue/completion_trial.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"

#define ROUNDS 33
#define NEVER UINT64_MAX
/* A completion that takes this long counts as never. */
#define PATIENCE_NS 50000000
/* A measurement may stop after this time. */
#define ENOUGH_NS 5000000
/* After the end of a context, words still show completed operations, and events show nothing. So
 * events must be faster by a quarter. */
#define EVENTS_OF_WORDS(ns) ((ns) / 4 * 3)

static int compare(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Time from before the call until its completion is seen; NEVER, or a failed call. */
static uint64_t one(struct completions *c, struct word *w, CUstream stream, uint64_t number) {
    const struct driver *d = &c->context->driver;
    const CUdeviceptr filled =
        w->address - offsetof(struct word, done) + offsetof(struct word, filled);
    uint64_t begin_ns = fdutil_now_ns(), now_ns = begin_ns;
    if (context_result(c->context, d->cuMemsetD32Async(filled, (unsigned int)number, 1, stream)))
        return NEVER;
    if (cuda_completion_sign(c, w, stream, number)) return NEVER;
    while (cuda_completion_look(c, w) < number && now_ns - begin_ns < PATIENCE_NS)
        now_ns = fdutil_now_ns();
    if (cuda_completion_look(c, w) < number) return NEVER;
    return fdutil_now_ns() - begin_ns;
}

/* The median. */
static uint64_t measure(struct completions *c, CUstream stream, enum dev_completion way) {
    uint64_t took[ROUNDS];
    uint32_t count = 0;
    struct word *w = cuda_completion_take(c);
    if (!w) return NEVER;
    c->way = way;
    one(c, w, stream, 1); /* one-time setup */
    const uint64_t begin_ns = fdutil_now_ns();
    do {
        took[count] = one(c, w, stream, count + 2);
    } while (took[count++] != NEVER && count < ROUNDS && fdutil_now_ns() - begin_ns < ENOUGH_NS);
    qsort(took, count, sizeof(took[0]), compare);
    if (!context_settle(c->context, stream)) cuda_completion_give(c, w);
    return took[count - 1] == NEVER ? NEVER : took[count / 2];
}

int completion_trial(struct completions *c) {
    const struct driver *d = &c->context->driver;
    CUstream stream = NULL;
    if (c->way != DEV_COMPLETION_AUTO) return 0;
    c->way = DEV_COMPLETION_WORDS;
    if (context_result(c->context, d->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING,
                                                                 c->context->greatest_priority)))
        return context_fatal(c->context) ? ERR_DEVICE_LOST : 0;
    uint64_t words_ns = measure(c, stream, DEV_COMPLETION_WORDS);
    uint64_t events_ns = measure(c, stream, DEV_COMPLETION_EVENTS);
    c->way = events_ns < EVENTS_OF_WORDS(words_ns) ? DEV_COMPLETION_EVENTS : DEV_COMPLETION_WORDS;
    context_result(c->context, d->cuStreamDestroy_v2(stream));
    log_info("device",
             "event=completion-method fences_ns=%" PRIu64 " events_ns=%" PRIu64 " chosen=%s",
             words_ns, events_ns, c->way == DEV_COMPLETION_EVENTS ? "events" : "words");
    return context_fatal(c->context) ? ERR_DEVICE_LOST : 0;
}
