/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the backends: each has the complete core, and each optional interface completely or
 * not at all, together with the interfaces that it requires.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon/device/device.h"
#include "daemon/device/device_arrays.h"
#include "daemon/device/device_driver.h"
#include "daemon/device/device_host.h"
#include "daemon/device/device_inflight.h"
#include "daemon/device/device_native.h"
#include "daemon/device/device_null_mode.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_retirement.h"
#include "daemon/device/device_settings.h"
#include "daemon/device/device_shares.h"
#include "daemon/device/device_spares.h"
#include "daemon/device/device_textures.h"
#include "daemon/device/device_variables.h"

/* Expects that all members of a table between two offsets, which are pointers, are set. */
static void expect_filled(const void *table, size_t from, size_t to, const char *name,
                          const char *backend) {
    for (size_t at = from; at < to; at += sizeof(void *)) {
        const void *member;
        memcpy(&member, (const char *)table + at, sizeof(member));
        cr_expect_not_null(member, "%s: %s lacks its operation at %zu", backend, name, at);
    }
}

#define EXPECT_COMPLETE(ops, interface, first)                                     \
    if ((ops)->interface)                                                          \
    expect_filled((ops)->interface, offsetof(struct dev_##interface##_ops, first), \
                  sizeof(*(ops)->interface), #interface, (ops)->name)

static void expect_complete(const struct dev_ops *ops) {
    expect_filled(ops, offsetof(struct dev_ops, open), offsetof(struct dev_ops, recovery),
                  "the core", ops->name);
    EXPECT_COMPLETE(ops, recovery, memory_fd);
    EXPECT_COMPLETE(ops, spares, spare_make);
    EXPECT_COMPLETE(ops, variables, granule_save);
    EXPECT_COMPLETE(ops, retirement, chunk_retire);
    EXPECT_COMPLETE(ops, textures, texture_add);
    EXPECT_COMPLETE(ops, arrays, array_create);
    EXPECT_COMPLETE(ops, native, tensor_map);
    EXPECT_COMPLETE(ops, host, host_map);
    EXPECT_COMPLETE(ops, driver, lost);
    EXPECT_COMPLETE(ops, shares, queue_level);
    EXPECT_COMPLETE(ops, null_mode, space_null);
    EXPECT_COMPLETE(ops, settings, space_capability);
    EXPECT_COMPLETE(ops, inflight, stalled);
}

static void expect_needs(const struct dev_ops *ops) {
    cr_expect(!ops->spares || ops->recovery, "%s: spares without recovery", ops->name);
    cr_expect(!ops->variables || ops->spares, "%s: variables without spares", ops->name);
    cr_expect(!ops->arrays || ops->textures, "%s: arrays without textures", ops->name);
}

Test(seam, each_backend_has_the_core_and_whole_interfaces) {
    static const char *const names[] = {"soft", "cuda"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        const struct dev_ops *ops = device_find(names[i]);
        cr_assert_not_null(ops);
        expect_complete(ops);
        expect_needs(ops);
    }
}

/* Clients read info's flags, and the worker checks the interfaces, so both must agree. */
Test(seam, info_says_what_the_interfaces_say) {
    const struct dev_config config = {.memory_bytes = 64ull << 20, .threads = 1};
    struct dev_info info;
    struct dev *dev;
    cr_assert_eq(dev_soft.open(&dev, &config), 0);
    dev_soft.info(dev, &info);
    dev_soft.close(dev);
    cr_expect_eq(info.arrays, dev_soft.arrays != NULL);
    cr_expect_eq(info.maps, dev_soft.native != NULL);
    cr_expect_eq(info.clusters, dev_soft.native != NULL);
    cr_expect(!info.host_hidden || dev_soft.driver);
    cr_expect(info.levels == 1 || dev_soft.shares);
}
