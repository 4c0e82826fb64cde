/* SPDX-License-Identifier: Apache-2.0
 *
 * salusctl.
 */
#include <stdio.h>

#include "daemon/ctl/cli.h"

int main(int argc, char **argv) {
    int status = cli_main(stdout, stderr, argc, argv);

    if (fflush(stdout) != 0) return CLI_FAILED;
    return status;
}
