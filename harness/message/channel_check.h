/* Whether what a case sent can be: its checksum is right, but the memory that it was made of may
 * have been written over by the body. */
#pragma once

#include "harness/message/content.h"

/* Texts that end, enums and flags that have one of their values, counts and places within their
 * arrays. Of a measurement without its samples. */
bool ypi_stage_is_sound(const struct ypi_stage *stage);
bool ypi_failure_is_sound(const struct ypi_failure_message *failure);
bool ypi_value_is_sound(const struct ypi_value *value);
bool ypi_gradient_is_sound(const struct ypi_gradient *gradient);
bool ypi_memory_is_sound(const struct ypi_memory *memory);
bool ypi_measured_is_sound(const struct ypi_measured *measured);
bool ypi_rank_place_is_sound(const struct ypi_rank_place *place);
bool ypi_rank_device_is_sound(const struct ypi_rank_device *device);
bool ypi_stack_is_sound(const struct ypi_stack *stack);
