/* SPDX-License-Identifier: Apache-2.0
 *
 * The device time that a model's program reports; the test acts as the device.
 */
#include "daemon/serve/model/meter.h"

#include <criterion/criterion.h>

#include "proto/serve/serve_wire.h"

static long long device_ns; /* the shim's counter, as the program would find it */
long long salus_device_ns(void);
long long salus_device_ns(void) {
    return device_ns;
}

static uint32_t between(long long from_ns, long long to_ns) {
    device_ns = from_ns;
    long long before_ns = meter_read();
    device_ns = to_ns;
    return meter_ticks(before_ns);
}

Test(serve_meter, what_was_worked_in_between) {
    cr_expect_eq(between(1000, 1000 + 320), 10);
    cr_expect_eq(between(0, 321), 11, "rounded up");
    cr_expect_eq(between(5, 5 + (1 << 30)), (1 << 30) / SERVE_WIRE_TICK_NS);
}

Test(serve_meter, nothing_is_not_the_same_as_not_known) {
    cr_expect_eq(between(700, 700), 1);
    cr_expect_eq(between(-1, 700), 0, "CUDA was initialised with this batch");
    cr_expect_eq(between(700, -1), 0, "its context is dead");
    cr_expect_eq(between(-1, -1), 0);
    cr_expect_eq(between(700, 699), 0, "another worker counts from 0");
}

Test(serve_meter, what_is_too_long_is_the_longest) {
    cr_expect_eq(between(0, 1ll << 37), UINT32_MAX);
    cr_expect_eq(between(0, 1ll << 50), UINT32_MAX);
    cr_expect_eq(between(0, (1ll << 37) - 64), UINT32_MAX - 1);
}
