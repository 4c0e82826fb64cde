/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim advise`: reads workload files and prints advice.
 */
#include "daemon/sim/verbs/simadvise.h"

#include <errno.h>
#include <string.h>

#include "daemon/sim/compare/advise.h"
#include "daemon/sim/compare/advise_svg.h"
#include "daemon/sim/compare/advise_text.h"

static int write_answer(struct simcli *c, const struct advise *a) {
    if (c->opt.json)
        advise_json(a, c->out);
    else
        advise_text(a, c->out);
    if (!c->opt.svg) return SIMCLI_OK;
    FILE *f = fopen(c->opt.svg, "we");
    if (!f) return simverb_fail(c, SIMCLI_FAILED, "%s: %s", c->opt.svg, strerror(errno));
    advise_svg(a, f);
    return simverb_close(c, f);
}

static int answer(struct simcli *c, const struct workload *files, const char *const *paths,
                  uint32_t count) {
    struct advise_config config = {.policy = c->opt.policy,
                                   .contention = c->opt.contention,
                                   .goal = ADVISE_GOALS,
                                   .most_loss = c->opt.most_loss_milli / 1000.0,
                                   .seed = c->opt.generate.seed,
                                   .starts = c->opt.starts,
                                   .check = c->opt.check};
    struct advise a;
    char why[SIM_WHY_BYTES];
    if (c->opt.goal && (config.goal = advise_goal_find(c->opt.goal)) == ADVISE_GOALS)
        return simverb_fail(c, SIMCLI_USAGE, "--goal: '%s' is not throughput, latency or fair",
                            c->opt.goal);
    int err = advise_run(&a, files, paths, count, &config, why);
    if (err) return simverb_fail(c, err == -EPROTO ? SIMCLI_BROKEN : SIMCLI_FAILED, "%s", why);
    int status = write_answer(c, &a);
    advise_finish(&a);
    return status;
}

int simadvise_verb(struct simcli *c, char **paths, int count) {
    struct workload files[WORKLOAD_MERGE_FILES];
    const char *names[WORKLOAD_MERGE_FILES];
    uint32_t read = 0;
    int status = SIMCLI_OK;
    if (count < 1 || count > (int)WORKLOAD_MERGE_FILES)
        return simverb_fail(c, SIMCLI_USAGE, "advise: give one to %u workload files",
                            WORKLOAD_MERGE_FILES);
    for (; read < (uint32_t)count; read++) {
        names[read] = paths[read];
        status = simverb_read(c, &files[read], paths[read]);
        if (status != SIMCLI_OK) break;
    }
    if (status == SIMCLI_OK) status = answer(c, files, names, read);
    while (read > 0)
        workload_finish(&files[--read]);
    return status;
}
