/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-predict-train, a program of its own: it alone needs XGBoost.
 */
#include "daemon/predict/tool/train.h"

int main(int argc, char **argv) {
    int status = argc > 0 ? train_main(stdout, stderr, argv) : 2;

    return fflush(stdout) ? 1 : status;
}
