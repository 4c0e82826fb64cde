/* SPDX-License-Identifier: Apache-2.0
 *
 * Hands the clusters of a launch, mostly of one block, to the threads that step it. Clusters begin
 * in order, and suspended clusters resume before new ones begin, so that few are resident. A
 * cluster that does not end lets others begin, since it may be waiting for them. A cooperative grid
 * begins all clusters before it resumes any.
 */
#include "daemon/device/soft/exec/grid.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/exec/cluster.h"
#include "daemon/device/soft/launch/cluster_state.h"
#include "daemon/device/soft/launch/launch.h"
#include "daemon/device/soft/launch/launch_memory.h"
#include "daemon/device/soft/launch/warp.h"
#include "daemon/device/soft/memory/sectors.h"

#define GRID_MAX_THREADS 1024
#define GRID_MAX_SHARED (1u << 20)
#define GRID_MAX_PARAMS (64u << 10)
/* blocks that may be resident at once in other grids than cooperative ones */
#define GRID_MAX_RESIDENT 256
#define GRID_MAX_COOPERATIVE 8192 /* blocks of a cooperative grid, all resident at once */
/* bytes of memory of all resident blocks; two clusters may exceed it */
#define GRID_MAX_BYTES (2ull << 30)
/* Slices after which a cluster is suspected of waiting for one that has not begun. */
#define GRID_PATIENCE 8
/* Warp-instructions that a turn which ends in waiting is charged in addition to its own, which are
 * few. Without this charge a slice in which all clusters wait would be longer than others. */
#define GRID_TURN_COST 50
/* A turn with fewer warp-instructions than this is too short to show that its blocks only wait. */
#define GRID_SHORT_TURN 20000

struct grid {
    struct launch launch;
    uint64_t total;       /* counted in clusters, as are all counts below */
    pthread_mutex_t lock; /* guards the fields below */
    uint64_t next, ended;
    uint32_t inside, resident, resident_max, slots;
    struct cluster *head, **tail; /* suspended clusters, oldest first */
    struct cluster *idle;         /* contexts without a cluster */
    struct grid_result result;
    bool asked; /* result of grid_asked */
};

static bool is_valid(const struct launch_config *c) {
    for (int k = 0; k < 3; k++)
        if (!c->grid[k] || !c->block[k] || c->block[k] > GRID_MAX_THREADS) return false;
    for (int k = 0; k < 3; k++)
        if (c->cluster[k] && c->grid[k] % c->cluster[k]) return false;
    if (launch_cluster_size(c) > LAUNCH_CLUSTER_MAX) return false;
    if (c->grid[0] > INT32_MAX || c->grid[1] > 65535 || c->grid[2] > 65535) return false;
    if ((uint64_t)c->block[0] * c->block[1] * c->block[2] > GRID_MAX_THREADS) return false;
    return c->shared_bytes <= GRID_MAX_SHARED && c->param_bytes <= GRID_MAX_PARAMS &&
           c->kernel->entry->ptx->param_bytes <= GRID_MAX_PARAMS;
}

/* Number of clusters that may be resident; 0 if the grid is cooperative and cannot be resident as a
 * whole. */
static uint32_t resident_clusters(const struct launch_config *c, uint64_t total) {
    uint64_t fit = GRID_MAX_BYTES / cluster_bytes(c);
    uint32_t size = launch_cluster_size(c), most = GRID_MAX_RESIDENT / size;
    if (c->cooperative)
        return total <= fit && total * size <= GRID_MAX_COOPERATIVE ? (uint32_t)total : 0;
    if (fit < 2) fit = 2;
    return fit < most ? (uint32_t)fit : most;
}

int grid_create(struct grid **out, const struct launch_config *config) {
    if (!is_valid(config)) return -EINVAL;
    uint64_t total = (uint64_t)config->grid[0] * config->grid[1] * config->grid[2];
    total /= launch_cluster_size(config);
    uint32_t residents = resident_clusters(config, total);
    if (!residents) return -EINVAL;
    struct grid *g = launch_memory_zeros(config->memory, sizeof(*g));
    if (!g) return -ENOMEM;
    int err = launch_init(&g->launch, config);
    if (err) {
        launch_memory_give(config->memory, g, sizeof(*g));
        return err;
    }
    g->total = total;
    g->resident_max = residents;
    g->tail = &g->head;
    pthread_mutex_init(&g->lock, NULL);
    *out = g;
    return 0;
}

/* ---- stepping ----------------------------------------------------------------------------------
 */

static bool may_begin(const struct grid *g) {
    return g->next < g->total && g->resident < g->resident_max;
}

static bool has_work(const struct grid *g) {
    return g->head || may_begin(g);
}

static void fail_grid(struct grid *g, int err, uint64_t addr, const char *text) {
    if (!g->result.err) {
        g->result.err = err;
        g->result.fault_addr = addr;
        snprintf(g->result.text, sizeof(g->result.text), "%s", text);
    }
    launch_stop(&g->launch);
}

/* Takes a cluster to run. Releases the lock while memory for a new context is allocated. Returns
 * NULL if there is no cluster to run now, or if the allocation failed. */
