/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the workload as text and parses that, so that the result obeys the format whatever the
 * tables contain.
 */
#include "daemon/sim/workload/generate_orion.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/base/gaps.h"
#include "daemon/sim/workload/workload_file.h"

#define LINE_BYTES 4096
/* Memory of the paper's workloads, which fit a 16 GiB device in pairs (its Table 1). */
#define TRAIN_MEMORY "persistent=500MiB ephemeral=4GiB"
#define SERVE_MEMORY "persistent=200MiB ephemeral=500MiB"

struct orion {
    const struct generate_orion *config;
    struct buf *errors;
    struct buf text;
};

__attribute__((format(printf, 2, 3))) static int refuse(struct orion *o, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_printf(o->errors, "%s\n", text);
    return -EINVAL;
}

/* Opens a table. A name with a slash is a path; any other is in the directory of tables. */
static FILE *open_table(struct orion *o, const char *name, const char *ending) {
    char path[LINE_BYTES];
    const char *folder = o->config->tables ? o->config->tables : ".";
    if (strchr(name, '/'))
        snprintf(path, sizeof(path), "%s%s", name, ending);
    else
        snprintf(path, sizeof(path), "%s/%s%s", folder, name, ending);
    FILE *f = fopen(path, "re");
    if (!f) refuse(o, "%s: %s", path, strerror(errno));
    return f;
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Cuts off and parses the last number of the line. */
static bool take_last(char *line, long long *out) {
    char *comma = strrchr(line, ','), *end;
    if (!comma || !comma[1]) return false;
    errno = 0;
    *out = strtoll(comma + 1, &end, 10);
    *comma = '\0';
    return *end == '\0' && errno == 0;
}

/* Parses a row. Names may contain commas, so columns are counted from the right. */
static int take_row(struct orion *o, const char *model, uint32_t number, char *line) {
    static const char *const classes[] = {"unknown", "memory", "compute"};
    long long duration, sms, footprint, profile;
    if (!take_last(line, &duration) || !take_last(line, &sms) || !take_last(line, &footprint) ||
        !take_last(line, &profile))
        return refuse(o, "%s.csv:%u: the last four columns are not numbers", model, number);
    if (duration < 1 || sms < 1 || sms > WORKLOAD_MAX_KERNEL_SMS || profile < -1 || profile > 1 ||
        duration > (long long)WORKLOAD_MAX_KERNEL_NS)
        return refuse(o, "%s.csv:%u: Profile %lld, SM_usage %lld, Duration %lld: out of range",
                      model, number, profile, sms, duration);
    buf_printf(&o->text, "k %lldns sms=%lld class=%s", duration, sms, classes[profile + 1]);
    if (profile == 0 && o->config->full_milli)
        buf_printf(&o->text, " full=%u",
                   (WORKLOAD_DEFAULT_SMS * o->config->full_milli + 999) / 1000);
    buf_printf(&o->text, "\n");
    return 0;
}

static int add_model(struct orion *o, const char *model) {
    char line[LINE_BYTES];
    FILE *f = open_table(o, model, ".csv");
    int err = f ? 0 : -EINVAL;
    buf_printf(&o->text, "kernels name=%s\n", name_of(model));
    for (uint32_t number = 1; !err && fgets(line, sizeof(line), f); number++) {
        line[strcspn(line, "\r\n")] = '\0';
        if (number > 1 && *line) err = take_row(o, model, number, line);
    }
    if (f) fclose(f);
    return err;
}

/* ---- arrivals -------------------------------------------------------------------------------- */

static int add_gaps(struct orion *o, const char *path, const char *name) {
    FILE *f = open_table(o, path, "");
    struct gaps g;
    if (!f) return -EINVAL;
    int err = gaps_read(&g, f);
    fclose(f);
    if (err == -EINVAL)
        refuse(o,
               "%s: number %u of the list is not a time in seconds, or the file is not a JSON list",
               path, g.count + 1);
    if (err) return err;
    buf_printf(&o->text, "gaps name=%s\n", name);
    for (uint32_t i = 0; i < g.count; i++)
        buf_printf(&o->text, "%.0fns\n", g.s[i] * 1e9);
    gaps_finish(&g);
    return 0;
}

/* "gaps:DIR/FILE.json" gets the name FILE. */
static void gaps_name(const char *arrivals, char *out, size_t cap) {
    const char *name = name_of(strchr(arrivals, ':') + 1);
    snprintf(out, cap, "%.*s", (int)strcspn(name, "."), name);
}

static bool is_gaps(const char *arrivals) {
    return arrivals &&
           (strncmp(arrivals, "gaps:", 5) == 0 || strncmp(arrivals, "shuffled:", 9) == 0);
}

static int add_every(struct orion *o, const char *arrivals) {
    char name[WORKLOAD_MAX_NAME_BYTES + 1];
    const char *number = arrivals ? strchr(arrivals, ':') : NULL;
    if (!arrivals || strcmp(arrivals, "closed") == 0) return 0;
    if (is_gaps(arrivals)) {
        gaps_name(arrivals, name, sizeof(name));
        buf_printf(&o->text, " every=%.*s:%s", (int)(number - arrivals), arrivals, name);
        return 0;
    }
    bool poisson = strncmp(arrivals, "poisson:", 8) == 0;
    char *end = NULL;
    double rate = number ? strtod(number + 1, &end) : 0;
    if ((!poisson && strncmp(arrivals, "uniform:", 8) != 0) || *end || !(rate >= 1e-3) ||
        !(rate <= 1e6))
        return refuse(o,
                      "--arrivals: '%s' is not closed, poisson:RATE, uniform:RATE (a second), "
                      "gaps:FILE or shuffled:FILE",
                      arrivals);
    buf_printf(&o->text, poisson ? " every=exp(%.0fns)" : " every=%.0fns", 1e9 / rate);
    return 0;
}

/* ---- the whole workload ---------------------------------------------------------------------- */

/* Adds each table once, even if several jobs use it. */
static int add_tables(struct orion *o) {
    const struct generate_orion *g = o->config;
    int err = 0;
    for (uint32_t i = 0; i < g->count && !err; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i; k++)
            again |= strcmp(g->jobs[k].model, g->jobs[i].model) == 0;
        if (!again) err = add_model(o, g->jobs[i].model);
    }
    for (uint32_t i = 0; i < g->count && !err; i++) {
        char name[WORKLOAD_MAX_NAME_BYTES + 1], other[WORKLOAD_MAX_NAME_BYTES + 1];
        bool again = false;
        if (!is_gaps(g->jobs[i].arrivals)) continue;
        gaps_name(g->jobs[i].arrivals, name, sizeof(name));
        for (uint32_t k = 0; k < i; k++) {
            if (!is_gaps(g->jobs[k].arrivals)) continue;
            gaps_name(g->jobs[k].arrivals, other, sizeof(other));
            again |= strcmp(name, other) == 0;
        }
        if (!again) err = add_gaps(o, strchr(g->jobs[i].arrivals, ':') + 1, name);
    }
    return err;
}

