/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the CSV output of Nsight Compute. The details page has one row per launch and metric, with
 * the unit beside the value. The raw page has one row per launch and one column per metric, with a
 * row of units under the header. Three metrics are read: the duration of a launch, and the
 * utilisation of the compute units and of the memory. A value that was not measured is "n/a" or
 * empty.
 *
 * Each profiled shape of a kernel becomes a hint. The kernel gets one more hint for all other
 * shapes: the mean of its utilisations. That hint has no duration and no SMs, which depend on the
 * shape.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/kernels/kernel_import_ncu.h"

enum metric { DURATION, COMPUTE, MEMORY, METRICS };

/* Metric names: on the details page today and before 2022, and on the raw page. */
static const struct {
    const char *name;
    enum metric metric;
} metric_names[] = {
    {"Duration", DURATION},
    {"gpu__time_duration.sum", DURATION},
    {"Compute (SM) Throughput", COMPUTE},
    {"Compute (SM) [%]", COMPUTE},
    {"sm__throughput.avg.pct_of_peak_sustained_elapsed", COMPUTE},
    {"Memory Throughput", MEMORY},
    {"Memory [%]", MEMORY},
    {"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", MEMORY},
};

static const struct {
    const char *name;
    double ns;
} time_units[] = {
    {"ns", 1},   {"nsecond", 1},   {"us", 1e3}, {"usecond", 1e3},
    {"ms", 1e6}, {"msecond", 1e6}, {"s", 1e9},  {"second", 1e9},
};

/* Column numbers of a table; -1: the table lacks this column. */
struct columns {
    int name, grid, block;
    int metric, unit, value; /* details page */
    int raw[METRICS];        /* raw page */
    char units[METRICS][16];
};

static int metric_of(const char *name) {
    for (size_t i = 0; i < sizeof(metric_names) / sizeof(*metric_names); i++)
        if (strcmp(metric_names[i].name, name) == 0) return (int)metric_names[i].metric;
    return -1;
}

bool kernel_import_is_ncu(const struct csv *header) {
    return csv_find(header, "Kernel Name") >= 0;
}

