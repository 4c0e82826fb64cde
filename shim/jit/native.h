/* SPDX-License-Identifier: Apache-2.0
 *
 * nvcc asks a program of its own which devices there are, for -arch=native, and then makes machine
 * code for them and no PTX. On a device that runs PTX alone that program is shown none: nvcc says
 * so, and takes its default, which has PTX.
 */
#ifndef SHIM_JIT_NATIVE_H
#define SHIM_JIT_NATIVE_H

/* Hides the devices from this process, if `program` is that program's name, without a path. */
void native_hide(const char *program);

#endif
