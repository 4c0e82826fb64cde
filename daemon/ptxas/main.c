/* SPDX-License-Identifier: Apache-2.0
 *
 * The program salus-ptxas.
 */
#include <stdio.h>

#include "common/standard_output.h"
#include "daemon/ptxas/ptxas.h"

int main(int argc, char **argv) {
    int status = argc > 0 ? ptxas_main(stdout, stderr, argv) : 1;

    return standard_output_flush(stdout, stderr, "salus-ptxas") ? status : 1;
}
