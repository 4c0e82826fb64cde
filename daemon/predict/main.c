/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry point of salus-predict.
 */
#include "common/standard_output.h"
#include "daemon/predict/tool/predict.h"

int main(int argc, char **argv) {
    int status = argc > 0 ? predict_main(stdout, stderr, argv) : 2;

    return standard_output_flush(stdout, stderr, "salus-predict") ? status : 1;
}
