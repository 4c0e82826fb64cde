/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the machine by --check-config; each error names the line that caused it.
 */
#include "daemon/broker/config_check.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GIB (1ull << 30)

static struct config config;
static struct hostmem machine;
static char dir[64], *text;

static void begin(void) {
    config_defaults(&config);
    machine = (struct hostmem){.ram_bytes = 8 * GIB,
                               .swap_bytes = GIB,
                               .group_ram_bytes = HOSTMEM_NONE,
                               .group_bytes = HOSTMEM_NONE};
    strcpy(dir, "/tmp/salus-check-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    strcpy(config.worker, "/bin/true");
}

static void end(void) {
    rmdir(dir);
    free(text);
}

TestSuite(config_check, .init = begin, .fini = end);

static void expect(const char *want) {
    size_t bytes;
    FILE *errors;
    int bad, lines = 0;

    free(text);
    errors = open_memstream(&text, &bytes);
    bad = config_check_machine(&config, &machine, errors);
    fclose(errors);
    for (const char *p = want; *p; p++)
        lines += *p == '\n';
    cr_assert_str_eq(text, want);
    cr_assert_eq(bad, lines);
}

static void set(const char *name, const char *value) {
    char why[CONFIG_WHY_BYTES];

    cr_assert_eq(config_set(&config, name, value, why, sizeof(why)), 0, "%s", why);
    config_said(&config, name, "salus.conf:7");
}

Test(config_check, defaults_are_nobodys_mistake) {
    expect("");
}

Test(config_check, the_worker_must_be_a_program) {
    set("worker", "/nonexistent/salus-gpu");
    expect("salus.conf:7: worker: /nonexistent/salus-gpu: No such file or directory\n");
    set("worker", dir);
    char want[128];
    snprintf(want, sizeof(want), "salus.conf:7: worker: %s: Is a directory\n", dir);
    expect(want);
    set("worker", "/etc/passwd");
    expect("salus.conf:7: worker: /etc/passwd: Permission denied\n");
    set("worker", "/dev/null");
    expect("salus.conf:7: worker: /dev/null: Permission denied\n");
    *config.worker = *config.origin[CONFIG_O_worker] = '\0';
    expect("worker: salus-gpu is neither in salusd's directory nor in ../libexec/salus from there; "
           "set worker to its path\n");
}

Test(config_check, directories_must_be_there_or_can_be_made) {
    char path[128], want[400];

    snprintf(path, sizeof(path), "%s/run", dir);
    set("run_dir", path);
    expect("");
    snprintf(path, sizeof(path), "%s/a/run", dir);
    set("run_dir", path);
    snprintf(want, sizeof(want),
             "salus.conf:7: run_dir: %s cannot be created: %s/a: No such file or directory\n", path,
             dir);
    expect(want);
    set("run_dir", "/etc/passwd");
    expect("salus.conf:7: run_dir: /etc/passwd: Not a directory\n");
}

Test(config_check, files_that_are_remembered_in_need_a_directory) {
    char want[400];

    set("profiles", "/nonexistent/p");
    set("kernels", dir);
    snprintf(want, sizeof(want),
             "salus.conf:7: profiles: /nonexistent/p cannot be written: /nonexistent: No such file "
             "or directory\n"
             "salus.conf:7: kernels: %s: Is a directory\n",
             dir);
    expect(want);
    set("profiles", "profiles");
    set("kernels", "");
    expect("");
}

Test(config_check, memory_is_the_machines_or_the_groups) {
    set("device_memory", "9GiB");
    expect("");
    set("device_memory", "64TiB");
    expect("salus.conf:7: device_memory: 64 TiB exceed this machine's memory of 9 GiB, of which 1 "
           "GiB are swap; set device_memory to less\n");
    machine.group_bytes = 2 * GIB;
    strcpy(machine.group_file, "/sys/fs/cgroup/salus/memory.max");
    set("device_memory", "3GiB");
    expect(
        "salus.conf:7: device_memory: 3 GiB exceed the 2 GiB that /sys/fs/cgroup/salus/memory.max "
        "allows, so the kernel would kill the worker and all jobs; set device_memory to less\n");
    set("device_memory", "2GiB");
    expect("");
}
