/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the policies and their parameters for help texts. Shell completion parses these lines.
 */
#ifndef DAEMON_POLICY_POLICIES_HELP_H
#define DAEMON_POLICY_POLICIES_HELP_H

#include <stdio.h>

void policies_help(FILE *out);

#endif
