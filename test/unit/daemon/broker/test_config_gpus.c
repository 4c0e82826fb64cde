/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections [gpu N]: the options they may contain, the values that each GPU gets, and the values
 * that a reload applies.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/broker/config/config.h"
#include "daemon/broker/config/config_gpus.h"
#include "daemon/broker/config/config_load.h"
#include "daemon/broker/config_check.h"

#define GIB (1ull << 30)

static struct config config, own;
static char path[64];
static char *errors;

/* Loads a whole configuration from this text; returns the number of errors, whose text is in
 * `errors`. */
static int load(struct config *c, const char *text) {
    struct config_sources s = {.file = path};
    size_t bytes;
    FILE *f, *out;
    int bad;

    snprintf(path, sizeof(path), "/tmp/salus-config-gpus-%d", (int)getpid());
    f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    free(errors);
    out = open_memstream(&errors, &bytes);
    bad = config_load(c, &s, out);
    fclose(out);
    unlink(path);
    return bad;
}

Test(config_gpus, a_section_is_over_what_all_have) {
    cr_assert_eq(load(&config, "[gpu]\ngpus = 2\ndevice_memory = 8GiB\nsm_count = 7\n"
                               "[schedule]\nlane_policy = pack\n"
                               "[gpu 1]\ndevice_memory = 2GiB\nlane_policy = fifo\nlease = 3s\n"),
                 0, "%s", errors);
    config_gpus_apply(&config, 0, &own);
    cr_expect_eq(own.device_memory, 8 * GIB);
    cr_expect_str_eq(own.lane_policy, "pack");
    config_gpus_apply(&config, 1, &own);
    cr_expect_eq(own.device_memory, 2 * GIB);
    cr_expect_eq(own.sm_count, 7);
    cr_expect_str_eq(own.lane_policy, "fifo");
    cr_expect_eq(own.lease, 3000000000);
    cr_expect_not_null(strstr(own.origin[CONFIG_O_device_memory], ":8"), "%s",
                       own.origin[CONFIG_O_device_memory]);
    cr_expect_eq(config.device_memory, 8 * GIB, "and says nothing of the others");
}

Test(config_gpus, the_last_value_counts) {
    cr_assert_eq(load(&config, "[gpu 0]\nsm_count = 3\n[gpu 0]\nsm_count = 4\n"), 0, "%s", errors);
    cr_expect_eq(config.gpu_rule_count, 1);
    config_gpus_apply(&config, 0, &own);
    cr_expect_eq(own.sm_count, 4);
}

Test(config_gpus, what_is_wrong_is_said_with_its_line) {
    static const struct {
        const char *text, *error;
    } bad[] = {
        {"[gpu 1]\nsm_count = 3\n", ":2: section [gpu 1]: salusd has 1 GPUs, numbered from 0; "
                                    "raise gpus, or remove the section\n"},
        {"[gpu 16]\nsm_count = 3\n", ":2: section [gpu 16]: a GPU's number is from 0 to 15\n"},
        {"[gpu one]\nsm_count = 3\n", ":2: section [gpu one]: a GPU's number is from 0 to 15\n"},
        {"[gpu -1]\nsm_count = 3\n", ":2: section [gpu -1]: a GPU's number is from 0 to 15\n"},
        {"[gpu ]\nsm_count = 3\n", ":2: section [gpu ]: a GPU's number is from 0 to 15\n"},
        {"[gpu 0]\ngpus = 2\n", ":2: key 'gpus' cannot be set in [gpu 0]; a GPU's section takes "
                                "keys of [gpu] and [schedule]\n"},
        {"[gpu 0]\nrun_dir = /tmp\n", ":2: key 'run_dir' cannot be set in [gpu 0]; a GPU's section "
                                      "takes keys of [gpu] and [schedule]\n"},
        {"[gpu 0]\nfoo = 1\n", ":2: key 'foo' cannot be set in [gpu 0]; a GPU's section takes keys "
                               "of [gpu] and [schedule]\n"},
        {"[gpu 0]\nsm_count = 1025\n", ":2: sm_count: 1025 is out of range: 0 to 1024\n"},
        {"[gpu 0]\nlane_policy = best\n", ":2: lane_policy: 'best' is not one of: "},
        {"[gpu 0]\ndevice_memory = 3MiB\n",
         ":2: device_memory: must be at least 4MiB, or no job fits\n"},
        {"[gpu]\ndevice = cuda\ndeterministic = yes\n",
         ": deterministic: only the software GPU can be deterministic, and GPU 0 uses the driver; "
         "set device = soft, "},
        {"[gpu]\ndevice = cuda\n[gpu 0]\ndeterministic = yes\n",
         ": deterministic: only the software GPU "},
        {"[gpu]\ngpus = 0\n", ":2: gpus: 0 is out of range: 1 to 16\n"},
        {"[gpu]\ngpus = 17\n", ":2: gpus: 17 is out of range: 1 to 16\n"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cr_expect_eq(load(&config, bad[i].text), 1, "%s: %s", bad[i].text, errors);
        cr_expect_not_null(strstr(errors, bad[i].error), "%s: %s", bad[i].text, errors);
    }
}

Test(config_gpus, each_is_another_device) {
    static const struct {
        const char *text, *error; /* NULL: none */
    } sets[] = {
        {"device = cuda\n", NULL},
        {"device_id = GPU-8932f937-d72c\n", NULL},
        {"device = cuda\n[gpu 0]\ndevice_id = 1\n[gpu 1]\ndevice_id = 0\n", NULL},
        {"device = cuda\n[gpu 0]\ndevice_id = 1\n",
         "device_id: GPUs 0 and 1 both use device 1 of the driver; "
         "set another device_id for one\n"},
        {"device = cuda\n[gpu 1]\ndevice_id = 0\n",
         ": device_id: GPUs 0 and 1 both use device 0 of the driver; "
         "set another device_id for one\n"},
        {"device = cuda\ndevice_id = GPU-8932f937\n",
         ":4: device_id: GPUs 0 and 1 both use device GPU-8932f937 of the driver; "
         "set another device_id for one\n"},
        {"device = cuda\n[gpu 0]\ndevice_id = GPU-AB\n[gpu 1]\ndevice_id = GPU-ab\n",
         "both use device GPU-ab of the driver; "},
        {"device = cuda\n[gpu 0]\ndevice_id = GPU-xy\n",
         ":5: device_id: 'GPU-xy' is not an index, or the beginning of a UUID, such as "
         "GPU-8932f937\n"},
        {"device_id = -1\n", ":3: device_id: '-1' is not an index"},
        {"device_id = /dev/nvidia0\n", ":3: device_id: '/dev/nvidia0' is not an index"},
        {"device_id = 1234567890\n", ":3: device_id: '1234567890' is not an index"},
        {"device = cuda\ndevice_id = 1\n[gpu 1]\ndevice = soft\n", NULL},
        {"device = cuda\ndevice_id = 1\n[gpu 1]\ndriver = /other.so\n", NULL},
    };

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        char text[256];

        snprintf(text, sizeof(text), "[gpu]\ngpus = 2\n%s", sets[i].text);
        cr_expect_eq(load(&config, text), sets[i].error != NULL, "%s: %s", text, errors);
        if (sets[i].error)
            cr_expect_not_null(strstr(errors, sets[i].error), "%s: %s", text, errors);
    }
}

