# SPDX-License-Identifier: Apache-2.0
# Figure 9 (c, d): the more equal timers are asked for, the fewer false positives and the more false negatives. Two are
# enough for vertical slices (any two timers of a false duplicate were set at different times), three for horizontal
# ones, where two of the eight positions often fall together.
set xlabel "k', equal timers asked for"
set ylabel "rate"
set logscale y
set format y "%g"
set yrange [0.0001:1]
plot "figure9cd_w10000.csv" using "k'":"vertical FP" with linespoints lw 2 lc rgb "#0072b2" title "vertical, FP", \
     "" using "k'":"vertical FN" with linespoints dt 2 lc rgb "#0072b2" title "vertical, FN", \
     "" using "k'":"horizontal FP" with linespoints lw 2 lc rgb "#d55e00" title "horizontal, FP", \
     "" using "k'":"horizontal FN" with linespoints dt 2 lc rgb "#d55e00" title "horizontal, FN"
