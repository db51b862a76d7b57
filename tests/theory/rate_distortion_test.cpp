// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/rate_distortion.hpp"

#include <gtest/gtest.h>

#include "nodup/filters/automatic.hpp"

namespace nodup::theory {
namespace {

TEST(RateDistortion, WithoutFalseNegativesItIsTheKnownBound) {
  EXPECT_DOUBLE_EQ(least_bits_per_key(1.0 / 1024, 0), 10);
  EXPECT_DOUBLE_EQ(least_false_negative(10, 1.0 / 1024), 0);
}

TEST(RateDistortion, BlindGuessingTakesNoBits) {
  EXPECT_NEAR(least_bits_per_key(0.3, 0.7), 0, 1e-12);
  EXPECT_EQ(least_bits_per_key(0.3, 0.8), 0);
  EXPECT_NEAR(least_false_negative(1e-12, 0.3), 0.7, 1e-5);
}

TEST(RateDistortion, BothWaysAgree) {
  for (const double false_positive : {1e-6, 0.01, 0.2, 0.4}) {
    for (const double share : {0.1, 0.5, 0.9}) {
      const double bits = share * least_bits_per_key(false_positive, 0);
      const double false_negative = least_false_negative(bits, false_positive);
      EXPECT_GT(false_negative, 0);
      EXPECT_NEAR(least_bits_per_key(false_positive, false_negative), bits, 1e-9);
    }
  }
}

// A bound that something lies beyond would be none.
TEST(RateDistortion, NoFormOfLinesIsBetter) {
  using Form = LineForm::Kind;
  for (const double keys_per_line : {20.0, 60.0, 200.0, 600.0, 2000.0}) {
    for (unsigned bits = 2; bits <= 16; ++bits) {
      for (const LineForm& form : {LineForm{Form::plain, bits}, LineForm{Form::slots, bits},
                                   LineForm{Form::queue, bits}, LineForm{Form::queue, bits, 1}}) {
        const Remembered line = form.remembers(keys_per_line);
        const double false_negative = form.judged_new_again(line) / line.passed;
        EXPECT_LE(least_bits_per_key(line.false_positive, false_negative), 512 / line.passed)
            << form.text() << ", " << keys_per_line << " keys per line";
      }
    }
  }
}

}  // namespace
}  // namespace nodup::theory
