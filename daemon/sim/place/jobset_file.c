/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables' columns, and the conversion of rows.
 */
#include "daemon/sim/place/jobset_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/sim/place/jobset_pods.h"
#include "daemon/sim/place/jobset_row.h"

#define MIB JOBSET_ROW_MIB
#define GIB ((uint64_t)1 << 30)
#define FILE_BYTES_MOST ((size_t)1 << 30)
#define SLO_LEAST 0.1
#define SLO_MOST 1000

/* ---- nodes ----------------------------------------------------------------------------------- */

/* Memory of the cards in Alibaba's table. The table does not explain G2 and G3; their sizes are our
 * assumption. */
uint64_t jobset_model_bytes(const char *model) {
    static const struct {
        const char *name;
        uint32_t gib;
    } cards[] = {{"P100", 16}, {"T4", 16}, {"V100M16", 16}, {"V100M32", 32},
                 {"A10", 24},  {"G2", 32}, {"G3", 80}};
    for (size_t i = 0; i < sizeof(cards) / sizeof(*cards); i++)
        if (strcmp(cards[i].name, model) == 0) return cards[i].gib * GIB;
    return 0;
}

enum { NODE_GPU, NODE_CPU, NODE_MEMORY, NODE_MODEL, NODE_GPU_MIB };
static const char *const node_names[] = {"gpu",   "cpu_milli", "memory_mib",
                                         "model", "gpu_mib",   NULL};

static int take_node(struct jobset *s, struct table *t) {
    const char *model = table_text(t, NODE_MODEL);
    struct jobset_node node = {
        .gpu_count = table_count(t, NODE_GPU, 0, 0, JOBSET_GPUS_A_NODE),
        .cpu_milli = table_count(t, NODE_CPU, JOBSET_MILLI_MOST, 0, JOBSET_MILLI_MOST),
        .memory_bytes =
            (uint64_t)table_number(t, NODE_MEMORY, JOBSET_ROW_MIB_MOST, 0, JOBSET_ROW_MIB_MOST) *
            MIB,
        .gpu_bytes = (uint64_t)table_number(t, NODE_GPU_MIB, 0, 1, JOBSET_ROW_MIB_MOST) * MIB};
    if (!node.gpu_bytes) node.gpu_bytes = jobset_model_bytes(model);
    if (node.gpu_count && !node.gpu_bytes)
        table_fault(
            t, "gpu_mib is missing, and the memory of a '%.40s' is unknown: add the column gpu_mib",
            model);
    if (*model && !(node.labels = jobset_label(s, model)))
        table_fault(t, "model: the name '%.40s' is too long, or the table has too many models",
                    model);
    if (!node.gpu_count || t->faults) return 0;
    int err = jobset_add_node(s, &node);
    if (err == -E2BIG) table_fault(t, "the table has more than %u nodes", JOBSET_NODES_MOST);
    return err;
}

int jobset_parse_nodes(struct jobset *s, const char *text, size_t bytes, struct buf *errors) {
    struct table t;
    int err = table_begin(&t, node_names, 1, text, bytes, errors);
    for (int more; !err && (more = table_next(&t));)
        err = more < 0 ? more : take_node(s, &t);
    table_finish(&t);
    return err == -E2BIG ? -EINVAL : err;
}

/* ---- jobs of our own table ------------------------------------------------------------------- */

enum {
    JOB_ARRIVAL,
    JOB_LENGTH,
    JOB_TASKS,
    JOB_GPUS,
    JOB_UTIL,
    JOB_PERSISTENT,
    JOB_EPHEMERAL,
    JOB_TOLD_UTIL,
    JOB_TOLD_PERSISTENT,
    JOB_TOLD_EPHEMERAL,
    JOB_KIND,
    JOB_SLO,
    JOB_CPU,
    JOB_MEMORY,
    JOB_SPEC
};
static const char *const job_names[] = {"arrival_s",
                                        "length_s",
                                        "tasks",
                                        "gpus",
                                        "util",
                                        "persistent_mib",
                                        "ephemeral_mib",
                                        "told_util",
                                        "told_persistent_mib",
                                        "told_ephemeral_mib",
                                        "kind",
                                        "slo",
                                        "cpu_milli",
                                        "memory_mib",
                                        "gpu_spec",
                                        NULL};

static bool take_kind(struct table *t) {
    const char *kind = table_text(t, JOB_KIND);
    bool service = strcmp(kind, "service") == 0;
    if (*kind && !service && strcmp(kind, "training") != 0)
        table_fault(t, "kind: '%.40s' is neither training nor service", kind);
    return service;
}

