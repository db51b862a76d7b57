// SPDX-License-Identifier: Apache-2.0
//
// Intervals that hold a true rate with 95 % probability, from a sample.
#pragma once

namespace nodup {

struct Interval {
  double value = 0;  // the estimate
  double low = 0, high = 0;
};

// By how many standard deviations an estimate is off in one case of twenty, when the deviation itself is estimated with
// so many degrees of freedom (Student's t, by its expansion about the normal distribution: Fisher and Cornish 1960).
// Within 1 % from 3 degrees on; fewer count as 3.
double t_95(double degrees);

// The probability that a beta variable is at most x: the regularised incomplete beta function, a and b above 0.
double beta_below(double x, double a, double b);

// For a share p that was seen in n independent trials, n > 0; n may be a fraction. Exact for a binomial count (Clopper
// and Pearson 1934): it holds the true share in at least 95 % of all cases, also when hardly any error was seen, where
// the usual approximations are off (at 0 of n the share is at most 3.7 / n; at 1 of n it is at least 0.025 / n, where
// Wilson's interval begins at 0.18 / n and misses what is rarer). When n itself comes from an estimated variance with
// few degrees of freedom, it counts for less, as Student's t does for the normal distribution (Korn and Graubard 1998).
Interval share_interval(double p, double n, double degrees);

}  // namespace nodup
