/* SPDX-License-Identifier: Apache-2.0
 *
 * Ordinary memory that is registered and mapped for the device: host and device see each other's
 * writes, through two addresses. Neighbouring memory in the same pages, forked children, signal
 * handlers and other threads are not affected. With "refused", memory that cannot be mapped: the
 * call returns an error, and all else works.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define PAGE 4096
#define NEIGHBOUR 0x5a

static uint64_t sum = CHECKSUM_START;

__global__ void add(int *p, size_t n, int by) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) p[i] += by;
}

__global__ void add_two(const int *a, const int *b, int *c, int n) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) c[i] = a[i] + b[i];
}

static void add_on_device(int *p, size_t n, int by) {
    add<<<(unsigned)((n + 255) / 256), 256>>>(p, n, by);
    CHECK(cudaGetLastError());
}

static void *pages(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(p != MAP_FAILED, "mmap: %s", strerror(errno));
    return p;
}

static int *shown(void *host, size_t bytes, unsigned flags) {
    int *device;
    CHECK(cudaHostRegister(host, bytes, flags));
    CHECK(cudaHostGetDevicePointer(&device, host, 0));
    REQUIRE(device && (void *)device != host, "one address for both");
    return device;
}

static void fill(int *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        p[i] = (int)(i * 2654435761u);
}

static void expect_filled(const int *p, size_t n, int plus) {
    for (size_t i = 0; i < n; i++)
        REQUIRE(p[i] == (int)(i * 2654435761u) + plus, "element %zu of %zu: %d", i, n, p[i]);
    sum = checksum_add(sum, p, n * sizeof(*p));
}

/* Larger than one step of the transfer. */
static void both_ways(size_t n, unsigned flags) {
    int *host = (int *)pages(n * sizeof(*host));
    fill(host, n);
    int *device = shown(host, n * sizeof(*host), flags);
    add_on_device(device, n, 1);
    CHECK(cudaDeviceSynchronize());
    expect_filled(host, n, 1);
    for (size_t i = 0; i < n; i++)
        host[i] += 2;
    add_on_device(device, n, 4);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaHostUnregister(host));
    expect_filled(host, n, 7);
    host[0]++;
    /* The memory is normal again. */
    REQUIRE(madvise(host, n * sizeof(*host), MADV_DONTNEED) == 0 && host[0] == 0, "not given back");
    munmap(host, n * sizeof(*host));
}

/* Copies by either address keep the stream's order. */
static void ordered_copies(void) {
    const int n = 100000;
    int *host = (int *)pages(n * sizeof(int)), *d, *back = (int *)malloc(n * sizeof(int));
    cudaStream_t s;
    fill(host, n);
    int *device = shown(host, n * sizeof(int), cudaHostRegisterDefault);
    CHECK(cudaStreamCreate(&s));
    CHECK(cudaMalloc(&d, n * sizeof(int)));
    for (int round = 1; round <= 20; round++) {
        add<<<(n + 255) / 256, 256, 0, s>>>(device, n, 1);
        CHECK(cudaMemcpyAsync(d, host, n * sizeof(int), cudaMemcpyHostToDevice, s));
        add<<<(n + 255) / 256, 256, 0, s>>>(d, n, 1);
        CHECK(cudaMemcpyAsync(host, d, n * sizeof(int), cudaMemcpyDeviceToHost, s));
    }
    CHECK(cudaStreamSynchronize(s));
    expect_filled(host, n, 40);
    CHECK(cudaMemcpy(back, device, n * sizeof(int), cudaMemcpyDefault));
    expect_filled(back, n, 40);
    CHECK(cudaMemset(device, 0, n * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    REQUIRE(host[0] == 0 && host[n - 1] == 0, "cleared");
    CHECK(cudaHostUnregister(host));
    CHECK(cudaFree(d));
    CHECK(cudaStreamDestroy(s));
    munmap(host, n * sizeof(int));
    free(back);
}

/* Three heap blocks that share pages with each other and with unregistered memory. */
static void neighbours(void) {
    const int n = 700;
    const size_t bytes = n * sizeof(int);
    unsigned char *rest[4];
    int *host[3], *device[3];
    for (int i = 0; i < 4; i++) {
        rest[i] = (unsigned char *)malloc(500);
        memset(rest[i], NEIGHBOUR, 500);
        if (i < 3) host[i] = (int *)malloc(bytes);
    }
    fill(host[0], n);
    fill(host[1], n);
    for (int i = 0; i < 3; i++)
        device[i] = shown(host[i], bytes, cudaHostRegisterMapped);
    add_two<<<3, 256>>>(device[0], device[1], device[2], n);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++)
        REQUIRE(host[2][i] == (int)(i * 2654435761u * 2), "sum %d: %d", i, host[2][i]);
    CHECK(cudaHostUnregister(host[1]));
    free(host[1]);
    add_on_device(device[0], n, 5);
    add_on_device(device[2], n, 6);
    CHECK(cudaDeviceSynchronize());
    expect_filled(host[0], n, 5);
    CHECK(cudaHostUnregister(host[0]));
    CHECK(cudaHostUnregister(host[2]));
    for (int i = 0; i < n; i++)
        REQUIRE(host[2][i] == (int)(i * 2654435761u * 2) + 6, "sum %d: %d", i, host[2][i]);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 500; k++)
            REQUIRE(rest[i][k] == NEIGHBOUR, "a neighbour was written to");
    for (int i = 0; i < 4; i++)
        free(rest[i]);
    free(host[0]);
    free(host[2]);
}

