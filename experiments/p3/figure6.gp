# SPDX-License-Identifier: Apache-2.0
# Figure 6: false positive rate while 10^4 distinct keys go into an empty filter for a window of 1000. It rises until
# k + l generations have passed, then stays below the rate just before a shift. The zigzag of (4,3) is the filling of the
# newest generation; with more slices it flattens. The lowest line rests on about 60 hits per point.
set xlabel "insertions"
set ylabel "false positive rate"
set logscale y
set format y "10^{%L}"
set yrange [1e-7:0.3]
array k = [4, 7, 10, 14, 17]
array l = [3, 5, 7, 11, 13]
set linetype 1 lc rgb "#0072b2"; set linetype 2 lc rgb "#d55e00"; set linetype 3 lc rgb "#009e73"
set linetype 4 lc rgb "#cc79a7"; set linetype 5 lc rgb "#e69f00"
plot for [i = 1:5] "figure6.csv" \
     using (column("k") == k[i] ? column("insertions") : NaN):(column("measured") > 0 ? column("measured") : NaN) \
     with linespoints lt i pt 7 ps 0.25 title sprintf("(%d,%d)", k[i], l[i])