static const char *field(const struct kernel_import *k, int column) {
    return column < 0 ? "" : csv_field(&k->csv, (uint32_t)column);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool unmeasured(const char *value) {
    return !*value || strcasecmp(value, "n/a") == 0 || strcasecmp(value, "nan") == 0;
}

static int take_duration(struct kernel_import *k, const char *unit, double value, double *ns) {
    for (size_t i = 0; i < sizeof(time_units) / sizeof(*time_units); i++) {
        if (strcmp(time_units[i].name, unit) != 0) continue;
        *ns = value * time_units[i].ns;
        return *ns <= KERNEL_PROFILE_NS_MAX ? 0
                                            : kernel_import_bad(k, "the duration exceeds one hour");
    }
    return kernel_import_bad(k, "the duration's unit is \"%.16s\" instead of ns, us, ms or s",
                             unit);
}

/* Adds one metric of the row to the sums. A second metric named "Memory Throughput" is in bytes per
 * second; utilisations that are not in percent are therefore skipped. */
static int take_metric(struct kernel_import *k, struct kernel_import_sum *sum, enum metric metric,
                       const char *unit, const char *text) {
    double value, ns = 0;
    int err = 0;

    if (unmeasured(text) || (metric != DURATION && strcmp(unit, "%") != 0)) return 0;
    if (!kernel_import_number(text, &value))
        return kernel_import_bad(k, "\"%.24s\" is not a number", text);
    if (metric == DURATION) {
        err = take_duration(k, unit, value, &ns);
        if (err == 0) kernel_import_add(&sum->ns, ns);
    } else {
        kernel_import_add(metric == COMPUTE ? &sum->compute_percent : &sum->memory_percent, value);
    }
    return err;
}

/* Parses a shape such as "(96, 2, 1)"; the last dimension may be missing. An empty text means any
 * shape. */
static int take_shape(struct kernel_import *k, const char *title, const char *text,
                      uint32_t out[3]) {
    const char *p = text;

    for (int i = 0; i < 3; i++)
        out[i] = *text ? 1 : 0;
    if (!*text) return 0;
    p += *p == '(';
    for (int i = 0; i < 3; i++) {
        unsigned long long value;
        char *end;

        p += strspn(p, " ");
        value = *p >= '0' && *p <= '9' ? strtoull(p, &end, 10) : 0;
        if (value == 0 || value > UINT32_MAX) break;
        out[i] = (uint32_t)value;
        p = end + strspn(end, " ");
        if (*p != ',') {
            p += *p == ')';
            if (!*p) return 0;
            break;
        }
        p++;
    }
    return kernel_import_bad(k, "%s \"%.24s\" is not a shape such as (128, 1, 1)", title, text);
}

static int take_sum(struct kernel_import *k, const struct columns *c,
                    struct kernel_import_sum **out) {
    uint32_t grid[3], block[3];
    int err = take_shape(k, "Grid Size", field(k, c->grid), grid);

    if (err == 0) err = take_shape(k, "Block Size", field(k, c->block), block);
    if (err == 0 && !*field(k, c->name)) err = kernel_import_bad(k, "the kernel's name is missing");
    return err < 0 ? err : kernel_import_sum(k, field(k, c->name), grid, block, out);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int read_details(struct kernel_import *k, const struct columns *c) {
    struct kernel_import_sum *sum;
    int err;

    k->format = "Nsight Compute's details page";
    if (c->unit < 0 || c->value < 0)
        return kernel_import_bad(k, "the header lacks \"Metric Unit\" or \"Metric Value\"");
    while ((err = kernel_import_row(k)) > 0) {
        int metric = metric_of(field(k, c->metric));

        if (k->csv.count <= (uint32_t)c->value)
            return kernel_import_bad(
                k, "the line has %u columns, too few for \"Metric Value\" in column %d",
                k->csv.count, c->value + 1);
        if (metric < 0) continue;
        err = take_sum(k, c, &sum);
        if (err == 0)
            err = take_metric(k, sum, (enum metric)metric, field(k, c->unit), field(k, c->value));
        if (err < 0) return err;
    }
    return err;
}

static int take_units(struct kernel_import *k, struct columns *c) {
    int err = kernel_import_row(k);

    if (err < 0) return err;
    if (err == 0 || *field(k, c->name))
        return kernel_import_bad(k, "the line of units below the header is missing");
    k->rows--;
    for (int m = 0; m < METRICS; m++)
        snprintf(c->units[m], sizeof(c->units[m]), "%.15s", field(k, c->raw[m]));
    return 0;
}

static int read_raw(struct kernel_import *k, struct columns *c) {
    struct kernel_import_sum *sum;
    uint32_t columns = k->csv.count;
    int err = take_units(k, c);

    k->format = "Nsight Compute's raw page";
    if (err < 0) return err;
    while ((err = kernel_import_row(k)) > 0) {
        if (k->csv.count != columns)
            return kernel_import_bad(k, "the line has %u columns, the header has %u", k->csv.count,
                                     columns);
        err = take_sum(k, c, &sum);
        for (int m = 0; m < METRICS && err == 0; m++)
            if (c->raw[m] >= 0)
                err = take_metric(k, sum, (enum metric)m, c->units[m], field(k, c->raw[m]));
        if (err < 0) return err;
    }
    return err;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void merge(struct kernel_import_mean *into, const struct kernel_import_mean *mean) {
    into->sum += mean->sum;
    into->count += mean->count;
}

static int add_any_shape(struct kernel_import *k) {
    static const uint32_t any[3];
    uint32_t shapes = k->count;

    for (uint32_t i = 0; i < shapes; i++) {
        char name[KERNEL_NAME_BYTES];
        struct kernel_import_sum *sum;
        int err;

        if (k->sums[i].hint.grid[0] == 0 && k->sums[i].hint.block[0] == 0) continue;
        memcpy(name, k->sums[i].hint.name, sizeof(name));
        err = kernel_import_sum(k, name, any, any, &sum);
        if (err < 0) return err;
        merge(&sum->compute_percent, &k->sums[i].compute_percent);
        merge(&sum->memory_percent, &k->sums[i].memory_percent);
    }
    return 0;
}

int kernel_import_ncu(struct kernel_import *k) {
    struct columns c = {.name = csv_find(&k->csv, "Kernel Name"),
                        .grid = csv_find(&k->csv, "Grid Size"),
                        .block = csv_find(&k->csv, "Block Size"),
                        .metric = csv_find(&k->csv, "Metric Name"),
                        .unit = csv_find(&k->csv, "Metric Unit"),
                        .value = csv_find(&k->csv, "Metric Value"),
                        .raw = {-1, -1, -1}};
    int known = 0, err;

    for (uint32_t i = 0; i < k->csv.count; i++) {
        int metric = metric_of(csv_field(&k->csv, i));

        if (metric < 0 || c.raw[metric] >= 0) continue;
        c.raw[metric] = (int)i;
        known++;
    }
    if (c.metric >= 0)
        err = read_details(k, &c);
    else if (known)
        err = read_raw(k, &c);
    else
        return kernel_import_bad(k, "the header has neither \"Metric Name\" nor a used metric, "
                                    "such as gpu__time_duration.sum");
    return err < 0 ? err : add_any_shape(k);
}
