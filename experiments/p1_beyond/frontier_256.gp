# SPDX-License-Identifier: Apache-2.0
# One billion events, 90 % distinct, 256 MB (2.4 bits per distinct key), at a thousandth of the size. Below and left is better. The mixtures
# of two forms of lines lie below all five algorithms. The bound is for any filter whatsoever. Untold: queues alone, which
# keep their error for ever; uniform repetitions are the worst for them, since the age of a duplicate is as long as it can be.
set xlabel "false positives, % of the first occurrences"
set ylabel "false negatives, % of the duplicates"
set logscale x
set yrange [0:100]
plot "frontier_256.csv" using "FPR":"FNR" with linespoints lc rgb "#0072b2" lw 2 pt 7 ps 0.5 title "mixtures", \
     "" using "FPR":"bound" with lines lc rgb "#999999" dt 2 title "bound", \
     "" using "untold FPR":"untold FNR" with lines lc rgb "#009e73" title "untold", \
     "five_256.csv" using "FPR":"FNR" with points pt 9 ps 1.2 lc rgb "#d55e00" title "the five", \
     "" using "FPR":"FNR":"algorithm" with labels offset 0,0.8 font ",10" notitle
