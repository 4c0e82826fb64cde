/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes are multiples of granules, and all windows fit below the end of the address space.
 */
#include "daemon/broker/config/config_memory.h"

/* Checks an address or a size of the windows. */
static int check_multiple(const struct config *c, enum config_place option, uint64_t value,
                          uint64_t unit, const char *shown, FILE *errors) {
    if (value % unit == 0) return 0;
    return config_complain(c, option, errors, "must be a multiple of %s", shown);
}

/* window_alloc_bytes is a multiple of two granules, because its second half is for memory within
 * iterations. */
int config_memory_check_windows(const struct config *c, FILE *errors) {
    uint64_t all = c->window_alloc_bytes + c->window_module_bytes + c->window_host_bytes;
    uint64_t unit = CONFIG_WINDOW_ALIGN;
    int bad =
        check_multiple(c, CONFIG_O_window_base, c->window_base, unit, "2MiB", errors) +
        check_multiple(c, CONFIG_O_window_alloc_bytes, c->window_alloc_bytes, 2 * unit, "4MiB",
                       errors) +
        check_multiple(c, CONFIG_O_window_module_bytes, c->window_module_bytes, unit, "2MiB",
                       errors) +
        check_multiple(c, CONFIG_O_window_host_bytes, c->window_host_bytes, unit, "2MiB", errors);

    if (all > CONFIG_STRIDE_BYTES)
        bad += config_complain(c, CONFIG_O_window_alloc_bytes, errors,
                               "the windows (window_alloc_bytes + window_module_bytes + "
                               "window_host_bytes) exceed 368GiB; reduce one");
    if ((CONFIG_WINDOW_END - c->window_base) / CONFIG_STRIDE_BYTES < c->max_jobs)
        bad += config_complain(c, CONFIG_O_window_base, errors,
                               "the addresses above 0x%llx do not suffice for max_jobs = %llu "
                               "windows; lower window_base or max_jobs",
                               (unsigned long long)c->window_base, (unsigned long long)c->max_jobs);
    return bad;
}

/* A job needs at least one granule of each kind. */
int config_memory_check(const struct config *c, FILE *errors) {
    if (c->device_memory == 0) return 0;
    if (c->device_memory < CONFIG_MEMORY_LEAST)
        return config_complain(c, CONFIG_O_device_memory, errors,
                               "must be at least 4MiB, or no job fits");
    return check_multiple(c, CONFIG_O_device_memory, c->device_memory, CONFIG_WINDOW_ALIGN, "2MiB",
                          errors);
}