Test(config_gpus, so_many_values_and_no_more) {
    static const char *const names[] = {"sm_count",    "device_threads", "device_memory",
                                        "lease",       "max_lanes",      "overtakes",
                                        "lane_policy", "swap",           "capability"};
    static const char *const values[] = {"1", "1", "4MiB", "1s", "1", "1", "fifo", "yes", "9.0"};
    char text[16384] = "[gpu]\ngpus = 16\n";
    size_t n = strlen(text);

    for (int gpu = 0; gpu < 16; gpu++)
        for (size_t i = 0; i < 9; i++)
            n += (size_t)sprintf(text + n, "[gpu %d]\n%s = %s\n", gpu, names[i], values[i]);
    cr_expect_eq(load(&config, text), 16 * 9 - CONFIG_GPU_RULES_MAX, "%s", errors);
    cr_expect_eq(config.gpu_rule_count, CONFIG_GPU_RULES_MAX);
    cr_expect_not_null(
        strstr(errors, "the sections of all GPUs together set more than 128 values"));
}

Test(config_gpus, they_are_printed_as_they_are_read) {
    static struct config again;
    char *first, *second;
    size_t bytes;
    FILE *out = open_memstream(&first, &bytes);

    cr_assert_eq(
        load(&config, "[gpu]\ngpus = 3\n[gpu 2]\nsm_count = 3\nlease = 2s\n[gpu 0]\nswap=yes\n"), 0,
        "%s", errors);
    config_gpus_print(&config, out);
    fclose(out);
    cr_expect_str_eq(first, "\n[gpu 0]\nswap = yes\n\n[gpu 2]\nsm_count = 3\nlease = 2s\n");
    out = open_memstream(&second, &bytes);
    fprintf(out, "[gpu]\ngpus = 3\n%s", first);
    fclose(out);
    cr_expect_eq(load(&again, second), 0, "%s", errors);
    cr_expect_eq(again.gpu_rule_count, 3);
    free(first);
    free(second);
}

Test(config_gpus, a_reload_takes_what_can_change_and_names_the_rest) {
    static struct config fresh;
    char *notes;
    size_t bytes;
    FILE *out = open_memstream(&notes, &bytes);

    cr_assert_eq(
        load(&config, "[gpu]\ngpus=2\n[gpu 1]\nsm_count = 3\nlane_policy = fifo\nlease = 7s\n"), 0,
        "%s", errors);
    cr_assert_eq(load(&fresh, "[gpu]\ngpus=2\n[gpu 1]\nsm_count = 4\nlane_policy = srtf\n"), 0,
                 "%s", errors);
    cr_expect_eq(config_reload(&config, &fresh, out), 2);
    fclose(out);
    cr_expect_str_eq(notes, "[gpu 1] sm_count = 4: applies after a restart\n"
                            "[gpu 1] sm_count = 3: no longer applies after a restart\n");
    config_gpus_apply(&config, 1, &own);
    cr_expect_eq(own.sm_count, 3);
    cr_expect_str_eq(own.lane_policy, "srtf");
    cr_expect_neq(own.lease, 7000000000);
    free(notes);
}

/* All GPUs share the machine's memory. */
Test(config_gpus, software_gpus_must_fit_into_the_machine_together) {
    struct hostmem m = {
        .ram_bytes = 16 * GIB, .group_ram_bytes = HOSTMEM_NONE, .group_bytes = HOSTMEM_NONE};
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    cr_assert_eq(load(&config, "[broker]\nrun_dir=/run/salus\nworker=/bin/true\n[gpu]\ngpus = 2\n"
                               "device_memory = 10GiB\n[gpu 1]\ndevice_memory = 4GiB\n"),
                 0, "%s", errors);
    cr_expect_eq(config_check_machine(&config, &m, out), 0);
    config.gpu_rule_count = 0;
    cr_expect_eq(config_check_machine(&config, &m, out), 1);
    fclose(out);
    cr_expect_not_null(strstr(text, "20 GiB exceed this machine's memory"), "%s", text);
    free(text);
}
