/* SPDX-License-Identifier: Apache-2.0
 *
 * A listening TCP socket. Called before the loop runs.
 */
#ifndef DAEMON_SERVE_HTTP_ADDRESS_H
#define DAEMON_SERVE_HTTP_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

/* A descriptor of the caller's, non-blocking; -errno and the reason. *port: the one asked for, 0
 * for any; becomes the one that it is. */
int address_listen(const char *address, uint16_t *port, char *why, size_t cap);

#endif
