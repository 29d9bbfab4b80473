/* After a vectors_*.h: its words for pairs of bf16, worked out in float. */
#undef SUMS
#undef FMA
