/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that other processes map too, mapped for the device: the messages that are sent, that both
 * sides see the same memory, and that a failure leaves nothing behind. The device's side is a
 * second mapping of the window, which the test changes as the worker does.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/remap.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/host_memory/pages.h"
#include "shim/host_memory/share.h"
#include "shim/memory/mem.h"

#define PAGE PAGES_BYTES
#define WINDOW_BYTES (256 * PAGE)
#define FILE_BYTES (16 * PAGE)

struct state state;

static char *device;          /* address of the window in the worker */
static int broker;            /* the other end of the socket */
static int taken[WIRE_FILES]; /* descriptors that the worker has, or -1 */
static int sent;              /* number of files sent */
static int32_t answer;        /* result of later requests */
static uint16_t refused;      /* requests with this op fail with `answer`; 0: all */
static uint64_t used;         /* bytes of the window that are in use */
static int blocks;
static bool has_window = true;
static bool free_there; /* the program's address range is free in the worker */
static int there;       /* ranges mapped at the program's address */

/* ---- the rest of the library, and the worker, replaced
 * ---------------------------------------- */

CUresult mem_take(enum mem_kind kind, uint32_t owner, uint32_t detail, uint64_t bytes,
                  uint64_t *addr) {
    cr_assert_eq(kind, MEM_SHADOW);
    if (used + bytes > WINDOW_BYTES) return CUDA_ERROR_OUT_OF_MEMORY;
    *addr = state.conn.windows.host_base + used + 512; /* blocks begin at any address */
    used += bytes + 1024;
    blocks++;
    return CUDA_SUCCESS;
}

void mem_give(uint64_t addr) {
    blocks--;
}

bool conn_has_host(const struct conn *c) {
    return has_window;
}

CUresult state_say(uint32_t fault) {
    return (CUresult)fault;
}

static int refusal(uint16_t op) {
    return answer && (!refused || refused == op) ? answer : 0;
}

static bool is_there(const struct wire_file_range *r) {
    return r->addr - state.conn.windows.host_base >= WINDOW_BYTES;
}

static void carry_out(const struct wire_file_range *r) {
    if (is_there(r)) {
        there += r->rec.op == WIRE_FILE_MAP ? 1 : -1;
        return;
    }
    uint64_t at = r->addr - state.conn.windows.host_base;
    int fd = r->rec.op == WIRE_FILE_MAP ? taken[r->file] : state.conn.host;
    uint64_t offset = r->rec.op == WIRE_FILE_MAP ? r->offset : at;
    cr_assert_eq(r->addr % PAGE, 0);
    cr_assert_geq(fd, 0, "no such file");
    cr_assert_eq(remap_file((uint64_t)(uintptr_t)device + at, r->bytes, fd, offset), 0);
}

CUresult submit_record(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes) {
    cr_assert_eq(((struct wire_record *)head)->op, WIRE_FILE_UNMAP);
    carry_out(head);
    return CUDA_SUCCESS;
}

