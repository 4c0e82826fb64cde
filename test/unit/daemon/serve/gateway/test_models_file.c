/* SPDX-License-Identifier: Apache-2.0
 *
 * The file that lists the served models: presets, the wording of every error, and job options in
 * it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/serve/gateway/config/models_file.h"

#define MODEL "[model m]\nprogram = ./prog -v\ninput = x FP32 -1 2\noutput = y INT8\n"

static struct models_file file;
static char said[8192];

/* Returns 0 or -errno; the errors are in `said`. */
static int read_bytes(const char *text, size_t bytes) {
    int fd = memfd_create("models", MFD_CLOEXEC);
    struct buf errors;
    char path[32];

    cr_assert_eq(write(fd, text, bytes), (ssize_t)bytes);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    buf_init(&errors);
    int err = models_file_read(&file, path, &errors);
    snprintf(said, sizeof(said), "%s", errors.len ? buf_str(&errors) : "");
    buf_finish(&errors);
    close(fd);
    return err;
}

static void expect_right(const char *text) {
    cr_assert_eq(read_bytes(text, strlen(text)), 0, "%s", said);
    cr_expect_str_eq(said, "");
}

static void expect_fault(const char *text, const char *part) {
    cr_expect_eq(read_bytes(text, strlen(text)), -EINVAL, "taken: %s", text);
    cr_expect(strstr(said, part), "\"%s\" without \"%s\"", said, part);
    models_file_finish(&file);
}

/* ---- valid files ----------------------------------------------------------------------------- */

Test(models_file, presets) {
    expect_right(MODEL);
    const struct models_file_model *s = &file.settings[0];
    cr_expect_null(file.address);
    cr_expect_eq(file.port, 8000);
    cr_expect_eq(file.connections, 2048);
    cr_expect_eq(file.count, 1);
    cr_expect_str_eq(file.models[0].name, "m");
    cr_expect_str_eq(file.models[0].versions[0], "1");
    cr_expect_str_eq(s->argv[0], "./prog");
    cr_expect_str_eq(s->argv[1], "-v");
    cr_expect_null(s->argv[2]);
    cr_expect(s->salus);
    cr_expect_eq(s->workers, 1);
    cr_expect_eq(s->deadline_ns, 1000000000u);
    cr_expect_eq(s->limit_ns, 60000000000u);
    cr_expect_eq(file.models[0].inputs[0].rank, 2);
    cr_expect_eq(file.models[0].inputs[0].shape[0], -1);
    cr_expect_eq(file.models[0].outputs[0].rank, 0);
    models_file_finish(&file);
}

Test(models_file, all_that_can_be_said) {
    expect_right("[front]\naddress = ::1\nport = 0\nconnections = 7\n" MODEL
                 "version = 2\nworkers = 3\nsizes = 1 3 9\npolicy = edf\ndeadline = 20ms\n"
                 "limit = 2s\nwindow = 1min\napplications = 4\nsalus = no\n");
    const struct models_file_model *s = &file.settings[0];
    cr_expect_str_eq(file.address, "::1");
    cr_expect_eq(file.port, 0);
    cr_expect_eq(file.connections, 7);
    cr_expect_str_eq(file.models[0].versions[0], "2");
    cr_expect_eq(s->workers, 3);
    cr_expect_eq(s->plan.size_count, 3);
    cr_expect_eq(s->plan.sizes[2], 9);
    cr_expect_str_eq(s->plan.policy, "edf");
    cr_expect_eq(s->deadline_ns, 20000000u);
    cr_expect_eq(s->plan.window_ns, 60000000000u);
    cr_expect_eq(s->plan.apps, 4);
    cr_expect_not(s->salus);
    models_file_finish(&file);
}

/* The library that reads the file splits a longer line into two, the second being a value of the
 * first. */
