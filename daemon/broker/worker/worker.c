/* SPDX-License-Identifier: Apache-2.0
 *
 * A request for a worker has no effect while one is being started.
 */
#include "daemon/broker/worker/worker.h"

void worker_retry(struct worker *w) {
    if (w->state != WORKER_FAILED && w->state != WORKER_DOWN) return;
    w->state = WORKER_DOWN;
    uv_async_send(&w->retry);
}
