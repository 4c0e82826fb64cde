/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress: from a base name and an API version to an entry point, also to one that is not
 * supported: what a driver of this version has is there, and says itself what it cannot do. Without
 * it the CUDA runtime would tell of a driver that is too old, and name nothing. Works before
 * cuInit.
 */
#include "shim/entry/entry_point.h"

#include "common/log.h"
#include "proto/procaddr.h"
#include "shim/connection/refusals.h"
#include "shim/connection/state.h"

/* No line but for those who ask: runtimes look for hundreds of names, newer ones too, and most are
 * never called. */
static void not_found(const char *symbol, int version, CUdriverProcAddressQueryResult why) {
    const char *text = why == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                           ? "newer than was asked for"
                           : "no such entry point";
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
    /* Without a place for the reason, the result has to say it. */
    return *pfn || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
