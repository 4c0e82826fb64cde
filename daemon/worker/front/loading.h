/* SPDX-License-Identifier: Apache-2.0
 *
 * Records about modules, functions and global variables: 0, or ERR_PROTOCOL with `why`. `rec`
 * passed record_check.
 */
#ifndef DAEMON_WORKER_FRONT_LOADING_H
#define DAEMON_WORKER_FRONT_LOADING_H

#include <stddef.h>

struct client;

int loading_load(struct client *c, const void *rec, char *why, size_t why_bytes);
int loading_unload(struct client *c, const void *rec, char *why, size_t why_bytes);
int loading_func_get(struct client *c, const void *rec, char *why, size_t why_bytes);
int loading_func_name_get(struct client *c, const void *rec, char *why, size_t why_bytes);
int loading_global_get(struct client *c, const void *rec, char *why, size_t why_bytes);

#endif
