/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-predict-train, a program of its own: it alone needs XGBoost.
 */
#include "common/standard_output.h"
#include "daemon/predict/tool/train.h"

int main(int argc, char **argv) {
    int status = argc > 0 ? train_main(stdout, stderr, argv) : 2;

    return standard_output_flush(stdout, stderr, "salus-predict-train") ? status : 1;
}
