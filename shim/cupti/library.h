/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that programs find in place of CUPTI's functions; enumerators have CUPTI's numbers. Any
 * thread; none of them waits for the device.
 */
#ifndef SHIM_CUPTI_LIBRARY_H
#define SHIM_CUPTI_LIBRARY_H

#include "shim/cupti/cupti.h"

#define CUPTI_EXPORT __attribute__((visibility("default")))

CUPTI_EXPORT enum cupti_result cuptiActivityEnable(uint32_t kind);
CUPTI_EXPORT enum cupti_result cuptiActivityDisable(uint32_t kind);
CUPTI_EXPORT enum cupti_result cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t enable);
CUPTI_EXPORT enum cupti_result cuptiActivityEnableRuntimeApi(uint32_t cbid, uint8_t enable);
CUPTI_EXPORT enum cupti_result cuptiActivityEnableCudaEventDeviceTimestamps(uint8_t enable);
CUPTI_EXPORT enum cupti_result cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes,
                                                         void *value);
CUPTI_EXPORT enum cupti_result cuptiActivityRegisterCallbacks(cupti_requested requested,
                                                              cupti_completed completed);
CUPTI_EXPORT enum cupti_result cuptiActivityFlushAll(uint32_t flag);
CUPTI_EXPORT enum cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                                          void **record);
CUPTI_EXPORT enum cupti_result cuptiActivityGetNumDroppedRecords(CUcontext ctx, uint32_t stream,
                                                                 size_t *dropped);
CUPTI_EXPORT enum cupti_result cuptiActivityRegisterTimestampCallback(cupti_clock clock);
CUPTI_EXPORT enum cupti_result cuptiGetTimestamp(uint64_t *timestamp);
CUPTI_EXPORT enum cupti_result cuptiActivityPushExternalCorrelationId(uint32_t kind, uint64_t id);
CUPTI_EXPORT enum cupti_result cuptiActivityPopExternalCorrelationId(uint32_t kind, uint64_t *last);
CUPTI_EXPORT enum cupti_result cuptiSubscribe(void **subscriber, void *callback, void *user);
CUPTI_EXPORT enum cupti_result cuptiUnsubscribe(void *subscriber);
CUPTI_EXPORT enum cupti_result cuptiEnableCallback(uint32_t enable, void *subscriber,
                                                   uint32_t domain, uint32_t cbid);
CUPTI_EXPORT enum cupti_result cuptiEnableDomain(uint32_t enable, void *subscriber,
                                                 uint32_t domain);
CUPTI_EXPORT enum cupti_result cuptiFinalize(void);

#endif
