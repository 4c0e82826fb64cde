/* SPDX-License-Identifier: Apache-2.0
 *
 * A function over bytes that a stranger wrote, in a process of its own that can read them, compute,
 * print and end: seccomp kills it at any other system call, as opening a file, a socket, a signal
 * or a program would be. Its memory and its processor time are bounded, and nothing that it prints
 * reaches a terminal but text.
 *
 * What is not prevented: whoever takes the function over can print what he likes, and give any
 * result. The caller checks the result as it would any input.
 *
 * Owner: the caller. Thread: the caller's; it waits for the process.
 */
#ifndef DAEMON_SIM_VERBS_SANDBOX_H
#define DAEMON_SIM_VERBS_SANDBOX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SANDBOX_SHOWN_BYTES (64u << 10) /* of what is printed; the rest is dropped */

struct sandbox {
    /* Reads `in`, prints to `out`, and leaves in `result` what it found. */
    void (*work)(FILE *in, FILE *out, void *result);
    void *result; /* the function gets a copy, which comes back when it returned */
    size_t result_bytes;
    uint64_t memory_bytes; /* of address space, the program itself included */
    uint32_t cpu_s;
};

enum sandbox_end {
    SANDBOX_DONE,
    SANDBOX_NONE,      /* there can be none, errno in *detail: the function was not called */
    SANDBOX_FORBIDDEN, /* it was killed at a system call */
    SANDBOX_CRASHED,   /* by the signal *detail */
    SANDBOX_SLOW,      /* it took all of cpu_s */
};

/* `in` stays the caller's; what is printed goes to `out`, with ? for what is not text. */
enum sandbox_end sandbox_run(const struct sandbox *box, int in, FILE *out, int *detail);

/* A text from the inside: ended, and with ? for each byte that a terminal might obey. */
void sandbox_text(char *text, size_t bytes);

#endif
