/* Where the rules for a function's frames stand: its entries in .eh_frame. */
#pragma once

#include "harness/stack/target.h"

enum { YPI_ENTRY_MAX = 8192 };

/* Bytes that are read from front to back; beyond the end everything is 0. */
struct ypi_bytes {
    const unsigned char *at, *end;
};

uint64_t ypi_bytes_fixed(struct ypi_bytes *r, size_t size); /* of 1 to 8 bytes */
uint64_t ypi_bytes_unsigned(struct ypi_bytes *r);           /* LEB128 */
int64_t ypi_bytes_signed(struct ypi_bytes *r);
int64_t ypi_with_sign(uint64_t value, size_t size);

struct ypi_entry {
    unsigned char common[YPI_ENTRY_MAX + 1],
        own[YPI_ENTRY_MAX + 1];             /* CIE, FDE without their lengths */
    struct ypi_bytes initial, instructions; /* of the two */
    uint64_t code_factor;
    int64_t data_factor;
    uint64_t return_register;
    unsigned encoding; /* of addresses, DW_EH_PE_* */
    bool augmented, of_signal;
    uint64_t begin; /* of the function */
};

/* That of the function in which `address` is; false: there is none, or it is of no usual kind. */
bool ypi_entry_find(const struct ypi_target *target, uint64_t address, struct ypi_entry *entry);
