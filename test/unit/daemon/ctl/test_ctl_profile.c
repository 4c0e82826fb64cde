/* SPDX-License-Identifier: Apache-2.0
 *
 * salusctl profile, against a broker in this process with a fake worker.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/lib/broker/broker_rig.h"
#include "test/lib/broker/clirun.h"

#define KNOWN "known of 'Fake GPU' with 4 SMs: "

static struct broker_rig rig;
static char file[80], copy[80];

static void setup(void) {
    broker_rig_init(&rig);
    broker_rig_start(&rig);
    setenv("SALUS_RUN_DIR", rig.dir, 1);
    snprintf(file, sizeof(file), "%s.table", rig.dir);
    snprintf(copy, sizeof(copy), "%s.copy", rig.dir);
    cr_assert(broker_rig_wait(&rig.worker.kernels, 1));
}

static void teardown(void) {
    clirun_forget();
    unlink(file);
    unlink(copy);
    broker_rig_stop(&rig);
}

TestSuite(ctl_profile, .init = setup, .fini = teardown, .timeout = 60);

static void put(const char *text) {
    FILE *f = fopen(file, "w");

    fputs(text, f);
    fclose(f);
}

/* Expects output that begins with the file's name and continues with `rest`. */
static void expect_of(const char *path, const char *rest) {
    cr_assert_eq(clirun_status, 0, "%s", clirun_err);
    cr_assert_eq(strncmp(clirun_out, path, strlen(path)), 0, "%s", clirun_out);
    cr_assert_str_eq(clirun_out + strlen(path), rest);
}

static const char ours[] =
    "salus-kernels 1 2 1\n"
    "device sms=4 name=Fake GPU\n"
    "hint grid=0,0,0 block=0,0,0 sms=4 class=memory compute=0 memory=700 ns=5000 name=a::h\n"
    "kernel func=0000000000000001 grid=2,1,1 block=32,1,1 shared=16 uid=4000000000 sms=1 "
    "class=compute source=counted compute=900 memory=100 lone=1 sum=17500 bins=24:2,32:1 "
    "name=b::k\n"
    "kernel func=0000000000000002 grid=2,1,1 block=64,1,1 shared=0 uid=4000000000 sms=0 "
    "class=unknown source=none compute=0 memory=0 lone=0 sum=0 bins= name=a::k\n";

Test(ctl_profile, an_export_is_imported_listed_shown_and_the_same_again) {
    char command[200];

    put(ours);
    CTL("profile", "import", file);
    expect_of(file, ": profiles of Salus: profiles 2, hints 1\n" KNOWN "profiles 2, hints 1\n");
    CTL("profile", "list");
    EXPECT(0,
           "ID        KERNEL  USER        GRID   BLOCK   SMS  CLASS    WHENCE   MEAN     P50      "
           "P99      COUNT\n"
           "6a585813  a::k    4000000000  2x1x1  64x1x1  0    unknown  none     0 s      0 s      "
           "0 s      0\n"
           "66fe51ac  b::k    4000000000  2x1x1  32x1x1  1    compute  counted  5.83 us  4.61 us  "
           "9.21 us  3\n",
           "");
    CTL("profile", "export", copy);
    expect_of(copy, ": profiles 2, hints 1\n");
    snprintf(command, sizeof(command), "cmp %s %s", file, copy);
    cr_assert_eq(system(command), 0);
}

Test(ctl_profile, a_kernel_is_shown_with_its_distribution) {
    put(ours);
    CTL("profile", "import", file);
    CTL("profile", "show", "void b::k<int>(float*)");
    EXPECT(0,
           "66fe51ac b::k, user 4000000000\n"
           "  grid 2x1x1, block 32x1x1, shared 16 bytes, function 0000000000000001\n"
           "  SMs needed 1; class compute (counted): compute 90.0%, memory 10.0% of the peak\n"
           "  3 launches, alone: mean 5.83 us, p50 4.61 us, p99 9.21 us\n"
           "     4.1 us ######################################## 2\n"
           "    4.61 us 0\n"
           "    5.12 us 0\n"
           "    5.63 us 0\n"
           "    6.14 us 0\n"
           "    6.66 us 0\n"
           "    7.17 us 0\n"
           "    7.68 us 0\n"
           "    8.19 us #################### 1\n",
           "");
    CTL("profile", "show", "6a585813");
    EXPECT(0,
           "6a585813 a::k, user 4000000000\n"
           "  grid 2x1x1, block 64x1x1, shared 0 bytes, function 0000000000000002\n"
           "  SMs needed unknown; class unknown (none): compute 0.0%, memory 0.0% of the peak\n"
           "  no launch has been measured\n",
           "");
    CTL("profile", "show", "--json", "b::k");
    cr_assert_str_eq(clirun_text(cJSON_GetArrayItem(clirun_json("profiles"), 0), "histogram"),
                     "4096:2,4608:0,5120:0,5632:0,6144:0,6656:0,7168:0,7680:0,8192:1");
}

