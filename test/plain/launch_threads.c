/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels on several threads launch graphs while the worker starts and ends the requested graphs,
 * and offers others. For TSan, and for results that must not depend on the order. Each requested
 * graph starts once, never twice at the same time, and the client's launch completes when all of
 * them have.
 *
 *   launch_threads [rounds [seed]]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/worker/stream/device_launch.h"

#define HANDLES 12u
#define KERNELS 3u
#define LAUNCHES 60u /* launches in a round; afterwards kernels launch no more */
#define ROUNDS 200u

#define MUST(condition)                                                     \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (false)

struct graph {
    int held;
    bool running;
};

static struct graph graphs[HANDLES];
static struct launching launching;
static struct stream stream;
/* requested in this round; and in all rounds, with success */
static _Atomic uint32_t asked, all_asked;
static uint32_t begun;

/* ---- graph bodies, handed over to kernels and back ------------------------------------------- */

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct body *items[256];
    uint32_t first, end;
};

static struct queue todo = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
static struct queue done = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};
static uint32_t under_way;

static void put(struct queue *q, struct body *b) {
    pthread_mutex_lock(&q->lock);
    q->items[q->end++ % 256] = b;
    MUST(q->end - q->first <= 256);
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
}

static struct body *take(struct queue *q) {
    pthread_mutex_lock(&q->lock);
    while (q->first == q->end)
        pthread_cond_wait(&q->more, &q->lock);
    struct body *b = q->items[q->first++ % 256];
    pthread_mutex_unlock(&q->lock);
    return b;
}

/* ---- functions that device_launch.c links with ----------------------------------------------- */

void body_init(struct body *b, struct stream *parent) {
    *b = (struct body){.parent = parent};
    list_init(&b->due);
}

/* The body is inserted before any thread looks for it. */
void body_due(struct body *b) {
    b->next.graph = NULL;
    under_way++;
    begun++;
}

int body_enter(struct body *b, struct graph *graph, uint64_t number, uint32_t iteration) {
    MUST(!graph->running && number == 1 && iteration == 7 && b->parent == &stream);
    graph->running = true;
    b->next.graph = graph;
    put(&todo, b);
    return 0;
}

void graph_hold(struct graph *graph) {
    graph->held++;
}

void graph_release(struct graph *graph) {
    graph->held--;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525 + 1013904223;
    return *state >> 16;
}

static void *run_kernels(void *arg) {
    uint32_t state = (uint32_t)(uintptr_t)arg;
    for (struct body *b; (b = take(&todo));) {
        for (uint32_t left = next(&state) % 6; left && asked < LAUNCHES; left--) {
            uint64_t handle = 1 + next(&state) % HANDLES;
            enum dev_graph_order how = DEV_GRAPH_TAIL + next(&state) % 3;
            if (device_launch_ask(&launching, device_launch_shown(b->launched), handle, how))
                continue;
            asked++;
            all_asked++;
        }
        put(&done, b);
    }
    return NULL;
}

/* ---- the worker ------------------------------------------------------------------------------ */

static void end_body(struct body *b, const struct body *root) {
    MUST(device_launch_sweep(&launching) == 0);
    under_way--;
    if (b == root) {
        device_launch_settle(&launching, b->launched);
        MUST(device_launch_sweep(&launching) == 0);
        return;
    }
    b->next.graph->running = false;
    MUST(device_launch_ended(&launching, b->launched) == 0);
}

static void play_round(uint32_t *state) {
    struct body root;
    asked = 0;
    body_init(&root, &stream);
    root.launched = device_launch_open(&launching, &stream, 0, 1);
    MUST(root.launched);
    device_launch_note(root.launched, 7);
    under_way++;
    put(&todo, &root);
    while (under_way) {
        MUST(!device_launch_settled(&launching));
        end_body(take(&done), &root);
        uint32_t i = next(state) % HANDLES; /* at first, a withdrawn graph could have no launch */
        if (!graphs[i].running) MUST(device_launch_offer(&launching, 1 + i, &graphs[i]) == 0);
    }
    MUST(device_launch_settled(&launching) == &stream);
    MUST(!device_launch_settled(&launching));
}

int main(int argc, char **argv) {
    uint32_t rounds = argc > 1 ? (uint32_t)atoi(argv[1]) : ROUNDS;
    uint32_t state = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
    pthread_t threads[KERNELS];
    device_launch_init(&launching, 4711);
    for (uint32_t i = 0; i < HANDLES; i++)
        MUST(device_launch_offer(&launching, 1 + i, &graphs[i]) == 0);
    for (uint32_t i = 0; i < KERNELS; i++)
        MUST(!pthread_create(&threads[i], NULL, run_kernels, (void *)(uintptr_t)(state + i + 1)));
    for (uint32_t i = 0; i < rounds; i++)
        play_round(&state);
    for (uint32_t i = 0; i < KERNELS; i++)
        put(&todo, NULL);
    for (uint32_t i = 0; i < KERNELS; i++)
        pthread_join(threads[i], NULL);
    MUST(begun == all_asked && begun > rounds);
    device_launch_finish(&launching);
    for (uint32_t i = 0; i < HANDLES; i++)
        MUST(graphs[i].held == 0);
    printf("%u launches by kernels in %u rounds\n", begun, rounds);
    return 0;
}
