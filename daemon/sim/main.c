/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-sim.
 */
#include <stdio.h>

#include "daemon/sim/verbs/simcli.h"

int main(int argc, char **argv) {
    int status = simcli_main(stdout, stderr, argc, argv);

    if (fflush(stdout) != 0) return SIMCLI_FAILED;
    return status;
}
