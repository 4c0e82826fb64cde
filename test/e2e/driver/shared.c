/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that other processes have mapped as well, such as the windows of a worker's clients.
 * A memfd that cannot shrink is registered in pieces, and the device sees the same pages as all
 * processes.
 */
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomics.h"
#include "proto/wire/wire.h"
#include "test/e2e/driver/driver.h"

#define PAGE 4096ull
#define MIB (1ull << 20)
#define RANGES 300
#define RANGE (64 * PAGE)
#define ROUNDS 100
#define MAPPED CU_MEMHOSTREGISTER_DEVICEMAP

static int make_file(uint64_t bytes, int seals) {
    int fd = memfd_create("driver-worker", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    REQUIRE(fcntl(fd, F_ADD_SEALS, seals) == 0);
    return fd;
}

static char *map(int fd, uint64_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(p != MAP_FAILED);
    return p;
}

static CUdeviceptr show(void *p, uint64_t bytes) {
    CUdeviceptr device;
    WORKS(cu.MemHostRegister(p, bytes, MAPPED));
    WORKS(cu.MemHostGetDevicePointer(&device, p, 0));
    REQUIRE(device); /* the program's own address, if it is free */
    return device;
}

static void wait_all(void) {
    WORKS(cu.CtxSynchronize());
}

/* ---- one memory ------------------------------------------------------------------------------ */

/* Checks the memory through the registered address, the device's address, and another mapping. */
static void same_memory(void) {
    const uint64_t bytes = 4 * MIB;
    int fd = make_file(bytes, F_SEAL_SHRINK);
    char *p = map(fd, bytes), *other = map(fd, bytes);
    CUdeviceptr memory, device;
    unsigned word;
    WORKS(cu.MemAlloc(&memory, bytes));
    memcpy(other + MIB, "before", 7);
    device = show(p + PAGE, bytes - PAGE);
    REQUIRE(strcmp(p + MIB, "before") == 0);
    driver_fill_words(device, 10000, 5, CU_STREAM_LEGACY);
    wait_all();
    memcpy(&word, other + PAGE + 4 * 77, 4);
    REQUIRE(word == 77 * 2654435761u + 5);
    memset(other + 2 * MIB, 0x11, MIB);
    WORKS(
        cu.MemcpyHtoDAsync(memory, p + 2 * MIB, MIB, CU_STREAM_LEGACY)); /* by the host's address */
    WORKS(cu.MemcpyAsync((CUdeviceptr)(uintptr_t)(p + 3 * MIB), memory, MIB, CU_STREAM_LEGACY));
    WORKS(cu.MemsetD8Async(device, 0x22, 100, CU_STREAM_LEGACY));
    wait_all();
    REQUIRE(other[3 * MIB] == 0x11 && other[4 * MIB - 1] == 0x11 && other[PAGE + 99] == 0x22);
    WORKS(cu.MemHostUnregister(p + PAGE));
    REQUIRE(other[PAGE] == 0x22 && p[PAGE] == 0x22); /* the data never was in another place */
    WORKS(cu.MemFree(memory));
    munmap(p, bytes);
    munmap(other, bytes);
    close(fd);
}

/* Registers piece after piece, of several files, as the windows of clients grow. */
static void in_pieces(void) {
    static CUdeviceptr device[RANGES];
    int fds[3];
    char *p[3];
    for (int i = 0; i < 3; i++) {
        fds[i] = make_file(RANGES / 3 * RANGE, F_SEAL_SHRINK);
        p[i] = map(fds[i], RANGES / 3 * RANGE);
    }
    unsigned long long begin = driver_now();
    for (int i = 0; i < RANGES; i++)
        device[i] = show(p[i % 3] + i / 3 * RANGE, RANGE);
    driver_took("register and show a piece", RANGES, begin);
    for (unsigned i = 0; i < RANGES; i++)
        driver_fill_words(device[i], 1024, i, CU_STREAM_LEGACY);
    wait_all();
    for (unsigned i = 0; i < RANGES; i++)
        REQUIRE(*(unsigned *)(void *)(p[i % 3] + i / 3 * RANGE + 400) == 100 * 2654435761u + i);
    begin = driver_now();
    for (int i = 0; i < RANGES; i++)
        WORKS(cu.MemHostUnregister(p[i % 3] + (RANGES - 1 - i) / 3 * RANGE));
    driver_took("unregister a piece", RANGES, begin);
    for (int i = 0; i < 3; i++) {
        munmap(p[i], RANGES / 3 * RANGE);
        close(fds[i]);
    }
}

/* ---- two processes --------------------------------------------------------------------------- */

struct table {
    _Atomic uint64_t turn; /* written only by devices */
    char pad[PAGE - 8];
    unsigned words[1024];
};

/* Checks the words that the other process's device wrote, lets this device write, and passes the
 * turn on. */
static void take_turns(struct table *t, uint64_t first) {
    CUdeviceptr device = show(t, sizeof(*t));
    CUstream s;
    WORKS(cu.StreamCreate(&s, CU_STREAM_NON_BLOCKING));
    for (uint64_t turn = first; turn < ROUNDS; turn += 2) {
        while (atom_load_acquire(&t->turn) != turn)
            sched_yield();
        if (turn) driver_check_words(device + PAGE, 1024, (unsigned)turn, "the other's");
        if (turn) REQUIRE(t->words[9] == 9 * 2654435761u + (unsigned)turn);
        driver_fill_words(device + PAGE, 1024, (unsigned)turn + 1, s);
        WORKS(cu.StreamWriteValue64(s, device, turn + 1, 0));
    }
    WORKS(cu.StreamSynchronize(s));
    WORKS(cu.StreamDestroy(s));
    WORKS(cu.MemHostUnregister(t));
}

/* Started by the other process, with the file as descriptor 3. */
void topic_peer(void) {
    take_turns((struct table *)(void *)map(3, sizeof(struct table)), 1);
}

static void two_processes(void) {
    char *const argv[] = {"driver_worker", "peer", NULL};
    int fd = make_file(sizeof(struct table), F_SEAL_SHRINK), status;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, 3);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    REQUIRE(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    struct table *t = (struct table *)(void *)map(fd, sizeof(*t));
    take_turns(t, 0);
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
    REQUIRE(atom_load_relaxed(&t->turn) == ROUNDS);
    munmap(t, sizeof(*t));
    close(fd);
}

/* ---- memory that the device does not see ----------------------------------------------------- */

/* The memory stays registered, and is copied like memory that is not. */
static void refused(char *p, uint64_t bytes) {
    CUdeviceptr device, memory;
    WORKS(cu.MemAlloc(&memory, PAGE));
    WORKS(cu.MemHostRegister(p, bytes, MAPPED));
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cu.MemHostGetDevicePointer(&device, p, 0));
    memset(p, 7, PAGE);
    WORKS(cu.MemcpyHtoDAsync(memory, p, PAGE, CU_STREAM_LEGACY));
    memset(p, 8, PAGE);
    WORKS(cu.MemcpyDtoHAsync(p, memory, PAGE, CU_STREAM_LEGACY));
    WORKS(cu.StreamSynchronize(CU_STREAM_LEGACY));
    REQUIRE(p[0] == 7 && p[PAGE - 1] == 7);
    WORKS(cu.MemHostUnregister(p));
    WORKS(cu.MemFree(memory));
}

