/* SPDX-License-Identifier: Apache-2.0
 * One process allocates and fills memory and hands the descriptors to its parent, which never
 * calls CUDA. Then it dies in one of several ways, and a second process imports the memory. A
 * worker is replaced in the same way. */
#include <signal.h>

#include "scripts/device-probes/probe.h"

enum { CHUNKS = 4, SEED = 41 };
enum way { ALIVE, EXITS, KILLED, KILLED_BUSY, ILLEGAL, ILLEGAL_ALIVE, WAYS };
static const char *const ways[WAYS] = {"still_there",     "exit",
                                       "kill_9",          "kill_9_while_a_kernel_runs",
                                       "illegal_address", "illegal_address_and_still_there"};

struct task {
    enum way way;
    CUdeviceptr at; /* address of the first chunk; 0: not chosen yet */
    int fds[CHUNKS];
};

static size_t chunk_bytes(void) {
    size_t granule = probe_granule();
    return probe_small() ? granule : 16 * granule;
}

static CUdeviceptr reserve(size_t bytes, CUdeviceptr hint) {
    CUdeviceptr at;
    TRY(cu.cuMemAddressReserve(&at, bytes, 0, hint, 0));
    return at;
}

static void owner(int peer, void *arg) {
    enum way way = ((struct task *)arg)->way;
    probe_driver_open();
    size_t bytes = chunk_bytes();
    CUdeviceptr at = reserve(CHUNKS * bytes, 0), flag;
    CUmodule m = probe_module();
    CUfunction fill = probe_function(m, "fill");
    int fds[CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
        CUmemGenericAllocationHandle chunk = probe_chunk(bytes);
        fds[i] = probe_export(chunk);
        probe_map(at + i * bytes, bytes, chunk);
        LAUNCH(fill, 64, 256, NULL, at + i * bytes, bytes / 4, SEED + i);
    }
    TRY(cu.cuCtxSynchronize());
    for (int i = 0; i < CHUNKS; i++)
        probe_give_fd(peer, fds[i]);
    probe_tell(peer, at);
    if (way == KILLED_BUSY) {
        TRY(cu.cuMemAlloc_v2(&flag, 8));
        TRY(cu.cuMemsetD32_v2(flag, 0, 2));
        LAUNCH(probe_function(m, "spin"), 1, 1, NULL, flag, flag + 4, 60000000000ull);
        probe_sleep_ms(100);
    }
    if (way >= ILLEGAL) {
        LAUNCH(probe_function(m, "stray"), 1, 1, NULL, 0x10);
        CUresult r = cu.cuCtxSynchronize();
        fprintf(stderr, "the stray kernel: %s\n", probe_error(r));
        probe_tell(peer, r);
    }
    if (way == ILLEGAL_ALIVE || way == ALIVE)
        probe_hear(peer); /* until the second process has
                           * imported */
    if (way == KILLED || way == KILLED_BUSY) raise(SIGKILL);
    _exit(0);
}

/* Reports how many words are wrong, whether the address was free, and how long mapping took. */
static void heir(int peer, void *arg) {
    struct task *t = arg;
    uint64_t wrong = 0;
    CUdeviceptr counter;
    probe_driver_open();
    size_t bytes = chunk_bytes();
    uint64_t begin = probe_now_ns();
    CUdeviceptr at = reserve(CHUNKS * bytes, t->at);
    for (int i = 0; i < CHUNKS; i++)
        probe_map(at + i * bytes, bytes, probe_import(t->fds[i]));
    uint64_t took = probe_now_ns() - begin;
    CUfunction check = probe_function(probe_module(), "check");
    TRY(cu.cuMemAlloc_v2(&counter, 8));
    TRY(cu.cuMemsetD32_v2(counter, 0, 2));
    for (int i = 0; i < CHUNKS; i++)
        LAUNCH(check, 64, 256, NULL, at + i * bytes, bytes / 4, SEED + i, counter);
    TRY(cu.cuMemcpyDtoH_v2(&wrong, counter, 8));
    probe_tell(peer, wrong);
    probe_tell(peer, at == t->at);
    probe_tell(peer, took);
    probe_tell(peer, CHUNKS * bytes);
}

static bool kept(enum way way) {
    struct task t = {way, 0, {0}};
    uint64_t error, wrong = 1, same, took, bytes;
    struct probe_child first = probe_fork(owner, &t);
    for (int i = 0; i < CHUNKS; i++)
        t.fds[i] = probe_take_fd(first.peer);
    t.at = probe_hear(first.peer);
    if (way >= ILLEGAL) {
        error = probe_hear(first.peer);
        probe_figure(error, "CUresult", "%s_error", ways[way]);
        if (error == 0) probe_fact("no_fault", "the stray kernel was no error");
    }
    bool stays = way == ALIVE || way == ILLEGAL_ALIVE;
    if (!stays) probe_join(&first, 30);
    struct probe_child second = probe_fork(heir, &t);
    bool answered =
        probe_hear_within(second.peer, &wrong, 60) && probe_hear_within(second.peer, &same, 5) &&
        probe_hear_within(second.peer, &took, 5) && probe_hear_within(second.peer, &bytes, 5);
    int status = probe_join(&second, 30);
    if (stays) {
        probe_tell(first.peer, 0);
        probe_join(&first, 30);
    }
    for (int i = 0; i < CHUNKS; i++)
        close(t.fds[i]);
    if (!answered) {
        probe_fact(ways[way], "the second process could not look (status %d)", status);
        return false;
    }
    probe_fact(ways[way], "%s, %s address", wrong ? "lost" : "kept", same ? "same" : "another");
    probe_figure(wrong, "words", "%s_wrong", ways[way]);
    probe_figure(took / 1e6 / (bytes / 1073741824.0), "ms/GiB", "%s_import_and_map", ways[way]);
    return wrong == 0;
}

int main(void) {
    char lost[300] = "";
    int all = 1;
    probe_begin(
        "exported_memory",
        "Does exported device memory keep its contents when the process that made it dies?");
    if (!kept(ALIVE)) return probe_end(false, "not even while its owner is there and well");
    for (int way = 1; way < WAYS; way++)
        if (kept(way))
            all++;
        else
            snprintf(lost + strlen(lost), sizeof(lost) - strlen(lost), " %s", ways[way]);
    if (all == WAYS) return probe_end(true, "kept in all of %d ways to die", all - 1);
    return probe_end(true, "lost after:%s", lost);
}
