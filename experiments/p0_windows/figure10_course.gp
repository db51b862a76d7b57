# SPDX-License-Identifier: Apache-2.0
# Figure 10: filters over time; in the middle third events come five times as fast. By density there is one filter before
# and after; by cardinality it goes up and down between one and two, as keys that have left the window still count. The
# larger the window, the later the extra filters go.
set xlabel "slot"
set ylabel "filters"
set yrange [0:6]
plot "figure10_course.csv" using "slot":"density x5 w=100" with lines lw 2 lc rgb "#0072b2" title "density, w = 100", \
     "" using "slot":"density x5 w=1000" with lines lw 2 lc rgb "#009e73" title "density, w = 1000", \
     "" using "slot":"cardinality x5 w=1000" with lines lc rgb "#d55e00" title "cardinality, w = 1000"
