/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl top`: draws repeatedly, on the alternate screen of a terminal.
 */
#include "daemon/ctl/verbs/top.h"

#include <cjson/cJSON.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/text/units.h"
#include "daemon/ctl/cli/interrupt.h"
#include "daemon/ctl/cli/render.h"
#include "daemon/ctl/verbs/top_draw.h"

#define DEFAULT_MS 1000
#define WIDTH_WITHOUT_TERMINAL 160
#define ENTER "\033[?1049h\033[?25l" /* alternate screen, hidden cursor */
#define LEAVE "\033[?25h\033[?1049l"

static void forget(struct top_view *v) {
    query_finish(&v->jobs);
    query_finish(&v->lanes);
    query_finish(&v->gpus);
}

static int look(struct cli *c, struct top_view *v) {
    int status;

    memset(v, 0, sizeof(*v));
    status = query_ask(c, CTL_V_job_list, 0, false, &v->jobs);
    v->at_ns = fdutil_now_ns();
    if (status == CLI_OK) status = query_ask(c, CTL_V_lane_list, 0, false, &v->lanes);
    if (status == CLI_OK) status = query_ask(c, CTL_V_gpu_list, 0, false, &v->gpus);
    if (status != CLI_OK) forget(v);
    return status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void add_part(cJSON *o, const char *name, double value) {
    if (value < 0)
        cJSON_AddNullToObject(o, name);
    else
        cJSON_AddNumberToObject(o, name, value);
}

static cJSON *json_job(const struct top_view *before, const struct top_view *now,
                       const struct ctl_job *j) {
    cJSON *o = render_json(CTL_RECORD_JOB, j);
    struct top_rate r;

    top_rate(before, now, j, &r);
    add_part(o, "share", r.share);
    add_part(o, "entitled", r.entitled);
    add_part(o, "busy", r.busy);
    add_part(o, "iterations_per_second", r.iterations);
    return o;
}

static int print_json(struct cli *c, const struct top_view *before, const struct top_view *now) {
    cJSON *root = render_root(), *jobs = cJSON_AddArrayToObject(root, "jobs");
    cJSON *lanes = cJSON_AddArrayToObject(root, "lanes");
    cJSON *gpus = cJSON_AddArrayToObject(root, "gpus");

    for (size_t i = 0; i < now->jobs.count; i++)
        cJSON_AddItemToArray(jobs, json_job(before, now, query_record(&now->jobs, i)));
    for (size_t i = 0; i < now->lanes.count; i++)
        cJSON_AddItemToArray(lanes, render_json(CTL_RECORD_LANE, query_record(&now->lanes, i)));
    for (size_t i = 0; i < now->gpus.count; i++)
        cJSON_AddItemToArray(gpus, render_json(CTL_RECORD_GPU, query_record(&now->gpus, i)));
    if (now->gpus.count) /* the first GPU, for readers from before there were several */
        cJSON_AddItemToObject(root, "gpu",
                              render_json(CTL_RECORD_GPU, query_record(&now->gpus, 0)));
    c->watch_ms = c->watch_ms ? c->watch_ms : 1; /* selects one object per line */
    return render_print(c, root);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static int width_of(struct cli *c) {
    struct winsize w;

    if (ioctl(fileno(c->out), TIOCGWINSZ, &w) < 0 || w.ws_col == 0) return WIDTH_WITHOUT_TERMINAL;
    return w.ws_col;
}

/* Shows one picture. Pictures that do not overwrite each other are separated by an empty line. */
static int show(struct cli *c, bool screen, const struct top_view *before,
                const struct top_view *now) {
    int status = CLI_OK;

    if (c->format == CLI_JSON) {
        status = print_json(c, before, now);
    } else {
        if (screen) fputs("\033[H\033[J", c->out);
        top_draw(c->out, width_of(c), before, now);
        if (!screen) fputc('\n', c->out);
    }
    return status == CLI_OK ? cli_flush(c) : status;
}

/* Shows `count` pictures, 0: until interrupted. If pictures are not overwritten, the first one
 * comes after a pause, so that rates can be computed. */
static int watch(struct cli *c, bool screen, uint64_t count) {
    struct top_view views[2], *before = NULL, *now = &views[0];
    uint64_t pause = c->watch_ms ? c->watch_ms : DEFAULT_MS, shown = 0;
    int status = CLI_OK;

    while (!interrupt_came() && (count == 0 || shown < count)) {
        status = look(c, now);
        if (status != CLI_OK) break;
        if (before || screen) {
            status = show(c, screen, before, now);
            shown++;
        }
        if (before) forget(before);
        before = now;
        now = before == &views[0] ? &views[1] : &views[0];
        if (status != CLI_OK) break;
        if (count == 0 || shown < count) interrupt_sleep_ms(pause);
    }
    if (before) forget(before);
    return status;
}

int top_run(struct cli *c, int argc, char **argv) {
    bool batch = cli_option(c, "--batch") || c->format != CLI_TABLE || !isatty(fileno(c->out));
    const char *n = cli_option(c, "-n");
    uint64_t count = 0;
    int status;

    if (n && (units_parse(UNITS_NONE, n, &count) < 0 || count == 0))
        return cli_fail(c, CLI_USAGE, "-n: '%s' is not a number from 1", n);
    interrupt_catch();
    if (!batch) fputs(ENTER, c->out);
    status = watch(c, !batch, count);
    if (!batch) {
        fputs(LEAVE, c->out);
        fflush(c->out);
    }
    return status;
}
