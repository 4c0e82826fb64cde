/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of conditions.
 */
#include "shim/graph/condition.h"

#include <stdlib.h>

#include "shim/memory/mem.h"

static struct condition *add(struct condition **list, const struct condition *what) {
    struct condition *c = malloc(sizeof(*c));
    if (!c) return NULL;
    *c = *what;
    c->next = *list;
    *list = c;
    return c;
}

CUresult condition_create(struct condition **list, uint64_t bytes, uint32_t value, bool assigned,
                          uint64_t *addr) {
    struct condition_shared *shared = malloc(sizeof(*shared));
    struct condition what = {.value = value, .assigned = assigned, .shared = shared};
    if (!shared) return CUDA_ERROR_OUT_OF_MEMORY;
    *shared = (struct condition_shared){.holders = 1};
    CUresult r = mem_take(MEM_OWN, 0, 0, bytes, &what.addr);
    if (!r && !add(list, &what)) {
        mem_give_kept(what.addr); /* host memory, of which the worker need not be told */
        r = CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (r) {
        free(shared);
        return r;
    }
    *(volatile uint32_t *)(uintptr_t)what.addr = value;
    *addr = what.addr;
    return CUDA_SUCCESS;
}

bool condition_has(const struct condition *list, uint64_t addr) {
    while (list && list->addr != addr)
        list = list->next;
    return list != NULL;
}

CUresult condition_share(const struct condition *list, struct condition **out) {
    for (; list; list = list->next) {
        if (!add(out, list)) return CUDA_ERROR_OUT_OF_MEMORY;
        list->shared->holders++;
    }
    return CUDA_SUCCESS;
}

void condition_free(struct condition *list) {
    for (struct condition *next; list; list = next) {
        next = list->next;
        if (--list->shared->holders == 0) {
            mem_give_kept(list->addr);
            free(list->shared);
        }
        free(list);
    }
}
