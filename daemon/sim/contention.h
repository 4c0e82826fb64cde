/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to kernels that run side by side, in numbers; kdev.h says how they are used.
 *
 * SLOTS and CONTENDED are the only free parameters. They are calibrated on Table 2 of the Orion
 * paper alone (two kernels of 1.295 ms and .89 ms, in pairs) by `make calibrate-contention` and
 * frozen: nothing else that the simulator shows is fitted.
 */
#ifndef DAEMON_SIM_CONTENTION_H
#define DAEMON_SIM_CONTENTION_H

/* Slots for blocks, in units of all SMs: blocks of different kernels share an SM, so that a little
 * more fits than one kernel could use. */
#define CONTENTION_SLOTS 1.143
/* What is left of the peak of a unit (arithmetic, memory bandwidth) once several kernels run. */
#define CONTENTION_LEFT 0.868

/* Utilisations where none are given, of a class, by the typical kernels of the paper's section 3.2;
 * a kernel on few SMs uses less. COMPUTE: Conv2d, which fills the device; MEMORY: BN2d, which
 * reaches .80 of the bandwidth on .40 of the SMs; unknown: small kernels that use little. */
#define CONTENTION_COMPUTE_COMPUTE 0.89
#define CONTENTION_COMPUTE_MEMORY 0.20
#define CONTENTION_MEMORY_COMPUTE 0.14
#define CONTENTION_MEMORY_MEMORY 0.80
#define CONTENTION_MEMORY_SMS 0.40
#define CONTENTION_UNKNOWN_BOTH 0.30

#endif
