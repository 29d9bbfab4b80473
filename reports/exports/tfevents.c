#include "reports/exports/tfevents.h"

#include "base/numbers/fnv1a.h"
#include "base/system/file.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "lengths, sums, doubles are written as they are");

/* -- CRC-32C ---------------------------------------------------------------------------------- */

static uint32_t table[256];

static void make_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int bit = 0; bit < 8; bit++)
            c = (c & 1) != 0 ? c >> 1 ^ UINT32_C(0x82f63b78) : c >> 1;
        table[i] = c;
    }
}

uint32_t ypi_crc32c(const void *bytes, size_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned char *at = bytes;
    uint32_t c = UINT32_MAX;
    pthread_once(&once, make_table);
    for (size_t i = 0; i < count; i++)
        c = table[(c ^ at[i]) & 0xff] ^ c >> 8;
    return ~c;
}

/* So that a sum of what contains sums is none of a constant (tensorflow/core/lib/hash/crc32c.h). */
static uint32_t masked(uint32_t c)
{
    return (c >> 15 | c << 17) + UINT32_C(0xa282ead8);
}

/* -- protocol buffers (protobuf.dev/programming-guides/encoding) --------------------------------
 */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(struct ypi_text *to, uint64_t value)
{
    do {
        char byte = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        ypi_text_bytes(to, &byte, 1);
        value >>= 7;
    } while (value != 0);
}

static void put_key(struct ypi_text *to, unsigned field, enum wire wire)
{
    put_varint(to, field << 3 | (unsigned)wire);
}

static void put_bytes(struct ypi_text *to, unsigned field, const char *bytes, size_t count)
{
    put_key(to, field, BYTES);
    put_varint(to, count);
    ypi_text_bytes(to, bytes, count);
}

static void put_double(struct ypi_text *to, unsigned field, double value)
{
    put_key(to, field, FIXED64);
    ypi_text_bytes(to, (const char *)&value, sizeof value);
}

static void put_float(struct ypi_text *to, unsigned field, float value)
{
    put_key(to, field, FIXED32);
    ypi_text_bytes(to, (const char *)&value, sizeof value);
}

/* -- events ----------------------------------------------------------------------------------- */

static void put_record(struct ypi_sink *sink, struct ypi_text *record)
{
    const uint64_t length = record->length;
    const uint32_t of_length = masked(ypi_crc32c(&length, sizeof length));
    const uint32_t of_record = masked(ypi_crc32c(record->data, record->length));
    ypi_text_bytes(&sink->text, (const char *)&length, sizeof length);
    ypi_text_bytes(&sink->text, (const char *)&of_length, sizeof of_length);
    ypi_text_bytes(&sink->text, record->data, record->length);
    ypi_text_bytes(&sink->text, (const char *)&of_record, sizeof of_record);
    free(ypi_text_take(record));
    ypi_sink_step(sink);
}

/* Event: 1 wall_time, 2 step, 3 file_version, 5 summary. */
static void put_version(struct ypi_events *events, double began)
{
    static const char version[] = "brain.Event:2";
    struct ypi_text event = {0};
    put_double(&event, 1, began);
    put_bytes(&event, 3, version, sizeof version - 1);
    put_record(&events->sink, &event);
}

/* Summary: 1 value (1 tag, 2 simple_value). */
void ypi_events_add(struct ypi_events *events, const char *tag, long long step, double wall,
                    double number)
{
    if (isnan(number))
        return;
    char *clean = ypi_utf8(tag); /* a string of a protocol buffer is */
    struct ypi_text value = {0};
    struct ypi_text summary = {0};
    struct ypi_text event = {0};
    put_bytes(&value, 1, clean, strlen(clean));
    put_float(&value, 2, (float)number);
    put_bytes(&summary, 1, value.data, value.length);
    put_double(&event, 1, wall);
    put_key(&event, 2, VARINT);
    put_varint(&event, (uint64_t)step);
    put_bytes(&event, 5, summary.data, summary.length);
    put_record(&events->sink, &event);
    events->scalars++;
    free(ypi_text_take(&value));
    free(ypi_text_take(&summary));
    free(clean);
}

/* -- the file --------------------------------------------------------------------------------- */

enum yp_status ypi_events_open(struct ypi_events *events, const char *directory, double began)
{
    char *path = ypi_format("%s/events.out.tfevents.yieldpoint", directory);
    *events = (struct ypi_events){.sink.file.fd = -1};
    enum yp_status status = ypi_make_parents(path);
    if (status == YP_OK)
        status = ypi_sink_open(&events->sink, path);
    events->sink.one_of_many = true;
    if (status == YP_OK)
        put_version(events, began);
    events->sink.status = status;
    free(path);
    return status;
}

enum yp_status ypi_events_close(struct ypi_events *events)
{
    enum yp_status status = events->sink.status;
    if (status == YP_OK && events->scalars > 0)
        status = ypi_sink_close(&events->sink);
    ypi_sink_drop(&events->sink);
    return status;
}

char *ypi_events_name(const char *text)
{
    enum { LONGEST = 180 };
    struct ypi_text name = {0};
    const char *at = text;
    ypi_text_add(&name, "%s", *text == '\0' ? "%" : "");
    for (; *at != '\0' && name.length < LONGEST; at++) {
        const unsigned char byte = (unsigned char)*at;
        const bool plain = byte < 0x80 && (isalnum(byte) || strchr("-_.=+,@[]:", byte) != NULL);
        if (byte == '/')
            ypi_text_add(&name, "~");
        else if (plain && (at > text || byte != '.'))
            ypi_text_add(&name, "%c", byte);
        else
            ypi_text_add(&name, "%%%02X", byte);
    }
    if (*at != '\0')
        ypi_text_add(&name, "%%%016" PRIx64, ypi_fnv1a(YPI_FNV1A_BEGIN, text, strlen(text)));
    return ypi_text_take(&name);
}
