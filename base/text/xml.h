/* Text in a document of XML 1.0. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* The text as content of an element, or between the quotes of an attribute. Bytes that are no
 * UTF-8, and characters that XML does not have, are written as #x1B, as pytest does. */
void ypi_xml_put(FILE *out, const char *text, bool attribute);
