/* SPDX-License-Identifier: Apache-2.0
 * Descriptors keep their allocations. A process makes some, writes to them and sends their
 * descriptors to its parent, which does not use CUDA. Then it is killed, or frees them itself,
 * before any process has opened them. Another process opens them, finds the data and continues with
 * it; and then another.
 *   heirs [ROUNDS]
 *   heirs hold     the parent keeps them until it is killed
 *   heirs greedy   makes allocations with descriptors until one is refused, and prints their size
 *   heirs many     makes descriptors of one allocation until one is refused, and prints the number
 *   heirs lend FD  sends a descriptor through this socket
 *   heirs open FD  receives it and, when its input ends, prints the result of opening it
 * greedy, many and lend keep their descriptors until their input ends. */
#include <cuda.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define PIECES 4
#define GRANULE ((size_t)2 << 20)

static int peer; /* a socket */

static void expect(CUresult got, CUresult want, const char *what, int line) {
    REQUIRE(got == want, "line %d: %s gave %d, expected %d", line, what, (int)got, (int)want);
}

#define GIVES(want, call) expect(call, want, #call, __LINE__)
#define WORKS(call) GIVES(CUDA_SUCCESS, call)

static size_t bytes_of(int piece) {
    return (1 + piece % 3) * GRANULE;
}

__global__ void step(uint32_t *p, size_t n, uint32_t seed) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = p[i] * 1664525u + (uint32_t)i + seed;
}

/* ---- passing descriptors --------------------------------------------------------------------- */

static void say_fd(int fd) {
    char byte = 0, room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec iov = {&byte, 1};
    struct msghdr msg = {};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = room;
    msg.msg_controllen = sizeof(room);
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    REQUIRE(sendmsg(peer, &msg, 0) == 1, "a descriptor cannot be sent");
}

static int hear_fd(void) {
    char byte, room[CMSG_SPACE(sizeof(int))];
    struct iovec iov = {&byte, 1};
    struct msghdr msg = {};
    msg.msg_iov = &iov;
    msg.msg_iovlen = 1;
    msg.msg_control = room;
    msg.msg_controllen = sizeof(room);
    REQUIRE(recvmsg(peer, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg), "no descriptor came");
    int fd;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
    return fd;
}

/* ---- making them ----------------------------------------------------------------------------- */

static CUmemGenericAllocationHandle make(size_t bytes) {
    CUmemAllocationProp prop = {};
    CUmemGenericAllocationHandle handle;
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    WORKS(cuMemCreate(&handle, bytes, &prop, 0));
    return handle;
}

