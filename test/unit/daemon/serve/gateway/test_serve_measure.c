/* SPDX-License-Identifier: Apache-2.0
 *
 * The measured times of a model's single requests all use the same clock.
 */
#include "daemon/serve/gateway/profile/measure.h"

#include <criterion/criterion.h>

Test(serve_measure, device_time_where_it_is_known) {
    struct measure m;
    measure_init(&m, true);
    cr_assert_eq(measure_take(&m, 0, 900), 0, "it may come later");
    cr_assert_eq(measure_take(&m, 40, 900), 40);
    for (int i = 0; i < 50; i++)
        cr_assert_eq(measure_take(&m, 0, 900), 0, "never the other");
    cr_assert_eq(measure_take(&m, 41, 900), 41);
}

Test(serve_measure, wall_time_without_salus) {
    struct measure m;
    measure_init(&m, false);
    cr_assert_eq(measure_take(&m, 0, 900), 900);
    cr_assert_eq(measure_take(&m, 40, 901), 901, "never the other");
}

Test(serve_measure, wall_time_where_no_device_is_used) {
    struct measure m;
    measure_init(&m, true);
    for (uint32_t i = 0; i < MEASURE_WITHOUT; i++)
        cr_assert_eq(measure_take(&m, 0, 900), 0);
    cr_assert_eq(measure_take(&m, 0, 900), 900);
    cr_assert_eq(measure_take(&m, 40, 901), 901);
}