Test(models_file, long_lines) {
    char text[1024];

    snprintf(text, sizeof(text), MODEL "program = %0188d\n", 7);
    expect_right(text);
    cr_expect_eq(strlen(file.settings[0].argv[0]), 188);
    models_file_finish(&file);
    snprintf(text, sizeof(text), MODEL "program = %0189d\n", 7);
    expect_fault(text, ":5: the line has more than 198 bytes");
    snprintf(text, sizeof(text), MODEL "program = %0180d          rm -r /\n", 7);
    expect_fault(text, ":5: the line has more than 198 bytes");
    expect_right(MODEL "version = 3"); /* no end of line */
    cr_expect_str_eq(file.models[0].versions[0], "3");
    models_file_finish(&file);
}

Test(models_file, bytes_that_are_none) {
    const char nul[] = MODEL "version = 1\0 2\n";

    cr_expect_eq(read_bytes(nul, sizeof(nul) - 1), -EINVAL);
    cr_expect(strstr(said, ":5: the line has more than 198 bytes, or a byte of value 0"), "%s",
              said);
    models_file_finish(&file);
}

/* Two names with the same beginning must not be one model. */
Test(models_file, long_names) {
    char text[512];

    snprintf(text, sizeof(text), "[model %042d]\nprogram = p\ninput = x INT8\noutput = y INT8\n",
             1);
    expect_right(text);
    cr_expect_eq(strlen(file.models[0].name), 42);
    models_file_finish(&file);
    snprintf(text, sizeof(text), "[model %043d]\nprogram = p\ninput = x INT8\noutput = y INT8\n",
             1);
    expect_fault(text, "must have 1 to 42 printable characters");
    snprintf(text, sizeof(text), "[model %060d]\nprogram = p\ninput = x INT8\noutput = y INT8\n",
             1);
    expect_fault(text, "must have 1 to 42 printable characters");
}

/* ---- faults ---------------------------------------------------------------------------------- */

Test(models_file, faults) {
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "no section [model NAME]"},
        {"what\n", ":1: the line is neither [SECTION] nor NAME = VALUE"},
        {"[front]\naddress = localhost\n" MODEL, "'localhost' is not an IPv4 or IPv6 address"},
        {"[front]\nport = 65536\n" MODEL, "port: '65536' is not a whole number from 0 to 65535"},
        {"[front]\nconnections = 0\n" MODEL, "connections: '0'"},
        {"[front]\nport2 = 1\n" MODEL, "[front] port2: there is no such setting in this section"},
        {"[other]\nx = 1\n" MODEL, "[other] x: the section is unknown"},
        {"[model ]\nx = 1\n", "the model's name must have 1 to 42"},
        {"[model a/b]\nx = 1\n", "the model's name must have 1 to 42"},
        {"[model a\"b]\nx = 1\n", "the model's name must have 1 to 42"},
        {"[model a b]\nx = 1\n", "the model's name must have 1 to 42"},
        {"[model m]\nworkers = 1\n", "[model m] the setting program is missing"},
        {"[model m]\nworkers = 1\n", "[model m] no input is given"},
        {"[model m]\nworkers = 1\n", "[model m] no output is given"},
        {MODEL "program =\n", "the command is empty"},
        {MODEL "workers = 65\n", "'65' is not a whole number from 1 to 64"},
        {MODEL "workers = -1\n", "workers: '-1'"},
        {MODEL "sizes = 1 4 4\n", "batch sizes must ascend"},
        {MODEL "sizes =\n", "no batch size is given"},
        {MODEL "sizes = 1 5000\n", "sizes: '5000'"},
        {MODEL "policy = best\n", "there is no policy 'best'"},
        {MODEL "deadline = 0s\n", "'0s' is not a time of at most 24h"},
        {MODEL "limit = 25h\n", "'25h' is not a time"},
        {MODEL "salus = perhaps\n", "'perhaps' is not yes or no"},
        {MODEL "version = 1/2\n", "'1/2' is not a version"},
        {MODEL "version =\n", "'' is not a version"},
        {MODEL "input = x FP32\n", "the tensor 'x' is given twice"},
        {MODEL "input = z\n", "'z' is not of the form NAME DATATYPE"},
        {MODEL "input = z FP32 -2\n", "'-2' is not a dimension"},
        {MODEL "input = z FP32 0\n", "'0' is not a dimension"},
        {MODEL "input = z FP32 1x\n", "'1x' is not a dimension"},
        {MODEL "input = z FP32 4294967296\n", "'4294967296' is not a dimension"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_fault(bad[i].text, bad[i].part);
}

