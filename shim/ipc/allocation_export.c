/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates a pair of sockets: one end goes to the worker through the broker. The answer has the key,
 * which is put into the descriptor.
 */
#include "shim/ipc/allocation_export.h"

#include <errno.h>
#include <string.h>

#include "common/fdutil.h"
#include "proto/wire/wire.h"
#include "shim/connection/refuse.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/ipc/keyfile.h"
#include "shim/memory/allocation.h"

#define KEEP_SINCE 7 /* first minor version of the protocol with WIRE_KEEP_MAGIC */

struct sending {
    uint32_t segment;
    int end;
};

static CUresult send_end(void *arg, uint32_t slot, uint64_t ticket) {
    const struct sending *s = arg;
    const struct wire_file msg = {
        .magic = WIRE_KEEP_MAGIC, .file = s->segment, .reply = slot, .ticket = ticket};
    int err = fdutil_send(state.conn.sock, &msg, sizeof(msg), &s->end, 1);
    if (!err) return CUDA_SUCCESS;
    CUresult r = state_fault();
    return r ? r : CUDA_ERROR_OPERATING_SYSTEM;
}

static CUresult ask(uint32_t segment, int end, struct keyfile *key) {
    struct sending s = {segment, end};
    struct reply answer = {0};
    struct wire_segment_reply got;
    CUresult r = reply_call_by(send_end, &s, &answer);
    if (r && answer.bytes) refuse_export((const char *)answer.data, answer.bytes);
    if (r) return answer.result == -EMFILE ? CUDA_ERROR_OPERATING_SYSTEM : r;
    memcpy(&got, answer.data, sizeof(got));
    memcpy(key->key, got.key, sizeof(key->key));
    allocation_know(segment, got.key);
    return keyfile_put(end, key) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}

static CUresult make_keeping(uint32_t segment, int *fd) {
    struct keyfile key = {.kind = KEYFILE_ALLOCATION};
    int end;
    if (keyfile_pair(fd, &end)) return CUDA_ERROR_OPERATING_SYSTEM;
    CUresult r = ask(segment, end, &key);
    fdutil_close(&end);
    if (r) fdutil_close(fd);
    return r;
}

/* Makes a descriptor for an older salusd. It does not keep the memory: an allocation that no
 * process has opened ends with this process. */
static CUresult make_bare(CUmemGenericAllocationHandle handle, int *fd) {
    struct keyfile key = {.kind = KEYFILE_ALLOCATION};
    CUresult r = allocation_key(handle, key.key);
    if (!r) *fd = keyfile_create(&key);
    return !r && *fd < 0 ? CUDA_ERROR_OPERATING_SYSTEM : r;
}

/* The allocation is held meanwhile, so its number cannot be reused. */
CUresult allocation_export_make(CUmemGenericAllocationHandle handle, int *fd) {
    struct allocation_info info;
    if (!allocation_show(handle, &info)) return CUDA_ERROR_INVALID_VALUE;
    CUresult r =
        state.conn.minor < KEEP_SINCE ? make_bare(handle, fd) : make_keeping(info.segment, fd);
    allocation_hide(info.segment);
    return r;
}
