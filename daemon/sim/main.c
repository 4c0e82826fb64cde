/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry point of salus-sim.
 */
#include <stdio.h>

#include "common/standard_output.h"
#include "daemon/sim/verbs/simcli.h"

int main(int argc, char **argv) {
    int status = simcli_main(stdout, stderr, argc, argv);

    return standard_output_flush(stdout, stderr, "salus-sim") ? status : SIMCLI_FAILED;
}
