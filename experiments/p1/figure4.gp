# SPDX-License-Identifier: Apache-2.0
# Figure 4: 1B records, 15 % distinct, 512 MB. BSBFSD and RLBSBF pass less than 1 % of the duplicates, BSBF 1.3 %.
figure = 4
logarithmic = 1
load here."/rates.gnuplot"
