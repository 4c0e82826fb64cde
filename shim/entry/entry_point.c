/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress: maps a base name and an API version to an entry point. Entry points that are
 * not supported exist too: each one reports by itself that it is not supported. Without them the
 * CUDA runtime would report a driver that is too old, and name no call. Works before cuInit.
 */
#include "shim/entry/entry_point.h"

#include "common/log.h"
#include "proto/procaddr.h"
#include "shim/connection/refusals.h"
#include "shim/connection/state.h"

/* Logs only at debug level: runtimes look for hundreds of names, newer ones too, and never call
 * most of them. */
static void not_found(const char *symbol, int version, CUdriverProcAddressQueryResult why) {
    const char *text = why == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                           ? "the function is newer than the requested version"
                           : "the driver has no such function";
    state_log();
    log_debug("shim", "what=\"%s\" name=%s version=%d", text, symbol, version);
    refusals_note("symbol", symbol, NULL, 0, text, SIZE_MAX);
}

CUresult entry_point_find(void *const entries[], const char *symbol, void **pfn, int version,
                          uint64_t flags, CUdriverProcAddressQueryResult *status) {
    CUdriverProcAddressQueryResult why = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!symbol || !pfn) return CUDA_ERROR_INVALID_VALUE;
    unsigned int call = procaddr_find(symbol, version, flags, &why);
    *pfn = call ? entries[call] : NULL;
    if (!call) not_found(symbol, version, why);
    if (status) *status = why;
    /* A caller that passes no place for the status gets the reason as the result. */
    return *pfn || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
