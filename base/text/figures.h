/* Figures for a person's eyes. */
#pragma once

#define YPI_FIGURE_MAX 128

/* 1.234 ms; n/a for NaN. */
void ypi_format_seconds(char out[YPI_FIGURE_MAX], double seconds);
/* 64 MiB: powers of 1024. */
void ypi_format_bytes(char out[YPI_FIGURE_MAX], double bytes);
/* 1.234 M pixels/s, 1.234 GB/s: powers of 1000. A unit that is a word stands apart. */
void ypi_format_rate(char out[YPI_FIGURE_MAX], double rate, const char *unit);
/* A plain figure with its unit, if it has one. */
void ypi_format_value(char out[YPI_FIGURE_MAX], double value, const char *unit);
/* 2.5 %, 3810 %: a part of one with so many digits (1 to 15), without an exponent; n/a for NaN. */
void ypi_format_percent(char out[YPI_FIGURE_MAX], double part, int digits);
/* Year-month-day and time of the local clock; "" for NaN. */
void ypi_format_time(char out[32], double since_1970);
