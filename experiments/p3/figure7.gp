# SPDX-License-Identifier: Apache-2.0
# Figure 7: false positive rate just before a shift against the share of duplicates in a window of 1000, keys drawn
# uniformly. Roughly exponential, and steeper the lower the rate aimed at. Points without a hit are left out.
set xlabel "share of duplicates in the window"
set ylabel "false positive rate"
set logscale y
set format y "10^{%L}"
set linetype 1 lc rgb "#0072b2"; set linetype 2 lc rgb "#d55e00"; set linetype 3 lc rgb "#009e73"; set linetype 4 lc rgb "#cc79a7"
names = "(4,3) (7,5) (10,7) (14,11)"
plot for [i = 2:5] "figure7.csv" using 1:(column(i) > 0 ? column(i) : NaN) with linespoints lt i-1 pt 7 ps 0.5 title word(names, i - 1)
