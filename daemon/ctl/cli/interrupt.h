/* SPDX-License-Identifier: Apache-2.0
 *
 * SIGINT and SIGTERM, which end the repetitions of a verb. Process-wide state; one thread.
 */
#ifndef DAEMON_CTL_CLI_INTERRUPT_H
#define DAEMON_CTL_CLI_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* Records either signal from now on, instead of ending the process. */
void interrupt_catch(void);
bool interrupt_came(void);

/* Sleeps for this time, or until a signal comes; returns at once if one has come. */
void interrupt_sleep_ms(uint64_t ms);

#endif
