/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps a path to an endpoint of the protocol. Pure, for any thread.
 */
#ifndef DAEMON_SERVE_HTTP_MESSAGE_ROUTE_H
#define DAEMON_SERVE_HTTP_MESSAGE_ROUTE_H

#include <stdbool.h>

#define ROUTE_MAX_NAME_BYTES 255

enum route_kind {
    ROUTE_NONE,
    ROUTE_SERVER,       /* GET /v2 */
    ROUTE_LIVE,         /* GET /v2/health/live */
    ROUTE_READY,        /* GET /v2/health/ready */
    ROUTE_INDEX,        /* POST /v2/repository/index */
    ROUTE_METRICS,      /* GET /metrics */
    ROUTE_MODEL,        /* GET /v2/models/{name}[/versions/{version}] */
    ROUTE_MODEL_READY,  /* GET .../ready */
    ROUTE_MODEL_CONFIG, /* GET .../config */
    ROUTE_INFER,        /* POST .../infer */
};

struct route {
    enum route_kind kind;
    char model[ROUTE_MAX_NAME_BYTES + 1];
    char version[ROUTE_MAX_NAME_BYTES + 1]; /* empty: the newest */
};

/* ROUTE_NONE if no endpoint matches. The path is already decoded. */
void route_find(struct route *r, const char *path);

/* The allowed methods, as in the header Allow. */
const char *route_methods(enum route_kind kind);
bool route_allows(enum route_kind kind, const char *method);

#endif
