# SPDX-License-Identifier: Apache-2.0
# Uniform stream, 64 KiB (0.87 bits per distinct key): every filter trades lost events against passed duplicates. Windows and filters
# that forget lie on one front; what keeps every key loses 40 % and passes none.
set xlabel "new events lost, %"
set ylabel "duplicates passed, %"
set logscale x
set format x "%g"
set xrange [0.05:200]
set yrange [-4:104]
set key off
plot "uniform.csv" using "lost 64 KiB":"passed 64 KiB" with points pt 7 ps 0.6 lc rgb "#0072b2", \
     "" using "lost 64 KiB":"passed 64 KiB":1 with labels left offset 0.6,0.3 font ",8" textcolor rgb "#444444"
