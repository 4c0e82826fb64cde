/* SPDX-License-Identifier: Apache-2.0
 *
 * English month and day names, whatever the locale is.
 */
#include "daemon/serve/http/message/date.h"

#include <stdio.h>

const char *date_text(struct date *d, time_t now_s) {
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    struct tm t;

    if (d->at == now_s && *d->text) return d->text;
    d->at = now_s;
    gmtime_r(&now_s, &t);
    snprintf(d->text, sizeof(d->text), "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
             days + 3 * t.tm_wday, t.tm_mday, months + 3 * t.tm_mon, t.tm_year + 1900, t.tm_hour,
             t.tm_min, t.tm_sec);
    return d->text;
}
