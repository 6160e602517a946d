//! Private packages at rest: encrypted under a suite's key, committed to before anything is scored, revealed afterwards
//! (SPEC §3, §15.2; ISOLATION, sealing).
//!
//! **Sealed files** `parthack.sealed/1`. A first line in ASCII, `parthack.sealed/1 ID` and a line feed, then bytes:
//!
//! | bytes | what |
//! |---|---|
//! | 24 | nonce of the package key |
//! | 48 | the package key, encrypted with the suite key: 32 bytes and a tag of 16 |
//! | 24 | nonce of the package |
//! | n + 16 | the package, encrypted with the package key, and a tag |
//!
//! Both encryptions are XChaCha20-Poly1305. Their associated data is the first line (magic, version and task id), and then
//! `key` or `package`. Binary, since one content then has one encoding: nothing is parsed before it is authenticated but
//! a line of a few characters, and no byte can change unnoticed. One suite key opens all packages of a suite; the
//! random key of a package opens that package alone, so that it can be revealed without the others.
//!
//! **Commitments.** A commitment is BLAKE3 keyed with a random salt of 32 bytes over the canonical package. Without a
//! salt, whoever guesses expected values could check the guess. The encryption is not key-committing: with two keys in
//! hand, one can build a file that opens to one package with the first and to another with the second. The hash of the
//! sealed file therefore proves nothing about its content, and the commitment covers the plaintext. Commitments are
//! published before anything is scored; the reveal publishes the salts, and package keys where the suite key stays secret.
//!
//! **What this stops.** A key that lies beside the packages, as that of the reference suite does, keeps answers from
//! crawlers and from evaluators that come upon a file; it does not stop the operator, who can open everything.
//! Commitments are what binds an operator.
//!
//! Everything here takes bytes and gives values, but for [`folder`], which reads a folder of packages.

mod commitment;
mod file;
pub mod folder;
mod key;
mod reveal;

use std::io;

pub use commitment::{COMMITMENTS_FORMAT, Commitment, Commitments, CommittedTask, MAX_LIST_BYTES, Salt, commit};
pub use file::{
    MAX_SEALED_BYTES, PackageKey, SEALED_FORMAT, SealError, SealedFile, canonical_package, open, open_with_package_key,
    package_key, seal,
};
pub use key::{KeyError, SuiteKey};
pub use reveal::{CommitError, Mismatch, REVEAL_FORMAT, Reveal, RevealedTask, check_reveal, commit_suite};

/// A source of random bytes, the operating system's outside of tests. It fills the buffer or fails.
pub type Random<'r> = dyn FnMut(&mut [u8]) -> io::Result<()> + 'r;

/// JSON Schema (2020-12) of `parthack.commitments/1`.
#[must_use]
pub fn commitments_schema() -> serde_json::Value {
    crate::serializer::parse(include_str!("../schema/commitments.json"))
}

/// JSON Schema (2020-12) of `parthack.reveal/1`.
#[must_use]
pub fn reveal_schema() -> serde_json::Value {
    crate::serializer::parse(include_str!("../schema/reveal.json"))
}