static CUdeviceptr show(CUmemGenericAllocationHandle handle, size_t bytes) {
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr at;
    WORKS(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    WORKS(cuMemMap(at, bytes, 0, handle, 0));
    WORKS(cuMemSetAccess(at, bytes, &access, 1));
    return at;
}

static int export_of(CUmemGenericAllocationHandle handle) {
    int fd;
    WORKS(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return fd;
}

/* Makes two descriptors of each piece, and closes one again. */
static void maker(int round, bool killed) {
    CHECK(cudaFree(NULL));
    for (int i = 0; i < PIECES; i++) {
        CUmemGenericAllocationHandle handle = make(bytes_of(i));
        int fd = export_of(handle), other = export_of(handle);
        CUdeviceptr at = show(handle, bytes_of(i));
        step<<<16, 128>>>((uint32_t *)at, bytes_of(i) / 4, round + i);
        CHECK(cudaDeviceSynchronize());
        close(i % 2 ? fd : other);
        say_fd(i % 2 ? other : fd);
        if (killed) continue;
        WORKS(cuMemUnmap(at, bytes_of(i)));
        WORKS(cuMemRelease(handle));
    }
    char done = 1;
    REQUIRE(send(peer, &done, 1, 0) == 1, "the parent is gone");
    while (killed)
        pause();
}

/* ---- opening them ---------------------------------------------------------------------------- */

static uint64_t sum_of(CUdeviceptr at, size_t bytes, uint64_t sum) {
    uint32_t *host = (uint32_t *)malloc(bytes);
    CHECK(cudaMemcpy(host, (void *)at, bytes, cudaMemcpyDefault));
    sum = checksum_add(sum, host, bytes);
    free(host);
    return sum;
}

/* Returns the result of `turns` steps, computed on the host. */
static uint64_t model(int round, int turns) {
    uint64_t sum = CHECKSUM_START;
    for (int i = 0; i < PIECES; i++)
        for (size_t k = 0; k < bytes_of(i) / 4; k++) {
            uint32_t word = 0;
            for (int turn = 0; turn < turns; turn++)
                word = word * 1664525u + (uint32_t)k + round + i;
            sum = checksum_add(sum, &word, 4);
        }
    return sum;
}

static CUmemGenericAllocationHandle import_of(int fd) {
    CUmemGenericAllocationHandle handle;
    WORKS(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    return handle;
}

static void heir(const int *fds, int round, int turns) {
    uint64_t sum = CHECKSUM_START;
    CHECK(cudaFree(NULL));
    for (int i = 0; i < PIECES; i++) {
        CUmemGenericAllocationHandle handle = import_of(fds[i]);
        REQUIRE(import_of(fds[i]) == handle, "opened twice, it is another");
        CUdeviceptr at = show(handle, bytes_of(i));
        sum = sum_of(at, bytes_of(i), sum);
        step<<<16, 128>>>((uint32_t *)at, bytes_of(i) / 4, round + i);
    }
    CHECK(cudaDeviceSynchronize());
    REQUIRE(sum == model(round, turns), "the sum is %llx", (unsigned long long)sum);
}

/* ---- the parent ------------------------------------------------------------------------------ */

static void joined(pid_t child, int signal) {
    int status;
    REQUIRE(waitpid(child, &status, 0) == child, "the child is lost");
    REQUIRE(signal ? WIFSIGNALED(status) && WTERMSIG(status) == signal : status == 0,
            "the child ended with status %x", (unsigned)status);
}

static void inherit(int *fds, int round, bool killed) {
    int pair[2];
    char done;
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "no sockets");
    pid_t child = fork();
    REQUIRE(child >= 0, "no process");
    peer = pair[child == 0];
    close(pair[child != 0]);
    if (child == 0) {
        maker(round, killed);
        exit(0);
    }
    for (int i = 0; i < PIECES; i++)
        fds[i] = hear_fd();
    REQUIRE(recv(peer, &done, 1, 0) == 1, "the child is gone");
    if (killed) kill(child, SIGKILL);
    joined(child, killed ? SIGKILL : 0);
    close(peer);
}

static void one_round(int round) {
    int fds[PIECES];
    inherit(fds, round, round % 2 == 0);
    for (int turn = 1; turn <= 2; turn++) {
        pid_t child = fork();
        REQUIRE(child >= 0, "no process");
        if (child == 0) {
            heir(fds, round, turn);
            exit(0);
        }
        joined(child, 0);
    }
    for (int i = 0; i < PIECES; i++)
        close(fds[i]);
}

static int hold(void) {
    int fds[PIECES];
    inherit(fds, 1, true);
    puts("held");
    fflush(stdout);
    for (;;)
        pause();
}

/* ---- several users, and many descriptors ----------------------------------------------------- */

static int await_end(void) {
    char byte;
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    return 0;
}

static CUresult try_export(CUmemGenericAllocationHandle handle) {
    int fd;
    return cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}

static int greedy(void) {
    CUresult r = CUDA_SUCCESS;
    int n = 0;
    CHECK(cudaFree(NULL));
    while (r == CUDA_SUCCESS) {
        CUmemGenericAllocationHandle handle = make(8 * GRANULE);
        r = try_export(handle);
        n += r == CUDA_SUCCESS;
        WORKS(cuMemRelease(handle));
    }
    printf("refused with %d after %d MiB\n", (int)r, n * 16);
    return await_end();
}

static int many(void) {
    CUresult r = CUDA_SUCCESS;
    int n = 0;
    CHECK(cudaFree(NULL));
    CUmemGenericAllocationHandle handle = make(GRANULE);
    while ((r = try_export(handle)) == CUDA_SUCCESS)
        n++;
    printf("refused with %d after %d\n", (int)r, n);
    return await_end();
}

static int lend(void) {
    CHECK(cudaFree(NULL));
    say_fd(export_of(make(GRANULE)));
    puts("lent");
    return await_end();
}

static int open_lent(void) {
    CUmemGenericAllocationHandle handle;
    int fd = hear_fd();
    puts("got");
    await_end();
    CHECK(cudaFree(NULL));
    printf("opening it gives %d\n",
           (int)cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    return 0;
}
int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "hold")) return hold();
    if (argc > 1 && !strcmp(argv[1], "greedy")) return greedy();
    if (argc > 1 && !strcmp(argv[1], "many")) return many();
    if (argc > 2) peer = atoi(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "lend")) return lend();
    if (argc > 2 && !strcmp(argv[1], "open")) return open_lent();
    int rounds = rounds_arg(argc, argv, 3);
    uint64_t sum = CHECKSUM_START;
    for (int i = 0; i < rounds; i++) {
        one_round(i);
        uint64_t part = model(i, 2);
        sum = checksum_add(sum, &part, sizeof(part));
    }
    checksum_print("heirs", sum);
    return 0;
}