static int initialised[3000] = {1, 2, 3};
static int zeroed[5000];

static void variables(void) {
    int *a = shown(initialised, sizeof(initialised), cudaHostRegisterMapped);
    int *b = shown(zeroed, sizeof(zeroed), cudaHostRegisterMapped);
    add_on_device(a, 3000, 10);
    add_on_device(b, 5000, 20);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(initialised[0] == 11 && initialised[2] == 13 && initialised[2999] == 10, "initialised");
    REQUIRE(zeroed[0] == 20 && zeroed[4999] == 20, "zeroed");
    CHECK(cudaHostUnregister(initialised));
    CHECK(cudaHostUnregister(zeroed));
    REQUIRE(initialised[1] == 12 && zeroed[1] == 20, "lost when it was given back");
}

static void expect(int got, int want, const char *what) {
    REQUIRE(got == want, "%s gave %d, expected %d", what, got, want);
    (void)cudaGetLastError();
}

static void told(void) {
    char *host = (char *)pages(4 * PAGE), *constant = (char *)pages(PAGE);
    void *pinned;
    unsigned flags;
    int *device = shown(host, 3 * PAGE, cudaHostRegisterPortable | cudaHostRegisterMapped), *at;
    cudaPointerAttributes a;
    CHECK(cudaPointerGetAttributes(&a, host + 100));
    REQUIRE(a.type == cudaMemoryTypeHost && a.hostPointer == host + 100, "by the host's address");
    REQUIRE(a.devicePointer == (char *)device + 100, "device pointer %p", a.devicePointer);
    CHECK(cudaPointerGetAttributes(&a, (char *)device + 100));
    REQUIRE(a.type == cudaMemoryTypeHost && a.hostPointer == host + 100, "by the device's address");
    CHECK(cudaHostGetDevicePointer(&at, host + 200, 0));
    REQUIRE(at == device + 50, "in the middle");
    CHECK(cudaHostGetFlags(&flags, host));
    REQUIRE(flags == (cudaHostRegisterPortable | cudaHostRegisterMapped), "flags %u", flags);
    expect(cudaHostRegister(host + 2 * PAGE, 2 * PAGE, 0), cudaErrorHostMemoryAlreadyRegistered,
           "registering a part again");
    expect(cudaHostUnregister(host + PAGE), cudaErrorHostMemoryNotRegistered, "the middle's end");
    CHECK(cudaHostUnregister(host));
    expect(cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered, "a second end");
    expect(cudaHostGetDevicePointer(&at, host, 0), cudaErrorInvalidValue, "its pointer afterwards");
    CHECK(cudaHostAlloc(&pinned, PAGE, 0));
    expect(cudaHostRegister(pinned, PAGE, 0), cudaErrorHostMemoryAlreadyRegistered,
           "pinned memory");
    CHECK(cudaFreeHost(pinned));
    constant[7] = 7;
    mprotect(constant, PAGE, PROT_READ);
    expect(cudaHostRegister(constant, PAGE, 0), cudaErrorInvalidValue, "read-only memory");
    device = shown(constant, PAGE, cudaHostRegisterReadOnly);
    char seven;
    CHECK(cudaMemcpy(&seven, (char *)device + 7, 1, cudaMemcpyDefault));
    REQUIRE(seven == 7, "read-only: %d", seven);
    CHECK(cudaHostUnregister(constant));
    REQUIRE(constant[7] == 7, "read-only afterwards: %d", constant[7]);
    munmap(constant, PAGE);
    expect(cudaHostRegister(constant, PAGE, 0), cudaErrorInvalidValue, "nothing");
    munmap(host, 4 * PAGE);
}

