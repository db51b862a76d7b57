# SPDX-License-Identifier: Apache-2.0
# Figure 11: the load (share of bits that are set) along the stream of 1B records, 15 % distinct. At 400M records it has
# come to between 92 % and 97 % of where it ends; the paper calls that stable.
left_table = "figure3.csv"
left_column = "load"
left_label = "load, 256 MB"
right_table = "figure4.csv"
right_column = "load"
right_label = "load, 512 MB"
logarithmic = 0
load here."/panels.gnuplot"
