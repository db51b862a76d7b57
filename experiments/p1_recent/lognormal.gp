# SPDX-License-Identifier: Apache-2.0
# Log-normal distances (median 1024, factor 8), 64 KiB: filters that forget the OLDEST keys pass few duplicates at any error;
# resets of random bits hit recent keys as often as old ones. Those that keep every key pass none and are not shown.
set xlabel "new events lost, %"
set ylabel "duplicates passed, %"
set logscale x
set format x "%g"
set xrange [0.03:300]
set logscale y
set format y "%g"
set yrange [1:120]
set key off
# Only those with room for a name.
named = "|automatic 0.1|automatic 0.01|aged_table 0.1|aged_table 0.01|stable 0.1|stable 0.01|reservoir 0.1|reservoir 0.01|standard 0.1|timer 0.01|biased_single 0.1|biased 0.1|load_balanced 0.01|"
label(name) = strstrt(named, "|".name."|") ? name : ""
plot "lognormal.csv" using "lost 64 KiB":"passed 64 KiB" with points pt 7 ps 0.6 lc rgb "#0072b2", \
     "" using "lost 64 KiB":"passed 64 KiB":(label(strcol(1))) with labels left offset 0.6,0.3 font ",9" noenhanced textcolor rgb "#444444"
