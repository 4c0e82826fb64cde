/* SPDX-License-Identifier: Apache-2.0
 *
 * For -arch=native nvcc asks a helper program which devices exist, and then generates machine code
 * for them and no PTX. On a device that runs only PTX the helper sees no device: nvcc reports that,
 * and uses its default, which has PTX.
 */
#ifndef SHIM_JIT_NATIVE_H
#define SHIM_JIT_NATIVE_H

/* Hides the devices from this process, if `program` is the helper's name, without a path. */
void native_hide(const char *program);

#endif
