// SPDX-License-Identifier: Apache-2.0
#include "nodup/theory/stable.hpp"

#include <algorithm>
#include <cmath>

namespace nodup::theory {

namespace {

// A cell that was set t*m records ago by a key: others set it again at the rate K, and P decrement it.
struct Fading {
  double K, P, Max;

  struct Chances {
    double by_others;  // above 0, and set by another since
    double by_itself;  // above 0, and not set since
  };
  Chances at(double t) const {
    // Sum over j < Max of P(j decrements in t), once at t, once integrated over the time since the last set. The second
    // by parts: I_j = (P I_{j-1} - e^{-(K+P)t} (Pt)^j / j!) / (K+P).
    const double both = K + P;
    double untouched = std::exp(-both * t);  // e^{-(K+P)t} (Pt)^j / j!
    double integral = -std::expm1(-both * t) / both;
    Chances sum{0, 0};
    for (double j = 0; j < Max; ++j) {
      if (j > 0) {
        untouched *= P * t / j;
        integral = std::max(0.0, (P * integral - untouched) / both);
      }
      sum.by_others += K * integral;
      sum.by_itself += untouched;
    }
    return sum;
  }
};

// The share of a cell's decrements per set that count: 1/K - 1/m, the paper's, times P.
double decrements_per_set(double m, double K, double P) { return P * std::max(1 / K - 1 / m, 1e-12); }

}  // namespace

double stable_load(double m, double K, double P, double Max) {
  return -std::expm1(-Max * std::log1p(1 / decrements_per_set(m, K, P)));
}

double stable_resets(double m, double K, double Max, double false_positive) {
  const double load = std::pow(false_positive, 1 / K);
  return 1 / (std::expm1(-std::log1p(-load) / Max) * std::max(1 / K - 1 / m, 1e-12));
}

StableMoment stable_after(double m, double K, double P, double Max, double records) {
  const Fading cell{K, P, Max};
  const double end = records / m;
  StableMoment moment;
  moment.load = std::min(cell.at(end).by_others, 1.0);
  moment.false_positive = std::pow(moment.load, K);
  // The mean over all ages, in steps that are short where keys fade and long where they are forgotten.
  const double shortest = std::min(end / 64, Max / (64 * (K + P)));
  double known = 0;
  for (double t = 0; t < end;) {
    const double step = std::min(std::max(shortest, t / 64), end - t);
    const Fading::Chances chances = cell.at(t + step / 2);
    known += step * std::pow(std::min(chances.by_others + chances.by_itself, 1.0), K);
    t += step;
  }
  moment.false_negative = end > 0 ? std::clamp(1 - known / end, 0.0, 1.0) : 0;
  return moment;
}

}  // namespace nodup::theory
