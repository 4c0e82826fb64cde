/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGINT and SIGTERM, which end what a verb does again and again. State of the process; one thread.
 */
#ifndef DAEMON_CTL_CLI_INTERRUPT_H
#define DAEMON_CTL_CLI_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* From now on either signal is noted and ends nothing. */
void interrupt_catch(void);
bool interrupt_came(void);

/* Sleeps so long, or until one comes; not at all once one came. */
void interrupt_sleep_ms(uint64_t ms);

#endif
