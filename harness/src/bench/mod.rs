//! What `parthack bench` needs beside a clock (SPEC §13).

pub(crate) mod process;
pub(crate) mod scoring;
