#include "base/text/output.h"

#include "base/system/atomic_file.h"
#include "base/text/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yieldpoint/device.h>

int ypi_file_error(void)
{
    fprintf(stderr, "yieldpoint: %s\n", yp_last_error());
    return YPI_COMMAND_FILE;
}

int ypi_flush(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return YPI_COMMAND_OK;
    fprintf(stderr, "yieldpoint: the output cannot be written: %s\n", strerror(errno));
    return YPI_COMMAND_FILE;
}

enum yp_status ypi_put_file(const char *path, const void *bytes, size_t size)
{
    struct ypi_atomic_file file;
    if (strcmp(path, "-") == 0) {
        (void)fwrite(bytes, 1, size, stdout);
        return YP_OK;
    }
    enum yp_status status = ypi_atomic_create(&file, path);
    if (status != YP_OK)
        return status;
    status = ypi_write_at(file.fd, path, 0, bytes, size);
    if (status == YP_OK)
        status = ypi_atomic_publish(&file, true);
    ypi_atomic_abandon(&file);
    return status;
}

/* cJSON prints bytes from 0x80 as they are. */
char *ypi_json_text(const cJSON *document, bool lines)
{
    char *printed = lines ? cJSON_Print(document) : cJSON_PrintUnformatted(document);
    char *text = printed != NULL ? ypi_utf8(printed) : NULL;
    cJSON_free(printed);
    return text;
}

int ypi_put_json(const cJSON *document)
{
    char *text = ypi_json_text(document, true);
    if (!text) {
        fputs("yieldpoint: no memory for the output\n", stderr);
        return YPI_COMMAND_FILE;
    }
    puts(text);
    free(text);
    return ypi_flush();
}

void ypi_json_add_real(cJSON *object, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(object, name, value);
    else
        cJSON_AddNullToObject(object, name);
}

void ypi_json_add_text(cJSON *object, const char *name, const char *text)
{
    cJSON_AddItemToObject(object, name,
                          text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull());
}
