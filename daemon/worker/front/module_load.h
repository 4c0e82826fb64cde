/* SPDX-License-Identifier: Apache-2.0
 *
 * Records about modules, functions, global variables and pinned memory: 0, or ERR_PROTOCOL with
 * `why`. `rec` passed record_check.
 *
 * Reading an image and making a kernel of it ready may take seconds, and a driver takes its time to
 * pin memory: these are errands. The client's
 * ring is not read until its errand is finished, so that all it sent behind it finds what it made,
 * and so that it has one under way at most; nobody else notices. What a finished one needs of the
 * client's memory is given to it in the loop, and then it is answered.
 */
#ifndef DAEMON_WORKER_FRONT_MODULE_LOAD_H
#define DAEMON_WORKER_FRONT_MODULE_LOAD_H

#include <stdbool.h>
#include <stddef.h>

struct client;
struct worker;

int module_load_begin(struct client *c, const void *rec, char *why, size_t why_bytes);
int module_load_unload(struct client *c, const void *rec, char *why, size_t why_bytes);
int module_load_func_get(struct client *c, const void *rec, char *why, size_t why_bytes);
int module_load_func_name_get(struct client *c, const void *rec, char *why, size_t why_bytes);
int module_load_global_get(struct client *c, const void *rec, char *why, size_t why_bytes);
int module_load_show(struct client *c, const void *rec, char *why, size_t why_bytes);

/* Finishes what is back: how many. */
unsigned module_load_collect(struct worker *w);
/* True when it would finish one. */
bool module_load_pending(const struct worker *w);
/* The caller is about to sleep. False: something is back already. */
bool module_load_arm(struct worker *w);

#endif
