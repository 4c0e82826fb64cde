/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that this process got from whoever started it. While they are open here, the other
 * end of a pipe does not hear that the command has closed it.
 */
#ifndef DAEMON_CTL_RUN_INHERITED_H
#define DAEMON_CTL_RUN_INHERITED_H

/* Closes all of them but standard error, and has /dev/null as standard input and output. What this
 * process opened itself is close-on-exec, and stays. */
void inherited_close(void);

#endif
