# SPDX-License-Identifier: Apache-2.0
# Figure 2: 1B records, 15 % distinct, 128 MB. False positives end between 1.3 % and 2.1 %; of the duplicates SBF passes 46 %, RLBSBF under 1 %, and those of
# the last three fall again once most keys have been seen.
figure = 2
logarithmic = 1
load here."/rates.gnuplot"
