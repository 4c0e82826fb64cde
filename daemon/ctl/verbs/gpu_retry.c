/* SPDX-License-Identifier: Apache-2.0
 *
 * Restarts a worker at once, even one that was given up.
 */
#include "daemon/ctl/verbs/gpu_retry.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/ctl/cli/ask.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/cli/render.h"

int gpu_retry(struct cli *c, int argc, char **argv) {
    struct ctl_request r;
    const struct ctl_gpu *g;
    struct query q;
    int status = ask_build(c, CTL_V_gpu_retry, argc, argv, &r);

    if (status == CLI_OK) status = query_send(c, &r, false, &q);
    if (status != CLI_OK) return status;
    g = q.count ? query_record(&q, 0) : NULL;
    if (c->format == CLI_TABLE && g)
        fprintf(c->out, "gpu %" PRIu64 " is %s\n", g->id,
                strcmp(g->state, "down") == 0 ? "being started" : g->state);
    else
        status = render_one(c, &q, "gpu");
    query_finish(&q);
    return status;
}
