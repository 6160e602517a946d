//! Statistics of agreement, ranking and paired outcomes, with clustered resampling.
