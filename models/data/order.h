/* Items by their indices: in a random order, or a part for training and a part for validation. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The place of an item in a random order is its rank by this number (and by its index where two are
 * equal), a function of the arguments alone:
 *     mix(mix(seed + G (stream + 1)) + G (index + 1)),   G = 0x9e3779b97f4a7c15,
 * modulo 2^64, with mix the last part of splitmix64 (Steele, Lea and Flood, 2014): z ^= z >> 30;
 * z *= 0xbf58476d1ce4e5b9; z ^= z >> 27; z *= 0x94d049bb133111eb; z ^= z >> 31. */
uint64_t data_order_key(uint64_t seed, uint64_t stream, uint64_t index);

/* Sorts `items` (count) by their keys. Whatever order they came in, the same comes out. */
void data_order(uint64_t seed, uint64_t stream, uint32_t *items, size_t count);

/* How many of `items` are for validation: the nearest whole number to items * part, half up, but
 * at least 1 and at most items - 1 where 0 < part < 1 and items > 1; none of a single item. */
size_t data_validation_count(size_t items, double part);

/* Writes 0 .. items - 1 into `order` (items): first those for training, then the `validation` that
 * come last by stream 0 of the seed; each part ascends. Returns how many are for validation. With
 * `group` (items) whole groups come last, by the keys of their numbers: as many as have nearest to
 * so many items, rather more than fewer, but one group stays for training and, unless `validation`
 * is 0, one for validation; none of a single group. */
size_t data_split(uint64_t seed, size_t items, size_t validation, const uint32_t *group,
                  uint32_t *order);
