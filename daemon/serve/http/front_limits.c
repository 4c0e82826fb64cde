/* SPDX-License-Identifier: Apache-2.0
 *
 * Defaults for a machine with some gigabytes of memory, and clients that keep their connections
 * open.
 */
#include "daemon/serve/http/front_limits.h"

struct front_limits front_default_limits(void) {
    return (struct front_limits){.connections = 2048,
                                 .body_bytes = 64u << 20,
                                 .bodies_bytes = 512u << 20,
                                 .idle_ns = 75000000000,
                                 .receive_ns = 30000000000,
                                 .send_ns = 60000000000};
}
