/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/module/code_kernel_info.h"

#include "daemon/device/soft/code/func.h"
#include "daemon/device/soft/module/code_module.h"

#define CODE_BLOCK_THREADS 1024u
#define CODE_SM_REGISTERS 65536u /* registers of a multiprocessor, and the limit of a block */

uint32_t code_kernel_threads(const struct code_kernel *k) {
    const struct ptx_func *f = k->entry->ptx;
    const uint32_t *limit = f->req_block[0] ? f->req_block : f->max_block;
    if (!limit[0]) return CODE_BLOCK_THREADS;
    uint64_t threads = limit[0];
    for (int d = 1; d < 3; d++)
        if (limit[d]) threads *= limit[d];
    return threads < CODE_BLOCK_THREADS ? (uint32_t)threads : CODE_BLOCK_THREADS;
}

/* Bytes of all the module's variables in constant memory, used or not, as in cubins. */
static uint32_t constant_bytes(const struct ptx_module *ptx) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < ptx->var_count; i++)
        if (ptx->vars[i]->space == PTX_CONST) bytes += ptx->vars[i]->bytes;
    return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

/* Limit on registers. ptxas limits them so that as many blocks fit as the kernel asks for, in steps
 * of 8, and spills the rest. */
static uint32_t most_registers(const struct code_kernel *k) {
    const struct ptx_func *f = k->entry->ptx;
    uint32_t most = f->max_regs && f->max_regs < 255 ? f->max_regs : 255;
    uint32_t blocks = f->min_blocks ? f->min_blocks : 1;
    uint64_t threads = (uint64_t)code_kernel_threads(k) * blocks;
    if (!f->req_block[0] && !f->max_block[0]) return most;
    uint64_t fitting = CODE_SM_REGISTERS / threads & ~7ull;
    return fitting < most ? (uint32_t)fitting : most;
}

void code_kernel_info(const struct code_kernel *k, struct code_kernel_info *out) {
    /* 8 more for addresses and constants, which take registers on a GPU but not here. */
    uint32_t regs = k->entry->pressure + 8;
    uint32_t most = most_registers(k);
    if (regs > most) regs = most;
    *out = (struct code_kernel_info){.name = k->name,
                                     .func = k->entry->ptx,
                                     .regs = regs < 16 ? 16 : regs,
                                     .shared_bytes = k->shared_bytes,
                                     .local_bytes = k->local_bytes,
                                     .const_bytes = constant_bytes(k->module->ptx),
                                     .nests = k->nests,
                                     .launches_graphs = k->launches_graphs,
                                     .prints = k->prints,
                                     .allocates = k->allocates};
}
