/* SPDX-License-Identifier: Apache-2.0
 *
 * A device's description: a valid one is accepted, and each kind of error is rejected.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/device.h"
#include "daemon/worker/link/describe.h"
#include "proto/cuda/cuda_abi.h"
#include "test/lib/worker/fakedev.h"

static struct dev_info info;
static struct description good;
static const struct description *lie; /* description that the device returns instead */

static void say(struct dev *dev, struct description *out) {
    *out = *lie;
}

static void setup(void) {
    const struct dev_config config = {
        .memory_bytes = 64ull << 20, .sm_count = 7, .threads = 1, .capability = 80};
    struct dev *dev;
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    dev_soft.info(dev, &info);
    dev_soft.describe(dev, &good);
    dev_soft.close(dev);
}

TestSuite(description, .init = setup);

static void expect(const struct description *d, int err, const char *words) {
    const char *why = "";
    cr_expect_eq(description_check(d, &why), err, "%s", words);
    if (err) cr_expect(strstr(why, words), "\"%s\", not \"%s\"", why, words);
}

Test(description, the_software_gpus_and_the_fake_ones_pass) {
    struct dev *dev;
    struct description fake;
    const struct dev_config config = {0};
    expect(&good, 0, "");
    cr_assert_eq(fakedev.open(&dev, &config), 0);
    fakedev.describe(dev, &fake);
    fakedev.close(dev);
    expect(&fake, 0, "");
    cr_expect_eq(description_attribute(&good, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT), 7);
    cr_expect_eq(description_attribute(&good, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), 8);
    cr_expect_eq(description_attribute(&good, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), 1);
}

Test(description, what_is_not_known_is_not_answered) {
    struct description d = {0};
    int value = 5;
    cr_expect_not(description_get(&d, 16, &value));
    cr_expect_not(description_get(&d, DESCRIPTION_ATTRIBUTES, &value));
    cr_expect_not(description_get(&d, UINT32_MAX, &value));
    cr_expect_eq(value, 5);
    description_set(&d, 16, -3);
    description_set(&d, DESCRIPTION_ATTRIBUTES - 1, 9);
    cr_expect(description_get(&d, 16, &value) && value == -3);
    cr_expect(description_get(&d, DESCRIPTION_ATTRIBUTES - 1, &value) && value == 9);
    cr_expect_not(description_get(&d, 17, &value));
    cr_expect_eq(description_attribute(&d, 17), 0);
}

Test(description, each_thing_that_may_be_wrong) {
    struct description d = good;
    d.version++;
    expect(&d, ERR_VERSION, "version");
    d = good;
    d.bytes--;
    expect(&d, ERR_VERSION, "version");
    d = good;
    d.bytes += 64; /* a later version, with more members at its end */
    expect(&d, 0, "");
    memset(d.name, 'x', sizeof(d.name));
    expect(&d, -EINVAL, "name");
    d = good;
    d.memory_bytes = 0;
    expect(&d, -EINVAL, "memory");
    d = good;
    d.greatest_priority = 1;
    expect(&d, -EINVAL, "priorities");
    d = good;
    d.least_priority = 1;
    expect(&d, -EINVAL, "priorities");
    d = good;
    d.known[3] = 0;
    d.attributes[255] = 1;
    expect(&d, -EINVAL, "not known");
    d = good;
    description_set(&d, 0, 0);
    expect(&d, -EINVAL, "not known");
    d = good;
    d.limits_known |= 1ull << DESCRIPTION_LIMITS;
    expect(&d, -EINVAL, "not known");
}

Test(description, numbers_that_are_divided_by) {
    const int wrong[] = {0, -1, INT32_MIN};
    const CUdevice_attribute needed[] = {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                         CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z,
                                         CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
                                         CU_DEVICE_ATTRIBUTE_WARP_SIZE,
                                         CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                         CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR};
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        struct description d = good;
        d.known[needed[i] / 64] &= ~(1ull << needed[i] % 64);
        d.attributes[needed[i]] = 0;
        expect(&d, -EINVAL, "missing or out of range");
        for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
            description_set(&d, needed[i], wrong[k]);
            expect(&d, -EINVAL, "missing or out of range");
        }
    }
    struct description d = good;
    description_set(&d, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 64);
    expect(&d, -EINVAL, "missing or out of range");
    d = good; /* a driver from before the member was reserved */
    d.known[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK / 64] &=
        ~(1ull << CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK % 64);
    d.attributes[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 0;
    expect(&d, 0, "");
}

Test(description, the_worker_goes_by_the_device_that_is_described) {
    const struct dev_ops ops = {.describe = say};
    struct description got, other = good;
    const char *why = "";
    lie = &good;
    cr_expect_eq(describe_device(&ops, NULL, &info, &got, &why), 0);
    cr_expect_eq(memcmp(&got, &good, sizeof(got)), 0);
    lie = &other;
    description_set(&other, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 8);
    cr_expect_eq(describe_device(&ops, NULL, &info, &got, &why), -EINVAL);
    cr_expect(strstr(why, "attributes contradict"), "%s", why);
    other = good;
    other.uuid[15]++;
    cr_expect_eq(describe_device(&ops, NULL, &info, &got, &why), -EINVAL);
    other = good;
    other.version = 9;
    cr_expect_eq(describe_device(&ops, NULL, &info, &got, &why), -EINVAL);
    cr_expect(strstr(why, "version"), "%s", why);
}
