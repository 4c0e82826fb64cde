/* SPDX-License-Identifier: Apache-2.0
 *
 * Options: values with units, files with all their errors, the precedence of sources, and reload.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/broker/config/config.h"
#include "daemon/broker/config/config_file.h"
#include "daemon/broker/config/config_load.h"
#include "daemon/broker/config/config_value.h"
#include "proto/cuda/capability.h"

static char why[CONFIG_WHY_BYTES];
static struct config config;

static void expect_refused(const char *name, const char *value, const char *text) {
    config_defaults(&config);
    cr_assert_eq(config_set(&config, name, value, why, sizeof(why)), -EINVAL);
    cr_assert_str_eq(why, text, "%s", why);
}

Test(config, defaults_are_what_the_table_says) {
    config_defaults(&config);
    cr_assert_str_eq(config.run_dir, "/run/salus");
    cr_assert_str_eq(config.device, "soft");
    cr_assert_eq(config.max_jobs, 64);
    cr_assert_eq(config.worker_timeout, 10000000000);
    cr_assert_eq(config.window_base, 0x200000000000);
    cr_assert_eq(config.window_alloc_bytes, 288ull << 30);
}

Test(config, a_capability_is_one_that_a_job_could_ask_for) {
    config_defaults(&config);
    cr_assert(capability_parse(config.capability));
    cr_assert_str_eq(config_find("capability", 10)->choices, CAPABILITY_CHOICES);
}

Test(config, values_have_units) {
    uint64_t v;

    cr_assert_eq(config_value_parse(CONFIG_BYTES, "12 MiB", &v), 0);
    cr_assert_eq(v, 12u << 20);
    cr_assert_eq(config_value_parse(CONFIG_BYTES, "3G", &v), 0);
    cr_assert_eq(v, 3ull << 30);
    cr_assert_eq(config_value_parse(CONFIG_BYTES, "17", &v), 0);
    cr_assert_eq(v, 17);
    cr_assert_eq(config_value_parse(CONFIG_TIME, "250us", &v), 0);
    cr_assert_eq(v, 250000);
    cr_assert_eq(config_value_parse(CONFIG_TIME, "2min", &v), 0);
    cr_assert_eq(v, 120000000000);
    cr_assert_eq(config_value_parse(CONFIG_TIME, "0", &v), 0);
    cr_assert_eq(v, 0);
    cr_assert_eq(config_value_parse(CONFIG_ADDRESS, "0x20", &v), 0);
    cr_assert_eq(v, 32);
    cr_assert_eq(config_value_parse(CONFIG_TIME, "5", &v), -EINVAL, "a time needs its unit");
    cr_assert_eq(config_value_parse(CONFIG_TIME, "-5s", &v), -EINVAL);
    cr_assert_eq(config_value_parse(CONFIG_COUNT, "5s", &v), -EINVAL);
    cr_assert_eq(config_value_parse(CONFIG_COUNT, "", &v), -EINVAL);
    cr_assert_eq(config_value_parse(CONFIG_ADDRESS, "20", &v), -EINVAL);
    cr_assert_eq(config_value_parse(CONFIG_BYTES, "99999999999999999999", &v), -ERANGE);
    cr_assert_eq(config_value_parse(CONFIG_BYTES, "999999999999TiB", &v), -ERANGE);
}

Test(config, every_option_can_be_shown_and_read_back) {
    int count;
    const struct config_option *o = config_options(&count);

    cr_assert_gt(count, 10);
    for (int i = 0; i < count; i++) {
        char text[CONFIG_TEXT_BYTES];
        struct config back;

        config_defaults(&config);
        config_defaults(&back);
        config_show(&config, &o[i], text, sizeof(text));
        cr_assert_eq(config_set(&back, o[i].name, text, why, sizeof(why)), 0, "%s", why);
        cr_assert_eq(memcmp(&config, &back, sizeof(config)), 0, "%s", o[i].name);
    }
}

Test(config, refusals_say_what_is_wrong) {
    expect_refused("max_jobs", "many", "max_jobs: 'many' is not a whole number");
    expect_refused("max_jobs", "0", "max_jobs: 0 is out of range: 1 to 256");
    expect_refused("kernel_timeout", "10",
                   "kernel_timeout: '10' is not a time with its unit, such as 500ms");
    expect_refused("handshake_timeout", "1us",
                   "handshake_timeout: 1us is out of range: 1ms to 10min");
    expect_refused("device_memory", "much", "device_memory: 'much' is not a size such as 512MiB");
    expect_refused("device", "harp", "device: 'harp' is not one of: soft|cuda");
    expect_refused("device", "", "device: '' is not one of: soft|cuda");
    expect_refused("device", "so", "device: 'so' is not one of: soft|cuda");
    expect_refused("run_dir", "here", "run_dir: 'here' is not an absolute path");
    expect_refused("window_base", "123",
                   "window_base: '123' is not an address such as 0x200000000000");
    expect_refused("devcie", "soft", "unknown key 'devcie'; did you mean 'device'?");
    expect_refused("max-jobs", "5", "unknown key 'max-jobs'; did you mean 'max_jobs'?");
    expect_refused("zzzz", "5", "unknown key 'zzzz'");
}

/* ---- files ----------------------------------------------------------------------------------- */

