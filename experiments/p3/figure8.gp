# SPDX-License-Identifier: Apache-2.0
# Figure 8: five filters of about the same false positive rate (0.1), as a share of their rate without duplicates. The
# more slices, the less a duplicate saves: its bits are set again in every generation it returns in.
set xlabel "share of duplicates in the window"
set ylabel "false positives, of those without duplicates"
set yrange [0:1.05]
set linetype 1 lc rgb "#0072b2"; set linetype 2 lc rgb "#d55e00"; set linetype 3 lc rgb "#009e73"
set linetype 4 lc rgb "#cc79a7"; set linetype 5 lc rgb "#e69f00"
names = "(4,3) (5,7) (6,14) (7,28) (8,56)"
plot for [i = 2:6] "figure8.csv" using 1:i with linespoints lt i-1 pt 7 ps 0.5 title word(names, i - 1)
