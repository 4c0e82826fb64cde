/* SPDX-License-Identifier: Apache-2.0
 *
 * The program salusctl: calls salusctl_main, and passes on the command's end.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/salusctl.h"

/* Ends this process by the signal that ended the command, so that the caller sees the same status.
 * The core file is the command's. The first process of a container is not ended by its own signals;
 * it exits as a shell does. */
static int end_by(int number) {
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t one;

    prctl(PR_SET_DUMPABLE, 0);
    sigaction(number, &plain, NULL);
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(number);
    return 128 + number;
}

int main(int argc, char **argv) {
    int status = salusctl_main(stdout, stderr, argc, argv);

    if (status >= CLI_BY_SIGNAL) return end_by(status - CLI_BY_SIGNAL);
    return status;
}