static char path[64];

/* Reads text as a file; returns the errors' text, which the caller frees. */
static char *read_text(const char *text, size_t n, int *bad) {
    char *out;
    size_t bytes;
    FILE *errors = open_memstream(&out, &bytes);
    int fd;

    strcpy(path, "/tmp/salus-config-XXXXXX");
    fd = mkstemp(path);
    cr_assert_eq(write(fd, text, n), (ssize_t)n);
    close(fd);
    config_defaults(&config);
    *bad = config_file_read(&config, path, true, errors);
    fclose(errors);
    unlink(path);
    return out;
}

static void expect_errors(const char *text, size_t n, const char *format) {
    char expected[2048], *errors;
    int bad, lines = 0;

    errors = read_text(text, n, &bad);
    for (char *p = errors; *p; p++)
        lines += *p == '\n';
    cr_assert_eq(bad, lines);
    snprintf(expected, sizeof(expected), format, path, path, path, path, path, path, path);
    cr_assert_str_eq(errors, expected, "%s", errors);
    free(errors);
}

#define EXPECT_ERRORS(text, format) expect_errors(text, sizeof(text) - 1, format)

Test(config, a_file_is_read) {
    static const char text[] = "# comment\n"
                               "[broker]\n"
                               "max_jobs = 12 ; as agreed\n"
                               "\n"
                               "  run_dir = /srv/salus\n"
                               "[gpu]\n"
                               "kernel_timeout: 2s\r\n"
                               "device_memory=8GiB";
    char *errors;
    int bad;

    errors = read_text(text, sizeof(text) - 1, &bad);
    cr_assert_eq(bad, 0, "%s", errors);
    cr_assert_eq(config.max_jobs, 12);
    cr_assert_str_eq(config.run_dir, "/srv/salus");
    cr_assert_eq(config.kernel_timeout, 2000000000);
    cr_assert_eq(config.device_memory, 8ull << 30);
    free(errors);
}

Test(config, all_errors_of_a_file_are_listed_with_their_lines) {
    EXPECT_ERRORS(
        "[broker]\n"
        "max_jobs = lots\n"
        "max_jobs = 7\n"
        "just words\n"
        "devise = soft\n"
        "[gpu\n"
        "[gpu]\n"
        "max_jobs = 7\n"
        "device = harp\n"
        "trailing",
        "%s:2: max_jobs: 'lots' is not a whole number\n%s:4: expected 'name = value'\n%s:5: "
        "unknown key 'devise'; did you mean 'device'?\n%s:6: the section's header lacks its "
        "']'\n%s:8: key 'max_jobs' belongs in section [broker], not in [gpu]\n%s:9: device: 'harp' "
        "is not one of: soft|cuda\n%s:10: expected 'name = value'\n");
    cr_assert_eq(config.max_jobs, 7, "what is right is taken all the same");
}

