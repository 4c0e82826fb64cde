/* SPDX-License-Identifier: Apache-2.0
 *
 * What this release calls itself. The protocols have numbers of their own (wire.h, ctl.h).
 */
#ifndef PROTO_VERSION_H
#define PROTO_VERSION_H

#define VERSION_TEXT "0.1.0"

#endif
