/* SPDX-License-Identifier: Apache-2.0
 *
 * The open loop: nothing is taken from anybody. What services promised is measured all the same.
 */
#include "daemon/sched/control/controller.h"

const struct controller control_open = {.name = "open"};
