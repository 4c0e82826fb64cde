/* SPDX-License-Identifier: Apache-2.0
 *
 * A job of known demand, for a cluster: an iteration takes this long on the device and then this
 * long on the host, which sleeps.
 *
 *   paced NUMBER ITERATIONS DEVICE_US HOST_US PERSISTENT_MIB EPHEMERAL_MIB [BOOK]
 *
 * With HOST_US below 0, the host sleeps first, before the iteration's first operation.
 *
 * In null mode (SALUS_DEVICE_MODE=null), the device's part is kernels that need all multiprocessors
 * for that time and no processor. Computed, it is small kernels, and the host sleeps that time as
 * well. Either way each iteration copies data to the device, and there from memory of the iteration
 * to permanent memory. The checksum of the latter depends on NUMBER % 8, ITERATIONS and the mode.
 *
 * BOOK: a file that gets a line when the program begins and one when it ends, with the time of
 * CLOCK_MONOTONIC. BOOK.NUMBER is locked while the program runs: another program of the same NUMBER
 * writes a line about that, and ends. Without times (both 0), each iteration's checksum is printed
 * with its number; the checksums of jobs are compared with these.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define THREADS 1024
#define WORDS (16 << 10) /* permanent words that change; the rest is not used */
#define BATCH (4 << 10)  /* words of an iteration */
#define KERNELS 4        /* kernels of an iteration; those of other jobs run in between */
#define SEEDS 8

struct job {
    int number, iterations, device_us, host_us, persistent_mib, ephemeral_mib;
    bool computed;
    const char *book;
};

/* The time of a launch that is not computed, according to daemon/worker/kernel/estimate.c: these
 * for each launch and for each wave of blocks, and 1 ns for each thread on a multiprocessor. */
#define LAUNCH_NS 2000
#define WAVE_NS 2000

__global__ void __launch_bounds__(THREADS)
    stir(uint32_t *state, const uint32_t *batch, uint32_t step) {
    uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i < WORDS) state[i] = (state[i] ^ batch[i % BATCH]) * 2246822519u + step;
}

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void sleep_us(long us) {
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    while (us > 0 && nanosleep(&t, &t) && errno == EINTR)
        continue;
}

/* Appends one line with a single write(), so that lines of other processes are not mixed with
 * it. */
static void write_down(const struct job *j, const char *what, uint64_t sum) {
    const char *node = getenv("SLURMD_NODENAME"), *restarts = getenv("SLURM_RESTART_COUNT");
    char line[160];
    if (!j->book) return;
    int n = snprintf(line, sizeof(line), "%d %s %.3f %s %s %016llx\n", j->number, what, now_s(),
                     node ? node : "-", restarts ? restarts : "0", (unsigned long long)sum);
    int fd = open(j->book, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    REQUIRE(fd >= 0 && write(fd, line, n) == n, "%s: %s", j->book, strerror(errno));
    close(fd);
}

/* Locks the job's file; the lock ends with the process, however that ends. Ends the program if
 * another one has it. */
static void be_the_only_one(const struct job *j) {
    char path[4096];
    if (!j->book) return;
    snprintf(path, sizeof(path), "%s.%d", j->book, j->number);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    REQUIRE(fd >= 0, "%s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return;
    write_down(j, "twice", 0);
    exit(3);
}

/* Returns the blocks of a launch that takes all multiprocessors for this long. */
static unsigned blocks_for(long ns) {
    cudaDeviceProp p;
    int each;
    CHECK(cudaGetDeviceProperties(&p, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, stir, THREADS, 0));
    long waves = (ns - LAUNCH_NS) / (WAVE_NS + (long)each * THREADS);
    return (waves > 1 ? waves : 1) * each * p.multiProcessorCount;
}

struct memory {
    uint32_t *state, *batch, host[BATCH];
    uint64_t sum;
};

static void iterate(const struct job *j, struct memory *m, unsigned blocks, int step) {
    uint32_t seed = 977u * (j->number % SEEDS) + 31u * step + 1;
    uint32_t at = random_next(&seed) % (WORDS - BATCH);
    for (int i = 0; i < BATCH; i++)
        m->host[i] = random_next(&seed);
    CHECK(cudaMallocAsync((void **)&m->batch, (size_t)j->ephemeral_mib << 20, 0));
    CHECK(cudaMemcpyAsync(m->batch, m->host, sizeof(m->host), cudaMemcpyHostToDevice));
    for (int k = 0; k < KERNELS; k++)
        stir<<<blocks, THREADS>>>(m->state, m->batch, step);
    CHECK(cudaMemcpyAsync(m->state + at, m->batch, sizeof(m->host), cudaMemcpyDeviceToDevice));
    CHECK(cudaFreeAsync(m->batch, 0));
    CHECK(cudaDeviceSynchronize());
    if (j->computed) sleep_us(j->device_us);
}

static uint64_t checksum(const struct memory *m) {
    static uint32_t state[WORDS];
    CHECK(cudaMemcpy(state, m->state, sizeof(state), cudaMemcpyDeviceToHost));
    return checksum_add(CHECKSUM_START, state, sizeof(state));
}

static void run(const struct job *j) {
    static struct memory m;
    unsigned blocks = j->computed ? WORDS / THREADS : blocks_for(1000L * j->device_us / KERNELS);
    CHECK(cudaMalloc((void **)&m.state, (size_t)j->persistent_mib << 20));
    CHECK(cudaMemset(m.state, 0, WORDS * sizeof(uint32_t)));
    for (int i = 0; i < j->iterations; i++) {
        mark(); /* the host's part belongs to the iteration */
        sleep_us(-(long)j->host_us);
        iterate(j, &m, blocks, i);
        if (j->device_us || j->host_us)
            sleep_us(j->host_us);
        else
            printf("%d %016llx\n", i + 1, (unsigned long long)checksum(&m));
    }
    m.sum = checksum(&m);
    write_down(j, "ends", m.sum);
    checksum_print("paced", m.sum);
}

int main(int argc, char **argv) {
    const char *mode = getenv("SALUS_DEVICE_MODE");
    int n[6] = {1, 10, 0, 0, 2, 2};
    for (int i = 1; i < argc && i <= 6; i++)
        n[i - 1] = atoi(argv[i]);
    struct job j = {n[0],
                    n[1],
                    n[2],
                    n[3],
                    n[4],
                    n[5],
                    !mode || strcmp(mode, "null") != 0,
                    argc > 7 ? argv[7] : NULL};
    REQUIRE(j.persistent_mib > 0 && j.ephemeral_mib > 0, "%d and %d MiB", j.persistent_mib,
            j.ephemeral_mib);
    be_the_only_one(&j);
    write_down(&j, "begins", 0);
    run(&j);
    return 0;
}
