/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-serve: models behind an HTTP front. Owner: main. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_GATEWAY_H
#define DAEMON_SERVE_GATEWAY_GATEWAY_H

#include <uv.h>

#include "daemon/serve/gateway/config/models_file.h"

struct gateway;

/* Listens, and starts the models' programs; `file` stays the caller's. Returns 0, or -errno with
 * the reason in `why`. After an error the loop may still have handles to close: run it until it
 * ends. */
int gateway_create(struct gateway **out, uv_loop_t *loop, const struct models_file *file, char *why,
                   size_t why_bytes);
uint16_t gateway_port(const struct gateway *g);
/* Rejects new requests, answers pending ones, and ends the programs; then the loop has no more
 * handles of the gateway. Repeated calls have no effect. */
void gateway_stop(struct gateway *g);
/* Called after the loop has ended; accepts NULL. */
void gateway_destroy(struct gateway *g);

#endif
