/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes of one command that synchronise at barriers like ranks of MPI: each waits for all
 * others while it holds its memory.
 *
 *   ranks [RANKS [MIB]]
 *
 * Each has MIB of memory (4), and kernels between three barriers; the checksum is of all results.
 * Prints to standard error how long it took until all were at the first barrier.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define MOST 64
#define MEETINGS 3
#define STEPS 5

struct shared {
    int there[MEETINGS]; /* changed with compiler atomics */
    uint32_t results[MOST];
};

__global__ void advance(uint32_t *value, int steps) {
    for (int i = 0; i < steps; i++)
        *value = *value * 3 + 1;
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void meet(struct shared *s, int meeting, int ranks) {
    __atomic_fetch_add(&s->there[meeting], 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&s->there[meeting], __ATOMIC_SEQ_CST) < ranks)
        usleep(500);
}

static void be_rank(struct shared *s, int rank, int ranks, size_t bytes) {
    uint32_t *value, start = (uint32_t)rank;
    CHECK(cudaMalloc(&value, bytes));
    CHECK(cudaMemcpy(value, &start, sizeof(start), cudaMemcpyHostToDevice));
    for (int m = 0; m < MEETINGS; m++) {
        meet(s, m, ranks);
        advance<<<1, 1>>>(value, STEPS);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaMemcpy(&s->results[rank], value, sizeof(start), cudaMemcpyDeviceToHost));
}

static uint32_t expected(int rank) {
    uint32_t value = (uint32_t)rank;
    for (int i = 0; i < MEETINGS * STEPS; i++)
        value = value * 3 + 1;
    return value;
}

/* Returns true if all ranks ended well. Once one has failed, the others need not wait. */
static int wait_for_ranks(struct shared *s, const pid_t *pids, int ranks, double begin_ms) {
    double met_ms = 0;
    int left = ranks, status, good = 1;
    while (left > 0) {
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (!met_ms && __atomic_load_n(&s->there[0], __ATOMIC_SEQ_CST) == ranks)
            met_ms = now_ms() - begin_ms;
        if (pid <= 0) {
            usleep(500);
            continue;
        }
        left--;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        for (int i = 0; good && i < ranks; i++)
            if (pids[i] != pid) kill(pids[i], SIGTERM);
        good = 0;
    }
    if (good) fprintf(stderr, "ranks met after %.1f ms\n", met_ms);
    return good;
}

int main(int argc, char **argv) {
    int ranks = argc > 1 ? atoi(argv[1]) : 6;
    size_t bytes = (size_t)(argc > 2 ? atoi(argv[2]) : 4) << 20;
    uint64_t sum = CHECKSUM_START;
    pid_t pids[MOST];
    REQUIRE(ranks > 0 && ranks <= MOST, "%d ranks", ranks);
    struct shared *s = (struct shared *)mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(s != MAP_FAILED, "no memory to share");
    double begin_ms = now_ms();
    for (int r = 0; r < ranks; r++) {
        pids[r] = fork();
        REQUIRE(pids[r] >= 0, "rank %d cannot be started", r);
        if (pids[r]) continue;
        be_rank(s, r, ranks, bytes);
        _exit(0);
    }
    if (!wait_for_ranks(s, pids, ranks, begin_ms)) return 1;
    for (int r = 0; r < ranks; r++)
        REQUIRE(s->results[r] == expected(r), "rank %d has %u", r, s->results[r]);
    sum = checksum_add(sum, s->results, sizeof(s->results[0]) * ranks);
    checksum_print("ranks", sum);
    return 0;
}
