# SPDX-License-Identifier: Apache-2.0
# One holder among 1000 nodes: how often it is found, and for how many messages. Blind searches lie on a line: what finds more
# asks more. Filters leave it.
set xlabel "messages per query (to the first holder)"
set ylabel "found, %"
set logscale x
set format x "%g"
set xrange [1:10000]
set yrange [-8:112]
set key off
one(name) = strstrt(name, "1 holder") > 0
short(name) = one(name) ? substr(name, 1, strstrt(name, " 1 holder") - 1) : ""
# The names of walks above their points, of the others below: some lie close together.
walk(name) = strstrt(name, "walk") > 0 || strstrt(name, "2 levels") > 0
at(name, above) = one(name) && walk(name) == above ? column("messages to first") : NaN
plot "routing.csv" using (one(strcol(1)) ? column("messages to first") : NaN):"success" with points pt 7 ps 0.8 lc rgb "#0072b2", \
     "" using (at(strcol(1), 0)):"success":(short(strcol(1))) with labels left offset 0.7,-0.9 textcolor rgb "#444444", \
     "" using (at(strcol(1), 1)):"success":(short(strcol(1))) with labels left offset 0.7,0.9 textcolor rgb "#444444"
