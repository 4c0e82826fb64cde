/* SPDX-License-Identifier: Apache-2.0
 *
 * Every unsupported entry point ends here. Its name is logged once, so that a failing program can
 * be understood.
 */
#include "shim/entry/unsupported.h"

#include "common/atomics.h"
#include "shim/connection/logbook.h"
#include "shim/connection/refusals.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"

CUresult unsupported_call(enum call call) {
    static _Atomic uint32_t named[CALL_LIMIT];
    CUresult r = state_ready();
    if (r) return r;
    const struct call_info *info = call_info(call);
    if (info) refusals_note("call", info->name, __builtin_return_address(0), 0, "", 0);
    if (!info) return CUDA_ERROR_NOT_SUPPORTED;
    if (atom_load_relaxed(&named[call]) || atom_exchange(&named[call], 1))
        logbook_add(CU_LOG_LEVEL_ERROR, "%s is not supported", info->name);
    else
        refuse_call(info->name);
    logbook_deliver();
    return CUDA_ERROR_NOT_SUPPORTED;
}
