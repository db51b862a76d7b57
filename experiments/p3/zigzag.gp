# SPDX-License-Identifier: Apache-2.0
# A generation of (4,3) in steady state, drawn three times: the rate falls when the oldest slice is cleared and rises as the newest
# generation fills. The paper's 0.1006 is neither the top nor the mean.
set xlabel "generations"
set ylabel "false positive rate"
set yrange [0.06:0.115]
set xrange [0:3]
plot for [i = 0:2] "zigzag.csv" using (i + column(1) / 4):"model" with lines lc rgb "#0072b2" lw 2 title (i ? "" : "model"), \
     for [i = 0:2] "" using (i + column(1) / 4):"measured" with points pt 7 ps 0.7 lc rgb "#d55e00" title (i ? "" : "measured"), \
     0.100586 with lines lc rgb "#999999" dt 2 title "Table 2"