static struct cluster *take_cluster(struct grid *g) {
    if (launch_stopping(&g->launch)) return NULL;
    struct cluster *c = g->head;
    bool begin = may_begin(g) && (!c || g->launch.config.cooperative || c->slices >= GRID_PATIENCE);
    if (!begin) {
        if (!c) return NULL;
        g->head = c->next;
        if (!g->head) g->tail = &g->head;
        g->inside++;
        return c;
    }
    if (c) c->slices = 0; /* others begin one at a time */
    uint64_t index = g->next++;
    g->resident++;
    g->inside++;
    struct cluster *fresh = g->idle;
    if (fresh) g->idle = fresh->next;
    uint32_t slot = fresh ? 0 : g->slots++;
    pthread_mutex_unlock(&g->lock);
    if (!fresh) fresh = cluster_create(&g->launch, slot);
    if (fresh) cluster_begin(fresh, index);
    pthread_mutex_lock(&g->lock);
    if (fresh) return fresh;
    g->inside--;
    g->resident--;
    fail_grid(g, ERR_NO_MEMORY, 0, "out of host memory for a block");
    return NULL;
}

/* Adds the counts of the block's warps to the result. */
static void count_block(struct grid_result *r, const struct block *b) {
    for (uint32_t k = 0; k < b->warp_count; k++) {
        r->warp_insts += b->warps[k].warp_insts;
        r->thread_insts += b->warps[k].thread_insts;
        r->memory_bytes += b->warps[k].sectors * SECTOR_BYTES;
    }
}

static void count_cluster(struct grid_result *r, const struct cluster *c) {
    for (uint32_t k = 0; k < c->size; k++)
        count_block(r, c->blocks[k]);
}

static void put_cluster(struct grid *g, struct cluster *c, bool ended) {
    g->inside--;
    if (!ended) {
        c->next = NULL;
        *g->tail = c;
        g->tail = &c->next;
        return;
    }
    count_cluster(&g->result, c);
    for (uint32_t k = 0; k < c->size; k++) {
        const struct fault *f = &c->blocks[k]->fault;
        if (f->err) fail_grid(g, f->err, f->addr, f->text);
    }
    g->ended++;
    g->resident--;
    c->next = g->idle;
    g->idle = c;
}

/* Yields the processor: all resident clusters wait for work of other threads, which may need this
 * processor. */
static void let_others_run(struct grid *g) {
    pthread_mutex_unlock(&g->lock);
    sched_yield();
    pthread_mutex_lock(&g->lock);
}

enum grid_state grid_spend(struct grid *g, int64_t *left) {
    uint32_t vain = 0; /* turns since the last one that did not end in waiting */
    bool asked = true;
    pthread_mutex_lock(&g->lock);
    while (*left > 0) {
        struct cluster *c = take_cluster(g);
        if (!c) break;
        pthread_mutex_unlock(&g->lock);
        const int64_t before = *left;
        const bool ended = cluster_run(c, left), waits = !ended && *left > 0;
        if (!ended) *left -= GRID_TURN_COST;
        pthread_mutex_lock(&g->lock);
        put_cluster(g, c, ended);
        vain = waits ? vain + 1 : 0;
        asked &= waits || (!ended && before < GRID_SHORT_TURN);
        if (!waits || vain < g->resident) continue;
        let_others_run(g);
        vain = 0;
    }
    bool over = launch_stopping(&g->launch) || g->ended == g->total;
    enum grid_state state = over          ? (g->inside ? GRID_IDLE : GRID_DONE)
                            : has_work(g) ? GRID_MORE
                                          : GRID_IDLE;
    g->asked = asked;
    pthread_mutex_unlock(&g->lock);
    return state;
}

bool grid_asked(struct grid *g) {
    pthread_mutex_lock(&g->lock);
    bool asked = g->asked;
    pthread_mutex_unlock(&g->lock);
    return asked;
}

/* Inserts a cluster into a list sorted by index. `last` is the element inserted before; this one
 * mostly goes right behind it. */
static void insert(struct cluster **list, struct cluster *last, struct cluster *c) {
    if (last && last->linear < c->linear) list = &last->next;
    while (*list && (*list)->linear < c->linear)
        list = &(*list)->next;
    c->next = *list;
    *list = c;
}

void grid_settle(struct grid *g) {
    struct cluster *sorted = NULL, *last = NULL;
    pthread_mutex_lock(&g->lock);
    for (struct cluster *c = g->head, *next; c; c = next) {
        next = c->next;
        cluster_settle(c);
        insert(&sorted, last, c);
        last = c;
    }
    g->head = sorted;
    for (g->tail = &g->head; *g->tail; g->tail = &(*g->tail)->next)
        continue;
    pthread_mutex_unlock(&g->lock);
}

enum grid_state grid_step(struct grid *g, uint32_t budget) {
    int64_t left = budget;
    return grid_spend(g, &left);
}

void grid_cancel(struct grid *g, int err) {
    pthread_mutex_lock(&g->lock);
    if (g->ended < g->total) fail_grid(g, err, 0, "");
    pthread_mutex_unlock(&g->lock);
}

/* Clusters that have not ended count too: a cancelled kernel did run. */
void grid_result(const struct grid *g, struct grid_result *out) {
    *out = g->result;
    for (const struct cluster *c = g->head; c; c = c->next)
        count_cluster(out, c);
}

static void free_list(struct cluster *c) {
    while (c) {
        struct cluster *next = c->next;
        cluster_destroy(c);
        c = next;
    }
}

void grid_destroy(struct grid *g) {
    if (!g) return;
    free_list(g->head);
    free_list(g->idle);
    pthread_mutex_destroy(&g->lock);
    struct launch_memory *memory = g->launch.config.memory;
    launch_finish(&g->launch);
    launch_memory_give(memory, g, sizeof(*g));
}
