# SPDX-License-Identifier: Apache-2.0
# Figures 2 to 10: both rates along the stream. Wants `figure`, and `logarithmic` for the false negatives.
left_table = sprintf("figure%d.csv", figure)
left_column = "FPR"
left_label = "false positives, % of the distinct records"
right_table = left_table
right_column = "FNR"
right_label = "false negatives, % of the duplicates"
load here."/panels.gnuplot"
