// SPDX-License-Identifier: Apache-2.0
//
// The registers that only wider instruction sets have (zmm16 to zmm31 and the masks of AVX-512, the vectors and
// predicates of SVE) are alive over a switch that is inlined among them. This file alone is compiled for those sets;
// wide_registers_test.cpp calls it where the processor has them.

#include "support/two_contexts.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#elif defined(__ARM_FEATURE_SVE)
#include <arm_sve.h>
#endif

namespace weft::impl {
namespace {

using testing::two_contexts;

#if defined(__AVX512F__)

// Twenty-four vectors and two masks, forced into registers on both sides of each switch.
template <int Salt>
WEFT_SWITCHES bool keeps_wide_registers(two_contexts& pair, context& from, context& to) {
  __m512i v[24];
  for (int i = 0; i < 24; ++i) v[i] = _mm512_set1_epi64(Salt * 100 + i);
  __mmask16 first = static_cast<__mmask16>(0x1234 + Salt);
  __mmask16 second = static_cast<__mmask16>(0x4321 + Salt);
  bool kept = true;
  for (int round = 0; round < 50; ++round) {
    for (__m512i& one : v) asm volatile("" : "+v"(one));
    asm volatile("" : "+Yk"(first), "+Yk"(second));
    switch_context<switch_edge::ordered>(pair.carrier, from, to);
    for (__m512i& one : v) asm volatile("" : "+v"(one));
    asm volatile("" : "+Yk"(first), "+Yk"(second));
    for (int i = 0; i < 24; ++i) {
      kept = kept && _mm512_cmpneq_epi64_mask(v[i], _mm512_set1_epi64(Salt * 100 + i + round)) == 0;
      v[i] = _mm512_add_epi64(v[i], _mm512_set1_epi64(1));
    }
    kept = kept && first == static_cast<__mmask16>(0x1234 + Salt + round);
    kept = kept && second == static_cast<__mmask16>(0x4321 + Salt + round);
    first = static_cast<__mmask16>(first + 1);
    second = static_cast<__mmask16>(second + 1);
  }
  return kept;
}

#elif defined(__ARM_FEATURE_SVE)

template <int Salt>
WEFT_SWITCHES bool keeps_wide_registers(two_contexts& pair, context& from, context& to) {
  svint64_t a = svdup_s64(Salt);
  svint64_t b = svdup_s64(Salt * 7);
  svbool_t every = svptrue_b64();
  svbool_t some = svwhilelt_b64(0, Salt % 2 + 1);
  const svbool_t some_before = svwhilelt_b64(0, Salt % 2 + 1);
  bool kept = true;
  for (int round = 0; round < 50; ++round) {
    asm volatile("" : "+w"(a), "+w"(b), "+Upa"(every), "+Upa"(some));
    switch_context<switch_edge::ordered>(pair.carrier, from, to);
    asm volatile("" : "+w"(a), "+w"(b), "+Upa"(every), "+Upa"(some));
    kept = kept && !svptest_any(svptrue_b64(), svcmpne_n_s64(svptrue_b64(), a, Salt + round));
    kept = kept && !svptest_any(svptrue_b64(), svcmpne_n_s64(svptrue_b64(), b, Salt * 7 + round));
    kept = kept && !svptest_any(svptrue_b64(), sveor_b_z(svptrue_b64(), some, some_before));
    kept = kept && svcntp_b64(svptrue_b64(), every) == svcntd();
    a = svadd_n_s64_x(svptrue_b64(), a, 1);
    b = svadd_n_s64_x(svptrue_b64(), b, 1);
  }
  return kept;
}

#else
#error "this test is compiled for AVX-512 or SVE"
#endif

}  // namespace

bool wide_registers_are_kept() {
  two_contexts pair([](two_contexts& p) {
    p.seen = keeps_wide_registers<3>(p, p.there, p.here()) ? 1 : 2;
    p.back();
  });
  const bool here = keeps_wide_registers<10>(pair, pair.here(), pair.there);
  pair.over();
  return here && pair.seen == 1;
}

}  // namespace weft::impl
