/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment selects one of a real broker's two GPUs, which have fake workers.
 */
#include "shim/process/gpu_choice.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "test/lib/broker/broker_rig.h"

static struct broker_rig rig;
static struct gpu_choice choice;
static char why[GPU_CHOICE_WHY_BYTES];

static void prepare(uint32_t gpus) {
    unsetenv("SALUS_GPU");
    unsetenv("CUDA_DEVICE_ORDER");
    broker_rig_init(&rig);
    rig.config.gpus = gpus;
    rig.worker.uuid = 0xa1;
    rig.second.uuid = 0xa2;
    rig.second.pci_bus = 0x40; /* lower than the first GPU's bus number */
    setenv("SALUS_RUN_DIR", rig.dir, 1);
}

static void begin(void) {
    prepare(2);
    broker_rig_start(&rig);
}

static void end(void) {
    broker_rig_stop(&rig);
}

TestSuite(gpu_choice, .init = begin, .fini = end, .timeout = 60);
TestSuite(gpu_choice_rig, .fini = end, .timeout = 60);
TestSuite(gpu_choice_alone, .timeout = 60);

static int choose(const char *list) {
    if (list)
        setenv("CUDA_VISIBLE_DEVICES", list, 1);
    else
        unsetenv("CUDA_VISIBLE_DEVICES");
    return gpu_choice_make(&choice, why);
}

/* Returns the number of the GPU that the list chooses. */
static int number_of(const char *list) {
    cr_assert_eq(choose(list), 0, "%s: %s", list, why);
    cr_assert_eq(choice.order[choice.count - 1], choice.gpu);
    cr_assert_str_eq(why, "");
    return (int)choice.gpu - 1;
}

static void expect_none(const char *list, const char *reason) {
    cr_assert_eq(choose(list), -ENODEV, "%s", list);
    cr_assert(*reason ? strstr(why, reason) != NULL : !*why, "%s: %s", list, why);
    cr_assert_eq(choice.gpu, 0);
    cr_assert_eq(choice.count, 1);
}

Test(gpu_choice, the_first_of_the_list_is_taken) {
    cr_assert_eq(number_of("0"), 0);
    cr_assert_eq(choice.count, 1);
    cr_assert_eq(number_of("1"), 1);
    cr_assert_eq(choice.count, 2);
    cr_assert_eq(choice.order[0], 1, "GPU 0 comes before it");
    cr_assert_eq(number_of("1,0"), 1);
    cr_assert_eq(number_of("0,9"), 0);
    cr_assert_eq(number_of("GPU-a2"), 1);
    cr_assert_eq(number_of("GPU-a1000000-0000-0000-0000-000000000000,GPU-a2"), 0);
}

Test(gpu_choice, without_a_list_salusd_chooses) {
    cr_assert_eq(choose(NULL), 0);
    cr_assert_eq(choice.gpu, 0);
    cr_assert_eq(choice.count, 1);
}

Test(gpu_choice, what_hides_gpus_on_purpose_is_not_explained) {
    expect_none("", "");
    expect_none("-1", "");
    expect_none("NoDevFiles", "");
}

Test(gpu_choice, who_gets_no_gpu_is_told_why) {
    expect_none("2", "CUDA_VISIBLE_DEVICES='2' begins with a GPU that salusd does not have (it has "
                     "GPUs 0 to 1)");
    expect_none("4294967295", "begins with a GPU that salusd does not have");
    expect_none("GPU-b", "begins with a GPU that salusd does not have");
    expect_none("GPU-a", "begins with a GPU that salusd does not have");
    expect_none("GPU-a1,GPU-a1000", "names one twice");
    expect_none("1,1", "'1,1' names a GPU twice");
    expect_none("MIG-4c", "names a MIG instance");
    expect_none("all", "neither a number nor a UUID");
}

Test(gpu_choice_rig, a_lone_gpu_is_named) {
    prepare(1);
    broker_rig_start(&rig);
    expect_none("1", "begins with a GPU that salusd does not have; it has only GPU 0");
}

Test(gpu_choice, numbers_may_count_along_the_bus) {
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    cr_assert_eq(number_of("0"), 1);
    cr_assert_eq(number_of("1"), 0);
    cr_assert_eq(choice.order[0], 2);
    cr_assert_eq(number_of("GPU-a2"), 1);
    cr_assert_eq(choice.count, 1);
    expect_none("2", "begins with a GPU that salusd does not have");
    setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST", 1);
    cr_assert_eq(number_of("0"), 0);
}

Test(gpu_choice, salus_gpu_stands_above_a_list_that_chooses) {
    setenv("SALUS_GPU", "1", 1);
    cr_assert_eq(choose("0"), 0);
    cr_assert_eq(choice.gpu, 2);
    cr_assert_eq(choose("7"), 0, "a list that does not count is not looked at");
    cr_assert_eq(choose("NoDevFiles"), 0, "Slurm's plugin of ours assigns it, and Slurm does not");
    cr_assert_eq(choice.gpu, 2);
}

Test(gpu_choice, a_list_that_hides_every_gpu_hides_that_of_salus_gpu) {
    setenv("SALUS_GPU", "1", 1);
    cr_assert_eq(choose(""), -ENODEV);
    cr_assert_str_eq(why, "");
    cr_assert_eq(choice.gpu, 2, "NVML shows it");
    setenv("SALUS_GPU", "one", 1);
    cr_assert_eq(choose("0"), -EINVAL);
    cr_assert_not_null(strstr(why, "SALUS_GPU: 'one' is not the number of a GPU"));
}

Test(gpu_choice_rig, a_gpu_without_a_worker_keeps_its_number_and_has_no_uuid) {
    prepare(2);
    rig.config.worker_tries = 1;
    atomic_store(&rig.worker.launch_result, -ENOENT);
    broker_rig_start(&rig);
    cr_assert_eq(number_of("1"), 1);
    cr_assert_eq(number_of("0"), 0);
    cr_assert_eq(number_of("GPU-a"), 1, "the other is not known");
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    cr_assert_eq(number_of("1"), 0, "it is counted last");
}

Test(gpu_choice_alone, without_a_daemon_nothing_is_chosen) {
    setenv("SALUS_RUN_DIR", "/nonexistent", 1);
    unsetenv("SALUS_GPU");
    errno = 77;
    cr_assert_eq(choose("1"), -ENOENT);
    cr_assert_eq(choose("GPU-a"), -ENOENT);
    cr_assert_eq(errno, 77);
    expect_none("", "");
    cr_assert_eq(choose(NULL), 0, "nobody is asked");
}
