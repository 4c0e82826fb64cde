/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim serve`: parses the options and prints finish rates.
 */
#include "daemon/sim/verbs/simserve.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "daemon/sim/compare/serve_text.h"
#include "daemon/sim/run/sim.h"
#include "daemon/sim/verbs/serveopt.h"

/* Rewrites one line of progress; prints nothing if stderr is not a terminal. */
static void progress(void *arg, uint32_t world, uint32_t of) {
    FILE *err = arg;
    if (err) fprintf(err, "\r%" PRIu32 " of %" PRIu32 " worlds ", world, of);
}

static void progress_over(FILE *err) {
    if (err) fputs("\r\033[K", err);
}

static int run(struct simcli *c, const struct serveopt *o) {
    FILE *seen = isatty(fileno(c->err)) ? c->err : NULL;
    struct serve s;
    char why[SIM_WHY_BYTES];
    int err = serve_run(&s, &o->config, progress, seen, why);
    progress_over(seen);
    if (err) return simverb_fail(c, err == -EPROTO ? SIMCLI_BROKEN : SIMCLI_FAILED, "%s", why);
    if (o->json)
        serve_json(&s, &o->config, c->out);
    else
        serve_table(&s, &o->config, o->detail, c->out);
    return SIMCLI_OK;
}

int simserve_verb(struct simcli *c, char **argv) {
    struct serveopt o;
    serveopt_init(&o);
    int status = serveopt_take(&o, argv, c->err) ? run(c, &o) : SIMCLI_USAGE;
    serveopt_finish(&o);
    return status;
}
