/* SPDX-License-Identifier: Apache-2.0
 * Two processes share memory: by handles of allocations and events, and by descriptors of
 * allocations without an address. They take turns on the device, and the host never waits for the
 * other's work.
 *   ipc [ROUNDS]
 *   ipc orphan          kills one: its memory stays for the other, whose wait for its event fails
 *   ipc stranger FILE   opens the handles of `ipc lend FILE`, which another user may not
 *   ipc lend FILE       writes handles to FILE, valid until its input ends */
#include <cuda.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define WORDS ((size_t)(5 << 20) / 4) /* not a multiple of the granule */
#define SMALL 1000

static int peer; /* a socket */

static void expect(CUresult got, CUresult want, const char *what, int line) {
    REQUIRE(got == want, "line %d: %s gave %d, expected %d", line, what, (int)got, (int)want);
}

#define GIVES(want, call) expect(call, want, #call, __LINE__)
#define WORKS(call) GIVES(CUDA_SUCCESS, call)

__global__ void step(uint32_t *p, size_t n, uint32_t seed) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = p[i] * 1664525u + (uint32_t)i + seed;
}

__global__ void forever(volatile uint32_t *p) {
    while (*p != 0xffffffffu)
        ;
}

/* ---- messages between the processes ---------------------------------------------------------- */

static void say(const void *data, size_t bytes) {
    REQUIRE(send(peer, data, bytes, 0) == (ssize_t)bytes, "the other one is gone");
}

static void hear(void *data, size_t bytes) {
    REQUIRE(recv(peer, data, bytes, MSG_WAITALL) == (ssize_t)bytes, "the other one is gone");
}

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

/* Forks before either process has called CUDA. */
static pid_t part(void (*other)(void)) {
    int pair[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "no sockets");
    pid_t child = fork();
    REQUIRE(child >= 0, "no process");
    peer = pair[child == 0];
    close(pair[child != 0]);
    if (child) return child;
    other();
    exit(0);
}

static void joined(pid_t child, int signal) {
    int status;
    REQUIRE(waitpid(child, &status, 0) == child, "the child is lost");
    REQUIRE(signal ? WIFSIGNALED(status) && WTERMSIG(status) == signal : status == 0,
            "the child ended with status %x", (unsigned)status);
}

/* ---- turns ----------------------------------------------------------------------------------- */

struct offer {
    cudaIpcMemHandle_t large, small, inner;
    cudaIpcEventHandle_t event;
    cudaMemPoolPtrExportData pooled;
};

/* Imports memory from the other process's pool, and uses it. */
static uint32_t *import_pooled(int fd, const struct offer *offer, cudaStream_t stream) {
    cudaMemPool_t pool;
    cudaMemPoolPtrExportData data = offer->pooled;
    void *p, *none;
    CHECK(cudaMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
                                               cudaMemHandleTypePosixFileDescriptor, 0));
    close(fd);
    CHECK(cudaMemPoolImportPointer(&p, pool, &data));
    REQUIRE(cudaMallocFromPoolAsync(&none, 64, pool, stream) == cudaErrorInvalidValue,
            "allocated from another process's pool");
    data.reserved[40] ^= 1; /* damages it: data of another pool */
    REQUIRE(cudaMemPoolImportPointer(&none, pool, &data) == cudaErrorInvalidValue,
            "of another pool");
    cudaGetLastError();
    CHECK(cudaMemPoolDestroy(pool));
    return (uint32_t *)p;
}

