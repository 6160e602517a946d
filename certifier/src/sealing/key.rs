//! Secrets of 32 bytes: wiped when dropped, shown by nothing, written as one line of hexadecimal digits.

use std::fmt;

use zeroize::Zeroizing;

use super::{Random, SealError};

/// Bytes of a key and of a salt.
pub(super) const SECRET_BYTES: usize = 32;

/// Why a text is no key. Nothing of the text stands in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Too few or too many characters.
    #[error("found {found} characters, expected one line of {} lower-case hexadecimal digits", 2 * SECRET_BYTES)]
    Length {
        /// Bytes, without a line end.
        found: usize,
    },
    /// A character that is no digit.
    #[error(
        "character {position} is none of 0-9 and a-f, expected one line of {} lower-case hexadecimal digits",
        2 * SECRET_BYTES
    )]
    Digit {
        /// From 1.
        position: usize,
    },
}

/// Thirty-two secret bytes. They stay where they are until they are wiped: moving it moves a pointer.
pub(super) struct Secret(Box<Zeroizing<[u8; SECRET_BYTES]>>);

impl Secret {
    pub(super) fn generate(random: &mut Random<'_>) -> Result<Secret, SealError> {
        let mut secret = Secret::zero();
        random(&mut secret.0[..]).map_err(|error| SealError::Randomness(error.kind()))?;
        Ok(secret)
    }

    pub(super) fn zero() -> Secret {
        Secret(Box::new(Zeroizing::new([0; SECRET_BYTES])))
    }

    pub(super) fn read(text: &[u8]) -> Result<Secret, KeyError> {
        let line = text.strip_suffix(b"\n").unwrap_or(text);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() != 2 * SECRET_BYTES {
            return Err(KeyError::Length { found: line.len() });
        }
        let mut secret = Secret::zero();
        for (index, byte) in line.iter().enumerate() {
            let digit = match byte {
                b'0'..=b'9' => byte - b'0',
                b'a'..=b'f' => byte - b'a' + 10,
                _ => return Err(KeyError::Digit { position: index + 1 }),
            };
            let place = &mut secret.0[index / 2];
            *place = *place << 4 | digit;
        }
        Ok(secret)
    }

    pub(super) fn hex(&self) -> Zeroizing<String> {
        // With room from the start, so that no copy of it is left behind by growing.
        let mut text = Zeroizing::new(String::with_capacity(2 * SECRET_BYTES));
        for nibble in self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
            text.push(char::from(if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }));
        }
        text
    }

    pub(super) fn bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8; SECRET_BYTES] {
        &mut self.0
    }
}

/// A kind of secret, so that none is taken for another.
macro_rules! secret {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        ///
        /// It is wiped when it is dropped, and its `Debug` shows nothing of it.
        pub struct $name(pub(super) $crate::sealing::key::Secret);

        impl $name {
            /// A new one.
            ///
            /// # Errors
            /// [`SealError::Randomness`](crate::sealing::SealError::Randomness): the source failed.
            pub fn generate(
                random: &mut $crate::sealing::Random<'_>,
            ) -> Result<Self, $crate::sealing::SealError> {
                $crate::sealing::key::Secret::generate(random).map($name)
            }

            /// Reads one line of 64 lower-case hexadecimal digits; a line end behind them is allowed.
            ///
            /// # Errors
            /// [`KeyError`](crate::sealing::KeyError), which says what is wrong and quotes nothing.
            pub fn read(text: &[u8]) -> Result<Self, $crate::sealing::KeyError> {
                $crate::sealing::key::Secret::read(text).map($name)
            }

            /// The 64 digits that [`read`](Self::read) takes, without a line end.
            #[must_use]
            pub fn hex(&self) -> zeroize::Zeroizing<String> {
                self.0.hex()
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&self.0, out)
            }
        }
    };
}
pub(super) use secret;

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("secret")
    }
}

secret! {
    /// The key of a suite: it opens every package that was sealed with it.
    SuiteKey
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1dfeff";

    #[test]
    fn one_line_of_digits() {
        for end in ["", "\n", "\r\n"] {
            let key = SuiteKey::read(format!("{DIGITS}{end}").as_bytes()).expect("a key");
            assert_eq!(key.hex().as_str(), DIGITS);
            assert_eq!((key.0.bytes()[1], key.0.bytes()[31]), (1, 255));
        }
    }

    #[test]
    fn everything_else_is_refused_without_being_quoted() {
        let length = |found| KeyError::Length { found };
        for (text, expected) in [
            (String::new(), length(0)),
            ("\n".to_owned(), length(0)),
            (DIGITS[1..].to_owned(), length(63)),
            (format!("{DIGITS}0"), length(65)),
            (format!("{DIGITS}\n\n"), length(65)),
            (format!(" {DIGITS}"), length(65)),
            (format!(" {}", &DIGITS[1..]), KeyError::Digit { position: 1 }),
            (DIGITS.to_uppercase(), KeyError::Digit { position: 22 }),
            (format!("{}g", &DIGITS[1..]), KeyError::Digit { position: 64 }),
            (format!("{}\u{e9}", &DIGITS[2..]), KeyError::Digit { position: 63 }),
        ] {
            let error = SuiteKey::read(text.as_bytes()).expect_err("no key");
            assert_eq!(error, expected, "{text:?}");
            assert!(!error.to_string().contains("1011"), "{error}");
        }
    }

    #[test]
    fn debug_shows_nothing() {
        let one = SuiteKey::read(DIGITS.as_bytes()).expect("a key");
        let other = SuiteKey::generate(&mut |bytes| {
            bytes.fill(7);
            Ok(())
        });
        let other = other.expect("a key");
        assert_eq!(other.hex().as_str(), "07".repeat(32));
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }

    #[test]
    fn a_source_that_fails_gives_no_key() {
        let failed = SuiteKey::generate(&mut |_| Err(std::io::ErrorKind::NotFound.into()));
        assert!(matches!(failed, Err(SealError::Randomness(std::io::ErrorKind::NotFound))));
    }
}
