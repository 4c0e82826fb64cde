/* SPDX-License-Identifier: Apache-2.0
 *
 * A description for tests: of a device that is not the software GPU, so that whoever shows its
 * numbers has them from there.
 */
#ifndef TEST_LIB_DESCRIPTION_H
#define TEST_LIB_DESCRIPTION_H

#include "proto/cuda/description.h"
#include "proto/wire/wire.h"

/* What a job may be told of it; `device` says what both have. */
void description_example(struct description *out, const struct wire_device *device);

#endif
