/* SPDX-License-Identifier: Apache-2.0
 *
 * Entry point of salus-predict-train, a separate program because only it needs XGBoost.
 */
#include "common/standard_output.h"
#include "daemon/predict/tool/train.h"

int main(int argc, char **argv) {
    int status = argc > 0 ? train_main(stdout, stderr, argv) : 2;

    return standard_output_flush(stdout, stderr, "salus-predict-train") ? status : 1;
}
