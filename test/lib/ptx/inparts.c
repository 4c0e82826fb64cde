/* SPDX-License-Identifier: Apache-2.0 */
#include "test/lib/ptx/inparts.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/launch/launch.h"
#include "daemon/device/soft/module/code_kernel_info.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/device/subgrid/subgrid.h"
#include "daemon/device/subgrid/subgrid_rewrite.h"
#include "daemon/device/subgrid/subgrid_slab.h"

#define BYTES_MOST (16u << 20)
#define PARTS_MOST 24 /* most parts of a launch */

struct code_module *inparts_load(const struct ptx_module *ptx, const char *text, size_t bytes,
                                 struct code_env *env) {
    struct ptx_module *parts = NULL;
    struct code_module *m = NULL;
    char *rewritten, why[256];
    if (subgrid_rewrite(text, bytes, ptx, &rewritten, why, sizeof(why))) return NULL;
    int err = ptx_parse(rewritten, strlen(rewritten), &parts, why, sizeof(why));
    if (!err && code_module_create(&m, parts)) ptx_module_free(parts);
    if (m && code_module_place(m, env, why, sizeof(why))) {
        code_module_destroy(m);
        m = NULL;
    }
    free(rewritten);
    return m;
}

/* ---- which launches -------------------------------------------------------------------------- */

static bool names_time(const struct ptx_operand *o) {
    if (o->kind == PTX_OPND_SREG &&
        (o->sreg == PTX_SREG_SMID || o->sreg == PTX_SREG_NSMID || o->sreg == PTX_SREG_WARPID ||
         (o->sreg >= PTX_SREG_CLOCK && o->sreg <= PTX_SREG_GLOBALTIMER_HI)))
        return true;
    for (uint32_t k = 0; k < o->elem_count; k++)
        if (names_time(&o->elems[k])) return true;
    return false;
}

/* True if the result may depend on which thread comes first, or on when it runs. */
static bool is_a_race(const struct ptx_func *f) {
    for (uint32_t k = 0; k < f->inst_count; k++) {
        const struct ptx_inst *i = &f->insts[k];
        if (i->op == PTX_OP_atom || i->op == PTX_OP_red || i->op == PTX_OP_call) return true;
        for (uint32_t j = 0; j < i->operand_count; j++)
            if (names_time(&i->operands[j])) return true;
    }
    return false;
}

static uint64_t blocks_of(const uint32_t grid[3]) {
    return (uint64_t)grid[0] * grid[1] * grid[2];
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t memory_bytes(const struct ptxrun *r) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < r->block_count; i++)
        bytes += r->block_bytes[i];
    return bytes;
}

static unsigned char *memory_copy(const struct ptxrun *r) {
    unsigned char *copy = malloc(memory_bytes(r) + 1), *at = copy;
    for (uint32_t i = 0; copy && i < r->block_count; at += r->block_bytes[i++])
        memcpy(at, r->blocks[i], r->block_bytes[i]);
    return copy;
}

static void memory_set(struct ptxrun *r, const unsigned char *at) {
    for (uint32_t i = 0; i < r->block_count; at += r->block_bytes[i++])
        memcpy(r->blocks[i], at, r->block_bytes[i]);
}

static bool memory_is(const struct ptxrun *r, const unsigned char *at) {
    for (uint32_t i = 0; i < r->block_count; at += r->block_bytes[i++])
        if (memcmp(r->blocks[i], at, r->block_bytes[i]) != 0) return false;
    return true;
}

/* ---- in parts -------------------------------------------------------------------------------- */

void inparts_begin(struct inparts *p, struct ptxrun *r, const struct ptx_func *f,
                   const struct launch_config *config) {
    struct code_kernel *k;
    char why[256];
    *p = (struct inparts){0};
    if (!r->cut || r->beside || r->cooperative || r->cluster[0] || r->max_steps) return;
    if (blocks_of(config->grid) < 2 || memory_bytes(r) > BYTES_MOST || is_a_race(f)) return;
    if (code_kernel_get(r->cut, f->name, &k, why, sizeof(why))) return;
    p->before = memory_copy(r);
}

static const char *run_parts(struct ptxrun *r, const struct launch_config *whole,
                             int (*run)(struct ptxrun *r, const struct launch_config *config)) {
    struct launch_config part = *whole;
    struct code_kernel_info info;
    struct subgrid_slabs slabs;
    uint32_t first[3];
    const char *wrong = NULL;
    code_kernel_info(whole->kernel, &info);
    const char *name = info.func->name;
    uint32_t at = subgrid_param_at(whole->param_bytes), bytes = at + 4 * SUBGRID_PARAMS;
    if (code_kernel_get(r->cut, name, &part.kernel, r->why, sizeof(r->why))) return r->why;
    void *room = calloc(1, launch_param_room(part.kernel, bytes));
    unsigned char *params = launch_param_place(part.kernel, room);
    memcpy(params, whole->params, whole->param_bytes);
    memcpy(params + at + 12, whole->grid, 12);
    part.params = params;
    part.param_bytes = bytes;
    part.ranges = r->ranges;
    subgrid_slab_begin(&slabs, whole->grid);
    while (!wrong && subgrid_slab_left(&slabs)) {
        subgrid_slab_take(&slabs, 1 + blocks_of(whole->grid) / PARTS_MOST, first, part.grid);
        memcpy(params + at, first, sizeof(first));
        if (run(r, &part)) wrong = "a part of it failed";
    }
    free(room);
    return wrong;
}

const char *inparts_end(struct inparts *p, struct ptxrun *r, const struct launch_config *config,
                        int err, int (*run)(struct ptxrun *r, const struct launch_config *config)) {
    const struct ptxrun was = *r;
    unsigned char *after = p->before && !err ? memory_copy(r) : NULL;
    const char *wrong = NULL;
    if (after) {
        memory_set(r, p->before);
        wrong = run_parts(r, config, run);
        if (!wrong && !memory_is(r, after)) wrong = "in parts it leaves something else";
        memory_set(r, after);
        r->result = was.result;
        r->steps = was.steps;
        r->text_len = was.text_len;
        r->in_parts++;
    }
    free(after);
    free(p->before);
    return wrong;
}
