/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim tune`: parses the options and prints times to target.
 */
#include "daemon/sim/verbs/simtune.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "daemon/sim/compare/tunejobs_text.h"
#include "daemon/sim/run/sim.h"
#include "daemon/sim/verbs/tuneopt.h"

/* Rewrites one line of progress; prints nothing if stderr is not a terminal. */
static void progress(void *arg, uint32_t job, uint32_t of) {
    FILE *err = arg;
    if (err) fprintf(err, "\r%" PRIu32 " of %" PRIu32 " jobs ", job, of);
}

static int run(struct simcli *c, const struct tuneopt *o) {
    FILE *seen = isatty(fileno(c->err)) ? c->err : NULL;
    struct tunejobs jobs;
    char why[SIM_WHY_BYTES];
    int err = tunejobs_run(&jobs, &o->config, progress, seen, why);
    if (seen) fputs("\r\033[K", seen);
    if (err) return simverb_fail(c, err == -EPROTO ? SIMCLI_BROKEN : SIMCLI_FAILED, "%s", why);
    if (o->json)
        tunejobs_json(&jobs, &o->config, c->out);
    else
        tunejobs_table(&jobs, &o->config, c->out);
    tunejobs_finish(&jobs);
    return SIMCLI_OK;
}

int simtune_verb(struct simcli *c, char **argv) {
    struct tuneopt o;
    tuneopt_init(&o);
    return tuneopt_take(&o, argv, c->err) ? run(c, &o) : SIMCLI_USAGE;
}
