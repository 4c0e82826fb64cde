/* SPDX-License-Identifier: Apache-2.0
 *
 * A device description for tests that differs from the software GPU's: code that shows its numbers
 * must have read them here.
 */
#ifndef TEST_LIB_DESCRIPTION_H
#define TEST_LIB_DESCRIPTION_H

#include "proto/cuda/description.h"
#include "proto/wire/wire.h"

/* Fills the parts that a job may see; `device` has the parts common to both. */
void description_example(struct description *out, const struct wire_device *device);

#endif
