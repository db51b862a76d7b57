# SPDX-License-Identifier: Apache-2.0
# Figure 5: 1B records, 60 % distinct, 128 MB. Nothing has come to rest: fewer false negatives are paid with false positives.
figure = 5
logarithmic = 0
load here."/rates.gnuplot"
