/* SPDX-License-Identifier: Apache-2.0
 *
 * Records about modules, functions, global variables and pinned memory: 0, or ERR_PROTOCOL with
 * `why`. `rec` passed record_check.
 *
 * Reading an image and preparing one of its kernels may take seconds, and a driver takes time to
 * pin memory: these are background tasks. The client's ring is not read until its task is finished.
 * So later records find the task's results, and a client has at most one task in progress; other
 * clients notice nothing. The loop then gives the finished task the memory that it needs, and
 * answers.
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

/* Finishes completed tasks; returns their number. */
unsigned module_load_collect(struct worker *w);
/* True when module_load_collect would finish one. */
bool module_load_pending(const struct worker *w);
/* The caller is about to sleep. Returns false when a task has already completed. */
bool module_load_arm(struct worker *w);

#endif
