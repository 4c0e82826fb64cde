/* SPDX-License-Identifier: Apache-2.0
 *
 * Green contexts of increasing size.
 */
#include "daemon/device/cuda/driver/cuda_share.h"

#include <stdbool.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"

/* ---- making shares --------------------------------------------------------------------------- */

static bool has_green_contexts(const struct driver *d) {
    return d->cuDevSmResourceSplitByCount && d->cuDevResourceGenerateDesc && d->cuGreenCtxCreate &&
           d->cuGreenCtxDestroy && d->cuGreenCtxStreamCreate;
}

static CUresult add(struct shares *s, CUdevResource *part) {
    const struct driver *d = &s->context->driver;
    struct share *to = &s->list[s->count];
    CUdevResourceDesc desc = NULL;
    CUresult r = d->cuDevResourceGenerateDesc(&desc, part, 1);
    if (!r)
        r = d->cuGreenCtxCreate(&to->green, desc, s->context->device, CU_GREEN_CTX_DEFAULT_STREAM);
    if (r) return r;
    to->sms = part->sm.smCount;
    s->count++;
    return CUDA_SUCCESS;
}

/* Adds one or two parts of this size, as the driver rounds it, unless that size exists. */
static CUresult add_size(struct shares *s, const CUdevResource *whole, uint32_t sms) {
    CUdevResource parts[2];
    unsigned int count = 2 * sms <= s->sms ? 2 : 1;
    memset(parts, 0, sizeof(parts));
    CUresult r = s->context->driver.cuDevSmResourceSplitByCount(parts, &count, whole, NULL, 0, sms);
    if (r) return r;
    uint32_t before = s->count ? s->list[s->count - 1].sms : 0;
    if (parts[0].sm.smCount <= before || parts[0].sm.smCount >= s->sms) return CUDA_SUCCESS;
    for (unsigned int i = 0; !r && i < count && i < 2; i++)
        r = add(s, &parts[i]);
    return r;
}

/* A multiple of the driver's unit, as near as possible to the wanted step. */
static uint32_t step_of(uint32_t sms, uint32_t least, uint32_t unit) {
    uint32_t units = (2 * sms / SHARE_PARTS + unit) / (2 * unit), step = (units ? units : 1) * unit;
    while (step < least)
        step += unit;
    return step;
}

static CUresult add_all(struct shares *s) {
    const struct driver *d = &s->context->driver;
    CUdevResource whole;
    memset(&whole, 0, sizeof(whole));
    if (!has_green_contexts(d)) return CUDA_ERROR_NOT_SUPPORTED;
    CUresult r = d->cuDeviceGetDevResource(s->context->device, &whole, CU_DEV_RESOURCE_TYPE_SM);
    if (r) return r;
    uint32_t least = whole.sm.minSmPartitionSize, unit = whole.sm.smCoscheduledAlignment;
    if (!least || !unit || whole.sm.smCount != s->sms) return CUDA_ERROR_NOT_SUPPORTED;
    s->step = step_of(s->sms, least, unit);
    r = least < s->sms ? add_size(s, &whole, least) : CUDA_SUCCESS;
    for (uint32_t sms = s->step; !r && sms < s->sms; sms += s->step)
        if (sms > least) r = add_size(s, &whole, sms);
    return r;
}

int cuda_share_open(struct shares *s, struct context *context, uint32_t sms) {
    *s = (struct shares){.context = context, .sms = sms};
    CUresult r = add_all(s);
    if (context_result(context, r) == ERR_DEVICE_LOST) return ERR_DEVICE_LOST;
    if (r) cuda_share_close(s);
    if (!s->count)
        log_warn("device",
                 "event=no_shares error=\"%s\" text=\"every kernel may use all multiprocessors\"",
                 r ? driver_name(&context->driver, r) : "the multiprocessors cannot be split");
    return 0;
}

void cuda_share_close(struct shares *s) {
    s->step = 0;
    while (s->count > 0)
        context_result(s->context, s->context->driver.cuGreenCtxDestroy(s->list[--s->count].green));
}

/* ---- choosing a share ------------------------------------------------------------------------ */

static bool is_better(const struct share *a, const struct share *than) {
    return a->sms == than->sms ? a->queues < than->queues : a->sms > than->sms;
}

uint32_t cuda_share_enter(struct shares *s, uint32_t sms) {
    if (!sms || sms >= s->sms || !s->count) return 0;
    if (sms < s->list[0].sms) sms = s->list[0].sms;
    struct share *best = &s->list[0];
    for (uint32_t i = 1; i < s->count; i++)
        if (s->list[i].sms <= sms && is_better(&s->list[i], best)) best = &s->list[i];
    best->queues++;
    return (uint32_t)(best - s->list) + 1;
}

void cuda_share_leave(struct shares *s, uint32_t number) {
    if (number) s->list[number - 1].queues--;
}

uint32_t cuda_share_sms(const struct shares *s, uint32_t number) {
    return number ? s->list[number - 1].sms : s->sms;
}

int cuda_share_stream(struct shares *s, uint32_t number, int priority, CUstream *out) {
    const struct driver *d = &s->context->driver;
    if (!number)
        return context_result(s->context,
                              d->cuStreamCreateWithPriority(out, CU_STREAM_NON_BLOCKING, priority));
    CUgreenCtx green = s->list[number - 1].green;
    return context_result(s->context,
                          d->cuGreenCtxStreamCreate(out, green, CU_STREAM_NON_BLOCKING, priority));
}
