# SPDX-License-Identifier: Apache-2.0
# Figures 2 to 10: both rates along the stream. Wants `figure`, and `logarithmic` (1 or 0) for the false negatives.
data = sprintf("figure%d.csv", figure)
algorithms = "SBF RSBF BSBF BSBFSD RLBSBF"
array colour[5] = [0x999999, 0xd55e00, 0x0072b2, 0x009e73, 0xcc79a7]
set multiplot layout 1,2
set xlabel "million records of the paper's stream"
set yrange [0:*]
set key inside right bottom
set ylabel "false positives, percent of the distinct"
plot for [i = 1:5] data using 1:(column(word(algorithms, i)." FPR")) with lines lw 2 lc rgb colour[i] title word(algorithms, i)
unset key
if (logarithmic) {
  set logscale y
  set format y "%g"
  set yrange [*:*]
}
set ylabel "false negatives, percent of the duplicates"
plot for [i = 1:5] data using 1:(column(word(algorithms, i)." FNR")) with lines lw 2 lc rgb colour[i]
unset multiplot
