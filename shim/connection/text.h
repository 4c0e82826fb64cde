/* SPDX-License-Identifier: Apache-2.0
 *
 * Output of printf and assert in kernels, printed when CUDA prints it: at synchronisations and at
 * exit. Any thread, with no lock held: text_flush first delivers the driver's log to the program's
 * callbacks (logbook.h).
 */
#ifndef SHIM_CONNECTION_TEXT_H
#define SHIM_CONNECTION_TEXT_H

void text_flush(void);

#endif
