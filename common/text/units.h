/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers with units as users write them: "512MiB", "250 ms". Pure.
 */
#ifndef COMMON_TEXT_UNITS_H
#define COMMON_TEXT_UNITS_H

#include <stddef.h>
#include <stdint.h>

enum units { UNITS_NONE, UNITS_BYTES, UNITS_TIME, UNITS_PART };

/* Parses a whole number with a unit of this kind: bytes (a bare number, B, K, KiB, ... TiB),
 * nanoseconds (ns, us, ms, s, min, h; only 0 may be bare), thousandths (a percentage, at most one
 * digit after its point: "2.5%"), or only digits. Returns 0, -EINVAL if it is no such number,
 * -ERANGE above 64 bits. */
int units_parse(enum units kind, const char *text, uint64_t *out);

/* Prints with the largest unit that divides the value, so that it can be read back exactly. */
void units_print(enum units kind, uint64_t value, char *out, size_t cap);

/* Prints rounded, for display: "1.5 GiB". */
void units_print_bytes(uint64_t value, char *out, size_t cap);

#endif
