# SPDX-License-Identifier: Apache-2.0
# Two panels with the five algorithms along the stream. Wants for each side its table and the column's last word, and the label of its
# axis: left_table, left_column, left_label; right_table, right_column, right_label; and `logarithmic` (1 or 0) for the right one.
algorithms = "SBF RSBF BSBF BSBFSD RLBSBF"
array colour[5] = [0x999999, 0xd55e00, 0x0072b2, 0x009e73, 0xcc79a7]
set multiplot layout 1,2
set tmargin 3
set lmargin 10
set xlabel "million records of the paper's stream"
set xtics 200
set yrange [0:*]
# The key of both, above them: gnuplot's own would break it into three lines.
unset key
do for [i = 1:5] { set label i word(algorithms, i) at screen 0.02 + 0.16 * i, 0.96 center textcolor rgb colour[i] font ":Bold" }
set ylabel left_label
plot for [i = 1:5] left_table using 1:(column(word(algorithms, i)." ".left_column)) with lines lw 2 lc rgb colour[i]
unset label
if (logarithmic) {
  set logscale y
  set format y "%g"
  set yrange [*:*]
}
set ylabel right_label
plot for [i = 1:5] right_table using 1:(column(word(algorithms, i)." ".right_column)) with lines lw 2 lc rgb colour[i]
unset multiplot
