/* SPDX-License-Identifier: Apache-2.0
 *
 * Registered memory that the device sees: one memory at two addresses, of which a mapping of the
 * window by this test is the device's. The window's allocator is the test's.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "shim/connection/state.h"
#include "shim/memory/hostmem.h"
#include "shim/memory/mem.h"
#include "shim/memory/pages.h"
#include "shim/memory/threads.h"

#define MIB (1ull << 20)
#define WINDOW_BYTES (128 * MIB)
#define PAGE PAGES_BYTES
#define BIG_BYTES (40 * MIB) /* more than is moved at a time */

struct state state;

static uint64_t taken; /* of the window */
static int blocks;     /* that are taken */
static bool has_file = true;

CUresult mem_take(enum mem_kind kind, uint32_t owner, uint32_t detail, uint64_t bytes,
                  uint64_t *addr) {
    cr_assert_eq(kind, MEM_SHADOW);
    if (taken + bytes > WINDOW_BYTES) return CUDA_ERROR_OUT_OF_MEMORY;
    *addr = state.conn.windows.host_base + taken;
    taken += (bytes + 511) & ~511ull;
    blocks++;
    return CUDA_SUCCESS;
}

void mem_give_kept(uint64_t addr) {
    blocks--;
}

bool conn_has_host(const struct conn *c) {
    return has_file;
}

/* But for those of the test's library, which write to nothing here. */
static unsigned int strangers;

static unsigned int threads(void) {
    struct stat st;
    cr_assert_eq(stat("/proc/self/task", &st), 0);
    return (unsigned int)st.st_nlink - 2;
}

unsigned int threads_count(void) {
    return threads() - strangers;
}

static void begin(void) {
    struct stat st;
    log_init("none");
    state.conn.host = memfd_create("window", MFD_CLOEXEC);
    cr_assert_eq(ftruncate(state.conn.host, WINDOW_BYTES), 0);
    cr_assert_eq(fstat(state.conn.host, &st), 0);
    state.conn.host_inode = st.st_ino;
    void *p = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, state.conn.host, 0);
    cr_assert_neq(p, MAP_FAILED);
    state.conn.windows.host_base = (uint64_t)(uintptr_t)p;
    state.conn.windows.host_bytes = WINDOW_BYTES;
    strangers = threads() - 1;
}

TestSuite(shim_registered, .init = begin, .timeout = 60);

static uint64_t of(const volatile void *p) {
    return (uint64_t)(uintptr_t)p;
}

