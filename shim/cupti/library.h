/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that programs find in the place of CUPTI's functions, with the numbers of CUPTI's for
 * enumerators. Any thread; none waits for the device.
 */
#ifndef SHIM_CUPTI_LIBRARY_H
#define SHIM_CUPTI_LIBRARY_H

#include "shim/cupti/cupti.h"

#define CUPTI_EXPORT __attribute__((visibility("default")))

CUPTI_EXPORT CUptiResult cuptiActivityEnable(uint32_t kind);
CUPTI_EXPORT CUptiResult cuptiActivityDisable(uint32_t kind);
CUPTI_EXPORT CUptiResult cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
CUPTI_EXPORT CUptiResult cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
CUPTI_EXPORT CUptiResult cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable);
CUPTI_EXPORT CUptiResult cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value);
CUPTI_EXPORT CUptiResult cuptiActivityRegisterCallbacks(cupti_requested requested,
                                                        cupti_completed completed);
CUPTI_EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag);
CUPTI_EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
CUPTI_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext ctx, uint32_t stream,
                                                           size_t *dropped);
CUPTI_EXPORT CUptiResult cuptiActivityRegisterTimestampCallback(cupti_clock clock);
CUPTI_EXPORT CUptiResult cuptiGetTimestamp(uint64_t *timestamp);
CUPTI_EXPORT CUptiResult cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id);
CUPTI_EXPORT CUptiResult cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last);
CUPTI_EXPORT CUptiResult cuptiSubscribe(void **subscriber, void *callback, void *user);
CUPTI_EXPORT CUptiResult cuptiUnsubscribe(void *subscriber);
CUPTI_EXPORT CUptiResult cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain,
                                             uint32_t cbid);
CUPTI_EXPORT CUptiResult cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain);
CUPTI_EXPORT CUptiResult cuptiFinalize(void);

#endif
