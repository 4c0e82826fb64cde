/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/cuda/queue/cuda_subgrid.h"

#include <string.h>

#include "daemon/device/cuda/module/cuda_module.h"
#include "daemon/device/cuda/queue/operation.h"
#include "daemon/device/subgrid/subgrid.h"

#define WHOLE 1000u /* thousandths */

/* Size of a part in blocks; 0: unknown, or the launch is not split. */
static uint64_t blocks_of(const struct cuda_subgrids *how, const struct dev_launch *l,
                          uint32_t sms) {
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (threads > UINT32_MAX) return 0;
    uint64_t wave = (uint64_t)sms * cuda_cut_blocks(l->func->module->context, &l->func->cut,
                                                    (uint32_t)threads, l->shared_bytes);
    uint64_t part = wave * how->waves / WHOLE;
    return wave && !part ? 1 : part;
}

/* Bytes of the kernel's own parameters: the launch may have padding behind them. */
static uint32_t own_bytes(const struct dev_launch *l) {
    uint32_t most = l->func->info.param_bytes;
    return l->param_bytes < most ? l->param_bytes : most;
}

void cuda_subgrid_begin(struct cuda_parts *p, const struct cuda_subgrids *how,
                        const struct dev_launch *l, uint32_t sms) {
    uint32_t first[3], grid[3];
    *p = (struct cuda_parts){0};
    if (!how->on || !l->func->cut.handle || l->func->module->prints) return;
    if (l->cooperative || l->cluster[0] || l->graph) return;
    if (l->func->info.param_bytes > SUBGRID_PARAM_BYTES) return;
    uint64_t blocks = blocks_of(how, l, sms);
    subgrid_slab_begin(&p->slabs, l->grid);
    if (!blocks) return;
    struct subgrid_slabs trial = p->slabs;
    subgrid_slab_take(&trial, blocks, first, grid);
    p->cut = subgrid_slab_left(&trial) > 0;
}

bool cuda_subgrid_more(const struct cuda_parts *p) {
    return p->cut && subgrid_slab_left(&p->slabs);
}

int cuda_subgrid_next(struct cuda_parts *p, const struct cuda_subgrids *how, CUstream stream,
                      const struct dev_launch *l, uint32_t sms) {
    unsigned char params[SUBGRID_PARAM_BYTES + 4 * SUBGRID_PARAMS] = {0};
    struct dev_launch part = *l;
    uint32_t first[3], own = own_bytes(l), at = subgrid_param_at(l->func->info.param_bytes);
    uint64_t blocks = sms ? blocks_of(how, l, sms) : UINT64_MAX;
    subgrid_slab_take(&p->slabs, blocks, first, part.grid);
    if (own) memcpy(params, l->params, own);
    memcpy(params + at, first, sizeof(first));
    memcpy(params + at + sizeof(first), l->grid, sizeof(l->grid));
    part.params = params;
    part.param_bytes = at + 4 * SUBGRID_PARAMS;
    return operation_launch_as(l->func->module->context, stream, &part, l->func->cut.handle);
}
