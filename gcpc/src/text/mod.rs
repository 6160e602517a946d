//! Text as the gates see it: foldings that keep places, the nearest span, tokens, and words without inflection.

pub mod fold;
pub mod inflection;
pub mod nearest;
pub mod token;
