/* SPDX-License-Identifier: Apache-2.0
 *
 * The handler only records the signal.
 */
#include "daemon/ctl/cli/interrupt.h"

#include <signal.h>
#include <time.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
    interrupted = 1;
}

void interrupt_catch(void) {
    struct sigaction act = {.sa_handler = on_interrupt};

    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

bool interrupt_came(void) {
    return interrupted;
}

void interrupt_sleep_ms(uint64_t ms) {
    struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};

    if (!interrupted) nanosleep(&pause, NULL);
}
