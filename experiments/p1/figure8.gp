# SPDX-License-Identifier: Apache-2.0
# Figure 8: 695M records, 15 % distinct, 512 MB. SBF with proper random numbers (README.md).
figure = 8
logarithmic = 1
load here."/rates.gnuplot"
