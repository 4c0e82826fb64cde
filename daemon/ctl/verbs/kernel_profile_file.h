/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl profile import` and `export`: files of kernel profiles. Each returns an exit status.
 */
#ifndef DAEMON_CTL_VERBS_KERNEL_PROFILE_FILE_H
#define DAEMON_CTL_VERBS_KERNEL_PROFILE_FILE_H

#include "daemon/ctl/cli/cli.h"

int kernel_profile_file_import(struct cli *c, int argc, char **argv);
int kernel_profile_file_export(struct cli *c, int argc, char **argv);

#endif
