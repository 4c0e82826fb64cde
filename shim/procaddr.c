/* SPDX-License-Identifier: Apache-2.0
 *
 * cuGetProcAddress: from a base name and an API version to an entry point. Works before cuInit.
 */
#include "proto/procaddr.h"

#include "proto/gen/prototypes.h"
#include "shim/gen_entries.h"

CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, uint64_t flags,
                             CUdriverProcAddressQueryResult *symbolStatus) {
    CUdriverProcAddressQueryResult why = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!symbol || !pfn) return CUDA_ERROR_INVALID_VALUE;
    unsigned int call = procaddr_find(symbol, cudaVersion, flags, &why);
    *pfn = call ? shim_entries[call] : NULL;
    if (*pfn) why = CU_GET_PROC_ADDRESS_SUCCESS;
    if (symbolStatus) *symbolStatus = why;
    /* Without a place for the reason, the result has to say it. */
    return *pfn || symbolStatus ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, uint64_t flags) {
    return cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
}