/* The program unmaps registered memory without unregistering it, and maps other memory there. */
static void taken_away(void) {
    int *host = (int *)pages(4 * PAGE);
    int *device = shown(host, 4 * PAGE, cudaHostRegisterMapped);
    munmap((char *)host + PAGE, 2 * PAGE);
    add_on_device(device, 4096, 1);
    CHECK(cudaDeviceSynchronize());
    void *p = mmap((char *)host + PAGE, PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(p, 9, PAGE);
    CHECK(cudaHostUnregister(host));
    REQUIRE(host[0] == 1 && host[3 * 1024] == 1 && *(char *)p == 9, "what is still there");
    munmap(host, 2 * PAGE);
    munmap((char *)host + 3 * PAGE, PAGE);
}

static void child_sees(const int *host, size_t n, int plus) {
    expect_filled(host, n, plus);
    ((int *)host)[0] = -1;
    _exit(0);
}

/* A child has its own copy of the contents. */
static void forked(void) {
    const size_t n = 10000;
    int *host = (int *)malloc(n * sizeof(int)), *small = (int *)malloc(100), status;
    fill(host, n);
    memset(small, 3, 100);
    int *device = shown(host, n * sizeof(int), cudaHostRegisterMapped);
    shown(small, 100, cudaHostRegisterMapped);
    add_on_device(device, n, 1);
    CHECK(cudaDeviceSynchronize());
    pid_t child = fork();
    if (child == 0) {
        small[0] = 4;
        child_sees(host, n, 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0, "the child: %d", status);
    expect_filled(host, n, 1);
    REQUIRE(small[0] == 0x03030303, "the child wrote to its parent");
    add_on_device(device, n, 1);
    CHECK(cudaDeviceSynchronize());
    expect_filled(host, n, 2);
    CHECK(cudaHostUnregister(host));
    CHECK(cudaHostUnregister(small));
    free(host);
    free(small);
}

/* A local variable of this function, as NPP's watershed registers one; and a child that runs on the
 * same page. */
static void on_the_stack(void) {
    volatile int cells[2] = {1, 2};
    int status;
    int *device = shown((void *)cells, sizeof(cells), cudaHostRegisterMapped);
    for (int i = 0; i < 10; i++) {
        add_on_device(device, 2, 1);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(cells[0] == 2 + 2 * i && cells[1] == 3 + i, "on the stack: %d %d", cells[0],
                cells[1]);
        cells[0]++;
    }
    pid_t child = fork();
    if (child == 0) {
        cells[1]++;
        _exit(cells[0] == 21 && cells[1] == 13 ? 0 : 1);
    }
    REQUIRE(waitpid(child, &status, 0) == child && status == 0, "the child: %d", status);
    add_on_device(device, 2, 1);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaHostUnregister((void *)cells));
    REQUIRE(cells[0] == 22 && cells[1] == 13, "after a fork: %d %d", cells[0], cells[1]);
}

static void *on_a_threads_stack(void *arg) {
    (void)arg;
    on_the_stack();
    return NULL;
}

/* ---- writes during the registration ---------------------------------------------------------- */

static volatile uint64_t *counter;
static volatile uint64_t counted;

static void count(int signal) {
    (void)signal;
    ++*counter;
    ++counted;
}

static void interrupted(void) {
    char *host = (char *)pages(64 * PAGE);
    struct itimerval often = {{0, 50}, {0, 50}}, never = {};
    counter = (volatile uint64_t *)(host + 63 * PAGE);
    signal(SIGALRM, count);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 200; i++) {
        shown(host, 64 * PAGE, cudaHostRegisterMapped);
        CHECK(cudaHostUnregister(host));
    }
    setitimer(ITIMER_REAL, &never, NULL);
    REQUIRE(*counter == counted, "%lu of %lu writes of a handler", (unsigned long)*counter,
            (unsigned long)counted);
    munmap(host, 64 * PAGE);
}

static volatile int stop;

static void *write_on(void *arg) {
    volatile uint64_t *p = (volatile uint64_t *)arg;
    uint64_t n = 0;
    while (!stop)
        p[n++ % 4096] += 1;
    return (void *)n;
}

