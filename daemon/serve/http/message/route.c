/* SPDX-License-Identifier: Apache-2.0
 *
 * Matches the protocol's paths exactly.
 */
#include "daemon/serve/http/message/route.h"

#include <stddef.h>
#include <string.h>

#define MODELS "/v2/models/"
#define VERSIONS "versions/"

static const struct {
    const char *path;
    enum route_kind kind;
} whole[] = {
    {"/v2", ROUTE_SERVER},
    {"/v2/", ROUTE_SERVER},
    {"/v2/health/live", ROUTE_LIVE},
    {"/v2/health/ready", ROUTE_READY},
    {"/v2/repository/index", ROUTE_INDEX},
    {"/metrics", ROUTE_METRICS},
};

static const struct {
    const char *tail;
    enum route_kind kind;
} tails[] = {
    {"", ROUTE_MODEL},
    {"ready", ROUTE_MODEL_READY},
    {"config", ROUTE_MODEL_CONFIG},
    {"infer", ROUTE_INFER},
};

/* Copies one non-empty part of a path; returns the position after its slash, or NULL if it does not
 * fit. */
static const char *take_part(const char *s, char *out) {
    size_t n = strcspn(s, "/");

    if (n == 0 || n > ROUTE_MAX_NAME_BYTES) return NULL;
    memcpy(out, s, n);
    out[n] = '\0';
    return s[n] ? s + n + 1 : s + n;
}

static void find_model(struct route *r, const char *rest) {
    rest = take_part(rest, r->model);
    if (rest && strncmp(rest, VERSIONS, strlen(VERSIONS)) == 0)
        rest = take_part(rest + strlen(VERSIONS), r->version);
    for (size_t i = 0; rest && i < sizeof(tails) / sizeof(tails[0]); i++)
        if (strcmp(tails[i].tail, rest) == 0) r->kind = tails[i].kind;
}

void route_find(struct route *r, const char *path) {
    r->kind = ROUTE_NONE;
    r->model[0] = r->version[0] = '\0';
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        if (strcmp(whole[i].path, path) == 0) r->kind = whole[i].kind;
    if (strncmp(path, MODELS, strlen(MODELS)) == 0) find_model(r, path + strlen(MODELS));
}

static bool is_posted(enum route_kind kind) {
    return kind == ROUTE_INFER || kind == ROUTE_INDEX;
}

const char *route_methods(enum route_kind kind) {
    return is_posted(kind) ? "POST" : "GET, HEAD";
}

bool route_allows(enum route_kind kind, const char *method) {
    if (is_posted(kind)) return strcmp(method, "POST") == 0;
    return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
}
