/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls by which processes of one user share memory and wait for each other's work. A handle is a
 * key, which cannot be guessed and opens nothing for another user.
 */
#include <string.h>

#include "proto/gen/prototypes.h"
#include "shim/context/ctx.h"
#include "shim/context/event.h"
#include "shim/context/signal.h"
#include "shim/ipc/opened.h"

/* ---- memory ---------------------------------------------------------------------------------- */

CUresult cuIpcGetMemHandle(CUipcMemHandle *pHandle, CUdeviceptr dptr) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct opened_handle h;
    if (!pHandle) return CUDA_ERROR_INVALID_VALUE;
    r = opened_describe(dptr, &h);
    if (r) return r;
    memset(pHandle, 0, sizeof(*pHandle));
    memcpy(pHandle, &h, sizeof(h));
    return CUDA_SUCCESS;
}

/* Opens the memory of another process: a process needs no handle to its own. */
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct opened_handle h;
    uint64_t addr;
    memcpy(&h, &handle, sizeof(h));
    if (!pdptr || Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || !opened_valid(&h) || h.pool[0] ||
        h.pool[1])
        return CUDA_ERROR_INVALID_VALUE;
    if (h.job == state.conn.job_id) return CUDA_ERROR_INVALID_CONTEXT;
    r = opened_take(&h, ctx_current()->index, &addr);
    if (!r) *pdptr = addr;
    return r;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *pdptr, CUipcMemHandle handle, unsigned int Flags) {
    return cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr dptr) {
    CUresult r = ctx_enter();
    if (r) return r;
    return opened_give(dptr, false) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- events ---------------------------------------------------------------------------------- */

#define EVENT_MAGIC 0x45435049u /* "IPCE" */

struct event_handle {
    uint32_t magic;
    uint32_t job; /* the job that owns the event */
    uint64_t key[2];
};

CUresult cuIpcGetEventHandle(CUipcEventHandle *pHandle, CUevent event) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct event_handle h = {.magic = EVENT_MAGIC, .job = state.conn.job_id};
    const struct event *e = event_find(event);
    if (!e) return CUDA_ERROR_INVALID_HANDLE;
    if (!pHandle || !(e->flags & CU_EVENT_INTERPROCESS)) return CUDA_ERROR_INVALID_VALUE;
    r = signal_key(e->signal, h.key);
    if (r) return r;
    memset(pHandle, 0, sizeof(*pHandle));
    memcpy(pHandle, &h, sizeof(h));
    return CUDA_SUCCESS;
}

static CUresult open_event(const struct event_handle *h, CUevent *out) {
    struct event *e = event_create(ctx_current()->index, CU_EVENT_DISABLE_TIMING);
    if (!e) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = signal_open(h->key, &e->signal);
    if (r)
        event_destroy(e->handle);
    else
        *out = e->handle;
    return r == CUDA_ERROR_NOT_FOUND ? CUDA_ERROR_MAP_FAILED : r;
}

CUresult cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle) {
    CUresult r = ctx_enter();
    if (r) return r;
    struct event_handle h;
    memcpy(&h, &handle, sizeof(h));
    if (!phEvent || h.magic != EVENT_MAGIC) return CUDA_ERROR_INVALID_VALUE;
    return h.job == state.conn.job_id ? CUDA_ERROR_INVALID_CONTEXT : open_event(&h, phEvent);
}
