/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports no errors: a missing or older daemon has no history to store the status in.
 */
#include "daemon/ctl/run/exit_report.h"

#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>

#include "common/fdutil.h"
#include "daemon/ctl/cli/query.h"
#include "proto/wire/wire.h"

#define HEARD_MS 1000 /* longest delay of the command's end */

void exit_report(const struct cli *c, uint32_t run, int status) {
    struct wire_exit e = {
        .magic = WIRE_EXIT_MAGIC, .major = WIRE_MAJOR, .minor = WIRE_MINOR, .run = run};
    char path[128];
    struct pollfd p = {.events = POLLIN};

    if (WIFSIGNALED(status))
        e.signal = (uint16_t)WTERMSIG(status);
    else
        e.status = (uint16_t)WEXITSTATUS(status);
    snprintf(path, sizeof(path), "%s/job.sock", c->run_dir);
    p.fd = query_connect(path, HEARD_MS);
    if (p.fd < 0) return;
    if (fdutil_send(p.fd, &e, sizeof(e), NULL, 0) == 0)
        poll(&p, 1, HEARD_MS); /* until the daemon closes it */
    fdutil_close(&p.fd);
}