Test(config, a_line_that_is_too_long_is_one_error_and_no_setting) {
    char text[700];

    memset(text, 'x', sizeof(text));
    memcpy(text, "[broker]\nmax_jobs = 9", 21);
    memcpy(text + 600, "\nmax_jobs = 3\n", 14);
    expect_errors(text, 614, "%s:2: the line is longer than 197 bytes or contains a NUL byte\n");
    cr_assert_eq(config.max_jobs, 3);
}

Test(config, a_nul_byte_is_an_error) {
    EXPECT_ERRORS("[broker]\nmax_jobs\0 = 9\n",
                  "%s:2: the line is longer than 197 bytes or contains a NUL byte\n");
}

Test(config, a_missing_file_matters_only_when_it_was_named) {
    char *out;
    size_t bytes;
    FILE *errors = open_memstream(&out, &bytes);

    config_defaults(&config);
    cr_assert_eq(config_file_read(&config, "/nonexistent/salus.conf", false, errors), 0);
    cr_assert_eq(config_file_read(&config, "/nonexistent/salus.conf", true, errors), 1);
    fclose(errors);
    cr_assert_str_eq(out, "/nonexistent/salus.conf: No such file or directory\n");
    free(out);
}

Test(config, a_directory_is_no_file) {
    char *out;
    size_t bytes;
    FILE *errors = open_memstream(&out, &bytes);

    config_defaults(&config);
    cr_assert_eq(config_file_read(&config, "/tmp", true, errors), 1);
    fclose(errors);
    cr_assert_str_eq(out, "/tmp: Is a directory\n");
    free(out);
}

/* ---- sources --------------------------------------------------------------------------------- */

static char root[64];

static void put_file(const char *name, const char *text) {
    char full[256];
    FILE *f;

    snprintf(full, sizeof(full), "%s%s", root, name);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0755);
        *p = '/';
    }
    f = fopen(full, "w");
    cr_assert_not_null(f, "%s", full);
    fputs(text, f);
    fclose(f);
}

static int load(const struct config_sources *s, char **text) {
    size_t bytes;
    FILE *errors = open_memstream(text, &bytes);
    int bad = config_load(&config, s, errors);

    fclose(errors);
    return bad;
}

Test(config, each_source_is_over_the_one_before) {
    struct config_sources s = {.root = root};
    char *text;

    strcpy(root, "/tmp/salus-root-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    put_file("/usr/lib/salus/salus.conf",
             "[broker]\nmax_jobs = 1\n[gpu]\nsm_count = 1\ndevice_threads = 1\n"
             "kernel_timeout = 1s\ndevice_memory = 12MiB\n");
    put_file("/etc/salus/salus.conf", "[gpu]\nsm_count = 2\ndevice_threads = 2\n"
                                      "kernel_timeout = 2s\ndevice_memory = 14MiB\n");
    put_file("/etc/salus/conf.d/20-b.conf", "[gpu]\ndevice_threads = 3\n");
    put_file("/etc/salus/conf.d/10-a.conf", "[gpu]\ndevice_threads = 4\nkernel_timeout = 3s\n"
                                            "device_memory = 16MiB\n");
    put_file("/etc/salus/conf.d/ignored.txt", "nonsense\n");
    setenv("SALUS_KERNEL_TIMEOUT", "5s", 1);
    setenv("SALUS_DEVICE_MEMORY", "18MiB", 1);
    s.flag_names[0] = "device_memory";
    s.flag_values[0] = "20MiB";
    s.flags = 1;
    cr_assert_eq(load(&s, &text), 0, "%s", text);
    cr_assert_eq(config.max_jobs, 1);
    cr_assert_eq(config.sm_count, 2);
    cr_assert_eq(config.device_threads, 3);
    cr_assert_eq(config.kernel_timeout, 5000000000);
    cr_assert_eq(config.device_memory, 20ull << 20);
    free(text);
    snprintf(why, sizeof(why), "rm -rf '%s'", root);
    cr_assert_eq(system(why), 0);
}

