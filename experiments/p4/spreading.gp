# SPDX-License-Identifier: Apache-2.0
# Recall of queries for the newest keys while the index spreads to 1000 nodes, from nothing and then for one key more per node. Eight rounds
# suffice both times; the second time only open parts travel. Comparing versions then costs as much as the news.
set xlabel "round"
set ylabel "recall, %"
set y2label "KiB per node"
set y2tics
set border 11
set key top center
plot "spreading.csv" using "round":"recall" with linespoints pt 7 ps 0.5 lw 2 lc rgb "#0072b2" title "recall", \
     "" using "round":"parts KiB" axes x1y2 with linespoints pt 6 ps 0.5 lc rgb "#d55e00" title "parts", \
     "" using "round":"versions KiB" axes x1y2 with linespoints pt 6 ps 0.5 lc rgb "#009e73" title "versions"
