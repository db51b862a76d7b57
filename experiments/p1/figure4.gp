# SPDX-License-Identifier: Apache-2.0
# Figure 4: 1B records, 15 % distinct, 512 MB.
figure = 4
logarithmic = 1
load here."/rates.gnuplot"
