# SPDX-License-Identifier: Apache-2.0
# Figure 6: 1B records, 60 % distinct, 256 MB.
figure = 6
logarithmic = 0
load here."/rates.gnuplot"
