/* SPDX-License-Identifier: Apache-2.0
 *
 * Events with times, and the anchor between two clocks.
 */
#include "daemon/device/cuda/driver/cuda_time.h"

#include <stdlib.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"

/* Lifetime of an anchor. The driver gives distances as float milliseconds, whose last bit in a
 * second is 60 ns; clocks drift apart by some ten microseconds in a second. */
#define TIME_ANCHOR_NS 1000000000ull
/* How long the worker's loop waits for a new anchor before it continues with the old one. */
#define TIME_TRY_NS 100000u

static int result(struct times *t, CUresult r) {
    return context_result(t->context, r);
}

/* ---- the anchor ------------------------------------------------------------------------------ */

static void use_anchor(struct times *t, uint32_t which, uint64_t before_ns, uint64_t after_ns) {
    t->anchor = which;
    t->error_ns = (after_ns - before_ns) / 2;
    t->anchor_ns = before_ns + t->error_ns;
}

/* Waits for the first anchor. */
static int take_first(struct times *t) {
    const struct driver *d = &t->context->driver;
    int err = 0;
    for (int i = 0; !err && i < 2; i++)
        err = result(t, d->cuEventCreate(&t->anchors[i], CU_EVENT_DEFAULT));
    uint64_t before_ns = t->tried_ns = fdutil_now_ns();
    if (!err) err = result(t, d->cuEventRecord(t->anchors[0], t->stream));
    if (!err) err = context_settle(t->context, t->stream);
    float ms = 0;
    if (!err) use_anchor(t, 0, before_ns, fdutil_now_ns());
    if (!err) err = result(t, d->cuEventElapsedTime(&ms, t->anchors[0], t->anchors[0]));
    return err;
}

static void take_another(struct times *t) {
    const struct driver *d = &t->context->driver;
    uint32_t next = !t->anchor;
    uint64_t before_ns = t->tried_ns = fdutil_now_ns(), after_ns;
    if (result(t, d->cuEventRecord(t->anchors[next], t->stream))) return;
    do {
        CUresult r = d->cuEventQuery(t->anchors[next]);
        after_ns = fdutil_now_ns();
        if (!r) use_anchor(t, next, before_ns, after_ns);
        if (r != CUDA_ERROR_NOT_READY) {
            result(t, r);
            return;
        }
    } while (after_ns - before_ns < TIME_TRY_NS);
}

/* ---- opening and closing --------------------------------------------------------------------- */

int cuda_time_open(struct times *t, struct context *context, CUstream stream) {
    *t = (struct times){.context = context, .stream = stream};
    int err = take_first(t);
    if (err == ERR_DEVICE_LOST) return err;
    t->works = !err;
    if (err)
        log_warn("device",
                 "event=no_times error=\"%s\" text=\"times of kernels are those at which the "
                 "worker saw their ends\"",
                 err_text(err));
    else
        log_info("device", "event=times error_ns=%llu", (unsigned long long)t->error_ns);
    return 0;
}

void cuda_time_close(struct times *t) {
    if (!t->context) return;
    const struct driver *d = &t->context->driver;
    for (int i = 0; i < 2; i++)
        if (t->anchors[i]) d->cuEventDestroy_v2(t->anchors[i]);
    while (t->free_count > 0)
        d->cuEventDestroy_v2(t->free[--t->free_count]);
    free(t->free);
    *t = (struct times){0};
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* Makes an event; `free` has capacity for all events that were made. */
static CUevent make(struct times *t) {
    CUevent mark = NULL;
    if (t->made == t->room) {
        uint32_t room = t->room ? 2 * t->room : 64;
        CUevent *more = realloc(t->free, room * sizeof(*more));
        if (!more) return NULL;
        t->free = more;
        t->room = room;
    }
    if (result(t, t->context->driver.cuEventCreate(&mark, CU_EVENT_DEFAULT))) return NULL;
    t->made++;
    return mark;
}

CUevent cuda_time_mark(struct times *t, CUstream stream) {
    if (!t->works) return NULL;
    if (fdutil_now_ns() - t->tried_ns > TIME_ANCHOR_NS) take_another(t);
    CUevent mark = t->free_count ? t->free[--t->free_count] : make(t);
    if (!mark || !result(t, t->context->driver.cuEventRecord(mark, stream))) return mark;
    cuda_time_drop(t, mark);
    return NULL;
}

bool cuda_time_of(struct times *t, CUevent mark, uint64_t *ns) {
    float ms = 0;
    CUevent anchor = t->anchors[t->anchor];
    if (!mark || result(t, t->context->driver.cuEventElapsedTime(&ms, anchor, mark))) return false;
    *ns = t->anchor_ns + (uint64_t)(int64_t)((double)ms * 1e6);
    return true;
}

void cuda_time_drop(struct times *t, CUevent mark) {
    if (mark) t->free[t->free_count++] = mark;
}
