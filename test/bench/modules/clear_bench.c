/* SPDX-License-Identifier: Apache-2.0
 *
 * The cost of a lane's change of user. Two clients take turns in a lane on the software GPU; each
 * maps all of it and writes all of it. Between owners every chunk is cleared. Between jobs of one
 * owner none may be, and the turn must cost next to nothing. The floor is a memset of private
 * memory.
 *
 *   clear_bench [repetitions]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/fdutil.h"
#include "daemon/worker/memory/memory.h"
#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_join.h"
#include "daemon/worker/memory/memory_lane.h"

#define MIB (1ull << 20)
#define GRANULE (2 * MIB)
#define PAGES 64u
#define BYTES (PAGES * GRANULE)
#define WINDOW (2 * BYTES) /* half of it is the ephemeral part */
#define BASE 0x210000000000ull
#define SAMPLES_MAX 256
#define STEP 4 /* chunks cleared at once, as in the worker */

static struct memory *clients[2];

static void must(int err, const char *what) {
    if (!err) return;
    fprintf(stderr, "clear_bench: %s: %d\n", what, err);
    exit(1);
}

static unsigned char *ephemeral(int client) {
    return (unsigned char *)(uintptr_t)(BASE + (uint64_t)client * (WINDOW * 4) + BYTES);
}

static void open_clients(struct dev *dev, struct memory_lane *lane, struct dev_space **spaces) {
    static const struct dev_space_ops ops;
    void *host = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2; i++) {
        struct dev_windows w = {(uint64_t)(uintptr_t)ephemeral(i) - BYTES,
                                WINDOW,
                                GRANULE,
                                (uint64_t)(uintptr_t)host,
                                4 * MIB,
                                MIB};
        must(dev_soft.space_create(dev, &w, &ops, NULL, &spaces[i]), "space");
        must(memory_create(&clients[i], &dev_soft, dev, spaces[i], &w, GRANULE), "memory");
        must(memory_join(clients[i], lane, MEMORY_ALL), "lane");
        must(memory_back(clients[i], (uint64_t)(uintptr_t)ephemeral(i), BYTES), "pages");
    }
}

/* One turn: nanoseconds from getting the turn to being able to run. */
static double turn(int client) {
    uint64_t begun = fdutil_now_ns();
    memory_enter(clients[client], BYTES);
    while (memory_unclear(clients[client]))
        must(memory_clear(clients[client], STEP), "clear");
    double ns = (double)(fdutil_now_ns() - begun);
    memset(ephemeral(client), 1 + client, BYTES);
    return ns;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples, int count) {
    qsort(samples, (size_t)count, sizeof(samples[0]), by_value);
    return samples[count / 2];
}

/* Median nanoseconds of a turn with these owners; *cleared: bytes cleared in a turn. */
static double measure(const uint64_t owners[2], int repetitions, uint64_t *cleared) {
    double samples[SAMPLES_MAX];
    for (int i = 0; i < 2; i++)
        memory_set_owner(clients[i], owners[i]);
    turn(0);
    turn(1);
    uint64_t before = memory_cleared(clients[0]) + memory_cleared(clients[1]);
    for (int i = 0; i < repetitions; i++)
        samples[i] = turn(i % 2);
    *cleared = memory_cleared(clients[0]) + memory_cleared(clients[1]) - before;
    *cleared /= (uint64_t)repetitions;
    return median(samples, repetitions);
}

/* Median nanoseconds of a memset of as much private memory. */
static double measure_floor(int repetitions) {
    double samples[SAMPLES_MAX];
    void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(p == MAP_FAILED, "memory");
    memset(p, 1, BYTES);
    for (int i = 0; i < repetitions; i++) {
        uint64_t begun = fdutil_now_ns();
        memset(p, i, BYTES);
        samples[i] = (double)(fdutil_now_ns() - begun);
    }
    munmap(p, BYTES);
    return median(samples, repetitions);
}

int main(int argc, char **argv) {
    int repetitions = argc > 1 ? atoi(argv[1]) : 15;
    if (repetitions < 1 || repetitions > SAMPLES_MAX) repetitions = 15;
    struct dev_config config = {.memory_bytes = 4 * BYTES, .threads = 1};
    struct dev_space *spaces[2];
    struct memory_lane *lane;
    struct dev *dev;
    must(dev_soft.open(&dev, &config), "device");
    must(memory_lane_create(&lane, &dev_soft, dev), "lane");
    open_clients(dev, lane, spaces);

    uint64_t cleared, kept;
    double floor_ns = measure_floor(repetitions);
    double same_ns = measure((const uint64_t[]){1, 1}, repetitions, &kept);
    double other_ns = measure((const uint64_t[]){1, 2}, repetitions, &cleared);
    double part = floor_ns / other_ns;
    bool right = cleared == BYTES && kept == 0;
    printf("clear: a turn in a lane of %u MiB\n"
           "  of the same user's job %.0f ns, %" PRIu64
           " bytes cleared; of another user's %.2f ms, "
           "%" PRIu64 " MiB cleared: %.1f GB/s, %.2f of a memset\n",
           (unsigned)(BYTES / MIB), same_ns, kept, other_ns / 1e6, (uint64_t)(cleared / MIB),
           (double)cleared / other_ns, part);
    const char *verdict = right ? "-" : "missed";
    printf("{\"bench\":\"clear\",\"what\":\"clear: a turn in a lane of the same user, nothing "
           "cleared\","
           "\"ns\":%.0f,\"bytes\":%" PRIu64 ",\"verdict\":\"%s\"}\n",
           same_ns, kept, verdict);
    printf("{\"bench\":\"clear\",\"what\":\"clear: a lane that changes its user\",\"value\":%.2f,"
           "\"unit\":\"GB/s\",\"other_ns\":%.0f,\"bytes\":%" PRIu64
           ",\"of_memset\":%.3f,\"verdict\":\"%s\"}\n",
           (double)cleared / other_ns, other_ns, cleared, part, verdict);
    for (int i = 0; i < 2; i++) {
        memory_destroy(clients[i]);
        dev_soft.space_destroy(spaces[i]);
    }
    memory_lane_destroy(lane);
    dev_soft.close(dev);
    return right ? 0 : 1;
}