/* Unregisters the memory while a thread writes to it. */
static void written_meanwhile(void) {
    for (int round = 0; round < 20; round++) {
        uint64_t *host = (uint64_t *)pages(4096 * 8), total = 0;
        pthread_t thread;
        void *n;
        shown(host, 4096 * 8, cudaHostRegisterMapped);
        stop = 0;
        pthread_create(&thread, NULL, write_on, host);
        while (((volatile uint64_t *)host)[4095] == 0)
            continue;
        CHECK(cudaHostUnregister(host));
        stop = 1;
        pthread_join(thread, &n);
        for (int i = 0; i < 4096; i++)
            total += host[i];
        REQUIRE(total == (uint64_t)n, "%lu of %lu writes", (unsigned long)total, (unsigned long)n);
        REQUIRE(madvise(host, 4096 * 8, MADV_DONTNEED) == 0 && host[5] == 0, "not given back");
        munmap(host, 4096 * 8);
    }
}

/* A thread pool, as libraries have, that sleeps between its work on the registered memory. */
struct crew {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int *cells;
    int round, open; /* parts of the round that are not done */
};

static void *work_on(void *arg) {
    struct crew *c = (struct crew *)arg;
    pthread_mutex_lock(&c->lock);
    for (int round = 0; c->round >= 0;) {
        if (c->round == round) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        round++;
        int part = --c->open;
        for (int i = part; i < 30000; i += 3)
            c->cells[i] += 1;
        if (!c->open) pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

static void one_round(struct crew *c) {
    pthread_mutex_lock(&c->lock);
    c->open = 3;
    c->round++;
    pthread_cond_broadcast(&c->changed);
    while (c->open)
        pthread_cond_wait(&c->changed, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

static void beside_a_crew(void) {
    static struct crew crew = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0, 0};
    const int n = 30000;
    pthread_t threads[3];
    crew.cells = (int *)malloc(n * sizeof(int));
    fill(crew.cells, n);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work_on, &crew);
    for (int i = 0; i < 10; i++) {
        one_round(&crew);
        int *device = shown(crew.cells, n * sizeof(int), cudaHostRegisterMapped);
        one_round(&crew);
        add_on_device(device, n, 3);
        CHECK(cudaDeviceSynchronize());
        one_round(&crew);
        CHECK(cudaHostUnregister(crew.cells));
    }
    expect_filled(crew.cells, n, 60);
    pthread_mutex_lock(&crew.lock);
    crew.round = -1;
    pthread_cond_broadcast(&crew.changed);
    pthread_mutex_unlock(&crew.lock);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    free(crew.cells);
}

/* ---- memory that cannot be mapped ------------------------------------------------------------ */

/* The memory can be registered and copied all the same. */
static void refused(void *host, const char *what) {
    int *d, v = 0;
    *(int *)host = 77;
    CHECK(cudaHostRegister(host, 64, cudaHostRegisterMapped));
    expect(cudaHostGetDevicePointer(&d, host, 0), cudaErrorNotSupported, what);
    CHECK(cudaMalloc(&d, 64));
    CHECK(cudaMemcpyAsync(d, host, 64, cudaMemcpyHostToDevice, 0));
    CHECK(cudaMemcpy(&v, d, sizeof(v), cudaMemcpyDeviceToHost));
    REQUIRE(v == 77, "%s: %d", what, v);
    CHECK(cudaHostUnregister(host));
    CHECK(cudaFree(d));
}

static void all_refused(void) {
    char *cells = (char *)pages(2 * PAGE);
    void *shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    refused(shared, "shared memory");
    mprotect(cells + PAGE, PAGE, PROT_READ);
    int *d;
    CHECK(cudaHostRegister(cells, 2 * PAGE, cudaHostRegisterReadOnly));
    expect(cudaHostGetDevicePointer(&d, cells, 0), cudaErrorNotSupported, "half of it read-only");
    CHECK(cudaHostUnregister(cells));
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "refused")) {
        all_refused();
        printf("refused\n");
        return 0;
    }
    int value;
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrCanUseHostPointerForRegisteredMem, 0));
    REQUIRE(value == 0, "attribute %d", value);
    both_ways(3 << 20, cudaHostRegisterMapped);
    both_ways(1 << 20, cudaHostRegisterDefault);
    ordered_copies();
    neighbours();
    variables();
    told();
    taken_away();
    forked();
    on_the_stack();
    pthread_t thread;
    pthread_create(&thread, NULL, on_a_threads_stack, NULL);
    pthread_join(thread, NULL);
    interrupted();
    written_meanwhile();
    beside_a_crew();
    checksum_print("registered", sum);
    return 0;
}
