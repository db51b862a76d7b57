# SPDX-License-Identifier: Apache-2.0
# Figure 9: 695M records, 60 % distinct, 512 MB.
figure = 9
logarithmic = 0
load here."/rates.gnuplot"
