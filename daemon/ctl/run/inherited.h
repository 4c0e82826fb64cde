/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors that this process inherited. While they are open here, the other end of a pipe does
 * not notice that the command has closed it.
 */
#ifndef DAEMON_CTL_RUN_INHERITED_H
#define DAEMON_CTL_RUN_INHERITED_H

/* Closes all of them but standard error, and opens /dev/null as standard input and output.
 * Descriptors that this process opened itself are close-on-exec, and stay. */
void inherited_close(void);

#endif
