/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads INI with inih, which calls `take` for each name. Required names are checked at the end.
 */
#include "daemon/serve/gateway/config/models_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/units.h"
#include "daemon/serve/gateway/config/conf_lines.h"

#define DEFAULT_PORT 8000
#define DEFAULT_PROFILE_PART 50u /* 5 % */
#define DEFAULT_CONNECTIONS 2048
#define DEFAULT_DEADLINE_NS 1000000000u
#define DEFAULT_LIMIT_NS 60000000000u
#define APPS_DEFAULT 8u
/* Least interval at which a request that is expected to be late is tried all the same, to correct
 * the expectation. */
#define TRIAL_NS 1000000000u
#define LINE_MOST (INI_MAX_LINE - 2)
#define SECTION_MOST 48u             /* limit of inih, which cuts longer section names */
#define TIME_MOST_NS 86400000000000u /* a day */

struct reading {
    struct models_file *file;
    struct buf *errors;
    const char *section, *name; /* section and name of the current line */
    uint32_t model;             /* index of the current section's model */
    int bad;
    bool no_memory;
};

__attribute__((format(printf, 2, 3))) static int fault(struct reading *r, const char *fmt, ...) {
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (r->name)
        buf_printf(r->errors, "[%s] %s: %s\n", r->section, r->name, text);
    else
        buf_printf(r->errors, "[%s] %s\n", r->section, text);
    r->bad++;
    return -EINVAL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int take_count(struct reading *r, const char *text, uint64_t least, uint64_t most,
                      uint32_t *out) {
    uint64_t n;
    if (units_parse(UNITS_NONE, text, &n) || n < least || n > most)
        return fault(r, "'%.60s' is not a whole number from %llu to %llu", text,
                     (unsigned long long)least, (unsigned long long)most);
    *out = (uint32_t)n;
    return 0;
}

static int take_time(struct reading *r, const char *text, uint64_t *out) {
    uint64_t n;
    if (units_parse(UNITS_TIME, text, &n) || n == 0 || n > TIME_MOST_NS)
        return fault(r, "'%.60s' is not a time of at most 24h with its unit, such as 250ms", text);
    *out = n;
    return 0;
}

static char *keep(struct reading *r, const char *text) {
    char *copy = arena_strdup(r->file->arena, text);
    if (!copy) r->no_memory = true;
    return copy;
}

static int take_address(struct reading *r, const char *text, char **out) {
    struct in6_addr any;
    if (inet_pton(AF_INET, text, &any) != 1 && inet_pton(AF_INET6, text, &any) != 1)
        return fault(
            r, "'%.60s' is not an IPv4 or IPv6 address in digits, such as 127.0.0.1 or ::1", text);
    *out = keep(r, text);
    return *out ? 0 : -ENOMEM;
}

/* Splits a command at spaces and tabs. */
static int take_program(struct reading *r, const char *text, char ***out) {
    char *copy = keep(r, text), *rest = copy, *word;
    char **argv = arena_calloc(r->file->arena, MODELS_FILE_WORDS + 1, sizeof(*argv));
    uint32_t count = 0;
    if (!copy || !argv) {
        r->no_memory = true;
        return -ENOMEM;
    }
    while ((word = strtok_r(rest, " \t", &rest))) {
        if (count == MODELS_FILE_WORDS)
            return fault(r, "the command has more than %u words", MODELS_FILE_WORDS);
        argv[count++] = word;
    }
    if (!count) return fault(r, "the command is empty: give the program's path and its arguments");
    *out = argv;
    return 0;
}

static int take_sizes(struct reading *r, const char *text, struct plan_config *plan) {
    char *copy = keep(r, text), *rest = copy, *word;
    if (!copy) return -ENOMEM;
    plan->size_count = 0;
    while ((word = strtok_r(rest, " \t", &rest))) {
        uint32_t n = 0, before = plan->size_count ? plan->sizes[plan->size_count - 1] : 0;
        if (plan->size_count == PLAN_SIZES)
            return fault(r, "more than %u batch sizes are given", PLAN_SIZES);
        if (take_count(r, word, 1, PLAN_BATCH_MOST, &n)) return -EINVAL;
        if (n <= before || (!before && n != 1))
            return fault(r, "batch sizes must ascend from 1, and these do not: '%.60s'", text);
        plan->sizes[plan->size_count++] = n;
    }
    return plan->size_count ? 0 : fault(r, "no batch size is given: give at least '1'");
}

static int take_policy(struct reading *r, const char *text, const char **out) {
    for (uint32_t i = 0; plan_policy_name(i); i++)
        if (strcmp(plan_policy_name(i), text) == 0) {
            *out = plan_policy_name(i);
            return 0;
        }
    return fault(r, "there is no policy '%.60s'; salus-serve(8) lists them", text);
}

static int take_switch(struct reading *r, const char *text, bool *out) {
    *out = strcmp(text, "yes") == 0;
    return *out || strcmp(text, "no") == 0 ? 0 : fault(r, "'%.60s' is not yes or no", text);
}

/* Parses "yes", "no" or a percentage such as "2.5%". */
static int take_profile(struct reading *r, const char *text, uint32_t *part) {
    bool yes = strcmp(text, "yes") == 0;
    uint64_t n = yes ? DEFAULT_PROFILE_PART : 0;
    if (!yes && strcmp(text, "no") != 0 && (units_parse(UNITS_PART, text, &n) || n > 1000))
        return fault(r, "'%.60s' is not yes, no or a percentage up to 100%%", text);
    *part = (uint32_t)n;
    return 0;
}

static int take_shape(struct reading *r, char *rest, struct model_tensor *t) {
    char *word, *end;
    while ((word = strtok_r(rest, " \t", &rest))) {
        long long n = strtoll(word, &end, 10);
        if (t->rank == TENSOR_MAX_RANK)
            return fault(r, "the tensor has more than %u dimensions", TENSOR_MAX_RANK);
        if (*end || n < -1 || n == 0 || n > UINT32_MAX)
            return fault(r, "'%.60s' is not a dimension: give a number above 0, or -1 for any size",
                         word);
        t->shape[t->rank++] = n;
    }
    return 0;
}

/* Parses "NAME DATATYPE DIMENSION..."; each line adds a tensor. */
static int take_tensor(struct reading *r, const char *text, const struct model_tensor **list,
                       uint32_t *count) {
    struct model_tensor *tensors = (struct model_tensor *)*list, *t;
    char *copy = keep(r, text), *rest = copy;
    if (!tensors)
        *list = tensors =
            arena_calloc(r->file->arena, MODELS_FILE_TENSORS, sizeof(struct model_tensor));
    if (!copy || !tensors) {
        r->no_memory = true;
        return -ENOMEM;
    }
    if (*count == MODELS_FILE_TENSORS)
        return fault(r, "more than %u of these settings are given", MODELS_FILE_TENSORS);
    t = &tensors[*count];
    const char *name = strtok_r(rest, " \t", &rest), *type = strtok_r(rest, " \t", &rest);
    *t = (struct model_tensor){.name = name};
    t->type = type ? datatype_find(type) : DATATYPE_NONE;
    if (!name || strlen(name) > TENSOR_MAX_NAME_BYTES || t->type == DATATYPE_NONE)
        return fault(
            r, "'%.100s' is not of the form NAME DATATYPE [DIMENSION]..., such as 'x FP32 -1 224'",
            text);
    if (model_tensor_find(tensors, *count, name))
        return fault(r, "the tensor '%.60s' is given twice", name);
    if (take_shape(r, rest, t)) return -EINVAL;
    ++*count;
    return 0;
}

/* Tests for a valid model name; it becomes part of paths and of metrics' labels. */
static bool is_name(const char *name) {
    for (const char *c = name; *c; c++)
        if (*c <= ' ' || *c > '~' || strchr("/\\\"", *c)) return false;
    return *name != '\0';
}

/* ---- sections -------------------------------------------------------------------------------- */

static int take_front(struct reading *r, const char *value) {
    struct models_file *f = r->file;
    uint32_t port = 0;
    if (strcmp(r->name, "address") == 0) return take_address(r, value, &f->address);
    if (strcmp(r->name, "connections") == 0)
        return take_count(r, value, 1, 1000000, &f->connections);
    if (strcmp(r->name, "port") != 0) return fault(r, "there is no such setting in this section");
    int err = take_count(r, value, 0, 65535, &port);
    if (!err) f->port = (uint16_t)port;
    return err;
}

static int take_version(struct reading *r, const char *text, struct model *m) {
    if (!is_name(text))
        return fault(r,
                     "'%.60s' is not a version: use printable characters without blanks, quotes "
                     "and slashes, since it is part of paths",
                     text);
    const char **versions = arena_calloc(r->file->arena, 1, sizeof(*versions));
    if (versions) versions[0] = keep(r, text);
    if (!versions || !versions[0]) {
        r->no_memory = true;
        return -ENOMEM;
    }
    m->versions = versions;
    m->versions_count = 1;
    return 0;
}

static int take_job_word(struct reading *r, const char *value, struct job_words *w) {
    char why[JOB_WHY_BYTES];
    int err = job_words_take(w, r->file->arena, r->name, value, why);
    if (err == -ENOENT) return fault(r, "there is no such setting in this section");
    if (err == -EINVAL) return fault(r, "%s", why);
    r->no_memory |= err != 0;
    return err;
}

static int take_model(struct reading *r, const char *value) {
    struct model *m = &r->file->models[r->model];
    struct models_file_model *s = &r->file->settings[r->model];
    const char *n = r->name;
    if (strcmp(n, "program") == 0) return take_program(r, value, &s->argv);
    if (strcmp(n, "input") == 0) return take_tensor(r, value, &m->inputs, &m->inputs_count);
    if (strcmp(n, "output") == 0) return take_tensor(r, value, &m->outputs, &m->outputs_count);
    if (strcmp(n, "version") == 0) return take_version(r, value, m);
    if (strcmp(n, "workers") == 0) return take_count(r, value, 1, PLAN_WORKERS, &s->workers);
    if (strcmp(n, "sizes") == 0) return take_sizes(r, value, &s->plan);
    if (strcmp(n, "policy") == 0) return take_policy(r, value, &s->plan.policy);
    if (strcmp(n, "deadline") == 0) return take_time(r, value, &s->deadline_ns);
    if (strcmp(n, "limit") == 0) return take_time(r, value, &s->limit_ns);
    if (strcmp(n, "window") == 0) return take_time(r, value, &s->plan.window_ns);
    if (strcmp(n, "applications") == 0) return take_count(r, value, 1, PLAN_APPS, &s->plan.apps);
    if (strcmp(n, "profile") == 0) return take_profile(r, value, &s->profile_part);
    if (strcmp(n, "salus") == 0) return take_switch(r, value, &s->salus);
    return take_job_word(r, value, &s->job);
}

/* Finds or adds the model of a section. Returns false if that is impossible. */
static bool find_model(struct reading *r, const char *name) {
    struct models_file *f = r->file;
    for (r->model = 0; r->model < f->count; r->model++)
        if (strcmp(f->models[r->model].name, name) == 0) return true;
    if (f->count == MODELS_FILE_MODELS || !is_name(name) || strlen(r->section) > SECTION_MOST) {
        fault(r,
              f->count == MODELS_FILE_MODELS ? "the file has too many models"
                                             : "the model's name must have 1 to %zu printable "
                                               "characters without blanks, quotes and slashes",
              SECTION_MOST - strlen("model "));
        return false;
    }
    f->models[f->count] = (struct model){.name = keep(r, name)};
    f->settings[f->count] = (struct models_file_model){.salus = true,
                                                       .workers = 1,
                                                       .deadline_ns = DEFAULT_DEADLINE_NS,
                                                       .limit_ns = DEFAULT_LIMIT_NS,
                                                       .profile_part = DEFAULT_PROFILE_PART,
                                                       .plan.trial_ns = TRIAL_NS,
                                                       .plan.apps = APPS_DEFAULT};
    f->count++;
    if (f->models[r->model].name && job_words_name(&f->settings[r->model].job, f->arena, name) == 0)
        return true;
    r->no_memory = true;
    return false;
}

static int take(void *arg, const char *section, const char *name, const char *value) {
    struct reading *r = arg;
    r->section = section;
    r->name = name;
    if (strcmp(section, "front") == 0)
        take_front(r, value);
    else if (strncmp(section, "model ", 6) != 0)
        fault(r, "the section is unknown: use [front] or [model NAME]");
    else if (find_model(r, section + 6))
        take_model(r, value);
    return 1; /* continue, so that all errors are listed */
}

static void look_at_model(struct reading *r, uint32_t i) {
    char section[64];
    struct models_file *f = r->file;
    snprintf(section, sizeof(section), "model %s", f->models[i].name);
    r->section = section;
    r->name = NULL;
    if (!f->settings[i].argv) fault(r, "the setting program is missing");
    if (!f->models[i].inputs_count)
        fault(r, "no input is given: add 'input = NAME DATATYPE [DIMENSION]...'");
    if (!f->models[i].outputs_count)
        fault(r, "no output is given: add 'output = NAME DATATYPE [DIMENSION]...'");
    const char *word = job_words_first(&f->settings[i].job);
    if (word && !f->settings[i].salus)
        fault(r, "%s applies only to jobs of Salus: remove it, or set salus = yes", word);
    if (!f->models[i].versions_count) take_version(r, "1", &f->models[i]);
}

int models_file_read(struct models_file *f, const char *path, struct buf *errors) {
    struct reading r = {.file = f, .errors = errors};
    *f = (struct models_file){
        .arena = arena_create(), .port = DEFAULT_PORT, .connections = DEFAULT_CONNECTIONS};
    if (!f->arena) return -ENOMEM;
    struct conf_lines lines = {.file = fopen(path, "re")};
    if (!lines.file) {
        buf_printf(errors, "%s: %s\n", path, strerror(errno));
        return -EINVAL;
    }
    int line = ini_parse_stream(conf_lines_next, &lines, take, &r);
    r.no_memory |= line < 0;
    if (ferror(lines.file)) { /* for example a directory */
        buf_printf(errors, "%s: the file cannot be read; is it a directory?\n", path);
        r.bad++;
    }
    fclose(lines.file);
    if (lines.bad_line) {
        buf_printf(errors, "%s:%u: the line has more than %d bytes, or a byte of value 0\n", path,
                   lines.bad_line, LINE_MOST);
        r.bad++;
    }
    if (line > 0) {
        buf_printf(errors, "%s:%d: the line is neither [SECTION] nor NAME = VALUE\n", path, line);
        r.bad++;
    }
    for (uint32_t i = 0; i < f->count; i++)
        look_at_model(&r, i);
    if (!f->count && !r.bad) {
        buf_printf(errors, "%s: the file has no section [model NAME]\n", path);
        r.bad++;
    }
    return r.no_memory ? -ENOMEM : r.bad ? -EINVAL : 0;
}

void models_file_finish(struct models_file *f) {
    arena_destroy(f->arena);
    f->arena = NULL;
}
