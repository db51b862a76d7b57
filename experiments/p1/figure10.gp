# SPDX-License-Identifier: Apache-2.0
# Figure 10: 695M records, 90 % distinct, 512 MB. SBF with proper random numbers (README.md).
figure = 10
logarithmic = 0
load here."/rates.gnuplot"
