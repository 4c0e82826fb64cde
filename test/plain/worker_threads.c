/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker on the software GPU with all its threads, for ThreadSanitizer and the leak checkers.
 * Clients on their own threads use kernels, copies, streams, waits, events, host functions and
 * printf, and load a module again and again. Another client is detached in the middle of an endless
 * kernel, and others while their image is read. The sums must be right.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "test/lib/worker/wireclient.h"

#define CLIENTS 3
#define ROUNDS 60
#define STREAMS 3
#define LEAVERS 20
#define PAGE (2u << 20)
#define TRIES 600000

static const char image[] =
    ".version 7.5\n.target sm_75\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
    ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n"
    ".visible .entry count(.param .u64 p)\n{\n"
    "  .reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
    "  ld.param.u64 %rd1, [p];\n  cvta.to.global.u64 %rd2, %rd1;\n"
    "  atom.global.add.u32 %r1, [%rd2], 1;\n  ret;\n}\n"
    ".visible .entry greet(.param .u64 p)\n{\n"
    "  .reg .b64 %rd<4>; .reg .b32 %r<3>;\n"
    "  mov.u64 %rd1, text;\n  cvta.global.u64 %rd2, %rd1;\n  mov.u64 %rd3, 0;\n"
    "  {\n  .param .b64 p0; st.param.b64 [p0+0], %rd2;\n"
    "  .param .b64 p1; st.param.b64 [p1+0], %rd3;\n  .param .b32 r0;\n"
    "  call.uni (r0), vprintf, (p0, p1);\n  ld.param.b32 %r1, [r0+0];\n  }\n  ret;\n}\n"
    ".visible .entry spin(.param .u64 p)\n{\n"
    "  .reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .pred %q<2>;\n"
    "  ld.param.u64 %rd1, [p];\n"
    "AGAIN:\n  ld.volatile.global.u32 %r1, [%rd1];\n  setp.ne.u32 %q1, %r1, 12345;\n"
    "  @%q1 bra AGAIN;\n  ret;\n}\n";

enum { COUNT, GREET, SPIN, AGAIN };

/* Client and worker map the ring at different addresses of this one process, while both have the
 * host window at the same address. So ThreadSanitizer cannot see that the ring's words order
 * accesses to the host window. Only the two functions that access the host window for the client
 * are exempt. */
/* NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): ThreadSanitizer's
 * name. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) {
    return "race:wireclient_load\nrace:host_word\n";
}
/* NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier) */

static __attribute__((noinline)) uint32_t host_word(const struct wireclient *c) {
    uint32_t word;
    memcpy(&word, c->host, sizeof(word));
    return word;
}

static void check(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "worker_threads: %s\n", what);
    exit(1);
}

static void until_done(struct wireclient *c, uint32_t stream, uint64_t seq) {
    for (int i = 0; i < TRIES && wireclient_done(c, stream) < seq; i++) {
        atom_store_release(&c->sub->callbacks_done, atom_load_acquire(&c->com->callbacks_posted));
        wireclient_ping(c); /* rings the doorbell, as a client does after a host function */
        check(wireclient_fault(c) == 0, c->com->fault.text);
        usleep(100);
    }
    check(wireclient_done(c, stream) >= seq, "an operation was never done");
}

static struct wireclient *start(struct wirebench *b) {
    static const char *const names[] = {"count", "greet", "spin"};
    struct wireclient *c = wireclient_attach(b);
    check(wireclient_result(c, wireclient_mem(c, WIRE_MEM_BACK, 0, PAGE)) == 0, "MEM_BACK");
    int err = wireclient_result(c, wireclient_load(c, 0, image));
    check(err == 0, c->host + (8 << 20));
    for (uint32_t i = 0; i < 3; i++)
        check(wireclient_result(c, wireclient_func(c, 0, i, names[i])) == 0, "FUNC_GET");
    return c;
}

/* Loads a new module for one launch, without waiting. */
static void load_again(struct wireclient *c, uint64_t sum) {
    struct wire_module_unload u = {.module = 1};
    wireclient_load(c, 1, image);
    wireclient_func(c, 1, AGAIN, "count");
    wireclient_launch(c, 0, AGAIN, sum);
    wireclient_send(c, WIRE_MODULE_UNLOAD, 0, false, &u, sizeof(u), NULL, 0);
}

static void *client_main(void *arg) {
    struct wireclient *c = arg;
    uint64_t sum = c->windows.dev_base, last[STREAMS + 1] = {0}, launches = 0;
    struct wire_memset zero = {.dst = sum, .width_elems = 4, .height = 1, .elem_bytes = 4};
    for (uint32_t s = 1; s <= STREAMS; s++)
        wireclient_create_stream(c, s, s == 3 ? WIRE_STREAM_NONBLOCKING : 0);
    uint64_t ready = wireclient_send(c, WIRE_MEMSET, 0, false, &zero, sizeof(zero), NULL, 0);
    wireclient_wait(c, 3, 0, ready);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t s = 0; s <= STREAMS; s++, launches++)
            last[s] = wireclient_launch(c, s, COUNT, sum);
        wireclient_event(c, 1, (uint32_t)round);
        wireclient_wait(c, 2, 3, last[3]);
        if (round % 10 == 0) wireclient_host_func(c, 2, 1);
        if (round % 20 == 0) wireclient_launch(c, 1, GREET, sum);
        if (round % 12)
            continue; /* unloading waits for running launches: the window has space for this many */
        load_again(c, sum);
        launches++;
    }
    for (uint32_t s = 1; s <= STREAMS; s++)
        wireclient_wait(c, 0, s, c->seq[s]);
    until_done(c, 0, wireclient_copy(c, 0, c->windows.host_base, sum, 4));
    check(host_word(c) == launches * 32, "a sum is wrong");
    check(atom_load_acquire(&c->com->text_written) == ROUNDS / 20 * 32 * (8 + 3),
          "printf's text is not all there");
    return NULL;
}

/* Detaches before the client's image is read, during that, or after. */
static void leave_in_the_middle(struct wirebench *b, unsigned moment_us) {
    struct wireclient *c = wireclient_attach(b);
    wireclient_load(c, 0, image);
    wireclient_func(c, 0, 0, "greet");
    usleep(moment_us);
    wireclient_detach(c);
    wireclient_free(c);
}

int main(void) {
    struct wirebench *b = wirebench_start(device_find("soft"), 0);
    struct wireclient *clients[CLIENTS], *victim;
    pthread_t threads[CLIENTS];
    wirebench_thread(b);
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = start(b);
    victim = start(b);
    for (uint64_t i = 0; i < 4; i++)
        wireclient_launch(victim, 0, SPIN, victim->windows.dev_base);
    for (int i = 0; i < CLIENTS; i++)
        check(pthread_create(&threads[i], NULL, client_main, clients[i]) == 0, "pthread_create");
    for (unsigned i = 0; i < LEAVERS; i++)
        leave_in_the_middle(b, i * 100);
    wireclient_detach(victim);
    wireclient_free(victim);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CLIENTS; i++) {
        wireclient_detach(clients[i]);
        wireclient_free(clients[i]);
    }
    check(b->worker->ops->mem_used(b->worker->dev) == 0, "memory was not given back");
    wirebench_stop(b);
    printf("worker_threads: %d clients, sums right, memory back\n", CLIENTS);
    return 0;
}
