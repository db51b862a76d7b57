# SPDX-License-Identifier: Apache-2.0
# Log-normal distances (median 1024, factor 8), 64 KiB: filters that forget the OLDEST keys leave the front far behind
# them; resets of random bits hit recent keys as often as old ones.
set xlabel "new events lost, %"
set ylabel "duplicates passed, %"
set logscale x
set format x "%g"
set xrange [0.05:200]
set yrange [-4:104]
set key off
plot "lognormal.csv" using "lost 64 KiB":"passed 64 KiB" with points pt 7 ps 0.6 lc rgb "#0072b2", \
     "" using "lost 64 KiB":"passed 64 KiB":1 with labels left offset 0.6,0.3 font ",8" textcolor rgb "#444444"
