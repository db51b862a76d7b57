# SPDX-License-Identifier: Apache-2.0
# Bytes of a Bloom join as a share of all of S, over the error of a standard filter. To the right the false rows cost most, to
# the left the filter; in between lies a flat optimum. Dashes: the rows that join, which no filter can save.
set xlabel "error of the filter"
set ylabel "bytes sent, % of all of S"
set logscale xy
set datafile missing NaN  # lines go over the rows of others
set xrange [1e-4:0.13]
set format x "10^{%L}"
set format y "%g"
set yrange [0.8:100]
array joins = [1, 10, 50]
set linetype 1 lc rgb "#0072b2"; set linetype 2 lc rgb "#d55e00"; set linetype 3 lc rgb "#009e73"
plot for [i = 1:3] "join_one.csv" \
     using (column("selectivity") == joins[i] && strcol("filter") eq "standard" ? column("error") : NaN):"of all" \
     with linespoints lt i pt 7 ps 0.5 title sprintf("%d %% join", joins[i]), \
     for [i = 1:3] joins[i] with lines lt i dt 2 notitle
