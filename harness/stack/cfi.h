/* From a frame to its caller's, by the call frame information that compilers leave for exceptions:
 * the sections .eh_frame and .eh_frame_hdr of the Linux Standard Base, DWARF 5, chapter 6.4. */
#pragma once

#include "harness/stack/registers.h"
#include "harness/stack/target.h"

/* What `look` is in: `registers.pc`, or the instruction before it, where that is what a call
 * returns to. Turns the registers into those of the caller, as far as they can be known;
 * `*exact` says whether its pc is not what a call returns to, but what a signal interrupted.
 * False where there is no caller, or none can be found. */
bool ypi_cfi_step(const struct ypi_target *target, uint64_t look, struct ypi_registers *registers,
                  bool *exact);
