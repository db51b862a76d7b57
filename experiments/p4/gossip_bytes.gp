# SPDX-License-Identifier: Apache-2.0
# What a node sends about its set each round. Only the open part changes, so what is sent does not grow with the set; a bit for each counter
# is a quarter of the counters, less the heads of messages.
set xlabel "keys per node"
set ylabel "bytes per node and round"
set logscale y
set format y "%g"
set yrange [100:20000]
set linetype 1 lc rgb "#0072b2"; set linetype 2 lc rgb "#d55e00"; set linetype 3 lc rgb "#009e73"
plot "gossip_bytes.csv" using "keys per node":"open part only" with lines lw 2 title "open part only", \
     "" using "keys per node":"all parts" with lines lw 2 title "all parts", \
     "" using "keys per node":"all counters" with lines lw 2 title "all counters"