static int add_job(struct orion *o, const struct generate_job *j) {
    const char *name = name_of(j->model);
    bool train = strstr(name, "train") != NULL;
    buf_printf(&o->text, "job name=%s kernels=%s priority=%d launch=%" PRIu64 "ns %s", name, name,
               j->high, o->config->launch_ns, train ? TRAIN_MEMORY : SERVE_MEMORY);
    if (j->think_ns) buf_printf(&o->text, " think=%" PRIu64 "ns", j->think_ns);
    int err = add_every(o, j->arrivals);
    buf_printf(&o->text, "\n");
    return err;
}

int generate_orion(struct workload *out, const struct generate_orion *config, struct buf *errors) {
    struct orion o = {.config = config, .errors = errors};
    buf_init(&o.text);
    buf_printf(&o.text, "device dispatch=%" PRIu64 "ns until=%" PRIu64 "ns", config->dispatch_ns,
               config->until_ns);
    if (config->slice_ns) buf_printf(&o.text, " slice=%" PRIu64 "ns", config->slice_ns);
    if (config->subgrids) buf_printf(&o.text, " subgrids=yes");
    if (config->right_milli) buf_printf(&o.text, " right_size=%g", config->right_milli / 1000.0);
    buf_printf(&o.text, "\n");
    int err = config->count
                  ? add_tables(&o)
                  : refuse(&o, "the workload has no job: give --high MODEL or --best MODEL");
    for (uint32_t i = 0; i < config->count && !err; i++)
        err = add_job(&o, &config->jobs[i]);
    if (o.text.failed) err = -ENOMEM;
    if (!err) err = workload_parse(out, (const char *)o.text.data, o.text.len, errors);
    buf_finish(&o.text);
    return err;
}
