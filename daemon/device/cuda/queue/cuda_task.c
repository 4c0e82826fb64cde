/* SPDX-License-Identifier: Apache-2.0
 *
 * Free lists: tasks, in blocks, and parameter blocks, by size.
 */
#include "daemon/device/cuda/queue/cuda_task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_TASKS 64u
#define PARAMS_LEAST 256u /* bytes */

struct task_block {
    struct task_block *next;
    struct task tasks[BLOCK_TASKS];
};

struct task_params {
    struct task_params *next;
    uint32_t size;                                      /* index of the size */
    unsigned char bytes[] __attribute__((aligned(16))); /* aligned as malloc's */
};

static bool add_block(struct tasks *pool) {
    struct task_block *b = calloc(1, sizeof(*b));
    if (!b) return false;
    b->next = pool->blocks;
    pool->blocks = b;
    for (uint32_t i = BLOCK_TASKS; i-- > 0;)
        cuda_task_give(pool, &b->tasks[i]);
    return true;
}

struct task *cuda_task_take(struct tasks *pool, enum task_kind kind, struct dev_op *op) {
    if (!pool->free && !add_block(pool)) return NULL;
    struct task *t = pool->free;
    pool->free = t->next;
    *t = (struct task){.kind = kind, .op = op};
    return t;
}

void cuda_task_give(struct tasks *pool, struct task *t) {
    struct task_params *p = t->params;
    if (p) {
        p->next = pool->params[p->size];
        pool->params[p->size] = p;
        t->params = NULL;
    }
    t->next = pool->free;
    pool->free = t;
}

static struct task_params *take_params(struct tasks *pool, uint32_t size) {
    struct task_params *p = pool->params[size];
    if (p) {
        pool->params[size] = p->next;
        return p;
    }
    p = malloc(sizeof(*p) + ((size_t)PARAMS_LEAST << size));
    if (p) p->size = size;
    return p;
}

int cuda_task_keep_params(struct tasks *pool, struct task *t) {
    uint32_t bytes = t->launch.param_bytes, size = 0;
    if (t->kind != TASK_LAUNCH || !bytes) return 0;
    while (size < CUDA_TASK_PARAMS && bytes > (uint64_t)PARAMS_LEAST << size)
        size++;
    t->params = size < CUDA_TASK_PARAMS ? take_params(pool, size) : NULL;
    if (!t->params) return -ENOMEM;
    memcpy(t->params->bytes, t->launch.params, bytes);
    t->launch.params = t->params->bytes;
    return 0;
}

void cuda_tasks_finish(struct tasks *pool) {
    for (uint32_t i = 0; i < CUDA_TASK_PARAMS; i++)
        for (struct task_params *p = pool->params[i], *next; p; p = next) {
            next = p->next;
            free(p);
        }
    for (struct task_block *b = pool->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *pool = (struct tasks){0};
}