static void *mapped(uint64_t bytes, int prot, int kind) {
    void *p = mmap(NULL, bytes, prot, kind | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(p, MAP_FAILED);
    return p;
}

static void *pages(uint64_t bytes) {
    return mapped(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

/* What the device has of it. */
static volatile char *show(const volatile void *p, uint64_t bytes) {
    struct hostmem_range r;
    cr_assert_eq(hostmem_add(of(p), bytes, 0), CUDA_SUCCESS);
    const char *why = hostmem_show(of(p), &r);
    cr_assert_null(why, "%s", why);
    cr_assert_eq(r.addr, of(p));
    return (volatile char *)(uintptr_t)r.device;
}

static void hide(const volatile void *p) {
    cr_assert(hostmem_remove(of(p)));
}

static void expect_refused(void *p, uint64_t bytes, unsigned int flags, const char *part) {
    struct hostmem_range r;
    cr_assert_eq(hostmem_add(of(p), bytes, flags), CUDA_SUCCESS);
    const char *why = hostmem_show(of(p), &r);
    cr_assert_not_null(why, "%s: it is shown", part);
    cr_expect_not_null(strstr(why, part), "\"%s\", not \"%s\"", why, part);
    cr_expect_eq(r.device, 0);
    hide(p);
}

/* ---- two addresses --------------------------------------------------------------------------- */

Test(shim_registered, each_sees_what_the_other_writes) {
    volatile char *host = pages(BIG_BYTES);
    for (uint64_t i = 0; i < BIG_BYTES; i += PAGE)
        host[i] = (char)(i / PAGE);
    volatile char *device = show(host, BIG_BYTES);
    for (uint64_t i = 0; i < BIG_BYTES; i += PAGE) {
        cr_assert_eq(device[i], (char)(i / PAGE));
        device[i + 1] = 5;
        host[i + 2] = 6;
        cr_assert(host[i + 1] == 5 && device[i + 2] == 6);
    }
    hide(host);
    for (uint64_t i = 0; i < BIG_BYTES; i += PAGE)
        cr_assert(host[i] == (char)(i / PAGE) && host[i + 1] == 5 && host[i + 2] == 6);
    cr_expect_eq(blocks, 0, "the window has it still");
    device[1] = 9;
    cr_expect_eq(host[1], 5, "it is seen still");
    cr_assert_eq(madvise((void *)host, BIG_BYTES, MADV_DONTNEED), 0);
    cr_expect_eq(host[0], 0, "memory that was given back");
}

Test(shim_registered, the_window_keeps_no_pages) {
    struct stat st;
    char *host = pages(BIG_BYTES);
    memset(host, 1, BIG_BYTES);
    show(host, BIG_BYTES);
    hide(host);
    cr_assert_eq(fstat(state.conn.host, &st), 0);
    cr_expect_eq(st.st_blocks, 0);
}

Test(shim_registered, neighbours_in_a_page) {
    char *host = pages(4 * PAGE);
    memset(host, 7, 4 * PAGE);
    volatile char *a = show(host + 100, PAGE), *b = show(host + 200 + PAGE, 2 * PAGE);
    cr_expect_eq(b - a, (long)PAGE + 100, "one page, one place");
    a[0] = 1;
    b[0] = 2;
    hide(host + 100);
    cr_expect_eq(host[100], 1);
    b[1] = 3;
    cr_expect(host[200 + PAGE] == 2 && host[201 + PAGE] == 3, "the other's page went with it");
    a[1] = 8;
    cr_expect_eq(host[101], 7, "its own page is seen still");
    host[101] = 4;
    a = show(host + 100, PAGE);
    hide(host + 200 + PAGE);
    a[PAGE - 1] = 5;
    cr_expect_eq(host[99 + PAGE], 5, "the other's page went with it");
    hide(host + 100);
    cr_expect_eq(blocks, 0);
    cr_expect(host[100] == 1 && host[101] == 4);
    host[99 + PAGE] = host[101] = host[100] = host[200 + PAGE] = host[201 + PAGE] = 7;
    for (uint64_t i = 0; i < 4 * PAGE; i++)
        cr_assert_eq(host[i], 7, "byte %lu", (unsigned long)i);
}

Test(shim_registered, where_the_device_has_it) {
    struct hostmem_range r;
    char *host = pages(4 * PAGE);
    cr_expect_eq(hostmem_device(of(host), 1), 0);
    uint64_t device = of(show(host + 10, PAGE));
    cr_expect_eq(hostmem_device(of(host) + 10, PAGE), device);
    cr_expect_eq(hostmem_device(of(host) + 20, 8), device + 10);
    cr_expect_eq(hostmem_device(of(host) + 20, PAGE), 0, "more than is registered");
    cr_expect_eq(hostmem_device(of(host), 8), 0);
    cr_assert(hostmem_find_device(device + 5, &r));
    cr_expect_eq(r.addr, of(host) + 10);
    cr_expect_not(hostmem_find_device(device + PAGE, &r));
    hide(host + 10);
    cr_expect_eq(hostmem_device(of(host) + 10, 1), 0);
}

/* ---- what cannot be -------------------------------------------------------------------------- */

Test(shim_registered, what_nobody_could_pin) {
    char *host = pages(2 * PAGE), *closed = mapped(PAGE, PROT_NONE, MAP_PRIVATE);
    cr_expect_eq(hostmem_add(of(closed), 8, 0), CUDA_ERROR_INVALID_VALUE);
    munmap(host + PAGE, PAGE);
    cr_expect_eq(hostmem_add(of(host), PAGE + 1, 0), CUDA_ERROR_INVALID_VALUE, "a part is missing");
    mprotect(host, PAGE, PROT_READ);
    cr_expect_eq(hostmem_add(of(host), 8, 0), CUDA_ERROR_INVALID_VALUE, "it is read-only");
    cr_expect_eq(hostmem_add(of(host), 8, CU_MEMHOSTREGISTER_READ_ONLY), CUDA_SUCCESS);
    cr_expect_eq(hostmem_add(of(host) + 7, 1, CU_MEMHOSTREGISTER_READ_ONLY),
                 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    hide(host);
    cr_expect_not(hostmem_remove(of(host)));
}

Test(shim_registered, reasons) {
    char here[64], *two = pages(2 * PAGE);
    int both = PROT_READ | PROT_WRITE;
    expect_refused(mapped(PAGE, both, MAP_SHARED), PAGE, 0, "others have it mapped");
    expect_refused(mapped(PAGE, both | PROT_EXEC, MAP_PRIVATE), PAGE, 0, "executable");
    expect_refused(here, sizeof(here), 0, "on the stack");
    mprotect(two + PAGE, PAGE, PROT_READ);
    expect_refused(two, 2 * PAGE, CU_MEMHOSTREGISTER_READ_ONLY, "only parts");
    expect_refused(pages(2 * WINDOW_BYTES), 2 * WINDOW_BYTES, 0, "no room");
    has_file = false;
    two[0] = 1;
    expect_refused(two, 8, 0, "the system");
    cr_expect_eq(two[0], 1);
    cr_expect_eq(blocks, 0);
}

Test(shim_registered, a_page_has_one_place) {
    char *host = pages(4 * MIB);
    show(host, 100);
    expect_refused(host + 200, 3 * MIB, 0, "shares a page");
    show(host + 200, 300);
    hide(host);
    hide(host + 200);
    cr_expect_eq(blocks, 0);
}

Test(shim_registered, read_only_memory_stays_so) {
    char *host = pages(PAGE);
    struct hostmem_range r;
    host[3] = 3;
    mprotect(host, PAGE, PROT_READ);
    cr_assert_eq(hostmem_add(of(host), PAGE, CU_MEMHOSTREGISTER_READ_ONLY), CUDA_SUCCESS);
    cr_assert_null(hostmem_show(of(host), &r));
    cr_expect_eq(((char *)(uintptr_t)r.device)[3], 3);
    struct pages_view view;
    cr_assert_eq(pages_look(of(host), of(host) + PAGE, state.conn.host_inode, &view), 0);
    cr_expect(view.readable && !view.writable, "while it is shown");
    hide(host);
    cr_assert_eq(pages_look(of(host), of(host) + PAGE, 0, &view), 0);
    cr_expect(view.readable && !view.writable && host[3] == 3, "afterwards");
}

/* The program took some of it away, and has other memory there. */
Test(shim_registered, only_what_is_ours_is_given_back) {
    char *host = pages(4 * PAGE);
    volatile char *device = show(host, 4 * PAGE);
    munmap(host + PAGE, 2 * PAGE);
    int file = memfd_create("other", MFD_CLOEXEC);
    cr_assert_eq(ftruncate(file, WINDOW_BYTES), 0);
    uint64_t offset = of(device) + PAGE - state.conn.windows.host_base;
    char *other = mmap(host + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                       (off_t)offset);
    cr_assert_eq(other, host + PAGE);
    other[0] = 9;
    device[0] = device[PAGE] = device[3 * PAGE] = 1;
    hide(host);
    cr_expect(host[0] == 1 && other[0] == 9 && host[3 * PAGE] == 1);
    struct pages_view view;
    cr_assert_eq(pages_look(of(host) + 2 * PAGE, of(host) + 3 * PAGE, 0, &view), 0);
    cr_expect_not(view.readable, "pages came back that the program had given up");
}

/* ---- who writes meanwhile -------------------------------------------------------------------- */

static void *wait_for_lock(void *lock) {
    pthread_mutex_lock(lock);
    return NULL;
}

Test(shim_registered, not_beside_other_threads) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t thread;
    pthread_mutex_lock(&lock);
    cr_assert_eq(pthread_create(&thread, NULL, wait_for_lock, &lock), 0);
    expect_refused(pages(PAGE), PAGE, 0, "other threads");
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
}

static volatile uint64_t *counter;
static volatile uint64_t counted;

static void count(int number) {
    ++*counter;
    ++counted;
}

/* The first page is copied long before the last. */
Test(shim_registered, a_handler_loses_no_write) {
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    counter = pages(8 * MIB);
    signal(SIGALRM, count);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 20; i++) {
        show(counter, 8 * MIB);
        hide(counter);
        taken = 0;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    cr_expect_gt(counted, 0);
    cr_expect_eq(*counter, counted);
}

static _Atomic int stop;

static void *write_on(void *arg) {
    volatile uint64_t *p = arg;
    uint64_t n = 0;
    while (!stop)
        p[n++ % 1024] += 1;
    return (void *)(uintptr_t)n;
}

Test(shim_registered, a_thread_loses_no_write) {
    volatile uint64_t *host = pages(8 * MIB);
    uint64_t sum = 0;
    pthread_t thread;
    void *n;
    show(host, 8 * MIB);
    cr_assert_eq(pthread_create(&thread, NULL, write_on, (void *)host), 0);
    while (host[1023] == 0)
        continue;
    volatile char *device = (volatile char *)(uintptr_t)hostmem_device(of(host), 8);
    hide(host);
    device[8 * MIB - 1] = 1;
    stop = 1;
    pthread_join(thread, &n);
    for (int i = 0; i < 1024; i++)
        sum += host[i];
    cr_expect_eq(sum, (uint64_t)(uintptr_t)n);
    cr_expect_eq(((volatile char *)host)[8 * MIB - 1], 0, "it is seen still");
    cr_expect_eq(blocks, 1, "a block was given back from which pages of the program come");
    cr_assert_eq(madvise((void *)host, 4 * MIB, MADV_DONTNEED), 0);
    cr_expect_eq(host[0], 0, "memory that was given back");
}

/* ---- children -------------------------------------------------------------------------------- */

static int child_of(volatile char *host, volatile char *small) {
    bool same = host[0] == 1 && host[3 * PAGE - 1] == 2 && small[0] == 3;
    host[0] = small[0] = 8;
    return same ? 0 : 1;
}

Test(shim_registered, a_child_has_its_own) {
    char *host = pages(3 * PAGE);
    int status;
    host[0] = 1;
    char *small = host + 3 * PAGE - 100;
    volatile char *device = show(host, 2 * PAGE + 10), *end = show(small, 100);
    end[99] = 2;
    end[0] = 3;
    pid_t child = fork();
    if (child == 0) _exit(child_of(host, small));
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
    cr_expect(host[0] == 1 && small[0] == 3, "the child wrote to its parent");
    device[0] = 4;
    cr_expect_eq(host[0], 4, "it is seen no more");
    hide(host);
    hide(small);
    cr_expect(host[0] == 4 && small[99] == 2);
}
