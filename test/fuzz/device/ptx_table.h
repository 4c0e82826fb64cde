/* SPDX-License-Identifier: Apache-2.0
 *
 * The valid PTX instructions of the table of verdicts, and the kernel around them: begin, lines,
 * end. Its registers hold addresses, masks and small numbers.
 */
#ifndef TEST_FUZZ_PTX_TABLE_H
#define TEST_FUZZ_PTX_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct ptx_table_text {
    const char *at;
    size_t bytes;
};

uint32_t ptx_table_count(void);
/* Includes the end of line; `n` is below the count. */
struct ptx_table_text ptx_table_line(uint32_t n);
struct ptx_table_text ptx_table_frame(void);
struct ptx_table_text ptx_table_registers(void); /* the frame's text after the instructions */
struct ptx_table_text ptx_table_end(void);

#endif
