/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses workload files line by line: the device, the jobs, and conditions on all of them.
 */
#include "daemon/sim/workload/workload_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/sim/base/quantity.h"
#include "daemon/sim/workload/workload_kernels.h"
#include "daemon/sim/workload/workload_parse.h"

/* ---- lines ----------------------------------------------------------------------------------- */

/* Rejects keys for jobs of the other grain, and checks that an iteration has a length. */
static void check_grain(struct parser *p, const struct workload_job *j, uint32_t seen) {
    enum key_grain other = j->kernels ? KEY_ITERATION : KEY_KERNEL;
    for (uint32_t i = 0; i < workload_keys_job.count; i++) {
        const struct key *k = &workload_keys_job.list[i];
        if (!(seen & 1u << i) || k->grain != other) continue;
        parser_fault(p, "%s cannot be given with%s kernels=", k->name, j->kernels ? "" : "out");
        return;
    }
    if (j->arrivals != WORKLOAD_CLOSED && (j->think_ns || j->host_ns))
        parser_fault(
            p, "think and host cannot be given with every=, which sets the arrival of requests");
    if (!j->kernels && !j->iteration_ns) parser_fault(p, "iteration is missing");
    if (!j->burst != (j->burst_from_ns >= j->burst_until_ns))
        parser_fault(p, "burst needs a sequence, and burst_until after burst_from");
}

static int take_job(struct parser *p, char *rest) {
    struct workload *w = p->w;
    uint32_t faults = p->faults, seen;
    if (w->count == WORKLOAD_MAX_JOBS) {
        parser_fault(p, "the workload has more than %u jobs", WORKLOAD_MAX_JOBS);
        return -E2BIG;
    }
    if (parser_room((void **)&w->jobs, sizeof(*w->jobs), w->count, &p->jobs_cap)) return -ENOMEM;
    struct workload_job *j = &w->jobs[w->count++];
    *j = (struct workload_job){.line = p->line};
    int err = parser_pairs(p, &workload_keys_job, rest, j, &seen);
    if (err) return err;
    if (p->faults == faults) check_grain(p, j, seen);
    if (p->faults == faults)
        parser_bound(p,
                     j->iteration_ns + j->iteration_ns / 1000 * j->jitter_milli + j->think_ns +
                         j->host_ns,
                     j->iterations);
    if (p->faults == faults) parser_bound(p, j->start_ns + j->finish_ns, 1);
    if (p->faults != faults) j->line = 0; /* a job with an error is not checked further */
    return 0;
}

static int take_device(struct parser *p, char *rest) {
    uint32_t seen;
    if (p->device_seen) parser_fault(p, "the device is given twice");
    p->device_seen = true;
    return parser_pairs(p, &workload_keys_device, rest, p->w, &seen);
}

static int take_line(struct parser *p, char *line) {
    char *rest = line;
    const char *word = strtok_r(rest, " \t", &rest);
    bool taken;
    if (!word) return 0;
    int err = workload_kernels_line(p, word, rest, &taken);
    if (taken) return err;
    p->section = SECTION_NONE;
    if (strcmp(word, "job") == 0) return take_job(p, rest);
    if (strcmp(word, "device") == 0) return take_device(p, rest);
    parser_fault(p, "'%.60s': a line must begin with job, device, kernels or gaps", word);
    return 0;
}

/* Tests for printable ASCII and tabs. */
static bool is_text(const char *line, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if ((line[i] < ' ' && line[i] != '\t') || line[i] == 127) return false;
    return true;
}

static int take_raw_line(struct parser *p, const char *text, size_t bytes) {
    char line[WORKLOAD_MAX_LINE_BYTES + 1];
    if (bytes > 0 && text[bytes - 1] == '\r') bytes--;
    p->line++;
    if (bytes > WORKLOAD_MAX_LINE_BYTES) {
        parser_fault(p, "the line is longer than %u bytes", WORKLOAD_MAX_LINE_BYTES);
        return 0;
    }
    const char *hash = memchr(text, '#', bytes); /* a comment may contain any bytes */
    if (hash) bytes = (size_t)(hash - text);
    if (!is_text(text, bytes)) {
        parser_fault(p, "the line has a byte that is not printable ASCII");
        return 0;
    }
    memcpy(line, text, bytes);
    line[bytes] = '\0';
    return take_line(p, line);
}

/* ---- whole files ----------------------------------------------------------------------------- */

