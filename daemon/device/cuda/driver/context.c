/* SPDX-License-Identifier: Apache-2.0
 *
 * The primary context: code that is loaded into it serves streams of green contexts too.
 */
#include "daemon/device/cuda/driver/context.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/log.h"
#include "daemon/device/cuda/driver/choice.h"
#include "daemon/device/device.h"

/* The context that is current in this thread. */
static _Thread_local const struct context *current;

/* Interval between checks of a stream that could not be waited for. */
#define SETTLE_NAP_NS 100000

static int refuse(const struct driver *d, const char *what, CUresult r, char *why,
                  size_t why_bytes) {
    snprintf(why, why_bytes, "%s: %s", what, driver_name(d, r));
    return driver_error(r);
}

static int find_device(struct context *c, uint32_t number, const char *id, char *why,
                       size_t why_bytes) {
    const struct driver *d = &c->driver;
    int err = choice_find(d, number, id, &c->index, why, why_bytes);
    if (err) return err;
    CUresult r = d->cuDeviceGet(&c->device, (int)c->index);
    return r ? refuse(d, "the driver cannot get the device", r, why, why_bytes) : 0;
}

/* The worker's loop never waits inside the driver, so the kind of waiting does not matter. */
static int take_context(struct context *c, char *why, size_t why_bytes) {
    const struct driver *d = &c->driver;
    d->cuDevicePrimaryCtxSetFlags_v2(c->device, CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST);
    CUresult r = d->cuDevicePrimaryCtxRetain(&c->handle, c->device);
    if (r) return refuse(d, "the driver cannot create a context", r, why, why_bytes);
    int err = context_enter(c);
    if (err) return err;
    r = d->cuCtxGetStreamPriorityRange(&c->least_priority, &c->greatest_priority);
    return r ? refuse(d, "the driver reports no stream priorities", r, why, why_bytes) : 0;
}

int context_open(struct context *c, const struct dev_config *config, char *why, size_t why_bytes) {
    *c = (struct context){0};
    int err = driver_load(&c->driver, config->driver, why, why_bytes);
    if (!err) err = find_device(c, config->index, config->device_id, why, why_bytes);
    if (!err) err = take_context(c, why, why_bytes);
    if (err) context_close(c);
    return err;
}

void context_close(struct context *c) {
    if (c->handle) c->driver.cuDevicePrimaryCtxRelease_v2(c->device);
    c->handle = NULL;
    current = NULL;
    driver_unload(&c->driver);
}

int context_enter(struct context *c) {
    if (current == c) return 0;
    int err = context_result(c, c->driver.cuCtxSetCurrent(c->handle));
    if (!err) current = c;
    return err;
}

static int lose(struct context *c, CUresult result) {
    int before = 0;
    if (atom_cas(&c->fatal, &before, (int)result))
        log_error("device", "event=context_lost error=%s", driver_name(&c->driver, result));
    return ERR_DEVICE_LOST;
}

int context_result(struct context *c, CUresult result) {
    if (!result) return 0;
    return driver_is_fatal(result) ? lose(c, result) : driver_error(result);
}

int context_settle(struct context *c, CUstream stream) {
    const struct driver *d = &c->driver;
    CUresult r = d->cuStreamSynchronize(stream);
    if (!r) return 0;
    if (driver_is_fatal(r)) return lose(c, r);
    for (r = d->cuStreamQuery(stream); r == CUDA_ERROR_NOT_READY; r = d->cuStreamQuery(stream)) {
        struct timespec nap = {.tv_nsec = SETTLE_NAP_NS};
        nanosleep(&nap, NULL);
    }
    if (!r) return 0;
    return lose(c, driver_is_fatal(r) ? r : CUDA_ERROR_UNKNOWN);
}

void context_end(struct context *c, CUresult why) {
    context_result(c, why);
}

int context_fatal(const struct context *c) {
    return atom_load_relaxed(&c->fatal);
}
