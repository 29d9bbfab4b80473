#include "harness/stack/entry.h"

#include <string.h>

uint64_t ypi_bytes_fixed(struct ypi_bytes *r, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < size) {
        r->at = r->end;
        return 0;
    }
    memcpy(&value, r->at, size); /* both kinds of processor are little-endian */
    r->at += size;
    return value;
}

int64_t ypi_with_sign(uint64_t value, size_t size)
{
    const int unused = 64 - 8 * (int)size;
    return (int64_t)(value << unused) >> unused;
}

uint64_t ypi_bytes_unsigned(struct ypi_bytes *r)
{
    uint64_t value = 0;
    for (int shift = 0; r->at < r->end; shift += 7) {
        const unsigned char byte = *r->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            break;
    }
    return value;
}

int64_t ypi_bytes_signed(struct ypi_bytes *r)
{
    uint64_t value = 0;
    int shift = 0;
    unsigned char byte = 0x80;
    while ((byte & 0x80) != 0 && r->at < r->end) {
        byte = *r->at++;
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    }
    if (shift < 64 && (byte & 0x40) != 0)
        value |= ~UINT64_C(0) << shift;
    return (int64_t)value;
}

/* Bytes of a number of this encoding (DW_EH_PE_*); 0: of no fixed size. */
static size_t encoded_size(unsigned encoding)
{
    static const size_t sizes[8] = {8, 0, 2, 4, 8, 0, 0, 0};
    return sizes[encoding & 7];
}

/* -- entries ------------------------------------------------------------------------------ */

/* An entry of .eh_frame with what follows its length; false: there is none, or it is too long. */
static bool read_entry(const struct ypi_target *target, uint64_t at,
                       unsigned char out[YPI_ENTRY_MAX], struct ypi_bytes *reader)
{
    uint32_t length = 0;
    if (!ypi_target_get(target, at, &length, sizeof length) || length < 4 ||
        length > YPI_ENTRY_MAX || !ypi_target_get(target, at + sizeof length, out, length))
        return false;
    *reader = (struct ypi_bytes){out, out + length};
    return true;
}

static bool read_common(const struct ypi_target *target, uint64_t at, struct ypi_entry *e)
{
    struct ypi_bytes r;
    if (!read_entry(target, at, e->common, &r) || ypi_bytes_fixed(&r, 4) != 0)
        return false;
    const uint64_t version = ypi_bytes_fixed(&r, 1);
    const char *augmentation = (const char *)r.at;
    while (ypi_bytes_fixed(&r, 1) != 0) {
    }
    e->code_factor = ypi_bytes_unsigned(&r);
    e->data_factor = ypi_bytes_signed(&r);
    e->return_register = version == 1 ? ypi_bytes_fixed(&r, 1) : ypi_bytes_unsigned(&r);
    e->augmented = augmentation[0] == 'z';
    e->initial = r;
    if (!e->augmented)
        return augmentation[0] == '\0';
    const uint64_t length = ypi_bytes_unsigned(&r);
    e->initial.at = r.at + (length < (uint64_t)(r.end - r.at) ? length : 0);
    for (const char *c = augmentation + 1; *c != '\0'; c++) {
        if (*c == 'R')
            e->encoding = (unsigned)ypi_bytes_fixed(&r, 1);
        else if (*c == 'P')
            ypi_bytes_fixed(&r, encoded_size((unsigned)ypi_bytes_fixed(&r, 1)));
        else if (*c == 'L')
            ypi_bytes_fixed(&r, 1);
        else if (*c == 'S')
            e->of_signal = true;
    }
    return true;
}

/* By the sorted table of .eh_frame_hdr: the last function that begins at `look` or before. */
static bool search(const struct ypi_target *target, const struct ypi_module *module, uint64_t look,
                   uint64_t *entry)
{
    enum { USUAL_TABLE = 0x3b, USUAL_COUNT = 0x03 }; /* signed 4 bytes from the header on */
    unsigned char head[12];
    const uint64_t table = module->unwind_table;
    uint32_t count = 0;
    int32_t pair[2] = {0};
    if (table == 0 || !ypi_target_get(target, table, head, sizeof head) || head[0] != 1 ||
        head[2] != USUAL_COUNT || head[3] != USUAL_TABLE)
        return false;
    memcpy(&count, head + 8, sizeof count);
    uint32_t low = 0;
    for (uint32_t high = count; low < high;) {
        const uint32_t middle = low + (high - low) / 2;
        if (!ypi_target_get(target, table + sizeof head + middle * sizeof pair, pair, sizeof pair))
            return false;
        if (table + (uint64_t)(int64_t)pair[0] <= look)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 ||
        !ypi_target_get(target, table + sizeof head + (low - 1) * sizeof pair, pair, sizeof pair))
        return false;
    *entry = table + (uint64_t)(int64_t)pair[1];
    return true;
}

bool ypi_entry_find(const struct ypi_target *target, uint64_t look, struct ypi_entry *e)
{
    const struct ypi_module *module = ypi_target_module(target, look);
    uint64_t at = 0;
    struct ypi_bytes r;
    if (module == NULL || !search(target, module, look, &at) || !read_entry(target, at, e->own, &r))
        return false;
    const uint64_t back = ypi_bytes_fixed(&r, 4);
    if (back == 0 || !read_common(target, at + 4 - back, e))
        return false;
    const size_t size = encoded_size(e->encoding);
    const uint64_t here = at + 4 + (uint64_t)(r.at - e->own);
    if (size == 0)
        return false;
    e->begin = (uint64_t)ypi_with_sign(ypi_bytes_fixed(&r, size), size);
    if ((e->encoding & 0x70) == 0x10) /* from where it stands */
        e->begin += here;
    const uint64_t length = ypi_bytes_fixed(&r, size);
    if (e->augmented) {
        const uint64_t skipped = ypi_bytes_unsigned(&r);
        r.at = skipped < (uint64_t)(r.end - r.at) ? r.at + skipped : r.end;
    }
    e->instructions = r;
    return look >= e->begin && look - e->begin < length;
}