Test(config, errors_name_their_source) {
    struct config_sources s = {
        .root = "/nonexistent", .flag_names = {"max_jobs"}, .flag_values = {"-1"}, .flags = 1};
    char *text;

    setenv("SALUS_KERNEL_TIMEOUT", "soon", 1);
    cr_assert_eq(load(&s, &text), 2);
    cr_assert_str_eq(text, "environment SALUS_KERNEL_TIMEOUT: kernel_timeout: 'soon' is not a time "
                           "with its unit, such as 500ms\n"
                           "command line: max_jobs: '-1' is not a whole number\n");
    free(text);
}

Test(config, what_must_hold_between_options_is_checked) {
    struct config_sources s = {
        .root = "/nonexistent",
        .flag_names = {"window_base", "window_alloc_bytes", "run_dir", "max_jobs"},
        .flag_values = {"0x7d0000100000", "304GiB",
                        "/a/run/directory/whose/name/is/so/long/that/the/path/of/a/socket/in/it/"
                        "would/not/fit/into/a/sockaddr",
                        "64"},
        .flags = 4};
    char *text;

    cr_assert_eq(load(&s, &text), 4);
    cr_assert_str_eq(
        text,
        "command line: window_base: must be a multiple of 2MiB\ncommand line: window_alloc_bytes: "
        "the windows (window_alloc_bytes + window_module_bytes + window_host_bytes) exceed 368GiB; "
        "reduce one\ncommand line: window_base: the addresses above 0x7d0000100000 do not suffice "
        "for max_jobs = 64 windows; lower window_base or max_jobs\ncommand line: run_dir: the path "
        "must have 1 to 98 bytes, because a socket's path has a limit; choose a shorter one\n");
    free(text);
}

/* Otherwise the error would show only when a job attaches, or when no worker gets ready. */
Test(config, sizes_are_held_to_what_memory_is_given_out_in) {
    static const struct {
        const char *name, *value, *error;
    } wrong[] = {
        {"device_memory", "1KiB", "must be at least 4MiB, or no job fits"},
        {"device_memory", "2MiB", "must be at least 4MiB, or no job fits"},
        {"device_memory", "5MiB", "must be a multiple of 2MiB"},
        {"window_alloc_bytes", "66MiB", "must be a multiple of 4MiB"},
        {"window_host_bytes", "65MiB", "must be a multiple of 2MiB"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct config_sources s = {.root = "/nonexistent",
                                   .flag_names = {wrong[i].name},
                                   .flag_values = {wrong[i].value},
                                   .flags = 1};
        char *text, want[160];

        cr_assert_eq(load(&s, &text), 1, "%s", text);
        snprintf(want, sizeof(want), "command line: %s: %s\n", wrong[i].name, wrong[i].error);
        cr_assert_str_eq(text, want);
        free(text);
    }
}

Test(config, reload_takes_what_can_change_and_names_the_rest) {
    struct config running, fresh;
    char *text;
    size_t bytes;
    FILE *notes = open_memstream(&text, &bytes);

    config_defaults(&running);
    config_defaults(&fresh);
    fresh.max_jobs = 9;
    fresh.kernel_timeout = 1000000000;
    strcpy(fresh.run_dir, "/elsewhere");
    cr_assert_eq(config_reload(&running, &fresh, notes), 2);
    fclose(notes);
    cr_assert_eq(running.max_jobs, 9);
    cr_assert_eq(running.kernel_timeout, 0);
    cr_assert_str_eq(running.run_dir, "/run/salus");
    cr_assert_str_eq(
        text,
        "run_dir: /run/salus stays in effect until salusd restarts; then /elsewhere "
        "applies\nkernel_timeout: 0 stays in effect until salusd restarts; then 1s applies\n");
    free(text);
}
