//! Checks of the instrument itself (G §4.5, §4.6): pure transformations with seeds, prompts, and counts over labels.

pub mod audit;
pub mod idle;
pub mod replacement;
pub mod routes;
pub mod schema;
pub mod stream;
pub mod variation;