static int take_job(struct jobset *s, const struct jobset_rules *rules, struct table *t) {
    if (!*table_text(t, JOB_ARRIVAL)) table_fault(t, "arrival_s is missing");
    if (!*table_text(t, JOB_LENGTH)) table_fault(t, "length_s is missing");
    struct jobset_job job = {
        .arrival_s = table_number(t, JOB_ARRIVAL, 0, 0, JOBSET_LENGTH_MOST_S),
        .length_s = table_number(t, JOB_LENGTH, 1, 1e-6, JOBSET_LENGTH_MOST_S),
        .tasks = table_count(t, JOB_TASKS, 1, 1, JOBSET_ROW_TASKS_MOST),
        .gpus = table_count(t, JOB_GPUS, 1, 1, JOBSET_GPUS_A_NODE),
        .is = {.util = table_number(t, JOB_UTIL, 1, JOBSET_UTIL_LEAST, 1),
               .persistent_bytes = jobset_row_bytes(t, JOB_PERSISTENT),
               .ephemeral_bytes = jobset_row_bytes(t, JOB_EPHEMERAL)},
        .told = {.util = table_number(t, JOB_TOLD_UTIL, 0, JOBSET_UTIL_LEAST, 1),
                 .persistent_bytes = jobset_row_bytes(t, JOB_TOLD_PERSISTENT),
                 .ephemeral_bytes = jobset_row_bytes(t, JOB_TOLD_EPHEMERAL)},
        .cpu_milli = table_count(t, JOB_CPU, 0, 0, JOBSET_MILLI_MOST),
        .memory_bytes = jobset_row_bytes(t, JOB_MEMORY),
        .labels = jobset_row_spec(s, t, JOB_SPEC),
        .service = take_kind(t),
        .slo = table_number(t, JOB_SLO, rules->slo > 0 ? rules->slo : 1, SLO_LEAST, SLO_MOST)};
    return jobset_row_add(s, t, &job);
}

/* ---- both tables ----------------------------------------------------------------------------- */

/* Shifts arrivals so that the first is at time 0. */
static void from_zero(struct jobset *s, uint32_t from) {
    double first_s = INFINITY;
    for (uint32_t i = from; i < s->job_count; i++)
        first_s = fmin(first_s, s->jobs[i].arrival_s);
    for (uint32_t i = from; i < s->job_count; i++)
        s->jobs[i].arrival_s -= first_s;
}

static bool is_pods(const char *text, size_t bytes) {
    const char *end = memchr(text, '\n', bytes);
    size_t line = end ? (size_t)(end - text) : bytes;
    return memmem(text, line, "num_gpu", 7) != NULL;
}

int jobset_parse_jobs(struct jobset *s, const struct jobset_rules *rules, const char *text,
                      size_t bytes, struct buf *errors) {
    bool pods = bytes && is_pods(text, bytes);
    uint32_t from = s->job_count;
    struct table t;
    int err =
        table_begin(&t, pods ? jobset_pod_names : job_names, pods ? 4 : 2, text, bytes, errors);
    for (int more; !err && (more = table_next(&t));)
        err = more < 0 ? more : pods ? jobset_pod_take(s, rules, &t) : take_job(s, rules, &t);
    table_finish(&t);
    if (!err && pods) from_zero(s, from);
    return err == -E2BIG ? -EINVAL : err ? err : jobset_sort(s);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int read_all(const char *path, struct buf *text) {
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0) {
        char piece[1 << 16];
        got = read(fd, piece, sizeof(piece));
        if (got > 0 && text->len + (size_t)got > FILE_BYTES_MOST) got = -1, errno = EFBIG;
        if (got > 0 && buf_append(text, piece, (size_t)got)) got = -1, errno = ENOMEM;
    }
    int err = got < 0 ? -errno : 0;
    if (fd > STDIN_FILENO) close(fd);
    return err;
}

int jobset_read_nodes(struct jobset *s, const char *path, struct buf *errors) {
    struct buf text;
    buf_init(&text);
    int err = read_all(path, &text);
    if (err && err != -ENOMEM) buf_printf(errors, "%s\n", strerror(-err));
    if (!err) err = jobset_parse_nodes(s, buf_str(&text), text.len, errors);
    buf_finish(&text);
    return err;
}

int jobset_read_jobs(struct jobset *s, const struct jobset_rules *rules, const char *path,
                     struct buf *errors) {
    struct buf text;
    buf_init(&text);
    int err = read_all(path, &text);
    if (err && err != -ENOMEM) buf_printf(errors, "%s\n", strerror(-err));
    if (!err) err = jobset_parse_jobs(s, rules, buf_str(&text), text.len, errors);
    buf_finish(&text);
    return err;
}

static uint64_t mib(uint64_t bytes) {
    return bytes / MIB;
}

void jobset_write_jobs(const struct jobset *s, FILE *out) {
    for (uint32_t i = 0; job_names[i]; i++)
        fprintf(out, "%s%s", i ? "," : "", job_names[i]);
    fputc('\n', out);
    for (uint32_t i = 0; i < s->job_count; i++) {
        const struct jobset_job *j = &s->jobs[i];
        fprintf(out,
                "%.9f,%.9f,%" PRIu32 ",%" PRIu32 ",%.9g,%" PRIu64 ",%" PRIu64 ",%.9g,%" PRIu64
                ",%" PRIu64 ",%s,%.9g,%" PRIu32 ",%" PRIu64 ",",
                j->arrival_s, j->length_s, j->tasks, j->gpus, j->is.util,
                mib(j->is.persistent_bytes), mib(j->is.ephemeral_bytes), j->told.util,
                mib(j->told.persistent_bytes), mib(j->told.ephemeral_bytes),
                j->service ? "service" : "training", j->slo, j->cpu_milli, mib(j->memory_bytes));
        const char *bar = "";
        for (uint32_t k = 0; k < s->model_count; k++) {
            if (!(j->labels & 1ull << k)) continue;
            fprintf(out, "%s%s", bar, s->models[k]);
            bar = "|";
        }
        fputc('\n', out);
    }
}
