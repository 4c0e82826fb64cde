/* SPDX-License-Identifier: Apache-2.0
 *
 * Virtual memory management as the worker sees it: the records of each call, which calls wait, and
 * that nothing is sent that only the library needs.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/err.h"
#include "shim/connection/state.h"
#include "shim/ipc/keyfile.h"
#include "shim/memory/mem.h"
#include "test/lib/shim/rig.h"

#define G RIG_GRANULE

static const CUmemAllocationProp device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                           .requestedHandleTypes =
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                           .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static const CUmemAccessDesc open_to_all = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                            CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
static const CUmemAccessDesc closed = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                       CU_MEM_ACCESS_FLAGS_PROT_NONE};

static void begin(void) {
    rig_begin();
    rig_forget();
}

TestSuite(shim_virtual, .init = begin, .timeout = 60);

static CUdeviceptr reserve(uint64_t bytes) {
    CUdeviceptr at;
    cr_assert_eq(cuMemAddressReserve(&at, bytes, 0, 0, 0), CUDA_SUCCESS);
    return at;
}

static CUmemGenericAllocationHandle make(uint64_t bytes) {
    CUmemGenericAllocationHandle h;
    cr_assert_eq(cuMemCreate(&h, bytes, &device, 0), CUDA_SUCCESS);
    return h;
}

/* Writes a record as text: the operation's letter, the segment's number, the position from `base`
 * and the length, both in granules, and `?` for a request. Returns the length of the text. */
static int describe(char *text, const struct wire_segment *s, CUdeviceptr base) {
    static const char letters[] = "mocsex"; /* MAKE OPEN CLOSE SHOW EXPORT SHARE */
    const struct wire_mem *m = (const void *)s;
    const char *asks = s->rec.ticket ? "?" : "";
    if (s->rec.op == WIRE_MEM_UNBACK)
        return sprintf(text, "u@%lld+%llu%s ", (long long)(m->addr - base) / (long long)G,
                       m->bytes / G, asks);
    if (s->rec.op == WIRE_MEM_SHOW)
        return sprintf(text, "s%u@%lld+%llu%s ", s->segment,
                       (long long)(s->addr - base) / (long long)G, s->bytes / G, asks);
    if (s->rec.op < WIRE_MEM_MAKE) return sprintf(text, "%u%s ", s->rec.op, asks);
    return sprintf(text, "%c%u%s ", letters[s->rec.op - WIRE_MEM_MAKE], s->segment, asks);
}

static const char *sent(CUdeviceptr base) {
    static char text[512];
    int n = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < rig_count(); i++)
        n += describe(text + n, rig_record(i, NULL), base);
    rig_forget();
    return text;
}

Test(shim_virtual, what_is_not_accessible_is_not_told) {
    CUdeviceptr at = reserve(4 * G);
    cr_expect_str_eq(sent(at), "");
    CUmemGenericAllocationHandle h = make(2 * G);
    cr_expect_str_eq(sent(at), "m0? ");
    cr_assert_eq(cuMemMap(at + G, 2 * G, 0, h, 0), CUDA_SUCCESS);
    cr_expect_str_eq(sent(at), "");
    cr_assert_eq(cuMemSetAccess(at + G, 2 * G, &open_to_all, 1), CUDA_SUCCESS);
    cr_expect_str_eq(sent(at), "s0@1+2 ");
    cr_assert_eq(cuMemSetAccess(at + G, 2 * G, &open_to_all, 1), CUDA_SUCCESS);
    cr_expect_str_eq(sent(at), "", "as it was");
    cr_assert_eq(cuMemSetAccess(at + G, 2 * G, &closed, 1), CUDA_SUCCESS);
    cr_expect_str_eq(sent(at), "u@1+2 ");
    cr_assert_eq(cuMemUnmap(at + G, 2 * G), CUDA_SUCCESS);
    cr_expect_str_eq(sent(at), "");
    cr_assert_eq(cuMemRelease(h), CUDA_SUCCESS);
    cr_expect_str_eq(sent(at), "c0 ");
    cr_assert_eq(cuMemAddressFree(at, 4 * G), CUDA_SUCCESS);
    cr_expect_str_eq(sent(at), "");
}