Test(ctl_profile, lists_of_a_user_a_name_and_of_tables) {
    put(ours);
    CTL("profile", "import", file);
    CTL("profile", "list", "--name", "b::", "--json");
    cr_assert_eq(cJSON_GetArraySize(clirun_json("profiles")), 1);
    CTL("profile", "list", "--user", "4000000000", "--json");
    cr_assert_eq(cJSON_GetArraySize(clirun_json("profiles")), 2);
    CTL("profile", "list", "--user", "root", "--json");
    cr_assert_eq(cJSON_GetArraySize(clirun_json("profiles")), 0);
    CTL("profile", "list", "--user", "no such user");
    EXPECT(
        2, "",
        "salusctl: --user: no user has the name or number 'no such user'; see 'getent passwd'\n");
    CTL("profile", "list", "--imported", "--user", "root");
    EXPECT(
        2, "",
        "salusctl: --imported and --user cannot be combined: imported tables belong to no user\n");
    CTL("profile", "list", "--imported");
    EXPECT(0,
           "KERNEL  GRID  BLOCK  SMS  CLASS   COMPUTE  MEMORY  TIME\n"
           "a::h    any   any    4    memory  0        700     5 us\n",
           "");
}

Test(ctl_profile, tables_of_other_tools_become_hints) {
    put("Name,Profile,Memory_footprint,SM_usage,Duration\nvoid x::f,1,0,3,7000\nvoid "
        "x::f,1,0,3,9000\n");
    CTL("profile", "import", file);
    expect_of(file, ": Orion's table, 2 rows: profiles 0, hints 1\n" KNOWN "profiles 0, hints 1\n");
    CTL("profile", "import", file, "--json");
    cr_assert_eq(clirun_number(clirun_json("known"), "hints"), 1);
    cr_assert(broker_rig_wait(&rig.worker.kernels, 3), "the worker is told of each");
    cr_assert_eq(rig.worker.last_hints, 1);
}

static void expect_refused(const char *text, const char *why) {
    char want[400];

    put(text);
    CTL("profile", "import", file);
    snprintf(want, sizeof(want), "salusctl: %s: %s\n", file, why);
    EXPECT(2, "", want);
}

Test(ctl_profile, what_is_wrong_in_a_file_is_said_with_its_line) {
    expect_refused("salus-kernels 1 1 0\ndevice sms=4 name=Fake GPU\n",
                   "line 3: the text ends before this line");
    expect_refused("salus-kernels 2 0 0\n", "line 1: the file has version 2 instead of 1");
    expect_refused("Name,Profile,Memory_footprint,SM_usage,Duration\nf,7,0,3,7000\n",
                   "line 2: Profile is \"7\", not 1, 0 or -1");
    expect_refused("",
                   "no line is a known header: 'Name,Profile,Memory_footprint,SM_usage,Duration', "
                   "or one of ncu --csv with \"Kernel Name\"");
    CTL("profile", "import", "/nonexistent");
    EXPECT(1, "", "salusctl: /nonexistent: No such file or directory\n");
    CTL("profile", "list", "--json");
    cr_assert_eq(cJSON_GetArraySize(clirun_json("profiles")), 0);
}

Test(ctl_profile, of_another_device_classes_are_taken_where_that_is_said) {
    put("salus-kernels 1 1 0\ndevice sms=108 name=A100\nkernel func=0000000000000001 grid=2,1,1 "
        "block=32,1,1 shared=0 uid=0 sms=1 class=compute source=counted compute=900 memory=100 "
        "lone=1 sum=13000 bins=24:1,32:1 name=k\n");
    CTL("profile", "import", file);
    EXPECT(1, "",
           "salusctl: the profiles were measured on 'A100' with 108 SMs, and this GPU is 'Fake "
           "GPU' with 4; use --any-device to import only its classes and SMs, without times\n");
    CTL("profile", "import", "--any-device", file);
    expect_of(file, ": profiles of Salus: profiles 0, hints 1\n" KNOWN "profiles 0, hints 1\n");
    CTL("profile", "list", "--imported");
    EXPECT(0,
           "KERNEL  GRID   BLOCK   SMS  CLASS    COMPUTE  MEMORY  TIME\n"
           "k       2x1x1  32x1x1  1    compute  900      100     0 s\n",
           "");
}

Test(ctl_profile, kernels_are_forgotten) {
    put(ours);
    CTL("profile", "import", file);
    CTL("profile", "forget");
    EXPECT(2, "", "salusctl: profile forget: give either a kernel's NAME or --all\n");
    CTL("profile", "forget", "b::nosuch");
    EXPECT(4, "", "salusctl: kernel 'b::nosuch' has no profile; see 'salusctl profile list'\n");
    CTL("profile", "forget", "b::k(int)");
    EXPECT(0, "deleted profiles: 1, hints: 0; remaining profiles: 1, hints: 1\n", "");
    CTL("profile", "forget", "--all", "--user", "4000000000");
    EXPECT(0, "deleted profiles: 1, hints: 0; remaining profiles: 0, hints: 1\n", "");
    CTL("profile", "forget", "--all");
    EXPECT(0, "deleted profiles: 0, hints: 1; remaining profiles: 0, hints: 0\n", "");
    CTL("profile", "show", "b::k");
    EXPECT(4, "", "salusctl: kernel 'b::k' has no profile; see 'salusctl profile list'\n");
}
