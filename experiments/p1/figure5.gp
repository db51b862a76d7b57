# SPDX-License-Identifier: Apache-2.0
# Figure 5: 1B records, 60 % distinct, 128 MB.
figure = 5
logarithmic = 0
load here."/rates.gnuplot"
