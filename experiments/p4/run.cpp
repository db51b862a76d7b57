// SPDX-License-Identifier: Apache-2.0
#include "experiments/p4/p4.hpp"

void nodup::lab::run(const Experiment& lab) {
  Claims claims;
  joins(lab, claims);
  routing(lab, claims);
  gossip(lab, claims);

  Table table(lab, "claims",
              "What is claimed, and whether it holds\nThe paper prints no numbers for its applications; its sentences "
              "are held against ours. Sigmas are standard deviations of a mean over graphs.",
              {"claim", "measured", "bound", "holds"});
  for (const Claim& claim : claims) table.row(claim.text, claim.measured, claim.bound, claim.holds ? 1 : 0);
}