Test(shim_virtual, memory_goes_with_its_last_mapping) {
    CUdeviceptr at = reserve(4 * G);
    CUmemGenericAllocationHandle h = make(G), other = make(G);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(cuMemMap(at + i * G, G, 0, h, 0), CUDA_SUCCESS);
    cr_assert_eq(cuMemSetAccess(at, 2 * G, &open_to_all, 1), CUDA_SUCCESS);
    cr_assert_eq(cuMemRelease(h), CUDA_SUCCESS);
    cr_expect_eq(cuMemRelease(h), CUDA_ERROR_INVALID_VALUE);
    cr_expect_str_eq(sent(at), "m0? m1? s0@0+1 s0@1+1 ");
    cr_assert_eq(cuMemUnmap(at, G), CUDA_SUCCESS);
    cr_expect_str_eq(sent(at), "u@0+1 ");
    cr_assert_eq(cuMemUnmap(at + G, G), CUDA_SUCCESS);
    cr_expect_str_eq(sent(at), "u@1+1 c0 ");
    h = make(G);
    cr_expect_str_eq(sent(at), "m0? ", "its number is free");
    cr_assert_eq(cuMemRelease(h), CUDA_SUCCESS);
    cr_assert_eq(cuMemRelease(other), CUDA_SUCCESS);
    cr_expect_str_eq(sent(at), "c0 c1 ");
}

/* Blocks are allocated from the window's start and reservations from its end; a reservation belongs
 * to no block. */
