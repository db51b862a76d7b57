# SPDX-License-Identifier: Apache-2.0
# Figure 11: the load (share of bits that are set) along the stream of 1B records, 15 % distinct: left with 256 MB, right with 512 MB.
algorithms = "SBF RSBF BSBF BSBFSD RLBSBF"
array colour[5] = [0x999999, 0xd55e00, 0x0072b2, 0x009e73, 0xcc79a7]
set multiplot layout 1,2
set xlabel "million records of the paper's stream"
set ylabel "load"
set yrange [0:*]
set key inside right bottom
set title "256 MB"
plot for [i = 1:5] "figure3.csv" using 1:(column(word(algorithms, i)." load")) with lines lw 2 lc rgb colour[i] title word(algorithms, i)
unset key
set title "512 MB"
plot for [i = 1:5] "figure4.csv" using 1:(column(word(algorithms, i)." load")) with lines lw 2 lc rgb colour[i]
unset multiplot
