/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a function over untrusted bytes in a separate process that can only read them, compute,
 * print and exit: seccomp kills it at any other system call, such as opening a file or a socket,
 * sending a signal or starting a program. Its memory and CPU time are limited, and only printable
 * text reaches the terminal.
 *
 * The sandbox does not protect the result: code that takes over the function can print anything and
 * return any result. The caller must check the result like any input.
 *
 * Owner: the caller. Thread: the caller's; it waits for the process.
 */
#ifndef DAEMON_SIM_VERBS_SANDBOX_H
#define DAEMON_SIM_VERBS_SANDBOX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SANDBOX_SHOWN_BYTES (64u << 10) /* limit of shown output; the rest is dropped */

struct sandbox {
    /* Reads `in`, prints to `out`, and writes its findings to `result`. */
    void (*work)(FILE *in, FILE *out, void *result);
    void *result; /* the function gets a copy, which is copied back when it returns */
    size_t result_bytes;
    uint64_t memory_bytes; /* limit of the address space, including the program itself */
    uint32_t cpu_s;
};

enum sandbox_end {
    SANDBOX_DONE,
    SANDBOX_NONE, /* the sandbox cannot be created, errno in *detail; the function was not called */
    SANDBOX_FORBIDDEN, /* killed at a forbidden system call */
    SANDBOX_CRASHED,   /* by the signal *detail */
    SANDBOX_SLOW,      /* the function used up cpu_s */
};

/* `in` stays the caller's. The output goes to `out`, with ? for unprintable bytes. */
enum sandbox_end sandbox_run(const struct sandbox *box, int in, FILE *out, int *detail);

/* Sanitises a text from the sandbox: terminates it, and replaces each byte that a terminal could
 * interpret by ?. */
void sandbox_text(char *text, size_t bytes);

#endif
