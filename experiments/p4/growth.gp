# SPDX-License-Identifier: Apache-2.0
# Messages per query as sets grow unequally beyond what filters were planned for. Dynamic filters (full lines) stay where they were;
# fixed ones of the same first size (dashes) fill up: levels lead nowhere, until the walk is a blind one (64 hops at most), and the index
# sends every query to half of all peers.
set xlabel "growth of the sets, by the mean"
set ylabel "messages per query"
set logscale x 2
set datafile missing NaN  # lines go over the rows of others
set logscale y
set format y "%g"
array searches[3] = ["2 levels", "3 levels", "index"]
set linetype 1 lc rgb "#0072b2"; set linetype 2 lc rgb "#d55e00"; set linetype 3 lc rgb "#009e73"
shown(filter, search) = strcol("filter") eq filter && strcol("search") eq search && \
                        (column("unequal") == 1 || column("growth") == 1) ? column("growth") : NaN
plot for [i = 1:3] "growth.csv" using (shown("dynamic", searches[i])):"messages" \
       with linespoints lt i pt 7 ps 0.5 title searches[i]." dynamic", \
     for [i = 1:3] "growth.csv" using (shown("fixed", searches[i])):"messages" \
       with linespoints lt i dt 2 pt 6 ps 0.5 title searches[i]." fixed"
