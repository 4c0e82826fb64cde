/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores nodes by index and by id.
 */
#include "daemon/place/state/nodes.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/place/state/place_growth.h"

/* A fixed seed suffices: ids are the caller's own, so nobody attacks the hash table. */
#define SEED 0xd6e8feb86659fd93ull

static uint64_t hash(uint64_t id) {
    return slotmap_hash_word(id, SEED);
}

void nodes_init(struct nodes *n) {
    *n = (struct nodes){.free = NODES_NONE};
}

void nodes_finish(struct nodes *n) {
    free(n->at);
    slotmap_finish(&n->ids);
}

int nodes_reserve(struct nodes *n, uint64_t more) {
    int err = 0;
    if (!more) return 0;
    n->at = place_growth_for(n->at, &n->capacity, n->used + more, sizeof(*n->at), &err);
    return err ? err : slotmap_reserve(&n->ids, n->capacity);
}

const char *nodes_fault(const struct place_node *node, uint32_t curves) {
    if (!node->gpu_count || node->gpu_count > PLACE_GPUS_A_NODE || !node->gpus)
        return "a node must have 1 to 64 GPUs";
    if (node->memory_bytes > DEMAND_BYTES_MOST) return "the memory must be at most 64 TiB";
    for (uint32_t i = 0; i < node->gpu_count; i++) {
        if (node->gpus[i].curve >= curves) return "the node's curve is unknown";
        if (!node->gpus[i].memory_bytes) return "the memory of a GPU must be above 0";
        if (node->gpus[i].memory_bytes > DEMAND_BYTES_MOST)
            return "the memory must be at most 64 TiB";
    }
    return NULL;
}

uint32_t nodes_find(const struct nodes *n, uint64_t id) {
    struct slotmap_walk walk = slotmap_walk(&n->ids, hash(id));
    uint32_t place;
    while ((place = slotmap_next(&n->ids, &walk)) != SLOTMAP_NONE)
        if (n->at[place].id == id) return place;
    return NODES_NONE;
}

uint32_t nodes_add(struct nodes *n, const struct place_node *node) {
    uint32_t place = n->free;
    if (place != NODES_NONE)
        n->free = n->at[place].next_free;
    else
        place = n->used++;
    n->at[place] = (struct node){.id = node->id,
                                 .labels = node->labels,
                                 .cpu_milli = node->cpu_milli,
                                 .memory_bytes = node->memory_bytes,
                                 .gpu_count = node->gpu_count,
                                 .here = true};
    n->count++;
    slotmap_add(&n->ids, hash(node->id), place);
    return place;
}

void nodes_remove(struct nodes *n, uint32_t place) {
    slotmap_remove(&n->ids, hash(n->at[place].id), place);
    n->at[place].here = false;
    n->at[place].next_free = n->free;
    n->free = place;
    n->count--;
}

static uint64_t rest(uint64_t has, uint64_t used) {
    return has > used ? has - used : 0;
}

uint64_t nodes_cpu_milli(const struct node *n) {
    return rest(n->cpu_milli, n->used_cpu_milli);
}

uint64_t nodes_bytes(const struct node *n) {
    return rest(n->memory_bytes, n->used_bytes);
}

bool nodes_hold(const struct node *n, const struct demand *d, uint32_t tasks) {
    return d->cpu_milli * tasks <= nodes_cpu_milli(n) && d->memory_bytes * tasks <= nodes_bytes(n);
}
