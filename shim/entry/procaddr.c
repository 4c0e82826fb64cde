/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress: from a base name and an API version to an entry point, also to one that is not
 * supported: what a driver of this version has is there, and says itself what it cannot do. Without
 * it the CUDA runtime would tell of a driver that is too old, and name nothing. Works before
 * cuInit.
 */
#include "proto/procaddr.h"

#include "common/log.h"
#include "proto/gen/prototypes.h"
#include "shim/connection/refusals.h"
#include "shim/connection/state.h"
#include "shim/entry/gen_entries.h"

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

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, uint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus) {
    CUdriverProcAddressQueryResult why = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!symbol || !pfn) return CUDA_ERROR_INVALID_VALUE;
    unsigned int call = procaddr_find(symbol, cudaVersion, flags, &why);
    *pfn = call ? shim_entries[call] : NULL;
    if (!call) not_found(symbol, cudaVersion, why);
    if (symbolStatus) *symbolStatus = why;
    /* Without a place for the reason, the result has to say it. */
    return *pfn || symbolStatus ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
}
