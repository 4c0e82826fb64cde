/* SPDX-License-Identifier: Apache-2.0
 *
 * Creates a listening TCP socket. Called before the loop runs.
 */
#ifndef DAEMON_SERVE_HTTP_ADDRESS_H
#define DAEMON_SERVE_HTTP_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

/* Returns a non-blocking descriptor that the caller owns, or -errno with the reason. *port is the
 * wanted port, 0 for any; it receives the actual one. */
int address_listen(const char *address, uint16_t *port, char *why, size_t cap);

#endif