static CUresult result(int err, struct reply *out) {
    if (out) *out = (struct reply){.result = err};
    return err ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

CUresult reply_call(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes,
                    struct reply *out) {
    const struct wire_file_range *r = head;
    int err = refusal(r->rec.op);
    if (!err && r->rec.op == WIRE_FILE_MAP && is_there(r) && !free_there) err = -EADDRNOTAVAIL;
    if (!err && r->rec.op == WIRE_FILE_MAP) carry_out(r);
    if (r->rec.op == WIRE_FILE_DROP) fdutil_close(&taken[r->file]);
    return result(err, out);
}

CUresult reply_call_by(CUresult (*send)(void *arg, uint32_t slot, uint64_t ticket), void *arg,
                       struct reply *out) {
    struct wire_file f;
    int fd = -1, nfds = 1;
    cr_assert_eq(send(arg, 9, 1234), CUDA_SUCCESS);
    cr_assert_eq(fdutil_recv(broker, &f, sizeof(f), &fd, &nfds), (int)sizeof(f));
    cr_assert(nfds == 1 && f.magic == WIRE_FILE_MAGIC && f.reply == 9 && f.ticket == 1234);
    cr_assert(f.file < WIRE_FILES && taken[f.file] < 0, "the number is in use");
    sent++;
    int err = refusal(0);
    if (err)
        close(fd);
    else
        taken[f.file] = fd;
    return result(err, out);
}

/* ---- the tests --------------------------------------------------------------------------------
 */

static char *map_file(int fd, uint64_t bytes) {
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert_neq(p, MAP_FAILED);
    return p;
}

static void begin(void) {
    int pair[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    state.conn.sock = pair[0];
    broker = pair[1];
    state.conn.minor = 5;
    state.conn.host = fdutil_memfd("window", WINDOW_BYTES, 0);
    state.conn.windows.host_base = (uint64_t)(uintptr_t)map_file(state.conn.host, WINDOW_BYTES);
    state.conn.windows.host_bytes = WINDOW_BYTES;
    device = map_file(state.conn.host, WINDOW_BYTES);
    for (int i = 0; i < (int)WIRE_FILES; i++)
        taken[i] = -1;
}

TestSuite(shim_share, .init = begin, .timeout = 120);

static int make_file(int seals) {
    int fd = memfd_create("file", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    cr_assert_eq(ftruncate(fd, FILE_BYTES), 0);
    cr_assert_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

static struct share *show(const char *p, uint64_t bytes) {
    const char *why;
    uint64_t lo = (uint64_t)(uintptr_t)p;
    struct share *s = share_show(lo, lo + bytes, &why);
    cr_assert_not_null(s, "%s", why);
    return s;
}

static void expect_refused(const char *p, uint64_t bytes, const char *part) {
    const char *why = "";
    uint64_t lo = (uint64_t)(uintptr_t)p;
    cr_expect_null(share_show(lo, lo + bytes, &why), "%s: it is shown", part);
    cr_expect(why && strstr(why, part), "\"%s\", not \"%s\"", why, part);
    cr_expect_eq(blocks, 0);
    for (int i = 0; i < (int)WIRE_FILES; i++)
        cr_expect_lt(taken[i], 0, "the worker has a file");
}

static volatile char *on_device(const struct share *s, const char *p) {
    return device + (share_at(s, (uint64_t)(uintptr_t)p) - state.conn.windows.host_base);
}

/* Returns the program's view of the window. */
static volatile char *in_window(const struct share *s, const char *p) {
    return (volatile char *)(uintptr_t)share_at(s, (uint64_t)(uintptr_t)p);
}

static void all_sides_see_one_memory(void) {
    char *q = map_file(make_file(F_SEAL_SHRINK), FILE_BYTES);
    struct share *s = show(q + 3 * PAGE, 5 * PAGE);
    q[4 * PAGE] = 1;
    cr_expect(*on_device(s, q + 4 * PAGE) == 1 && *in_window(s, q + 4 * PAGE) == 1);
    *on_device(s, q + 8 * PAGE - 1) = 2;
    cr_expect(q[8 * PAGE - 1] == 2 && *in_window(s, q + 8 * PAGE - 1) == 2);
    volatile char *was = on_device(s, q + 4 * PAGE), *here = in_window(s, q + 4 * PAGE);
    share_hide(s);
    *was = 7; /* the window's own pages again, on both sides */
    cr_expect(*here == 7 && q[4 * PAGE] == 1 && blocks == 0);
}

Test(shim_share, all_sides_see_one_memory) {
    all_sides_see_one_memory();
}

Test(shim_share, where_the_program_has_it_if_that_is_free) {
    char *q = map_file(make_file(F_SEAL_SHRINK), FILE_BYTES);
    free_there = true;
    struct share *s = show(q + 3 * PAGE, 2 * PAGE);
    cr_expect_eq(share_at(s, (uint64_t)(uintptr_t)q + 4 * PAGE), (uint64_t)(uintptr_t)q + 4 * PAGE);
    cr_expect(there == 1 && blocks == 0 && sent == 1);
    share_hide(s);
    cr_expect(there == 0 && taken[0] < 0, "the file is dropped");
    q[3 * PAGE] = 1; /* the program's mapping is unchanged */
}

Test(shim_share, on_older_kernels_too) {
    pages_asks = false;
    all_sides_see_one_memory();
}

Test(shim_share, a_file_travels_once_and_is_dropped_with_its_last_range) {
    int fd = make_file(F_SEAL_SHRINK), second = make_file(F_SEAL_SHRINK);
    char *p = map_file(fd, FILE_BYTES), *again = map_file(fd, FILE_BYTES);
    char *q = map_file(second, FILE_BYTES);
    struct share *a = show(p, PAGE);
    close(fd); /* the file is known already */
    struct share *b = show(again + 2 * PAGE, PAGE), *c = show(q, 2 * PAGE);
    cr_expect_eq(sent, 2);
    cr_expect(a->file == b->file && a->file != c->file);
    *on_device(b, again + 2 * PAGE) = 3;
    cr_expect_eq(p[2 * PAGE], 3);
    uint32_t number = a->file;
    share_hide(a);
    cr_expect_geq(taken[number], 0);
    share_hide(b);
    cr_expect_lt(taken[number], 0);
    share_hide(c);
    share_hide(show(q, PAGE));
    cr_expect_eq(sent, 3, "again, by the same number or another");
}

Test(shim_share, what_could_shrink_is_not_sent) {
    int fd = make_file(F_SEAL_GROW);
    expect_refused(map_file(fd, FILE_BYTES), PAGE, "F_SEAL_SHRINK");
    char name[] = "/tmp/share-XXXXXX";
    fd = mkstemp(name);
    unlink(name);
    cr_assert_eq(ftruncate(fd, FILE_BYTES), 0);
    expect_refused(map_file(fd, FILE_BYTES), PAGE, "F_SEAL_SHRINK");
    cr_expect_eq(sent, 0);
}

Test(shim_share, what_is_no_piece_of_one_file_is_not_shown) {
    int fd = make_file(F_SEAL_SHRINK), second = make_file(F_SEAL_SHRINK);
    char *p = map_file(fd, FILE_BYTES);
    const int both = PROT_READ | PROT_WRITE, at = MAP_SHARED | MAP_FIXED;
    cr_assert_neq(mmap(p + PAGE, PAGE, both, at, second, PAGE), MAP_FAILED);
    expect_refused(p, 2 * PAGE, "one file");
    cr_assert_neq(mmap(p + PAGE, PAGE, both, at, fd, 5 * PAGE), MAP_FAILED);
    expect_refused(p, 2 * PAGE, "one file");
    cr_assert_neq(mmap(p + PAGE, PAGE, both, MAP_PRIVATE | MAP_FIXED, fd, PAGE), MAP_FAILED);
    expect_refused(p, 2 * PAGE, "private");
    cr_assert_neq(mmap(p + PAGE, PAGE, PROT_READ, at, fd, PAGE), MAP_FAILED);
    expect_refused(p, 2 * PAGE, "read-only");
    munmap(p + PAGE, PAGE);
    expect_refused(p, 2 * PAGE, "no longer mapped");
    expect_refused(p + PAGE, PAGE, "no longer mapped");
    cr_assert_neq(mmap(p + PAGE, PAGE, both, at, fd, PAGE), MAP_FAILED);
    share_hide(show(p, 2 * PAGE)); /* in two mappings, but in order */
}

/* The worker may not write a file whose descriptor is read-only. */
Test(shim_share, a_descriptor_for_reading_is_no_use) {
    int fd = make_file(F_SEAL_SHRINK);
    char path[64], *p = map_file(fd, FILE_BYTES);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int reader = open(path, O_RDONLY | O_CLOEXEC);
    close(fd);
    const char *why;
    uint64_t lo = (uint64_t)(uintptr_t)p;
    struct share *s = share_show(lo, lo + PAGE, &why);
    if (!s) { /* the process may not open mapped files */
        cr_expect_not_null(strstr(why, "closed"), "%s", why);
    } else {
        cr_expect_eq(fcntl(taken[s->file], F_GETFL) & O_ACCMODE, O_RDWR);
        share_hide(s);
    }
    close(reader);
}

Test(shim_share, what_the_worker_refuses_leaves_nothing) {
    char *p = map_file(make_file(F_SEAL_SHRINK), FILE_BYTES);
    answer = -EMFILE;
    expect_refused(p, PAGE, "descriptors");
    answer = -ENOSPC;
    refused = WIRE_FILE_MAP;
    expect_refused(p, PAGE, "than a job may have");
    cr_expect_eq(sent, 2);
    answer = 0;
    share_hide(show(p, PAGE));
    used = WINDOW_BYTES;
    expect_refused(p, PAGE, "window of pinned memory is full");
    state.conn.minor = 4;
    expect_refused(p, PAGE, "older");
}

Test(shim_share, only_so_many_files) {
    static struct share *s[WIRE_FILES];
    char *p = NULL;
    for (uint32_t i = 0; i <= WIRE_FILES; i++) {
        const char *why;
        used = 0; /* all of them use the same place */
        p = map_file(make_file(F_SEAL_SHRINK), PAGE);
        if (i < WIRE_FILES) s[i] = show(p, PAGE);
        uint64_t lo = (uint64_t)(uintptr_t)p;
        if (i == WIRE_FILES) cr_expect_null(share_show(lo, lo + PAGE, &why));
    }
    share_hide(s[5]);
    s[5] = show(p, PAGE);
    cr_expect_eq(s[5]->file, 5);
}

/* Programs close descriptors that they do not know. */
Test(shim_share, without_the_windows_file_its_place_is_nobodys) {
    char *p = map_file(make_file(F_SEAL_SHRINK), FILE_BYTES);
    struct share *s = show(p, PAGE);
    has_window = false;
    share_hide(s);
    cr_expect_eq(blocks, 1);
}
