/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl predict`.
 */
#ifndef DAEMON_CTL_VERBS_PREDICT_H
#define DAEMON_CTL_VERBS_PREDICT_H

#include "daemon/ctl/cli/cli.h"

/* Replaces this process by the program that predicts a model's needs, or by the one that trains the
 * predictor. Returns an exit status only if that fails. */
int predict_run(struct cli *c, int argc, char **argv);

#endif
