# SPDX-License-Identifier: Apache-2.0
# Figure 2: 1B records, 15 % distinct, 128 MB.
figure = 2
logarithmic = 1
load here."/rates.gnuplot"
