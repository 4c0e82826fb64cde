/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the file that lists the served models: it is rejected with a reason, or all its
 * values are within bounds, and what was accepted reads back the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/serve/gateway/config/models_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct models_file first, second;

static int read_bytes(struct models_file *f, const void *data, size_t n, struct buf *errors) {
    static char path[32];
    static int fd = -1;

    if (fd < 0) fd = memfd_create("models", MFD_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, n, 0) != (ssize_t)n) abort();
    return models_file_read(f, path, errors);
}

static void demand(int holds) {
    if (!holds) abort();
}

/* ---- invariants of accepted files ------------------------------------------------------------ */

static void check_tensors(const struct model_tensor *t, uint32_t count) {
    demand(count >= 1 && count <= MODELS_FILE_TENSORS);
    for (uint32_t i = 0; i < count; i++) {
        demand(*t[i].name && strlen(t[i].name) <= TENSOR_MAX_NAME_BYTES);
        demand(t[i].rank <= TENSOR_MAX_RANK && model_tensor_find(t, i, t[i].name) == NULL);
        for (uint32_t k = 0; k < t[i].rank; k++)
            demand(t[i].shape[k] >= -1 && t[i].shape[k] != 0 && t[i].shape[k] <= UINT32_MAX);
    }
}

static void check_job(const struct models_file_model *s) {
    char *argv[JOB_WORDS + 1], why[JOB_WHY_BYTES];
    uint32_t count = job_words_put(&s->job, argv);

    demand(count >= 1 && count <= JOB_WORDS + 1);
    demand(strncmp(argv[0], "--name=", 7) == 0);
    demand(s->salus || count == 1);
    for (uint32_t i = 1; i < count; i++) {
        struct job_words again = {0};
        char *value = strchr(argv[i], '='), name[64];
        demand(value != NULL);
        snprintf(name, sizeof(name), "%.*s", (int)(value - argv[i] - 2), argv[i] + 2);
        demand(job_words_take(&again, first.arena, name, value + 1, why) == 0);
    }
}

static void check_model(const struct model *m, const struct models_file_model *s) {
    demand(*m->name && strlen(m->name) <= 42 && strcspn(m->name, "/\"\\ \t") == strlen(m->name));
    demand(m->versions_count == 1 && *m->versions[0]);
    demand(s->argv && s->argv[0] && *s->argv[0]);
    demand(s->workers >= 1 && s->workers <= PLAN_WORKERS);
    demand(s->deadline_ns > 0 && s->limit_ns > 0);
    demand(s->plan.apps >= 1 && s->plan.apps <= PLAN_APPS && s->plan.size_count <= PLAN_SIZES);
    for (uint32_t i = 0; i < s->plan.size_count; i++)
        demand(i ? s->plan.sizes[i] > s->plan.sizes[i - 1] : s->plan.sizes[i] == 1);
    check_tensors(m->inputs, m->inputs_count);
    check_tensors(m->outputs, m->outputs_count);
    check_job(s);
}

/* ---- written and read again ------------------------------------------------------------------ */

static void print_tensors(FILE *out, const char *what, const struct model_tensor *t,
                          uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "%s=%s %s", what, t[i].name, datatype_name(t[i].type));
        for (uint32_t k = 0; k < t[i].rank; k++)
            fprintf(out, " %lld", (long long)t[i].shape[k]);
        fprintf(out, "\n");
    }
}

static void print_model(FILE *out, const struct model *m, const struct models_file_model *s) {
    char *argv[JOB_WORDS + 1];
    uint32_t count = job_words_put(&s->job, argv);

    fprintf(out, "[model %s]\nversion=%s\nprogram=", m->name, m->versions[0]);
    for (char **word = s->argv; *word; word++)
        fprintf(out, "%s%s", *word, word[1] ? " " : "\n");
    print_tensors(out, "input", m->inputs, m->inputs_count);
    print_tensors(out, "output", m->outputs, m->outputs_count);
    fprintf(out, "workers=%u\ndeadline=%lluns\nlimit=%lluns\nsalus=%s\napplications=%u\n",
            s->workers, (unsigned long long)s->deadline_ns, (unsigned long long)s->limit_ns,
            s->salus ? "yes" : "no", s->plan.apps);
    if (s->plan.policy) fprintf(out, "policy=%s\n", s->plan.policy);
    if (s->plan.window_ns) fprintf(out, "window=%lluns\n", (unsigned long long)s->plan.window_ns);
    for (uint32_t i = 0; i < s->plan.size_count; i++)
        fprintf(out, "%s%u", i ? " " : "sizes=", s->plan.sizes[i]);
    fprintf(out, "\n");
    for (uint32_t i = 1; i < count; i++)
        fprintf(out, "%s\n", argv[i] + 2);
}

static char *print(const struct models_file *f, size_t *bytes) {
    char *text;
    FILE *out = open_memstream(&text, bytes);

    fprintf(out, "[front]\nport=%u\nconnections=%u\n", f->port, f->connections);
    if (f->address) fprintf(out, "address=%s\n", f->address);
    for (uint32_t i = 0; i < f->count; i++)
        print_model(out, &f->models[i], &f->settings[i]);
    fclose(out);
    return text;
}

/* A line that was written as a continuation may become too long by its name. */
static int has_long_line(const char *text) {
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        if (end - text > 198) return 1;
    return 0;
}

static void read_again(const struct models_file *f) {
    size_t bytes, more;
    char *text = print(f, &bytes), *again;
    struct buf errors;

    if (!has_long_line(text)) {
        buf_init(&errors);
        demand(read_bytes(&second, text, bytes, &errors) == 0);
        again = print(&second, &more);
        demand(strcmp(text, again) == 0);
        free(again);
        buf_finish(&errors);
        models_file_finish(&second);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct buf errors;
    int err;

    buf_init(&errors);
    err = read_bytes(&first, data, size, &errors);
    demand(!err == !errors.len);
    demand(first.count <= MODELS_FILE_MODELS);
    if (!err) {
        demand(first.count >= 1);
        for (uint32_t i = 0; i < first.count; i++)
            check_model(&first.models[i], &first.settings[i]);
        read_again(&first);
    }
    buf_finish(&errors);
    models_file_finish(&first);
    return 0;
}
