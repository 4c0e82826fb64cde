/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the tables of Orion's artifact: one row per launch, in launch order. Profile is 1 for
 * compute, 0 for memory and -1 for unknown; Duration is in nanoseconds. A name is not quoted and
 * may contain commas. Names lack their template arguments, so different kernels may share one name.
 * Rows with the same name are averaged, and the class with the most rows wins.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/kernels/kernel_import_orion.h"

#define AFTER_NAME 4u /* columns after the name */

bool kernel_import_is_orion(const struct csv *header) {
    static const char *const names[] = {"Name", "Profile", "Memory_footprint", "SM_usage",
                                        "Duration"};

    for (uint32_t i = 0; i < 1 + AFTER_NAME; i++)
        if (strcmp(csv_field(header, i), names[i]) != 0) return false;
    return header->count == 1 + AFTER_NAME;
}

static int class_of(const char *profile) {
    if (strcmp(profile, "1") == 0) return KERNEL_PROFILE_COMPUTE;
    if (strcmp(profile, "0") == 0) return KERNEL_PROFILE_MEMORY;
    return strcmp(profile, "-1") == 0 ? KERNEL_PROFILE_UNKNOWN : -EINVAL;
}

static int take_row(struct kernel_import *k) {
    static const uint32_t any[3];
    struct csv *c = &k->csv;
    struct kernel_import_sum *sum;
    double sms, ns;
    int class, err;

    if (c->count < 1 + AFTER_NAME)
        return kernel_import_bad(k, "the line has %u columns instead of 5", c->count);
    uint32_t first = c->count - AFTER_NAME;
    class = class_of(csv_field(c, first));
    if (class < 0)
        return kernel_import_bad(k, "Profile is \"%.24s\", not 1, 0 or -1", csv_field(c, first));
    if (!kernel_import_number(csv_field(c, first + 2), &sms) || sms > KERNEL_PROFILE_SMS_MAX)
        return kernel_import_bad(k, "SM_usage \"%.24s\" is not a number of SMs",
                                 csv_field(c, first + 2));
    if (!kernel_import_number(csv_field(c, first + 3), &ns) || ns > KERNEL_PROFILE_NS_MAX)
        return kernel_import_bad(k, "Duration \"%.24s\" is not a time in nanoseconds",
                                 csv_field(c, first + 3));
    err = kernel_import_sum(k, csv_field(c, 0), any, any,
                            &sum); /* commas in the name are in the part that is cut off */
    if (err < 0) return err;
    sum->votes[class]++;
    kernel_import_add(&sum->sms, sms);
    kernel_import_add(&sum->ns, ns);
    return 0;
}

int kernel_import_orion(struct kernel_import *k) {
    int err;

    k->format = "Orion's table";
    while ((err = kernel_import_row(k)) > 0) {
        err = take_row(k);
        if (err < 0) break;
    }
    return err;
}
