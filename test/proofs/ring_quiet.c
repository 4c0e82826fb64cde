/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that a client whose worker is awake submits without a system call. The producer pushes and
 * rings under a seccomp filter that kills it at the first system call except exit_group. Exits 0
 * when the producer survives and its consumer, another process, has read everything.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/atomics.h"
#include "proto/wire/ring.h"
#include "test/proofs/pattern.h"

#define RECORDS 200000u

struct shared {
    struct ring_memory mem;
    _Atomic uint64_t credit;
    _Atomic uint32_t sleeping, dead;
};

static void forbid_system_calls(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
        perror("ring_quiet: seccomp");
        _exit(2);
    }
}

static void wake(void *arg) {
    syscall(SYS_getpid); /* stands for the write to an eventfd */
}

static void produce(struct shared *s) {
    static const struct doorbell_ops ops = {.wake = wake};
    static unsigned char buf[4096];
    struct ring_tx tx;
    ring_tx_init(&tx, &s->mem, &s->credit);
    forbid_system_calls();
    for (uint64_t n = 0; n < RECORDS; n++) {
        uint32_t bytes = pattern_fill(n, buf);
        while (ring_push(&tx, buf, bytes, NULL, 0))
            atom_pause();
        if (doorbell_ring(&s->sleeping, &ops, NULL)) _exit(3);
    }
    _exit(0);
}

int main(void) {
    static unsigned char buf[RING_RECORD_MAX];
    struct shared *s =
        mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED) return 2;
    struct ring_rx rx;
    ring_rx_init(&rx, &s->mem, &s->credit);
    pid_t pid = fork();
    if (pid < 0) return 2;
    if (pid == 0) produce(s);
    uint64_t read = 0;
    int status = 0;
    bool dead = false;
    for (;;) {
        int n = ring_pop(&rx, buf, sizeof(buf));
        if (n != 0) {
            if (!pattern_check(read, buf, n)) break;
            read++;
        } else if (dead) {
            break;
        } else {
            dead = waitpid(pid, &status, WNOHANG) == pid;
        }
    }
    if (!dead) kill(pid, SIGKILL);
    if (WIFSIGNALED(status))
        return fprintf(stderr, "ring_quiet: a system call after %llu records (signal %d)\n",
                       (unsigned long long)read, WTERMSIG(status)),
               1;
    if (WEXITSTATUS(status) || read != RECORDS) return fprintf(stderr, "ring_quiet: failed\n"), 1;
    printf("ring_quiet: %u records, no system call\n", RECORDS);
    return 0;
}
