//! Text as the gates see it: foldings that keep places, the nearest span, and tokens.

pub mod fold;
pub mod nearest;
pub mod token;
