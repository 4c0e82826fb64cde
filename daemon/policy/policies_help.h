/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies and their knobs, as help texts have them; completion reads these lines.
 */
#ifndef DAEMON_POLICY_POLICIES_HELP_H
#define DAEMON_POLICY_POLICIES_HELP_H

#include <stdio.h>

void policies_help(FILE *out);

#endif