Test(shim_virtual, reserved_addresses_are_no_memory) {
    CUdeviceptr block, at = reserve(8 * G), second = reserve(G);
    struct mem_block b;
    size_t before, after, total;
    rig_credit(64, 64);
    cr_assert_eq(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
    cr_assert_eq(cuMemAlloc_v2(&block, G), CUDA_SUCCESS);
    cr_expect_lt(block, second);
    cr_expect_lt(second, at);
    cr_expect_not(mem_find(at, &b));
    cr_assert_eq(cuMemFree_v2(at), CUDA_ERROR_INVALID_VALUE);
    CUmemGenericAllocationHandle h = make(4 * G);
    cr_assert_eq(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
    cr_expect_eq(before - after, 5 * G);
    cr_assert_eq(cuMemRelease(h), CUDA_SUCCESS);
    cr_assert_eq(cuMemFree_v2(block), CUDA_SUCCESS);
}

static void *make_one(void *arg) {
    cr_assert_eq(cuMemCreate(arg, 2 * G, &device, 0), CUDA_SUCCESS);
    return NULL;
}

/* Two granules of credit: while a request for them is in flight, blocks cannot use the credit. */
Test(shim_virtual, what_is_being_asked_for_is_no_credit) {
    CUmemGenericAllocationHandle h;
    CUdeviceptr block;
    pthread_t thread;
    rig_credit(2, 0);
    rig_withhold(WIRE_MEM_MAKE);
    pthread_create(&thread, NULL, make_one, &h);
    rig_await_request();
    rig_forget();
    cr_assert_eq(cuMemAlloc_v2(&block, G), CUDA_SUCCESS);
    const struct wire_mem *back = rig_record(0, NULL);
    cr_expect_eq(back->rec.op, WIRE_MEM_BACK);
    cr_expect_neq(back->rec.ticket, 0, "it asks");
    rig_answer();
    pthread_join(thread, NULL);
    rig_forget();
    cr_assert_eq(cuMemAlloc_v2(&block, G), CUDA_SUCCESS);
    back = rig_record(0, NULL);
    cr_expect_eq(back->rec.ticket, 0, "what the worker says counts");
}

Test(shim_virtual, what_is_kept_for_later_makes_room) {
    CUmemGenericAllocationHandle h;
    CUdeviceptr block;
    rig_credit(64, 64);
    cr_assert_eq(cuMemAlloc_v2(&block, 3 * G), CUDA_SUCCESS);
    cr_assert_eq(cuMemFree_v2(block), CUDA_SUCCESS);
    rig_forget();
    rig_refuse(WIRE_MEM_MAKE, ERR_NO_MEMORY, NULL);
    cr_expect_eq(cuMemCreate(&h, G, &device, 0), CUDA_ERROR_OUT_OF_MEMORY);
    cr_expect_str_eq(sent(block), "m0? u@0+3 m0? ");
    size_t free_bytes, total;
    cr_assert_eq(cuMemGetInfo_v2(&free_bytes, &total), CUDA_SUCCESS);
    cr_expect_eq(free_bytes, total, "nothing is charged for it");
    rig_refuse(0, 0, NULL);
    make(G);
    cr_expect_str_eq(sent(block), "m0? ");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static int export(CUmemGenericAllocationHandle h) {
    int fd = -1;
    cr_assert_eq(cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                 CUDA_SUCCESS);
    return fd;
}

static CUresult import(int fd, CUmemGenericAllocationHandle *h) {
    return cuMemImportFromShareableHandle(h, (void *)(intptr_t)fd,
                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

Test(shim_virtual, a_key_is_asked_for_once_and_known_again) {
    CUmemGenericAllocationHandle h = make(2 * G), same;
    rig_forget();
    int fd = export(h);
    cr_expect_str_eq(sent(0), "e0? ");
    close(export(h));
    cr_expect_str_eq(sent(0), "");
    cr_assert_eq(import(fd, &same), CUDA_SUCCESS);
    cr_expect_eq(same, h, "its own");
    cr_expect_str_eq(sent(0), "");
    cr_assert_eq(cuMemRelease(h), CUDA_SUCCESS);
    cr_expect_str_eq(sent(0), "");
    cr_assert_eq(cuMemRelease(same), CUDA_SUCCESS);
    cr_expect_str_eq(sent(0), "c0 ");
    cr_assert_eq(import(fd, &same), CUDA_SUCCESS, "as another process would");
    cr_expect_str_eq(sent(0), "o0? ");
    CUmemAllocationProp prop;
    cr_assert_eq(cuMemGetAllocationPropertiesFromHandle(&prop, same), CUDA_SUCCESS);
    cr_expect_eq(prop.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    cr_assert_eq(cuMemRelease(same), CUDA_SUCCESS);
    rig_refuse(WIRE_MEM_OPEN, ERR_NOT_FOUND, NULL);
    cr_expect_eq(import(fd, &same), CUDA_ERROR_INVALID_VALUE, "it is gone");
    close(fd);
}

/* Returns the end of the socket that the worker got when a descriptor of segment `number` was
 * requested. */
static int other_end(uint32_t number) {
    struct wire_file asked;
    int end = rig_kept(&asked);
    cr_assert_geq(end, 0, "none came");
    cr_expect_eq(asked.file, number);
    return end;
}

static bool hangs_up(int end) {
    struct pollfd p = {.fd = end};
    return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static CUresult try_export(CUmemGenericAllocationHandle h, int *fd) {
    return cuMemExportToShareableHandle(fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}

Test(shim_virtual, a_descriptor_keeps_as_long_as_somebody_has_it) {
    CUmemGenericAllocationHandle first = make(G), h = make(2 * G), same;
    rig_keeps();
    rig_forget();
    int fd = export(h), end = other_end(1);
    cr_expect_str_eq(sent(0), "", "the ring has nothing to do with it");
    cr_expect_eq(fcntl(fd, F_GETFD), 0, "CUDA's are open across exec");
    cr_expect_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1, "who has it says nothing to the worker");
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(import(fd, &same), CUDA_SUCCESS);
        cr_expect_eq(same, h, "its own");
    }
    cr_assert_eq(cuMemRelease(first), CUDA_SUCCESS);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(cuMemRelease(h), CUDA_SUCCESS);
    cr_expect_str_eq(sent(0), "c0 c1 ", "there is no more");
    cr_expect(!hangs_up(end));
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(import(fd, &same), CUDA_SUCCESS, "as another process would");
        cr_expect_str_eq(sent(0), i ? "c0 o0? " : "o0? ");
        if (!i) cr_assert_eq(cuMemRelease(same), CUDA_SUCCESS);
    }
    int again = export(same), other = other_end(0), copy = dup(fd);
    close(fd);
    cr_expect(!hangs_up(end));
    close(copy);
    cr_expect(hangs_up(end) && !hangs_up(other));
    close(again);
    cr_expect(hangs_up(other), "nothing of it is left here");
}

Test(shim_virtual, a_descriptor_that_is_refused_leaves_nothing) {
    CUmemGenericAllocationHandle h = make(G);
    int fd = -7;
    rig_keeps();
    rig_refuse(WIRE_MEM_EXPORT, ERR_NO_MEMORY, "too many bytes");
    cr_expect_eq(try_export(h, &fd), CUDA_ERROR_OUT_OF_MEMORY);
    rig_refuse(WIRE_MEM_EXPORT, -EMFILE, "too many");
    cr_expect_eq(try_export(h, &fd), CUDA_ERROR_OPERATING_SYSTEM);
    cr_expect_eq(fd, -7);
    rig_refuse(0, 0, NULL);
    rig_forget();
    cr_assert_eq(cuMemRelease(h), CUDA_SUCCESS);
    cr_expect_str_eq(sent(0), "c0 ", "it is not held for that");
    cr_expect_eq(try_export(h, &fd), CUDA_ERROR_INVALID_VALUE);
}

/* Programs' sockets contain arbitrary data, which stays in them. */
Test(shim_virtual, sockets_without_a_key_are_refused) {
    const struct {
        int type;
        uint32_t kind, off; /* off: added to the magic number */
        size_t bytes;
    } odd[] = {{SOCK_SEQPACKET, 77, 0, sizeof(struct keyfile)},
               {SOCK_SEQPACKET, KEYFILE_ALLOCATION, 1, sizeof(struct keyfile)},
               {SOCK_SEQPACKET, KEYFILE_ALLOCATION, 0, sizeof(struct keyfile) + 1},
               {SOCK_SEQPACKET, KEYFILE_ALLOCATION, 0, sizeof(struct keyfile) - 1},
               {SOCK_DGRAM, KEYFILE_ALLOCATION, 0, sizeof(struct keyfile)},
               {SOCK_STREAM, KEYFILE_ALLOCATION, 0, sizeof(struct keyfile)},
               {SOCK_SEQPACKET, KEYFILE_ALLOCATION, 0, 0}};
    CUmemGenericAllocationHandle h;
    struct keyfile good = {.key = {1, 2}};
    int fd, end, pair[2];
    char room[sizeof(good) + 1] = {0};
    cr_assert_eq(keyfile_pair(&fd, &end), 0);
    cr_assert_eq(keyfile_put(end, &good), 0); /* sets the magic number */
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        struct keyfile bad = {good.magic + odd[i].off, odd[i].kind, {1, 2}};
        memcpy(room, &bad, sizeof(bad));
        cr_assert_eq(socketpair(AF_UNIX, odd[i].type, 0, pair), 0);
        if (odd[i].bytes) cr_assert_eq(send(pair[1], room, odd[i].bytes, 0), (ssize_t)odd[i].bytes);
        rig_forget();
        cr_expect_eq(import(pair[0], &h), CUDA_ERROR_INVALID_VALUE, "%zu", i);
        cr_expect_str_eq(sent(0), "");
        cr_expect_eq(recv(pair[0], room, sizeof(room), MSG_DONTWAIT),
                     odd[i].bytes ? (ssize_t)odd[i].bytes : -1);
    }
    cr_expect_eq(import(fd, &h), CUDA_ERROR_INVALID_VALUE, "of no kind");
}

Test(shim_virtual, what_is_no_key_is_refused) {
    CUmemGenericAllocationHandle h;
    struct keyfile other = {.kind = 77, .key = {1, 2}}, none = {.kind = 1};
    int pipes[2], files[] = {keyfile_create(&other), keyfile_create(&none)};
    cr_assert_eq(pipe(pipes), 0);
    rig_forget();
    cr_expect_eq(import(-1, &h), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(import(pipes[0], &h), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(import(files[0], &h), CUDA_ERROR_INVALID_VALUE);
    cr_expect_eq(import(files[1], &h), CUDA_ERROR_INVALID_VALUE);
    cr_expect_str_eq(sent(0), "");
    cr_expect_eq(write(files[1], "x", 1), -1, "nobody changes it");
}
