//! Tables of an analysis in the formats that all tables have.
