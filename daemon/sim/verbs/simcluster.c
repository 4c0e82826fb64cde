/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim cluster`: parses the options and prints the policies side by side.
 */
#include "daemon/sim/verbs/simcluster.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "daemon/sim/compare/clusters_svg.h"
#include "daemon/sim/compare/clusters_text.h"
#include "daemon/sim/verbs/clusteropt.h"

/* Rewrites one line of progress; prints nothing if stderr is not a terminal. */
static void progress(void *arg, uint32_t run, uint32_t of) {
    FILE *err = arg;
    if (err) fprintf(err, "\r%" PRIu32 " of %" PRIu32 " runs ", run, of);
}

static int fail(struct simcli *c, int err, struct buf *errors) {
    for (char *line, *rest = (char *)buf_str(errors); (line = strtok_r(rest, "\n", &rest));)
        simverb_fail(c, SIMCLI_FAILED, "%s", line);
    return err == -EINVAL ? SIMCLI_WORKLOAD : err == -EPROTO ? SIMCLI_BROKEN : SIMCLI_FAILED;
}

static int to_file(struct simcli *c, const char *path, FILE **out) {
    *out = fopen(path, "we");
    return *out ? SIMCLI_OK : simverb_fail(c, SIMCLI_FAILED, "%s: %s", path, strerror(errno));
}

/* Writes the jobs to a file instead of running them. */
static int write_jobs(struct simcli *c, const struct clusteropt *o, struct buf *errors) {
    struct jobset set;
    FILE *f = c->out;
    int err = clusters_set(&set, &o->config, errors);
    int status = err ? fail(c, err, errors) : SIMCLI_OK;
    bool own = strcmp(o->write_path, "-") != 0;
    if (!status && own) status = to_file(c, o->write_path, &f);
    if (!status) jobset_write_jobs(&set, f);
    if (!status && own) status = simverb_close(c, f);
    jobset_finish(&set);
    return status;
}

static int show(struct simcli *c, const struct clusteropt *o, const struct clusters *clusters) {
    FILE *f;
    if (o->json)
        clusters_json(clusters, &o->config, c->out);
    else
        clusters_table(clusters, &o->config, c->out);
    if (!o->svg_path) return SIMCLI_OK;
    if (to_file(c, o->svg_path, &f)) return SIMCLI_FAILED;
    clusters_svg(clusters, &o->config, f);
    return simverb_close(c, f);
}

static int run(struct simcli *c, const struct clusteropt *o, struct buf *errors) {
    FILE *seen = isatty(fileno(c->err)) ? c->err : NULL;
    struct clusters clusters;
    int err = clusters_run(&clusters, &o->config, progress, seen, errors);
    if (seen) fputs("\r\033[K", seen);
    if (err) return fail(c, err, errors);
    int status = show(c, o, &clusters);
    clusters_finish(&clusters);
    return status;
}

int simcluster_verb(struct simcli *c, char **argv) {
    struct clusteropt o;
    struct buf errors;
    clusteropt_init(&o);
    if (!clusteropt_take(&o, argv, c->err)) return SIMCLI_USAGE;
    buf_init(&errors);
    int status = o.write_path ? write_jobs(c, &o, &errors) : run(c, &o, &errors);
    buf_finish(&errors);
    return status;
}
