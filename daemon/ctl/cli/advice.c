/* SPDX-License-Identifier: Apache-2.0
 *
 * Only the daemon of the system's run directory is managed by systemd.
 */
#include "daemon/ctl/cli/advice.h"

#include <string.h>
#include <unistd.h>

#define CONFIGURED "/etc/salus/salus.conf"

static bool is_systems(const struct cli *c) {
    return strcmp(c->run_dir, CLI_RUN_DIR) == 0;
}

bool advice_wants_daemon(const struct cli *c) {
    return c->configured || access(CONFIGURED, F_OK) == 0;
}

void advice_start(const struct cli *c, char out[ADVICE_BYTES]) {
    const char *instead = advice_wants_daemon(c)
                              ? "'salusctl run --private'"
                              : "'salusctl run -- COMMAND', which starts a private one";

    if (is_systems(c))
        snprintf(out, ADVICE_BYTES, "start it with 'systemctl start salusd', or use %s", instead);
    else
        snprintf(out, ADVICE_BYTES, "start it with 'salusd --run-dir %s', or use %s", c->run_dir,
                 instead);
}

const char *advice_log(const struct cli *c) {
    return is_systems(c) ? "see 'journalctl -u salusd'"
                         : "see the messages of the salusd started with this --run-dir";
}
