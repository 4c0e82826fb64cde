/* SPDX-License-Identifier: Apache-2.0
 *
 * Registered memory that is mapped for the device: one memory at two addresses. The test's own
 * mapping of the window stands for the device's address. The test replaces the window's allocator.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/log.h"
#include "shim/connection/state.h"
#include "shim/host_memory/page_block.h"
#include "shim/host_memory/pages.h"
#include "shim/host_memory/registered.h"
#include "shim/host_memory/share.h"
#include "shim/host_memory/threads.h"
#include "shim/memory/mem.h"

#define MIB (1ull << 20)
#define WINDOW_BYTES (128 * MIB)
#define PAGE PAGES_BYTES
#define BIG_BYTES (40 * MIB) /* more than one piece */

struct state state;

static uint64_t taken; /* bytes of the window */
static int blocks;     /* blocks in use */
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

bool mem_host_is_pinned(void) {
    return state.conn.device.flags & WIRE_DEVICE_HOST;
}

bool conn_has_host(const struct conn *c) {
    return has_file;
}

/* Files are tested in test_shim_share.c. */
static bool shows_files;
static int files_shown;                  /* ranges of files */
static void (*while_shown)(uint64_t lo); /* runs on another thread meanwhile */

struct share *share_show(uint64_t lo, uint64_t hi, const char **why) {
    struct share *s = calloc(1, sizeof(*s));
    *why = "other processes map the memory too";
    if (while_shown) while_shown(lo);
    if (!shows_files) return NULL;
    *s = (struct share){.lo = lo, .bytes = hi - lo, .window = lo + WINDOW_BYTES};
    files_shown++;
    return s;
}

void share_hide(struct share *s) {
    files_shown--;
    free(s);
}

/* The number of threads that threads_count leaves out: at first those of the test's library, which
 * write to nothing here. */
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

TestSuite(shim_registered, .init = begin, .timeout = 600);

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

/* Returns the device's address of the memory. */
static volatile char *show(const volatile void *p, uint64_t bytes) {
    struct registered_range r;
    cr_assert_eq(registered_add(of(p), bytes, 0), CUDA_SUCCESS);
    const char *why = registered_show(of(p), 0, &r);
    cr_assert_null(why, "%s", why);
    cr_assert_eq(r.addr, of(p));
    return (volatile char *)(uintptr_t)r.device;
}

static void hide(const volatile void *p) {
    cr_assert(registered_remove(of(p)));
}

