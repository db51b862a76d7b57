# SPDX-License-Identifier: Apache-2.0
# Figure 9: 695M records, 60 % distinct, 512 MB. No rate has come to rest, as the paper says. SBF with proper random numbers.
figure = 9
logarithmic = 0
load here."/rates.gnuplot"
