/* SPDX-License-Identifier: Apache-2.0
 *
 * A model that is served: its requests, the scheduler that says which of them go together, and the
 * workers that run them. Every request that is asked is answered, refused or gone, once.
 *
 * Owner: the gateway. Thread: the loop's.
 */
#ifndef DAEMON_SERVE_GATEWAY_SERVED_SERVED_H
#define DAEMON_SERVE_GATEWAY_SERVED_SERVED_H

#include <uv.h>

#include "daemon/serve/gateway/config/models_file.h"
#include "daemon/serve/gateway/served/asking.h"

struct served;

/* `model` and `settings` stay the caller's. Its workers are started at once. 0 or -errno, and why.
 */
int served_create(struct served **out, uv_loop_t *loop, const struct model *model,
                  const struct models_file_model *settings, char *why, size_t why_bytes);

/* One of its workers takes batches. */
bool served_ready(const struct served *s);

/* As front_ops has them. */
void served_ask(struct served *s, const struct request *r, struct front_reply *reply);
void served_gone(struct asked *asked);

/* Prometheus's text: the samples of one metric, by its place from 0; false: there are no more. */
bool served_metric(const struct served *s, uint32_t index, struct buf *text);
/* Its heading. */
void served_metric_head(uint32_t index, struct buf *text);

/* Nothing is asked any more. Ends the workers; then `done`, in the loop, from where it may be
 * destroyed. */
void served_stop(struct served *s, void (*done)(void *arg), void *arg);
void served_destroy(struct served *s); /* accepts NULL */

#endif
