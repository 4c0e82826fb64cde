/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of `salus-sim serve`.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_VERBS_SERVEOPT_H
#define DAEMON_SIM_VERBS_SERVEOPT_H

#include <stdbool.h>
#include <stdio.h>

#include "daemon/sim/base/gaps.h"
#include "daemon/sim/compare/serve.h"

struct serveopt {
    struct serve_config config;
    struct gaps gaps; /* recorded gaps, if the arrivals use any */
    bool json, detail;
};

void serveopt_init(struct serveopt *o);
void serveopt_finish(struct serveopt *o);
/* Skips argv[0]. Returns false with a sentence on `err`. */
bool serveopt_take(struct serveopt *o, char **argv, FILE *err);

void serveopt_explain(FILE *out);

#endif
