/* SPDX-License-Identifier: Apache-2.0
 *
 * Prometheus metrics of the profiler and, by application, of times alone.
 */
#include "daemon/serve/gateway/served/served_profile_metrics.h"
#include "daemon/serve/gateway/served/served_profile.h"

enum metric { RUNS, SECONDS, DROPPED, ALONE, KNOWN, METRICS };

static const struct {
    const char *name, *type, *help;
} metrics[METRICS] = {
    [RUNS] = {"salus_serve_profiled_total", "counter",
              "requests that were repeated alone to measure them"},
    [SECONDS] = {"salus_serve_profile_seconds_total", "counter",
                 "seconds from sending the repeated requests to their answers"},
    [DROPPED] = {"salus_serve_profile_dropped_total", "counter",
                 "requests chosen to be repeated and not repeated, by reason"},
    [ALONE] = {"salus_serve_alone_seconds", "gauge",
               "quantiles of the time of a request alone, in seconds"},
    [KNOWN] = {"salus_serve_alone_requests", "gauge",
               "requests that the quantiles are computed from"},
};

void served_profile_metric_head(uint32_t index, struct buf *text) {
    const char *name = metrics[index].name;
    buf_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, metrics[index].help, name,
               metrics[index].type);
}

/* ---- times alone, by application ------------------------------------------------------------- */

/* Escapes a label's value, because clients choose the names of applications. */
static void write_label(const char *value, struct buf *text) {
    for (; *value; value++) {
        const char *as = *value == '\n' ? "\\n" : *value == '"' ? "\\\"" : "\\\\";
        if (*value == '\n' || *value == '"' || *value == '\\')
            buf_append(text, as, 2);
        else
            buf_append(text, value, 1);
    }
}

static void begin_sample(const struct served *s, enum metric metric, uint32_t app,
                         struct buf *text) {
    buf_printf(text, "%s{model=\"%s\",application=\"", metrics[metric].name, s->model->name);
    write_label(s->apps[app], text);
}

static void write_quantile(const struct served *s, uint32_t app, const char *quantile, uint64_t ns,
                           struct buf *text) {
    begin_sample(s, ALONE, app, text);
    buf_printf(text, "\",quantile=\"%s\"} %.17g\n", quantile, (double)ns / 1e9);
}

static void write_app(const struct served *s, enum metric metric, uint32_t app, struct buf *text) {
    struct plan_alone a;
    plan_alone(s->plan, app, &a);
    if (!a.count) return;
    if (metric == ALONE) {
        write_quantile(s, app, "0.5", a.p50_ns, text);
        write_quantile(s, app, "0.99", a.p99_ns, text);
        return;
    }
    begin_sample(s, KNOWN, app, text);
    buf_printf(text, "\"} %llu\n", (unsigned long long)a.count);
}

/* ---- the profiler ---------------------------------------------------------------------------- */

static void write_dropped(const struct served *s, const struct profiler_counts *c,
                          struct buf *text) {
    const struct {
        const char *why;
        uint64_t count;
    } all[] = {
        {"newer", c->replaced}, {"memory", c->crowded}, {"failed", c->failed}, {"lost", c->lost}};
    for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        buf_printf(text, "%s{model=\"%s\",why=\"%s\"} %llu\n", metrics[DROPPED].name,
                   s->model->name, all[i].why, (unsigned long long)all[i].count);
}

bool served_profile_metric(const struct served *s, uint32_t index, struct buf *text) {
    struct profiler_counts c = served_profile_counts(s);
    if (index >= METRICS) return false;
    if (index == DROPPED)
        write_dropped(s, &c, text);
    else if (index == RUNS || index == SECONDS)
        buf_printf(text, "%s{model=\"%s\"} %.17g\n", metrics[index].name, s->model->name,
                   index == RUNS ? (double)c.runs : (double)c.run_ns / 1e9);
    for (uint32_t app = 0; index > DROPPED && app < s->app_count; app++)
        write_app(s, (enum metric)index, app, text);
    return true;
}
