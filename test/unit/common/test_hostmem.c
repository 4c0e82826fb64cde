/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the machine and limits of control groups, of both versions, read from files under a
 * root that the test makes.
 */
#include "common/hostmem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ull << 20)

static char root[64];

static void begin(void) {
    strcpy(root, "/tmp/salus-hostmem-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
}

static void end(void) {
    char command[96];

    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    cr_assert_eq(system(command), 0);
}

TestSuite(hostmem, .init = begin, .fini = end);

static void put(const char *path, const char *text) {
    char command[512], whole[300];
    FILE *f;

    snprintf(whole, sizeof(whole), "%s%s", root, path);
    snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"", whole);
    cr_assert_eq(system(command), 0);
    f = fopen(whole, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

static struct hostmem look(void) {
    struct hostmem m;

    hostmem_read(&m, root);
    return m;
}

static void expect_file(const struct hostmem *m, const char *path) {
    char want[300];

    snprintf(want, sizeof(want), "%s%s", root, path);
    cr_assert_str_eq(m->group_file, want);
}

static void put_machine(void) {
    put("/proc/meminfo",
        "MemTotal:        8388608 kB\nMemFree: 1 kB\nSwapTotal:       1048576 kB\n");
}

Test(hostmem, nothing_can_be_read) {
    struct hostmem m = look();

    cr_assert_eq(hostmem_most(&m), HOSTMEM_NONE);
    cr_assert_eq(hostmem_ram(&m), HOSTMEM_NONE);
}

Test(hostmem, without_limits_it_is_the_machines) {
    put_machine();
    put("/proc/self/cgroup", "0::/user.slice\n");
    put("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    struct hostmem m = look();
    cr_assert_eq(hostmem_most(&m), 9216 * MIB);
    cr_assert_eq(hostmem_ram(&m), 8192 * MIB);
}

/* The outer group is tighter; the inner one has less swap than the machine. */
Test(hostmem, every_group_on_the_way_up_counts) {
    put_machine();
    put("/proc/self/cgroup", "0::/system.slice/salusd.service\n");
    put("/sys/fs/cgroup/system.slice/salusd.service/memory.max", "4294967296\n");
    put("/sys/fs/cgroup/system.slice/salusd.service/memory.swap.max", "0\n");
    struct hostmem m = look();
    cr_assert_eq(hostmem_most(&m), 4096 * MIB);
    expect_file(&m, "/sys/fs/cgroup/system.slice/salusd.service/memory.max");
    put("/sys/fs/cgroup/system.slice/memory.max", "2147483648\n");
    m = look();
    cr_assert_eq(hostmem_most(&m), 3072 * MIB, "2 GiB, and the machine's swap");
    cr_assert_eq(hostmem_ram(&m), 2048 * MIB);
    expect_file(&m, "/sys/fs/cgroup/system.slice/memory.max");
}

Test(hostmem, the_first_version) {
    put_machine();
    put("/proc/self/cgroup", "9:name=systemd:/\n4:cpuset,memory:/box/inner\n0::/\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "1073741824\n");
    put("/sys/fs/cgroup/memory/box/memory.memsw.limit_in_bytes", "1342177280\n");
    struct hostmem m = look();
    cr_assert_eq(hostmem_most(&m), 1280 * MIB);
    cr_assert_eq(hostmem_ram(&m), 1024 * MIB);
    expect_file(&m, "/sys/fs/cgroup/memory/box/memory.limit_in_bytes");
}

/* In a container the mount shows the group as the root, while /proc has another path. */
Test(hostmem, a_path_that_is_not_there_leaves_the_root) {
    put_machine();
    put("/proc/self/cgroup", "0::/../../docker/1234\n");
    put("/sys/fs/cgroup/memory.max", "536870912\n");
    put("/sys/fs/cgroup/memory.swap.max", "max\n");
    struct hostmem m = look();
    cr_assert_eq(hostmem_most(&m), 1536 * MIB);
}

Test(hostmem, nonsense_is_no_limit) {
    put_machine();
    put("/proc/self/cgroup", "no colons\n0::\n7:mem,memory_recursiveprot:/x\n");
    put("/sys/fs/cgroup/memory.max", "lots\n");
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n");
    struct hostmem m = look();
    cr_assert_eq(hostmem_most(&m), 9216 * MIB);
}
