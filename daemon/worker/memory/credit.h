/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client may use of the device's memory and what it uses: P, kept over iterations, and E,
 * the peak within one. P is its persistent window, the pages of survivors, and its modules. Up to
 * what the scheduler granted it is told nothing; beyond, it is asked first and says at once whether
 * the safety condition (Salus, section 3.3.2) still holds.
 *
 * The client is shown its credit as whole granules of each window, so that it need not ask either.
 * A job whose needs are unknown begins with none and is measured as it asks.
 *
 * Owner: the client. Thread: the worker's. All of it in bytes. Nothing here is called while the
 * actions of a step are being carried out, but credit_admitted and credit_answer.
 */
#ifndef DAEMON_WORKER_MEMORY_CREDIT_H
#define DAEMON_WORKER_MEMORY_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

struct client;

struct credit {
    uint64_t granted_p, granted_e;
    uint64_t modules;            /* device memory of its modules */
    uint64_t window_p, window_e; /* backed by the client, in either window */
    uint64_t peak_p, peak_e;     /* since the current iteration began */
    uint64_t last_p, last_e;     /* of the one before */
    bool granted;                /* the answer to what was just asked */
    bool bounded;                /* the latest no was its user's limit */
};

/* The client was admitted with its spec's P and E. */
void credit_admitted(struct client *c);
/* GRANT or DENY has come. */
void credit_answer(struct client *c, bool granted);

/* Whole granules in one of the windows. 0, ERR_NO_MEMORY or -errno. */
int credit_back(struct client *c, uint64_t addr, uint64_t bytes);
int credit_unback(struct client *c, uint64_t addr, uint64_t bytes);
/* Modules now take `bytes` more of the device. ERR_NO_MEMORY: they must go again. */
int credit_module(struct client *c, uint64_t bytes);
void credit_module_gone(struct client *c, uint64_t bytes);
/* A survivor's pages become the client's own; false when there is no room for them, or when it is
 * swapped out. Nothing of the client is in flight. */
bool credit_keep(struct client *c, uint64_t addr, uint64_t bytes);

/* An iteration is complete: its peaks count from now on. */
void credit_iteration(struct client *c);
/* The scheduler is told the peaks of the last two: the word of a job that had none. */
void credit_word(struct client *c);

/* Shows the client what it may use. */
void credit_show(struct client *c);
/* For people, when `bytes` more were refused. */
void credit_refusal(const struct client *c, uint64_t bytes, char *text, uint32_t text_bytes);

#endif
