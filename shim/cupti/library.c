/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that take precedence over those of CUPTI's own library, which cannot trace without
 * NVIDIA's driver. This library is loaded first, so that programs linked with CUPTI, such as
 * PyTorch, call these. All other functions are CUPTI's.
 */
#include "shim/cupti/library.h"

#include "shim/context/trace.h"
#include "shim/cupti/activity.h"
#include "shim/cupti/buffers.h"
#include "shim/cupti/clock.h"
#include "shim/cupti/external.h"

/* ---- kinds ----------------------------------------------------------------------------------- */

enum cupti_result cuptiActivityEnable(uint32_t kind) {
    return activity_want(kind, true) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

enum cupti_result cuptiActivityDisable(uint32_t kind) {
    activity_want(kind, false);
    return kind < CUPTI_KINDS ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

enum cupti_result cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable) {
    if (cbid != CUPTI_CBID_LAUNCH_KERNEL) return enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
    return activity_want(CUPTI_KIND_DRIVER, enable) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_KIND;
}

enum cupti_result cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable) {
    return enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

enum cupti_result cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable) {
    return enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

/* Accepts any attribute: CUPTI's attributes are sizes of buffers, which this library does not have.
 */
enum cupti_result cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value) {
    return bytes && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

/* ---- buffers --------------------------------------------------------------------------------- */

enum cupti_result cuptiActivityRegisterCallbacks(cupti_requested requested,
                                                 cupti_completed completed) {
    if (!requested || !completed) return CUPTI_ERROR_INVALID_PARAMETER;
    buffers_register(requested, completed);
    return CUPTI_SUCCESS;
}

enum cupti_result cuptiActivityFlushAll(uint32_t flag) {
    if (!buffers_registered()) return CUPTI_ERROR_INVALID_PARAMETER;
    activity_collect();
    buffers_flush();
    return CUPTI_SUCCESS;
}

enum cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record) {
    if (!buffer || !record) return CUPTI_ERROR_INVALID_PARAMETER;
    uint8_t *at = *record;
    if (!buffers_next(buffer, valid, &at)) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = at;
    return CUPTI_SUCCESS;
}

enum cupti_result cuptiActivityGetNumDroppedRecords(CUcontext ctx, uint32_t stream,
                                                    size_t *dropped) {
    if (!dropped) return CUPTI_ERROR_INVALID_PARAMETER;
    *dropped = (size_t)(buffers_dropped() + trace_dropped());
    return CUPTI_SUCCESS;
}

/* ---- times and ids --------------------------------------------------------------------------- */

enum cupti_result cuptiActivityRegisterTimestampCallback(cupti_clock clock) {
    clock_choose(clock);
    return CUPTI_SUCCESS;
}

enum cupti_result cuptiGetTimestamp(uint64_t *timestamp) {
    if (!timestamp) return CUPTI_ERROR_INVALID_PARAMETER;
    *timestamp = clock_now();
    return CUPTI_SUCCESS;
}

enum cupti_result cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id) {
    if (!kind || kind >= CUPTI_EXTERNAL_KINDS) return CUPTI_ERROR_INVALID_PARAMETER;
    return external_push(kind, id) ? CUPTI_SUCCESS : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

enum cupti_result cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last) {
    uint64_t id;
    if (!kind || kind >= CUPTI_EXTERNAL_KINDS) return CUPTI_ERROR_INVALID_PARAMETER;
    if (!external_pop(kind, &id)) return CUPTI_ERROR_QUEUE_EMPTY;
    if (last) *last = id;
    return CUPTI_SUCCESS;
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* Accepts a subscriber that is never called: no callback can be enabled. */
enum cupti_result cuptiSubscribe(void **subscriber, void *callback, void *user) {
    static char only;
    if (!subscriber || !callback) return CUPTI_ERROR_INVALID_PARAMETER;
    *subscriber = &only;
    return CUPTI_SUCCESS;
}

enum cupti_result cuptiUnsubscribe(void *subscriber) {
    return subscriber ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

enum cupti_result cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain,
                                      uint32_t cbid) {
    return enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

enum cupti_result cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain) {
    return enable ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

enum cupti_result cuptiFinalize(void) {
    activity_stop();
    return CUPTI_SUCCESS;
}