static void refused_file(int fd, uint64_t bytes) {
    char *p = map(fd, bytes);
    refused(p, bytes);
    munmap(p, bytes);
    close(fd);
}

/* Refuses a file that could be truncated under the worker, one that ends before the range, and
 * memory without a file; a correct one is accepted afterwards. */
void topic_unshared(void) {
    char name[] = "/tmp/driver-worker-XXXXXX";
    void *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd = mkstemp(name);
    REQUIRE(fd >= 0 && unlink(name) == 0 && ftruncate(fd, 2 * PAGE) == 0);
    refused_file(fd, 2 * PAGE);
    refused_file(make_file(2 * PAGE, F_SEAL_GROW), 2 * PAGE);
    refused_file(make_file(2 * PAGE, F_SEAL_SHRINK), 4 * PAGE);
    refused(p, 2 * PAGE);
    same_memory();
}

/* Registers one file more than a job may have, and one piece more: the earlier ones stay visible to
 * the device. */
void topic_many(void) {
    char *p[WIRE_FILES + 1];
    CUdeviceptr device = 0;
    uint64_t bytes = (WIRE_FILE_RANGES + 1) * PAGE;
    for (unsigned i = 0; i <= WIRE_FILES; i++) {
        int fd = make_file(PAGE, F_SEAL_SHRINK);
        p[i] = map(fd, PAGE);
        if (i < WIRE_FILES) device = show(p[i], PAGE);
        if (i == WIRE_FILES) refused(p[i], PAGE);
        close(fd);
    }
    driver_fill_words(device, 1024, 3, CU_STREAM_LEGACY);
    driver_check_words(device, 1024, 3, "the last that there was room for");
    for (unsigned i = 0; i < WIRE_FILES; i++)
        WORKS(cu.MemHostUnregister(p[i]));
    int fd = make_file(bytes, F_SEAL_SHRINK);
    char *q = map(fd, bytes);
    for (unsigned i = 0; i < WIRE_FILE_RANGES; i++)
        show(q + i * PAGE, PAGE);
    refused(q + WIRE_FILE_RANGES * PAGE, PAGE);
    for (unsigned i = 0; i < WIRE_FILE_RANGES; i++)
        WORKS(cu.MemHostUnregister(q + i * PAGE));
    close(fd);
}

/* Holds the memory until the process is killed. */
void topic_holds(void) {
    show(map(make_file(60 * MIB, F_SEAL_SHRINK), 60 * MIB), 60 * MIB);
    printf("holds\n");
    fflush(stdout);
    for (;;) {
        wait_all();
        usleep(1000);
    }
}

void topic_shared(void) {
    same_memory();
    in_pieces();
    two_processes();
}