static void expect_refused(void *p, uint64_t bytes, unsigned int flags, const char *part) {
    struct registered_range r;
    cr_assert_eq(registered_add(of(p), bytes, flags), CUDA_SUCCESS);
    const char *why = registered_show(of(p), 0, &r);
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

/* New pages at these file offsets would not be the ones that the device has pinned. */
Test(shim_registered, the_window_keeps_what_is_pinned) {
    struct stat st;
    char *host = pages(BIG_BYTES);
    memset(host, 1, BIG_BYTES);
    state.conn.device.flags = WIRE_DEVICE_HOST;
    show(host, BIG_BYTES);
    hide(host);
    cr_assert_eq(fstat(state.conn.host, &st), 0);
    cr_expect_eq(st.st_blocks, BIG_BYTES / 512);
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
    struct registered_range r;
    char *host = pages(4 * PAGE);
    cr_expect_eq(registered_device(of(host), 1), 0);
    uint64_t device = of(show(host + 10, PAGE));
    cr_expect_eq(registered_device(of(host) + 10, PAGE), device);
    cr_expect_eq(registered_device(of(host) + 20, 8), device + 10);
    cr_expect_eq(registered_device(of(host) + 20, PAGE), 0, "more than is registered");
    cr_expect_eq(registered_device(of(host), 8), 0);
    cr_assert(registered_find_device(device + 5, &r));
    cr_expect_eq(r.addr, of(host) + 10);
    cr_expect_not(registered_find_device(device + PAGE, &r));
    hide(host + 10);
    cr_expect_eq(registered_device(of(host) + 10, 1), 0);
}

/* ---- refused registrations ------------------------------------------------------------------- */

Test(shim_registered, what_nobody_could_pin) {
    char *host = pages(2 * PAGE), *closed = mapped(PAGE, PROT_NONE, MAP_PRIVATE);
    cr_expect_eq(registered_add(of(closed), 8, 0), CUDA_ERROR_INVALID_VALUE);
    munmap(host + PAGE, PAGE);
    cr_expect_eq(registered_add(of(host), PAGE + 1, 0), CUDA_ERROR_INVALID_VALUE,
                 "a part is missing");
    mprotect(host, PAGE, PROT_READ);
    cr_expect_eq(registered_add(of(host), 8, 0), CUDA_ERROR_INVALID_VALUE, "it is read-only");
    cr_expect_eq(registered_add(of(host), 8, CU_MEMHOSTREGISTER_READ_ONLY), CUDA_SUCCESS);
    cr_expect_eq(registered_add(of(host) + 7, 1, CU_MEMHOSTREGISTER_READ_ONLY),
                 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    hide(host);
    cr_expect_not(registered_remove(of(host)));
}

Test(shim_registered, reasons) {
    char *two = pages(2 * PAGE);
    int both = PROT_READ | PROT_WRITE;
    expect_refused(mapped(PAGE, both, MAP_SHARED), PAGE, 0, "other processes map the memory");
    char *partly = pages(2 * PAGE);
    cr_assert_neq(mmap(partly + PAGE, PAGE, both, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                  MAP_FAILED);
    expect_refused(partly, 2 * PAGE, 0, "other processes map the memory");
    expect_refused(mapped(PAGE, both | PROT_EXEC, MAP_PRIVATE), PAGE, 0, "executable");
    mprotect(two + PAGE, PAGE, PROT_READ);
    expect_refused(two, 2 * PAGE, CU_MEMHOSTREGISTER_READ_ONLY,
                   "parts of the memory are read-only");
    expect_refused(pages(2 * WINDOW_BYTES), 2 * WINDOW_BYTES, 0, "window of pinned memory is full");
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
    struct registered_range r;
    host[3] = 3;
    mprotect(host, PAGE, PROT_READ);
    cr_assert_eq(registered_add(of(host), PAGE, CU_MEMHOSTREGISTER_READ_ONLY), CUDA_SUCCESS);
    cr_assert_null(registered_show(of(host), 0, &r));
    cr_expect_eq(((char *)(uintptr_t)r.device)[3], 3);
    int prot;
    cr_assert_eq(pages_access(of(host), of(host) + PAGE, &prot), 0);
    cr_expect_eq(prot, PROT_READ, "while it is shown");
    hide(host);
    cr_assert_eq(pages_access(of(host), of(host) + PAGE, &prot), 0);
    cr_expect(prot == PROT_READ && host[3] == 3, "afterwards");
}

/* ---- files that other processes map too ------------------------------------------------------ */

static void remove_it(uint64_t lo) {
    cr_expect(registered_remove(lo + 8));
}

static void show_it_first(uint64_t lo) {
    struct registered_range r;
    while_shown = NULL;
    cr_expect_null(registered_show(lo + 8, 0, &r));
}

Test(shim_registered, a_files_memory_is_not_exchanged) {
    char *host = mapped(4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    shows_files = true;
    char *device = (char *)show(host + 8, PAGE);
    cr_expect_eq(device, host + 8 + WINDOW_BYTES);
    cr_expect(files_shown == 1 && blocks == 0);
    cr_expect_eq(registered_device(of(host) + 100, 10), of(device) + 92);
    cr_expect_eq(registered_device(of(host) + 8, PAGE + 1), 0);
    hide(host + 8);
    cr_expect_eq(files_shown, 0);
    show(host, PAGE);
    show(host + 2 * PAGE, PAGE);
    registered_clear();
    cr_expect_eq(files_shown, 0);
    cr_expect_eq(registered_device(of(host), 1), 0);
}

Test(shim_registered, a_file_is_shown_once_and_not_behind_its_end) {
    char *host = mapped(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    struct registered_range r;
    shows_files = true;
    while_shown = show_it_first;
    show(host + 8, 100);
    cr_expect_eq(files_shown, 1);
    hide(host + 8);
    while_shown = remove_it;
    cr_assert_eq(registered_add(of(host) + 8, 100, 0), CUDA_SUCCESS);
    cr_expect_not_null(registered_show(of(host) + 8, 0, &r));
    cr_expect_eq(files_shown, 0);
    cr_expect_eq(registered_device(of(host) + 8, 1), 0);
}

/* The program unmapped part of the range, and has other memory there. */
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

/* Makes userfaultfd unavailable. Returns false when the test may not change its user, or the new
 * user may use userfaultfd too. */
static bool without_holder(void) {
    if (geteuid() == 0 && syscall(SYS_setresuid, 65534, 65534, 0)) return false;
    prctl(PR_SET_DUMPABLE, 1);
    int holder = page_block_open();
    if (holder >= 0) page_block_close(holder);
    return holder < 0;
}

/* Restores the user for tools that inspect the process at its end. */
static void with_holder(void) {
    if (getuid() == 65534) syscall(SYS_setresuid, 0, 0, 0);
}

/* ---- concurrent writes ----------------------------------------------------------------------- */

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

/* Unregisters memory while a thread writes to it; returns the number of lost writes. */
static uint64_t lost_of(volatile uint64_t *host) {
    uint64_t sum = 0;
    pthread_t thread;
    void *n;
    stop = 0;
    cr_assert_eq(pthread_create(&thread, NULL, write_on, (void *)host), 0);
    while (host[1023] == 0)
        continue;
    volatile char *device = (volatile char *)(uintptr_t)registered_device(of(host), 8);
    hide(host);
    device[8 * MIB - 1] = 1;
    stop = 1;
    pthread_join(thread, &n);
    for (int i = 0; i < 1024; i++)
        sum += host[i];
    return sum - (uint64_t)(uintptr_t)n;
}

static void expect_own(const volatile uint64_t *host) {
    cr_expect_eq(((const volatile char *)host)[8 * MIB - 1], 0, "it is seen still");
    cr_assert_eq(madvise((void *)(uintptr_t)host, 4 * MIB, MADV_DONTNEED), 0);
    cr_expect_eq(host[0], 0, "memory that was given back");
}

Test(shim_registered, a_thread_loses_no_write) {
    volatile uint64_t *host = pages(8 * MIB);
    show(host, 8 * MIB);
    cr_expect_eq(lost_of(host), 0);
    expect_own(host);
}

/* Without userfaultfd, pages of the program may still be read from the window. */
Test(shim_registered, a_thread_loses_no_write_with_less) {
    volatile uint64_t *host = pages(8 * MIB);
    if (!without_holder()) cr_skip_test("whoever runs this may hold pages");
    show(host, 8 * MIB);
    cr_expect_eq(lost_of(host), 0);
    cr_expect_eq(blocks, 1, "a block was given back from which pages of the program come");
    expect_own(host);
    with_holder();
}

/* ---- threads that sleep ----------------------------------------------------------------------
 *
 * Runs in a separate process, because the test's library has a thread that waits without a
 * futex. */

#define MUST(condition)                                             \
    do {                                                            \
        if (!(condition)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
            _exit(1);                                               \
        }                                                           \
    } while (0)
#define SKIPPED 77

static void in_a_process(void (*run)(void)) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        strangers = 0;
        if (!without_holder()) _exit(SKIPPED);
        run();
        _exit(0);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        cr_skip_test("whoever runs this may hold pages");
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
}

struct sleeper {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool up, asleep;
    volatile uint64_t counter;
};

static void *sleep_until_woken(void *arg) {
    struct sleeper *s = arg;
    pthread_mutex_lock(&s->lock);
    s->asleep = true;
    while (!s->up)
        pthread_cond_wait(&s->woken, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Starts a thread that sleeps until wake(); the futex that the thread waits for is in *s. Returns
 * once the thread sleeps. */
static pthread_t put_to_sleep(struct sleeper *s) {
    pthread_t thread;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->woken, NULL);
    MUST(pthread_create(&thread, NULL, sleep_until_woken, s) == 0);
    for (bool asleep = false; !asleep; usleep(100)) {
        pthread_mutex_lock(&s->lock);
        asleep = s->asleep;
        pthread_mutex_unlock(&s->lock);
    }
    return thread;
}

static void wake(struct sleeper *s, pthread_t thread) {
    pthread_mutex_lock(&s->lock);
    s->up = true;
    pthread_cond_signal(&s->woken);
    pthread_mutex_unlock(&s->lock);
    MUST(pthread_join(thread, NULL) == 0);
}

static const char *why_not_shown(const volatile void *p, uint64_t bytes, uint64_t patience_ns) {
    struct registered_range r;
    MUST(registered_add(of(p), bytes, 0) == CUDA_SUCCESS);
    return registered_show(of(p), patience_ns, &r);
}

#define PATIENCE_NS 10000000000ull

static void wake_behind_new_pages(void) {
    char *host = pages(4 * MIB);
    struct sleeper *s = (struct sleeper *)(host + 3 * MIB);
    pthread_t thread = put_to_sleep(s);
    host[5] = 5;
    MUST(!why_not_shown(host, 4 * MIB, PATIENCE_NS));
    MUST(((char *)(uintptr_t)registered_device(of(host), 8))[5] == 5);
    wake(s, thread);
    registered_remove(of(host));
    MUST(host[5] == 5 && blocks == 0);
}

Test(shim_registered, beside_a_thread_that_sleeps) {
    in_a_process(wake_behind_new_pages);
}

static struct sleeper *interrupted;
static volatile uint64_t handled;

static void count_there(int number) {
    interrupted->counter++;
    handled++;
}

/* Handlers run on the sleeping thread: they wait while pages are exchanged. */
static void interrupt_a_sleeper(void) {
    const struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    char *host = pages(8 * MIB);
    int shown = 0;
    sigset_t alarms;
    interrupted = (struct sleeper *)(host + 7 * MIB);
    pthread_t thread = put_to_sleep(interrupted);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    signal(SIGALRM, count_there);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 20; i++) {
        shown += !why_not_shown(host, 8 * MIB, PATIENCE_NS);
        registered_remove(of(host));
        if (blocks == 0) taken = 0;
        if (taken > WINDOW_BYTES / 2) break; /* blocks are used up when a handler runs meanwhile */
    }
    setitimer(ITIMER_REAL, &never, NULL);
    wake(interrupted, thread);
    MUST(shown > 0 && handled > 0);
    MUST(interrupted->counter == handled);
}

Test(shim_registered, handlers_of_a_sleeper_lose_no_write) {
    in_a_process(interrupt_a_sleeper);
}

static int line[2];

static void *read_a_byte(void *arg) {
    return (void *)(intptr_t)read(line[0], arg, 1);
}

static const char *why_not_beside(void *(*run)(void *), void *arg, pthread_t *thread) {
    char *host = pages(PAGE);
    MUST(pthread_create(thread, NULL, run, arg) == 0);
    usleep(10000);
    const char *why = why_not_shown(host, PAGE, 1000000);
    registered_remove(of(host));
    return why ? why : "nothing";
}

static void others_may_run(void) {
    char byte;
    pthread_t thread;
    const struct sigaction once = {.sa_handler = count_there, .sa_flags = (int)SA_RESETHAND};
    struct sleeper s = {.up = false};
    MUST(pipe(line) == 0);
    MUST(strstr(why_not_beside(read_a_byte, &byte, &thread), "other threads"));
    MUST(write(line[1], "x", 1) == 1 && pthread_join(thread, NULL) == 0);
    volatile uint64_t *words = pages(8 * MIB);
    stop = 0;
    MUST(strstr(why_not_beside(write_on, (void *)words, &thread), "other threads"));
    stop = 1;
    pthread_join(thread, NULL);
    thread = put_to_sleep(&s);
    sigaction(SIGUSR1, &once, NULL);
    MUST(why_not_shown((void *)words, PAGE, 1000000));
    signal(SIGUSR1, SIG_DFL);
    struct registered_range r;
    MUST(!registered_show(of(words), PATIENCE_NS, &r));
    wake(&s, thread);
}

Test(shim_registered, not_beside_threads_that_may_run) {
    in_a_process(others_may_run);
}

/* ---- threads that use it ---------------------------------------------------------------------
 *
 * Threads use the memory by pointer, by system calls, and as a futex: nothing is lost, and no
 * thread sees an error. */

#define ROUNDS 500
#define USED_BYTES (64 * PAGE)

struct used {
    _Alignas(64) _Atomic uint64_t sum;
    _Alignas(64) _Atomic uint32_t ball;
    _Alignas(PAGE) uint64_t words[1024];
    _Alignas(PAGE) char out[3 * PAGE], in[3 * PAGE], line_out[PAGE], line_in[PAGE];
};

static struct used *used;
static _Atomic uint64_t added, wrong;

static void *add_on(void *arg) {
    uint64_t n = 0;
    while (!stop) {
        used->sum++;
        n++;
    }
    added += n;
    return NULL;
}

/* Checks that each word has the value last stored, and stores the next. */
static void *store_on(void *arg) {
    volatile uint64_t *words = used->words;
    for (uint64_t n = 0; !stop; n++)
        for (int i = 0; i < 1024; i += 8) {
            wrong += words[i] != n;
            words[i] = n + 1;
        }
    return NULL;
}

static void *use_file(void *arg) {
    int file = memfd_create("file", MFD_CLOEXEC);
    for (uint64_t n = 0; !stop; n++) {
        memset(used->out, (int)n | 1, sizeof(used->out));
        wrong += pwrite(file, used->out, sizeof(used->out), 5) != sizeof(used->out);
        wrong += pread(file, used->in, sizeof(used->in), 5) != sizeof(used->in);
        wrong += memcmp(used->in, used->out, sizeof(used->in)) != 0;
        memset(used->in, 0, sizeof(used->in));
    }
    close(file);
    return NULL;
}

static void *send_on(void *arg) {
    for (uint64_t n = 0; !stop; n++) {
        memcpy(used->line_out, &n, sizeof(n));
        wrong += write(line[1], used->line_out, 512) != 512;
    }
    close(line[1]);
    return NULL;
}

static void *receive_on(void *arg) {
    uint64_t n = 0, got;
    ssize_t bytes;
    for (; (bytes = read(line[0], used->line_in, 512)) == 512; n++) {
        memcpy(&got, used->line_in, sizeof(got));
        wrong += got != n;
    }
    wrong += bytes != 0;
    return NULL;
}

static void pass_the_ball(void) {
    used->ball++;
    wrong += syscall(SYS_futex, &used->ball, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0;
}

static _Atomic uint64_t late; /* wake-ups that a waiting thread did not get */

/* Returns 0 once the ball has come or `stop` is set, or an error: -ETIMEDOUT after five seconds. */
static int wait_for_the_ball(uint32_t mine) {
    const struct timespec limit = {.tv_sec = 1};
    uint32_t ball;
    for (int tries = 0; ((ball = used->ball) & 1) != mine && !stop;) {
        long err = syscall(SYS_futex, &used->ball, FUTEX_WAIT_PRIVATE, ball, &limit, NULL, 0);
        if (err == 0 || errno == EAGAIN) continue;
        if (errno != ETIMEDOUT || tries++ == 4) return -errno;
        late += used->ball != ball;
    }
    return 0;
}

/* The ball goes from even to odd and back; the waiting thread sleeps on the word itself. */
static void *play(void *arg) {
    int err = 0;
    while (!stop && !err) {
        err = wait_for_the_ball((uint32_t)(uintptr_t)arg);
        pass_the_ball();
    }
    wrong += err != 0;
    pass_the_ball(); /* the other thread may not have seen the end */
    return NULL;
}

static void expose(uint64_t *by_device) {
    struct used *device = (struct used *)(uintptr_t)of(show(used, USED_BYTES));
    for (int i = 0; i < 100; i++, ++*by_device)
        device->sum++;
    sched_yield();
    hide(used);
    cr_assert_eq(blocks, 0, "a block is worn");
    taken = 0;
}

Test(shim_registered, threads_that_use_it_notice_nothing, .timeout = 600) {
    static void *(*const uses[])(void *) = {add_on, store_on,   use_file, send_on,
                                            play,   receive_on, play};
    enum { COUNT = sizeof(uses) / sizeof(*uses) };
    pthread_t threads_of[COUNT];
    uint64_t by_device = 0;
    int holder = page_block_open();
    if (holder < 0) cr_skip_test("whoever runs this may not hold pages");
    page_block_close(holder);
    cr_assert(sizeof(struct used) <= USED_BYTES && pipe(line) == 0);
    used = pages(USED_BYTES);
    for (uint64_t i = 0; i < COUNT; i++)
        cr_assert_eq(
            pthread_create(&threads_of[i], NULL, uses[i], (void *)(uintptr_t)(i == COUNT - 1)), 0);
    for (int i = 0; i < ROUNDS; i++)
        expose(&by_device);
    stop = 1;
    for (int i = 0; i < COUNT; i++)
        pthread_join(threads_of[i], NULL);
    cr_expect_eq(wrong, 0, "%lu times", (unsigned long)wrong);
    cr_expect_eq(used->sum, added + by_device);
    cr_expect_gt(used->ball, 0);
    cr_expect_lt(late, 3, "it happens on a machine that is busy, but %lu times",
                 (unsigned long)late);
}

/* A part of the range is not anonymous: the rest stays unchanged, also for a thread that writes
 * to it. */
Test(shim_registered, what_cannot_be_held) {
    pthread_t thread;
    void *n;
    uint64_t sum = 0;
    int holder = page_block_open(), file = memfd_create("file", MFD_CLOEXEC);
    if (holder < 0) cr_skip_test("whoever runs this may not hold pages");
    page_block_close(holder);
    uint64_t *host = pages(20 * PAGE);
    cr_assert_eq(ftruncate(file, (off_t)PAGE), 0);
    cr_assert_eq(mmap((char *)host + 19 * PAGE, PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_FIXED, file, 0),
                 (char *)host + 19 * PAGE);
    stop = 0;
    cr_assert_eq(pthread_create(&thread, NULL, write_on, host), 0);
    for (int i = 0; i < 20; i++)
        expect_refused(host, 20 * PAGE, 0, "the system does not allow");
    cr_expect(pages_private(of(host)), "it shows the window still");
    stop = 1;
    pthread_join(thread, &n);
    for (int i = 0; i < 1024; i++)
        sum += host[i];
    cr_expect_eq(sum, (uint64_t)(uintptr_t)n);
    cr_expect_eq(blocks, 0);
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

/* ---- stacks ----------------------------------------------------------------------------------
 *
 * Pages of the caller's own stack are exchanged. */

#define CELLS 5 /* words on the stack that are registered together */

static size_t stack_bytes(void) {
    pthread_attr_t a;
    void *from;
    size_t bytes;
    cr_assert_eq(pthread_getattr_np(pthread_self(), &a), 0);
    cr_assert_eq(pthread_attr_getstack(&a, &from, &bytes), 0);
    pthread_attr_destroy(&a);
    return bytes;
}

/* Recurses so deep that the stack grows, if it is the main thread's. */
static __attribute__((noinline)) uint64_t descend(unsigned int depth) {
    volatile char frame[PAGE];
    frame[0] = (char)depth;
    uint64_t below = depth ? descend(depth - 1) : 0;
    return below + (uint64_t)(unsigned char)frame[0];
}

static uint64_t sum_to(unsigned int n) {
    uint64_t sum = 0;
    for (; n; n--)
        sum += (unsigned char)n;
    return sum;
}

static __attribute__((noinline)) void use_own_stack(unsigned int depth) {
    volatile uint64_t cells[CELLS] = {1, 2, 3, 4};
    volatile uint64_t *device = (volatile uint64_t *)show(cells, sizeof(cells));
    cr_assert(device[0] == 1 && device[3] == 4);
    device[1] = 20;
    cells[2] = 30;
    cr_assert_eq(descend(depth), sum_to(depth));
    cr_assert(cells[1] == 20 && device[2] == 30);
    hide(cells);
    device[3] = 40;
    cr_assert(cells[0] == 1 && cells[1] == 20 && cells[2] == 30 && cells[3] == 4);
    cr_assert_eq(blocks, 0);
    taken = 0;
}

static bool on_main_stack(const volatile void *p) {
    struct pages_view view;
    uint64_t page = of(p) & ~(PAGE - 1);
    cr_assert_eq(pages_look(page, page + PAGE, state.conn.host_inode, &view), 0);
    return view.stack_end != 0;
}

Test(shim_registered, on_the_stack_of_who_asks) {
    volatile char here = 0;
    size_t before = stack_bytes();
    cr_assert(on_main_stack(&here));
    for (unsigned int i = 0; i < 20; i++)
        use_own_stack(64 * i);
    cr_expect_eq(stack_bytes(), before, "it is in parts");
}

/* Two variables in separate pages: meanwhile /proc does not name the lower part of the stack. */
Test(shim_registered, twice_on_the_stack) {
    _Alignas(PAGE) volatile char upper[PAGE];
    volatile char room[4 * PAGE], lower = 7;
    size_t before = stack_bytes();
    upper[0] = room[0] = 5;
    volatile char *of_upper = show(upper, 1), *of_lower = show(&lower, 1);
    *of_upper = *of_lower = 9;
    cr_expect(upper[0] == 9 && lower == 9 && room[0] == 5);
    hide(upper);
    hide(&lower);
    cr_expect_eq(stack_bytes(), before, "it is in parts");
    cr_expect_eq(blocks, 0);
}

/* Recurses ever deeper, so that the range is the last page of the stack. */
static __attribute__((noinline)) void at_the_end(unsigned int level) {
    volatile char room[64 * 1024 + 64];
    if (level == 0) return;
    room[0] = (char)level;
    use_own_stack(0);
    at_the_end(level - 1);
    cr_assert_eq(room[0], (char)level);
}

Test(shim_registered, at_the_end_of_the_stack) {
    at_the_end(80);
}

static void *use_a_threads_stack(void *arg) {
    for (int i = 0; i < 20; i++)
        use_own_stack(200);
    return NULL;
}

Test(shim_registered, on_a_threads_stack) {
    pthread_t thread;
    int holder = page_block_open();
    if (holder < 0) strangers++; /* the other thread waits, as it would for a program */
    if (holder >= 0) page_block_close(holder);
    cr_assert_eq(pthread_create(&thread, NULL, use_a_threads_stack, NULL), 0);
    pthread_join(thread, NULL);
}

/* Uses the pages in which the C library and the kernel have a thread's own variables. */
static void *show_own_variables(void *arg) {
    struct registered_range r;
    registered_add((uint64_t)pthread_self(), 8, 0);
    const char *why = registered_show((uint64_t)pthread_self(), 0, &r);
    registered_remove((uint64_t)pthread_self());
    return (void *)(uintptr_t)why;
}

Test(shim_registered, not_a_threads_own_variables) {
    pthread_t thread;
    void *why;
    strangers++; /* no other reason prevents it: this thread waits */
    cr_assert_eq(pthread_create(&thread, NULL, show_own_variables, NULL), 0);
    pthread_join(thread, &why);
    cr_assert_not_null(why, "they are shown");
    cr_expect_not_null(strstr(why, "its thread-local variables"), "%s", (char *)why);
}

static void count_on_stack(void) {
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    volatile uint64_t on_stack = 0;
    counter = &on_stack;
    counted = 0;
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 60 || counted == 0; i++) {
        show(&on_stack, sizeof(on_stack));
        hide(&on_stack);
        taken = 0;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    cr_expect_eq(on_stack, counted);
}

Test(shim_registered, a_handler_on_the_stack_loses_no_write) {
    const stack_t other = {.ss_sp = pages(64 * PAGE), .ss_size = 64 * PAGE};
    struct sigaction action = {.sa_handler = count};
    sigaction(SIGALRM, &action, NULL);
    count_on_stack();
    cr_assert_eq(sigaltstack(&other, NULL), 0);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGALRM, &action, NULL);
    count_on_stack();
}

/* Another thread writes by pointer, next to the frames of this one. */
Test(shim_registered, a_stack_that_others_write_to) {
    pthread_t thread;
    void *n;
    _Alignas(PAGE) uint64_t words[1024] = {0};
    uint64_t sum = 0;
    int holder = page_block_open();
    if (holder < 0) cr_skip_test("whoever runs this may not hold pages");
    page_block_close(holder);
    stop = 0;
    cr_assert_eq(pthread_create(&thread, NULL, write_on, words), 0);
    for (int i = 0; i < 60; i++) {
        volatile uint64_t beside = (uint64_t)i;
        show(words, sizeof(words));
        hide(words);
        show(&beside, sizeof(beside));
        cr_assert_eq(beside, (uint64_t)i);
        hide(&beside);
        taken = 0;
    }
    stop = 1;
    pthread_join(thread, &n);
    for (int i = 0; i < 1024; i++)
        sum += words[i];
    cr_expect_eq(sum, (uint64_t)(uintptr_t)n);
    cr_expect_eq(blocks, 0);
}

static void stack_beside_a_sleeper(void) {
    struct sleeper *s = pages(PAGE);
    pthread_t thread = put_to_sleep(s);
    volatile uint64_t cell = 3;
    MUST(!why_not_shown(&cell, sizeof(cell), PATIENCE_NS));
    ++*(volatile uint64_t *)(uintptr_t)registered_device(of(&cell), 8);
    MUST(cell == 4);
    MUST(registered_remove(of(&cell)));
    MUST(cell == 4);
    wake(s, thread);
}

Test(shim_registered, on_the_stack_beside_a_thread_that_sleeps) {
    in_a_process(stack_beside_a_sleeper);
}

/* Acts as a device that writes to the window all the time. */
static void *write_as_device(void *arg) {
    volatile uint64_t *cell = arg;
    uint64_t n = 0;
    for (; !stop; n++)
        ++*cell;
    return (void *)(uintptr_t)n;
}

static volatile uint64_t *forks_seen, *device_cell;
static pid_t forking;

/* The first handler to be registered: called last before fork, and first after it. Both the
 * program and the device write. */
static void see_fork(void) {
    if (forks_seen) ++*forks_seen;
    if (device_cell && getpid() == forking) ++*device_cell;
}

static void fork_on_stack(volatile uint64_t *cells, int round) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        bool same = cells[1] == (uint64_t)round && cells[2] == 2 * (uint64_t)round + 2;
        cells[0] = cells[1] = 0;
        _exit(same && descend(64) == sum_to(64) ? 0 : 1);
    }
    cells[1]++;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", (unsigned)status);
    cr_assert_eq(cells[1], (uint64_t)round + 1);
}

/* Many rounds: in one of a few dozen the device writes at the critical moment. */
Test(shim_registered, children_of_who_has_it_on_the_stack) {
    const int rounds = 900;
    volatile uint64_t cells[CELLS] = {0};
    pthread_t device;
    void *n;
    forks_seen = &cells[2];
    pthread_atfork(see_fork, see_fork, see_fork);
    volatile uint64_t *shown = (volatile uint64_t *)show(cells, sizeof(cells));
    device_cell = &shown[4];
    forking = getpid();
    stop = 0;
    cr_assert_eq(pthread_create(&device, NULL, write_as_device, (void *)shown), 0);
    strangers++;
    for (int round = 0; round < rounds; round++)
        fork_on_stack(cells, round);
    stop = 1;
    pthread_join(device, &n);
    strangers--;
    forks_seen = device_cell = NULL;
    cr_expect_eq(cells[0], (uint64_t)(uintptr_t)n);
    shown[3] = 5;
    cr_expect_eq(cells[3], 5, "it is seen no more");
    hide(cells);
    cr_expect_eq(cells[2], 2 * rounds);
    cr_expect_eq(cells[4], 2 * rounds);
    cr_expect_eq(blocks, 0);
}