Test(models_file, files_that_are_none) {
    struct buf errors;

    buf_init(&errors);
    cr_expect_eq(models_file_read(&file, "/nonexistent", &errors), -EINVAL);
    cr_expect(strstr(buf_str(&errors), "No such file"));
    models_file_finish(&file);
    cr_expect_eq(models_file_read(&file, "/", &errors), -EINVAL);
    cr_expect(strstr(buf_str(&errors), "the file cannot be read"));
    models_file_finish(&file);
    buf_finish(&errors);
}

Test(models_file, too_many) {
    char text[16384];
    size_t n = 0;

    for (int i = 0; i <= (int)MODELS_FILE_MODELS; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "[model m%d]\nprogram = p\ninput = x INT8\noutput = y INT8\n", i);
    expect_fault(text, "the file has too many models");
    n = (size_t)snprintf(text, sizeof(text), MODEL);
    for (int i = 0; i < (int)MODELS_FILE_TENSORS; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "input = t%d INT8\n", i);
    expect_fault(text, "more than 64");
}

/* ---- jobs ------------------------------------------------------------------------------------ */

Test(models_file, words_for_jobs) {
    static const char *const wanted[] = {
        "--name=m",  "--persistent=1GiB", "--weight=300", "--priority=-5",
        "--group=g", "--slo=20ms",        "--slo-of=p99", "--gpu=1"};
    char *argv[JOB_WORDS + 1] = {0};

    expect_right(MODEL "gpu = 1\nslo-of = p99\nslo = 20ms\npriority = 7\npriority = -5\n"
                       "weight = 300\ngroup = g\npersistent = 1GiB\n");
    uint32_t count = job_words_put(&file.settings[0].job, argv);
    cr_assert_eq(count, sizeof(wanted) / sizeof(wanted[0]));
    for (uint32_t i = 0; i < count; i++)
        cr_expect_str_eq(argv[i], wanted[i]);
    models_file_finish(&file);
}

/* Every option of `salusctl run` that describes a job is allowed here. */
Test(models_file, every_word_is_known) {
    static const char *const names[] = {
#define X(option, variable, kind, field, least, most, sentence) option,
        JOB_OPTIONS(X)
#undef X
            "gpu"};
    char text[256];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(text, sizeof(text), MODEL "%s = \"\n", names[i]);
        cr_expect_eq(read_bytes(text, strlen(text)), -EINVAL, "%s", names[i]);
        snprintf(text, sizeof(text), "[model m] %s: '\"' is not", names[i]);
        cr_expect(strstr(said, text), "\"%s\" without \"%s\"", said, text);
        models_file_finish(&file);
    }
}

Test(models_file, faults_of_jobs) {
    expect_fault(MODEL "weight = 0\n", "[model m] weight: 0 is out of range: 1 to 1000");
    expect_fault(MODEL "priority = high\n", "priority: 'high' is not a whole number");
    expect_fault(MODEL "slo = 20\n", "slo: '20' is not a time with its unit");
    expect_fault(MODEL "slo-of = p90\n", "'p90' is not mean, p50, p95 or p99");
    expect_fault(MODEL "persistent = much\n", "'much' is not a size such as 512MiB");
    expect_fault(MODEL "gpu = first\n", "gpu: 'first' is not the number of a GPU");
    expect_fault(MODEL "weight =\n", "weight: the value is missing");
    expect_fault(MODEL "name = other\n", "name: there is no such setting in this section");
    expect_fault(MODEL "salus = no\nweight = 3\n",
                 "[model m] weight applies only to jobs of Salus: remove it, or set salus = yes");
}
