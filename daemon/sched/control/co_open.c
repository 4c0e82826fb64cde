/* SPDX-License-Identifier: Apache-2.0
 *
 * The open loop: no job is slowed down. The services' latencies are measured all the same.
 */
#include "daemon/sched/control/controller.h"

const struct controller control_open = {.name = "open"};