static uint32_t *export_pooled(int *fd, struct offer *offer, cudaStream_t stream) {
    cudaMemPoolProps props = {};
    cudaMemPool_t pool;
    void *p;
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMallocFromPoolAsync(&p, SMALL * 4, pool, stream));
    CHECK(cudaMemsetAsync(p, 0, SMALL * 4, stream));
    CHECK(cudaMemPoolExportToShareableHandle(fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    CHECK(cudaMemPoolExportPointer(&offer->pooled, p));
    return (uint32_t *)p;
}

static void second(void) {
    struct offer offer;
    uint32_t *large, *small, *again, *pages, *pooled;
    cudaEvent_t mine, theirs;
    cudaStream_t stream;
    int rounds;
    CUdeviceptr at;
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemAllocationProp prop;
    hear(&rounds, sizeof(rounds));
    hear(&offer, sizeof(offer));
    int fd = hear_fd();
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    pooled = import_pooled(hear_fd(), &offer, stream);
    CHECK(cudaEventCreateWithFlags(&mine, cudaEventDisableTiming | cudaEventInterprocess));
    CHECK(cudaIpcGetEventHandle(&offer.event, mine));
    CHECK(cudaIpcOpenMemHandle((void **)&large, offer.large, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenMemHandle((void **)&small, offer.small, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenMemHandle((void **)&again, offer.large, cudaIpcMemLazyEnablePeerAccess));
    REQUIRE(again == large, "opened twice, it is in two places");
    CHECK(cudaIpcCloseMemHandle(again));
    WORKS(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    WORKS(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
    WORKS(cuMemAddressReserve(&at, 2 << 20, 0, 0, 0));
    WORKS(cuMemMap(at, 2 << 20, 0, handle, 0));
    WORKS(cuMemSetAccess(at, 2 << 20, &access, 1));
    WORKS(cuMemRelease(handle));
    pages = (uint32_t *)at;
    cudaIpcEventHandle_t sent = offer.event;
    say(&sent, sizeof(sent));
    hear(&sent, sizeof(sent));
    CHECK(cudaIpcOpenEventHandle(&theirs, sent));
    for (int i = 0; i < rounds; i++) {
        char turn;
        hear(&turn, 1);
        CHECK(cudaStreamWaitEvent(stream, theirs, 0));
        step<<<16, 128, 0, stream>>>(large, WORDS, 2 * i + 1);
        step<<<1, 128, 0, stream>>>(small, SMALL, 2 * i + 1);
        step<<<1, 128, 0, stream>>>(pooled, SMALL, 2 * i + 1);
        step<<<16, 128, 0, stream>>>(pages, (2 << 20) / 4, 2 * i + 1);
        CHECK(cudaEventRecord(mine, stream));
        say(&turn, 1);
    }
    CHECK(cudaFreeAsync(pooled, stream));
    REQUIRE(cudaFreeAsync(pooled, stream) == cudaErrorInvalidValue, "freed twice");
    cudaGetLastError();
    CHECK(cudaEventSynchronize(mine));
    CHECK(cudaEventQuery(mine));
    CHECK(cudaEventDestroy(theirs));
    CHECK(cudaIpcCloseMemHandle(large));
    CHECK(cudaIpcCloseMemHandle(small));
    REQUIRE(cudaIpcCloseMemHandle(small) == cudaErrorInvalidValue, "closed twice");
    cudaGetLastError();
    WORKS(cuMemUnmap(at, 2 << 20));
}

static uint64_t sum_of(const uint32_t *p, size_t n, uint64_t sum) {
    uint32_t *host = (uint32_t *)malloc(n * 4);
    CHECK(cudaMemcpy(host, p, n * 4, cudaMemcpyDefault));
    sum = checksum_add(sum, host, n * 4);
    free(host);
    return sum;
}

/* Returns the result of the same steps, computed on the host. */
static uint64_t model(size_t n, int rounds, uint64_t sum) {
    for (size_t i = 0; i < n; i++) {
        uint32_t word = 0;
        for (int seed = 0; seed < 2 * rounds; seed++)
            word = word * 1664525u + (uint32_t)i + seed;
        sum = checksum_add(sum, &word, 4);
    }
    return sum;
}

static CUmemGenericAllocationHandle make_pages(CUdeviceptr *at) {
    CUmemAllocationProp prop = {};
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    WORKS(cuMemCreate(&handle, 2 << 20, &prop, 0));
    WORKS(cuMemAddressReserve(at, 2 << 20, 0, 0, 0));
    WORKS(cuMemMap(*at, 2 << 20, 0, handle, 0));
    WORKS(cuMemSetAccess(*at, 2 << 20, &access, 1));
    return handle;
}

static void bad_handles(const struct offer *good) {
    void *p;
    cudaIpcMemHandle_t bad = good->large;
    cudaEvent_t plain;
    cudaIpcEventHandle_t event;
    REQUIRE(cudaIpcOpenMemHandle(&p, good->large, cudaIpcMemLazyEnablePeerAccess) ==
                cudaErrorDeviceUninitialized,
            "opened in the process whose it is");
    bad.reserved[4] ^= 1; /* another process's handle */
    bad.reserved[9] ^= 1; /* and another key */
    REQUIRE(cudaIpcOpenMemHandle(&p, bad, cudaIpcMemLazyEnablePeerAccess) ==
                cudaErrorMapBufferObjectFailed,
            "a key that nobody gave");
    memset(&bad, 7, sizeof(bad));
    REQUIRE(cudaIpcOpenMemHandle(&p, bad, cudaIpcMemLazyEnablePeerAccess) == cudaErrorInvalidValue,
            "no handle");
    REQUIRE(cudaIpcGetMemHandle(&bad, &bad) == cudaErrorInvalidValue, "no block");
    CHECK(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));
    REQUIRE(cudaIpcGetEventHandle(&event, plain) != cudaSuccess, "an event of one process");
    cudaGetLastError();
}

static uint64_t first(int rounds) {
    struct offer offer;
    uint32_t *large, *small, *other, *pooled;
    cudaEvent_t mine, theirs;
    cudaStream_t stream;
    cudaIpcEventHandle_t sent;
    CUdeviceptr pages;
    int fd, pool_fd;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&large, WORDS * 4));
    CHECK(cudaMalloc(&other, 64)); /* shares the small one's granule */
    CHECK(cudaMalloc(&small, SMALL * 4));
    CHECK(cudaMemset(large, 0, WORDS * 4));
    CHECK(cudaMemset(small, 0, SMALL * 4));
    CHECK(cudaEventCreateWithFlags(&mine, cudaEventDisableTiming | cudaEventInterprocess));
    CHECK(cudaIpcGetMemHandle(&offer.large, large));
    CHECK(cudaIpcGetMemHandle(&offer.inner, (char *)large + SMALL)); /* the handle of the whole
                                                                      * block */
    REQUIRE(!memcmp(&offer.large, &offer.inner, sizeof(offer.large)), "two handles of one memory");
    CHECK(cudaIpcGetMemHandle(&offer.small, small));
    bad_handles(&offer);
    CUmemGenericAllocationHandle handle = make_pages(&pages);
    WORKS(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    pooled = export_pooled(&pool_fd, &offer, stream);
    say(&rounds, sizeof(rounds));
    say(&offer, sizeof(offer));
    say_fd(fd);
    say_fd(pool_fd);
    close(fd);
    close(pool_fd);
    hear(&sent, sizeof(sent));
    CHECK(cudaIpcOpenEventHandle(&theirs, sent));
    CHECK(cudaIpcGetEventHandle(&sent, mine));
    say(&sent, sizeof(sent));
    for (int i = 0; i < rounds; i++) {
        char turn = 0;
        if (i) CHECK(cudaStreamWaitEvent(stream, theirs, 0));
        step<<<16, 128, 0, stream>>>(large, WORDS, 2 * i);
        step<<<1, 128, 0, stream>>>(small, SMALL, 2 * i);
        step<<<1, 128, 0, stream>>>(pooled, SMALL, 2 * i);
        step<<<16, 128, 0, stream>>>((uint32_t *)pages, (2 << 20) / 4, 2 * i);
        CHECK(cudaEventRecord(mine, stream));
        say(&turn, 1);
        hear(&turn, 1); /* the other has recorded its event; its work may still run */
    }
    CHECK(cudaEventSynchronize(theirs));
    CHECK(cudaEventQuery(theirs));
    uint64_t sum = sum_of(large, WORDS, CHECKSUM_START);
    sum = sum_of(small, SMALL, sum);
    sum = sum_of((uint32_t *)pages, (2 << 20) / 4, sum);
    sum = sum_of(pooled, SMALL, sum);
    uint64_t want = model(WORDS, rounds, CHECKSUM_START);
    want = model((2 << 20) / 4, rounds, model(SMALL, rounds, want));
    want = model(SMALL, rounds, want);
    REQUIRE(sum == want, "the sum is %llx", (unsigned long long)sum);
    CHECK(cudaFree(large));
    return sum;
}

/* ---- one of them ends ------------------------------------------------------------------------ */

/* The lending process is killed while its kernel runs. */
static void doomed(void) {
    struct offer offer;
    uint32_t *p;
    cudaEvent_t event;
    CHECK(cudaMalloc(&p, 4 << 20));
    CHECK(cudaMemset(p, 0x5a, 4 << 20));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    CHECK(cudaIpcGetMemHandle(&offer.large, p));
    CHECK(cudaIpcGetEventHandle(&offer.event, event));
    CHECK(cudaDeviceSynchronize());
    say(&offer, sizeof(offer));
    forever<<<1, 1>>>(p + 5);
    CHECK(cudaEventRecord(event));
    char ready = 1;
    say(&ready, 1);
    for (;;)
        pause();
}

static int orphan(void) {
    struct offer offer;
    uint32_t *p, *late, word;
    cudaEvent_t event;
    cudaStream_t stream;
    char ready;
    pid_t child = part(doomed);
    hear(&offer, sizeof(offer));
    hear(&ready, 1);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaIpcOpenMemHandle((void **)&p, offer.large, cudaIpcMemLazyEnablePeerAccess));
    CHECK(cudaIpcOpenEventHandle(&event, offer.event));
    REQUIRE(cudaEventQuery(event) == cudaErrorNotReady, "its kernel never ends");
    kill(child, SIGKILL);
    joined(child, SIGKILL);
    /* The memory keeps its contents, and we can use it. */
    for (int i = 0; i < 1000; i++)
        if (cudaEventQuery(event) != cudaErrorNotReady) break;
    CHECK(cudaMemcpy(&word, p + 100, 4, cudaMemcpyDefault));
    REQUIRE(word == 0x5a5a5a5au, "the word is %x", word);
    step<<<16, 128>>>(p, 1 << 20, 3);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(cudaIpcOpenMemHandle((void **)&late, offer.large, cudaIpcMemLazyEnablePeerAccess) ==
                    cudaSuccess &&
                late == p,
            "it is open");
    CHECK(cudaIpcCloseMemHandle(p));
    CHECK(cudaIpcCloseMemHandle(p));
    CHECK(cudaDeviceSynchronize());
    REQUIRE(cudaIpcOpenMemHandle((void **)&late, offer.large, cudaIpcMemLazyEnablePeerAccess) ==
                cudaErrorMapBufferObjectFailed,
            "nobody has it any more");
    cudaGetLastError();
    /* Work that was killed before its end is no success. */
    CHECK(cudaMalloc(&p, 1 << 20));
    CHECK(cudaStreamWaitEvent(stream, event, 0));
    step<<<16, 128, 0, stream>>>(p, 1 << 18, 3);
    REQUIRE(cudaStreamSynchronize(stream) == cudaErrorContextIsDestroyed, "it waited for nothing");
    puts("orphan: what was lent stayed");
    return 0;
}

/* ---- between users --------------------------------------------------------------------------- */

static int lend(const char *path) {
    struct offer offer;
    uint32_t *p;
    cudaEvent_t event;
    CUdeviceptr pages;
    char byte;
    CHECK(cudaMalloc(&p, 4 << 20));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess));
    CHECK(cudaIpcGetMemHandle(&offer.large, p));
    CHECK(cudaIpcGetEventHandle(&offer.event, event));
    make_pages(&pages);
    int fd = open(path, O_WRONLY);
    REQUIRE(fd >= 0 && write(fd, &offer, sizeof(offer)) == sizeof(offer), "cannot write %s", path);
    puts("lent");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        ;
    return 0;
}

static int stranger(const char *path) {
    struct offer offer;
    void *p;
    cudaEvent_t event;
    int fd = open(path, O_RDONLY);
    REQUIRE(fd >= 0 && read(fd, &offer, sizeof(offer)) == sizeof(offer), "cannot read %s", path);
    cudaError_t memory = cudaIpcOpenMemHandle(&p, offer.large, cudaIpcMemLazyEnablePeerAccess);
    cudaError_t wait = cudaIpcOpenEventHandle(&event, offer.event);
    printf("memory %d event %d\n", (int)memory, (int)wait);
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "orphan")) return orphan();
    if (argc > 2 && !strcmp(argv[1], "lend")) return lend(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "stranger")) return stranger(argv[2]);
    pid_t child = part(second);
    uint64_t sum = first(rounds_arg(argc, argv, 12));
    joined(child, 0);
    checksum_print("ipc", sum);
    return 0;
}
