/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-serve: models behind a front. Owner: main. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_GATEWAY_H
#define DAEMON_SERVE_GATEWAY_GATEWAY_H

#include <uv.h>

#include "daemon/serve/gateway/config/models_file.h"

struct gateway;

/* Listens, and starts the models' programs; `file` stays the caller's. 0 or -errno, and why. After
 * an error the loop may have handles to close still: run it to its end. */
int gateway_create(struct gateway **out, uv_loop_t *loop, const struct models_file *file, char *why,
                   size_t why_bytes);
uint16_t gateway_port(const struct gateway *g);
/* Takes no more requests, answers those that were begun, ends the programs; then the loop has
 * nothing of it any more. More than once is as once. */
void gateway_stop(struct gateway *g);
/* After the loop has ended; accepts NULL. */
void gateway_destroy(struct gateway *g);

#endif
