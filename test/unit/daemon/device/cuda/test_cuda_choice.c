/* SPDX-License-Identifier: Apache-2.0
 *
 * Choosing one of the driver's devices: by number, by index, by the beginning of a UUID; and the
 * errors for no match and for several.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "daemon/device/cuda/driver/choice.h"
#include "proto/cuda/uuid.h"
#include "test/lib/cuda/cuda_rig.h"

static struct cuda_rig rig;
static struct driver driver;
static char why[256];

static void begin(uint32_t devices) {
    cuda_rig_load(&rig, false);
    rig.fake->start(&(struct fake_options){.greatest = -2, .devices = devices});
    cr_assert_eq(driver_load(&driver, rig.path, why, sizeof(why)), 0, "%s", why);
}

static int find(uint32_t number, const char *id) {
    uint32_t index = 77;
    why[0] = '\0';
    int err = choice_find(&driver, number, id, &index, why, sizeof(why));
    return err ? err : (int)index;
}

#define UUID(last) "GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a" last

Test(cuda_choice, by_number_unless_something_is_said) {
    begin(3);
    cr_expect_eq(find(2, NULL), 2);
    cr_expect_eq(find(2, "0"), 0);
    cr_expect_eq(find(0, "1"), 1);
    cr_expect_eq(find(0, UUID("5b")), 1);
    cr_expect_eq(find(0, "GPU-5A5A5A5A-5a5a-5a5a-5a5a-5a5a5a5a5a5C"), 2);
}

Test(cuda_choice, a_beginning_will_do) {
    begin(1);
    cr_expect_eq(find(0, "GPU-5"), 0);
    cr_expect_eq(find(0, "GPU-5a5a5a5a-"), 0);
}

Test(cuda_choice, what_is_none_is_said_with_what_there_is) {
    begin(3);
    cr_expect_eq(find(0, "GPU-12345678"), -ENODEV);
    cr_expect_str_eq(why, "no GPU has the UUID GPU-12345678: the driver has 0: " UUID(
                              "5a") ", 1: " UUID("5b") ", 2: " UUID("5c"));
    cr_expect_eq(find(3, NULL), -ENODEV);
    cr_expect_str_eq(why, "the driver has no GPU 3; it has 3 GPUs, 0: " UUID("5a") ", 1: " UUID(
                              "5b") ", 2: " UUID("5c"));
    cr_expect_eq(find(0, "99999999999999999999999"), -ENODEV);
    cr_expect_eq(find(0, "GPU-"), -ENODEV);
    cr_expect_str_eq(why, "device_id 'GPU-' is neither an index nor a UUID");
    cr_expect_eq(find(0, "1x"), -ENODEV);
}

Test(cuda_choice, not_any_of_several) {
    begin(2);
    cr_expect_eq(find(0, "GPU-5a5a"), -ENODEV);
    cr_expect_str_eq(
        why, "2 GPUs have a UUID that begins with GPU-5a5a: 0: " UUID("5a") ", 1: " UUID("5b"));
}

Test(cuda_choice, as_many_are_named_as_there_is_room_for) {
    begin(40);
    cr_expect_eq(find(0, "GPU-12345678"), -ENODEV);
    cr_expect(strlen(why) < sizeof(why) && strcmp(why + strlen(why) - 4, ", ..") == 0, "%s", why);
    cr_expect_eq(find(0, UUID("81")), 39);
}

Test(cuda_choice, what_it_is_is_said_of_the_device) {
    const struct dev_config config = {
        .driver = rig.path, .memory_bytes = 32 * RIG_GRANULE, .index = 1, .device_id = UUID("5c")};
    begin(3);
    cr_assert_eq(rig.ops->open(&rig.dev, &config), 0);
    rig.ops->info(rig.dev, &rig.info);
    cr_expect(rig.info.has_index && rig.info.index == 2);
    cr_expect_eq(rig.info.uuid[15], 0x5c);
    cuda_rig_close(&rig);
}

Test(cuda_choice, how_a_uuid_begins) {
    cr_expect(uuid_may_begin("GPU-0") && uuid_may_begin(UUID("5a")) &&
              uuid_may_begin("GPU-89AbcdeF-"));
    static const char *const none[] = {"",      "GPU",      "GPU-",          "gpu-5",
                                       "GPU--", "GPU-123g", "GPU-123456789", UUID("5a") "5",
                                       "MIG-5", "5a5a"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        cr_expect_not(uuid_may_begin(none[i]), "%s", none[i]);
}
