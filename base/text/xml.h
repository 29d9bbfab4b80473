/* Text in a document of XML 1.0. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* The text as content of an element, or between the quotes of an attribute. Bytes that are no
 * UTF-8, and characters that XML does not have, are written as #x1B, as pytest does. */
void ypi_xml_put(FILE *out, const char *text, bool attribute);

/* ` name="value"`. Of a value of more than 8 KiB the beginning, with its hash. */
void ypi_xml_attribute(FILE *out, const char *name, const char *value);

/* A property of JUnit's XML, by the name "NAME PART" if `part` is not empty. A NaN has none. */
void ypi_xml_property(FILE *out, const char *name, const char *part, const char *value);
void ypi_xml_number(FILE *out, const char *name, const char *part, double value);
