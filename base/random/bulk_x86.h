/* What AVX2 and AVX-512 write alike. The including file defines V, F and BULK, and the names of its
 * instructions: MM(add_ps), and MM_SI(xor) for those that end in the width of an integer vector. */

BULK V v_set(uint32_t x)
{
    return MM(set1_epi32)((int)x);
}

BULK V v_add(V a, V b)
{
    return MM(add_epi64)(a, b);
}

BULK V v_add32(V a, V b)
{
    return MM(add_epi32)(a, b);
}

BULK V v_mul(V a, V b)
{
    return MM(mul_epu32)(a, b);
}

BULK V v_xor(V a, V b)
{
    return MM_SI(xor)(a, b);
}

BULK V v_lower_pairs(V a, V b)
{
    return MM(unpacklo_epi64)(a, b);
}

BULK V v_upper_pairs(V a, V b)
{
    return MM(unpackhi_epi64)(a, b);
}

BULK V v_times_4(V a)
{
    return MM(slli_epi32)(a, 2);
}

BULK V v_lower_singles(F a, F b)
{
    return MM_SI(castps)(MM(unpacklo_ps)(a, b));
}

BULK V v_upper_singles(F a, F b)
{
    return MM_SI(castps)(MM(unpackhi_ps)(a, b));
}

BULK void v_store(void *to, V a, bool nontemporal)
{
    if (nontemporal)
        MM_SI(stream)(to, a);
    else
        MM_SI(storeu)(to, a);
}

BULK void v_fence(void)
{
    _mm_sfence();
}

BULK F f_set(float x)
{
    return MM(set1_ps)(x);
}

BULK F f_from_int(V a)
{
    return MM(cvtepi32_ps)(a);
}

BULK F f_mul(F a, F b)
{
    return MM(mul_ps)(a, b);
}

BULK F f_fma(F a, F b, F c)
{
    return MM(fmadd_ps)(a, b, c);
}

/* c - a * b */
BULK F f_minus_fma(F a, F b, F c)
{
    return MM(fnmadd_ps)(a, b, c);
}

BULK F f_sqrt(F a)
{
    return MM(sqrt_ps)(a);
}
