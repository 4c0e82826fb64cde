/* SPDX-License-Identifier: Apache-2.0
 *
 * The version of this release. The protocols have their own numbers (wire.h, ctl.h).
 */
#ifndef PROTO_VERSION_H
#define PROTO_VERSION_H

#define VERSION_TEXT "0.1.0"

#endif
