# SPDX-License-Identifier: Apache-2.0
# Figure 4: the share of a generation that still looks seen, by its age in generations. Inside the window (age up to 15)
# everything is there; behind it the share halves with each generation and ends in the false positives, which the
# paper's 2^-(age-l) leaves out.
set xlabel "age of the generation (shifts since it was inserted)"
set ylabel "share that looks seen"
set logscale y
set format y "%g"
set yrange [0.0005:2]
plot "figure4.csv" using "age":"2^-(age-l)" with lines lc rgb "#999999" dt 2 title "2^{-(age - l)}", \
     "" using "age":"model" with lines lc rgb "#0072b2" lw 2 title "model", \
     "" using "age":"measured" with points pt 7 ps 0.6 lc rgb "#d55e00" title "measured"
