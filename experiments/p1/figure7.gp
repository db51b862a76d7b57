# SPDX-License-Identifier: Apache-2.0
# Figure 7: 1B records, 60 % distinct, 512 MB. SBF with proper random numbers (README.md).
figure = 7
logarithmic = 0
load here."/rates.gnuplot"
