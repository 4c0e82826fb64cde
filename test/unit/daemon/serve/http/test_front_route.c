/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths, and the methods that they allow.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon/serve/http/message/route.h"

static void expect_route(const char *path, enum route_kind kind, const char *model,
                         const char *version) {
    struct route r;

    route_find(&r, path);
    cr_expect_eq(r.kind, kind, "%s: %d", path, r.kind);
    if (kind == ROUTE_NONE) return;
    cr_expect_str_eq(r.model, model, "%s: %s", path, r.model);
    cr_expect_str_eq(r.version, version, "%s: %s", path, r.version);
}

Test(front_route, finds_all_of_the_protocol) {
    expect_route("/v2", ROUTE_SERVER, "", "");
    expect_route("/v2/health/live", ROUTE_LIVE, "", "");
    expect_route("/v2/health/ready", ROUTE_READY, "", "");
    expect_route("/v2/repository/index", ROUTE_INDEX, "", "");
    expect_route("/metrics", ROUTE_METRICS, "", "");
    expect_route("/v2/models/m", ROUTE_MODEL, "m", "");
    expect_route("/v2/models/m/versions/7", ROUTE_MODEL, "m", "7");
    expect_route("/v2/models/m/ready", ROUTE_MODEL_READY, "m", "");
    expect_route("/v2/models/m/config", ROUTE_MODEL_CONFIG, "m", "");
    expect_route("/v2/models/m/infer", ROUTE_INFER, "m", "");
    expect_route("/v2/models/m/versions/7/infer", ROUTE_INFER, "m", "7");
    expect_route("/v2/models/versions/versions/infer/infer", ROUTE_INFER, "versions", "infer");
}

Test(front_route, finds_nothing_else) {
    static const char *const bad[] = {"",
                                      "/",
                                      "/v1",
                                      "/v2x",
                                      "/v2/health",
                                      "/v2/models",
                                      "/v2/models/",
                                      "/v2/models//infer",
                                      "/v2/models/m/infer/",
                                      "/v2/models/m/infer/x",
                                      "/v2/models/m/versions/",
                                      "/v2/models/m/versions//infer",
                                      "/v2/models/m/version/1",
                                      "/metrics/"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_route(bad[i], ROUTE_NONE, "", "");
}

Test(front_route, names_are_bounded) {
    char path[ROUTE_MAX_NAME_BYTES + 32] = "/v2/models/";
    size_t at = strlen(path);

    memset(path + at, 'm', ROUTE_MAX_NAME_BYTES);
    cr_expect_eq(strlen(path), at + ROUTE_MAX_NAME_BYTES);
    struct route r;
    route_find(&r, path);
    cr_expect_eq(r.kind, ROUTE_MODEL);
    cr_expect_eq(strlen(r.model), ROUTE_MAX_NAME_BYTES);
    path[at + ROUTE_MAX_NAME_BYTES] = 'm';
    expect_route(path, ROUTE_NONE, "", "");
}

Test(front_route, methods) {
    cr_expect(route_allows(ROUTE_INFER, "POST"));
    cr_expect_not(route_allows(ROUTE_INFER, "GET"));
    cr_expect(route_allows(ROUTE_INDEX, "POST"));
    cr_expect(route_allows(ROUTE_MODEL, "GET"));
    cr_expect(route_allows(ROUTE_MODEL, "HEAD"));
    cr_expect_not(route_allows(ROUTE_MODEL, "POST"));
    cr_expect_str_eq(route_methods(ROUTE_INFER), "POST");
    cr_expect_str_eq(route_methods(ROUTE_LIVE), "GET, HEAD");
}