/* Equal arrivals keep the order of the file. */
static int by_arrival(const void *a, const void *b) {
    const struct workload_job *x = a, *y = b;
    if (x->arrival_ns != y->arrival_ns) return x->arrival_ns < y->arrival_ns ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

static int parse_lines(struct parser *p, const char *text, size_t bytes) {
    while (bytes > 0) {
        const char *newline = memchr(text, '\n', bytes);
        size_t n = newline ? (size_t)(newline - text) : bytes;
        int err = take_raw_line(p, text, n);
        if (err) return err;
        n += newline != NULL;
        text += n;
        bytes -= n;
    }
    return 0;
}

int workload_init(struct workload *out) {
    *out = (struct workload){0};
    for (uint32_t i = 0; i < workload_keys_device.count; i++)
        workload_keys_fall_back(&workload_keys_device.list[i], out);
    out->arena = arena_create();
    return out->arena ? 0 : -ENOMEM;
}

static void parse_end(struct parser *p) {
    struct workload *w = p->w;
    if (w->count == 0 && p->faults == 0) {
        p->line = 0;
        parser_fault(p, "the workload has no job");
    }
    workload_kernels_end(p);
    if (p->faults == 0) qsort(w->jobs, w->count, sizeof(*w->jobs), by_arrival);
    for (uint32_t i = 0; i < w->count; i++)
        w->jobs[i].number = i;
}

int workload_parse(struct workload *out, const char *text, size_t bytes, struct buf *errors) {
    struct parser p = {.w = out, .errors = errors};
    int err = workload_init(out);
    if (err) return err;
    err = bytes > WORKLOAD_MAX_FILE_BYTES ? -E2BIG : parse_lines(&p, text, bytes);
    if (err == -E2BIG && p.faults == 0) parser_fault(&p, "the file has more than 256 MiB");
    if (!err) parse_end(&p);
    if (p.faults > WORKLOAD_MAX_ERRORS)
        buf_printf(errors, "%u more errors are not listed\n", p.faults - WORKLOAD_MAX_ERRORS);
    if (err != -ENOMEM && p.faults) err = -EINVAL;
    if (err) workload_finish(out);
    return err;
}

static int read_all(int fd, struct buf *text) {
    for (;;) {
        ssize_t n;
        if (buf_reserve(text, 65536)) return -ENOMEM;
        do
            n = read(fd, text->data + text->len, text->cap - text->len);
        while (n < 0 && errno == EINTR);
        if (n <= 0) return n < 0 ? -errno : 0;
        text->len += (size_t)n;
        if (text->len > WORKLOAD_MAX_FILE_BYTES) return 0; /* the parser rejects it */
    }
}

int workload_read(struct workload *out, const char *path, struct buf *errors) {
    struct buf text;
    int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? -errno : 0;
    *out = (struct workload){0};
    buf_init(&text);
    if (!err) err = read_all(fd, &text);
    if (err)
        buf_printf(errors, "%s\n", strerror(-err));
    else
        err = workload_parse(out, (const char *)text.data, text.len, errors);
    if (fd > STDIN_FILENO) fdutil_close(&fd);
    buf_finish(&text);
    return err;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_host(uint64_t ns, bool waits, FILE *out) {
    char text[32];
    if (waits) fputs("w\n", out);
    quantity_print(QUANTITY_TIME, ns, text, sizeof(text));
    if (ns) fprintf(out, "h %s\n", text);
}

static void write_sequences(const struct workload *w, FILE *out) {
    char text[32];
    for (uint32_t n = 0; n < w->sequences_count; n++) {
        const struct workload_sequence *q = &w->sequences[n];
        fprintf(out, "kernels name=%s\n", q->name);
        for (uint32_t i = 0; i < q->count; i++) {
            const struct workload_kernel *k = &w->kernels[q->first + i];
            write_host(k->host_ns, k->waits, out);
            quantity_print(QUANTITY_TIME, k->duration_ns, text, sizeof(text));
            fprintf(out, "%c %s", k->copy ? 'c' : 'k', text);
            workload_keys_write(k->copy ? &workload_keys_copy : &workload_keys_kernel, k, out);
            fputc('\n', out);
        }
        write_host(q->tail_ns, false, out);
    }
}

#define GAPS_A_LINE 10

static void write_gaps(const struct workload *w, FILE *out) {
    char text[32];
    for (uint32_t n = 0; n < w->gaps_count; n++) {
        const struct workload_gaps *g = &w->gaps[n];
        fprintf(out, "gaps name=%s", g->name);
        for (uint32_t i = 0; i < g->count; i++) {
            quantity_print(QUANTITY_TIME, w->gap_ns[g->first + i], text, sizeof(text));
            fprintf(out, "%c%s", i % GAPS_A_LINE ? ' ' : '\n', text);
        }
        fputc('\n', out);
    }
}

void workload_write(const struct workload *w, FILE *out) {
    fputs("device", out);
    workload_keys_write(&workload_keys_device, w, out);
    fputc('\n', out);
    write_sequences(w, out);
    write_gaps(w, out);
    for (uint32_t n = 0; n < w->count; n++) {
        fputs("job", out);
        workload_keys_write(&workload_keys_job, &w->jobs[n], out);
        fputc('\n', out);
    }
}
