/* An event file of TensorBoard with scalars, which appears whole or not at all.
 *
 * TFRecord: tensorflow/core/lib/io/record_writer.h; events: tensorflow/core/util/event.proto and
 * tensorflow/core/framework/summary.proto. */
#pragma once

#include "reports/exports/sink.h"

struct ypi_events {
    struct ypi_sink sink;
    long long scalars;
};

/* DIRECTORY/events.out.tfevents.yieldpoint, with the directories above it. */
enum yp_status ypi_events_open(struct ypi_events *events, const char *directory, double began);
/* `number` is written as a float, which is what a scalar has; NaN is left out. Steps may come again
 * with another tag. */
void ypi_events_add(struct ypi_events *events, const char *tag, long long step, double wall,
                    double number);
/* Frees; without any scalar there is no file. */
enum yp_status ypi_events_close(struct ypi_events *events);

/* The Castagnoli polynomial's CRC (RFC 3720, appendix B.4: "123456789" gives e3069283). */
uint32_t ypi_crc32c(const void *bytes, size_t count);

/* A directory's name that no other text gets: letters, digits and "-_.=+,@[]:" as they are, "/" as
 * "~", other bytes as %XX; of a long one the begin and a hash. The caller frees. */
char *ypi_events_name(const char *text);
