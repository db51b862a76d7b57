# SPDX-License-Identifier: Apache-2.0
# Figure 3: 1B records, 15 % distinct, 256 MB. False negatives from 30 % (SBF) to 0.2 % (RLBSBF), at like false positives.
figure = 3
logarithmic = 1
load here."/rates.gnuplot"
