//! Sealed files `parthack.sealed/1`: making and opening them. Their layout stands in the module above.

use std::io;

use chacha20poly1305::aead::{AeadInPlace, KeyInit};
use chacha20poly1305::{Key, Tag, XChaCha20Poly1305, XNonce};
use parthack_env::canonical::{Hash, canonical_bytes};
use parthack_env::input::{InputError, MAX_FILE_BYTES};
use parthack_env::json::Json;
use parthack_env::names::is_identifier;
use zeroize::Zeroizing;

use super::Random;
use super::key::{SECRET_BYTES, Secret, SuiteKey, secret};
use crate::package::Package;

/// Format of sealed files: what their first line begins with.
pub const SEALED_FORMAT: &str = "parthack.sealed/1";
/// Bytes that a sealed file may have: a package of the largest size and what is around it.
pub const MAX_SEALED_BYTES: u64 = MAX_FILE_BYTES + 512;

/// What the first line begins with in every version.
const MAGIC: &str = "parthack.sealed/";
/// The version that is written and read.
const VERSION: &str = "1";
/// Characters of the longest version that is taken for one.
const MAX_VERSION: usize = 10;
/// Bytes of the longest first line: magic, version, space, identifier, line feed.
const MAX_LINE: usize = MAGIC.len() + MAX_VERSION + 1 + 64 + 1;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
/// Bytes behind the first line when the package is empty.
const LEAST_BODY: usize = 2 * NONCE_BYTES + SECRET_BYTES + 2 * TAG_BYTES;

secret! {
    /// The key of one package: it opens that package and no other one of its suite.
    PackageKey
}

/// Why a package is not sealed or does not open. Neither keys nor content stand in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// Another kind of file.
    #[error("found no sealed file, expected a first line \"{SEALED_FORMAT} ID\"")]
    NotSealed,
    /// A sealed file of another version.
    #[error("found the sealed format {MAGIC}{found}, expected {SEALED_FORMAT}")]
    Version {
        /// Its version.
        found: String,
    },
    /// Another task's file.
    #[error("found the sealed package of the task {found:?}, expected that of {expected:?}")]
    OtherTask {
        /// The file's.
        found: String,
        /// The one that was asked for.
        expected: String,
    },
    /// The file ends too early to hold anything.
    #[error("found {found} bytes, expected at least {least}: the file is cut off")]
    Truncated {
        /// Bytes that are there.
        found: usize,
        /// Bytes that the smallest sealed file of this task has.
        least: usize,
    },
    /// More bytes than a package may have.
    #[error("found {found} bytes, expected at most {most}")]
    TooLong {
        /// Bytes that are there.
        found: usize,
        /// Bytes that may be there.
        most: u64,
    },
    /// The package key does not open.
    #[error(
        "it does not open with this key: it was sealed with another one, or its first line or package key is damaged"
    )]
    WrongKey,
    /// The key is right, the content is not.
    #[error("the key is right and the package is damaged: bytes of it were changed, cut off or added")]
    Damaged,
    /// A text that is no task id.
    #[error("{0:?} is no task id")]
    TaskId(String),
    /// No random bytes.
    #[error("the source of random bytes failed: {0}")]
    Randomness(io::ErrorKind),
}

/// A sealed file: public bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedFile {
    bytes: Vec<u8>,
}

impl SealedFile {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its hash (label `sealed`), as commitments name it.
    #[must_use]
    pub fn hash(&self) -> Hash {
        sealed_hash(&self.bytes)
    }

    /// Its bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Hash (label `sealed`) of the bytes of a sealed file.
pub(super) fn sealed_hash(bytes: &[u8]) -> Hash {
    Hash::of("sealed", bytes)
}

/// What is sealed: the canonical bytes of a private package, which must be `task_id`'s.
///
/// # Errors
/// [`InputError`] of the package's reader, or another task's package.
pub fn canonical_package(bytes: &[u8], task_id: &str) -> Result<Zeroizing<Vec<u8>>, InputError> {
    let package = Package::read(bytes)?;
    if package.task_id != task_id {
        let found = format!("the task {:?}", package.task_id);
        return Err(InputError::at("/task_id", found, format!("the task {task_id:?}")));
    }
    Ok(Zeroizing::new(canonical_bytes(&Json::parse(bytes)?)))
}

/// Seals a package under a suite's key, with a package key and nonces from `random`.
///
/// `plaintext` is what [`canonical_package`] gives; it is not looked into here.
///
/// # Errors
/// [`SealError::TaskId`], [`SealError::TooLong`] (more than 1 MiB) and [`SealError::Randomness`].
pub fn seal(
    plaintext: &[u8],
    task_id: &str,
    suite_key: &SuiteKey,
    random: &mut Random<'_>,
) -> Result<SealedFile, SealError> {
    if !is_identifier(task_id) {
        return Err(SealError::TaskId(task_id.to_owned()));
    }
    if plaintext.len() as u64 > MAX_FILE_BYTES {
        return Err(SealError::TooLong { found: plaintext.len(), most: MAX_FILE_BYTES });
    }
    let package_key = PackageKey::generate(random)?;
    let line = first_line(task_id);
    let mut bytes = Vec::with_capacity(line.len() + LEAST_BODY + plaintext.len());
    bytes.extend_from_slice(&line);
    encrypt_onto(&mut bytes, &suite_key.0, &associated(&line, Part::Key), package_key.0.bytes(), random)?;
    encrypt_onto(&mut bytes, &package_key.0, &associated(&line, Part::Package), plaintext, random)?;
    Ok(SealedFile { bytes })
}

/// Opens a sealed file with its suite's key.
///
/// # Errors
/// [`SealError`] says what is wrong: the kind of file, its version, its task, its length, the key, or its content.
pub fn open(bytes: &[u8], task_id: &str, suite_key: &SuiteKey) -> Result<Zeroizing<Vec<u8>>, SealError> {
    open_with_package_key(bytes, task_id, &package_key(bytes, task_id, suite_key)?)
}

/// The key of one package, taken out of its sealed file, so that it can be revealed without the suite's.
///
/// # Errors
/// As [`open`], but for [`SealError::Damaged`]: the content is not looked at.
pub fn package_key(bytes: &[u8], task_id: &str, suite_key: &SuiteKey) -> Result<PackageKey, SealError> {
    let parts = Parts::of(bytes, task_id)?;
    let mut key = Secret::zero();
    key.bytes_mut().copy_from_slice(parts.key);
    let cipher = cipher(&suite_key.0);
    cipher
        .decrypt_in_place_detached(parts.key_nonce, &associated(parts.line, Part::Key), key.bytes_mut(), parts.key_tag)
        .map_err(|_| SealError::WrongKey)?;
    Ok(PackageKey(key))
}

/// Opens a sealed file with the key of its package.
///
/// # Errors
/// As [`open`]; another package's key gives [`SealError::Damaged`], since nothing tells it from damage.
pub fn open_with_package_key(
    bytes: &[u8],
    task_id: &str,
    package_key: &PackageKey,
) -> Result<Zeroizing<Vec<u8>>, SealError> {
    let parts = Parts::of(bytes, task_id)?;
    let mut plaintext = Zeroizing::new(parts.package.to_vec());
    let associated = associated(parts.line, Part::Package);
    cipher(&package_key.0)
        .decrypt_in_place_detached(parts.package_nonce, &associated, &mut plaintext, parts.package_tag)
        .map_err(|_| SealError::Damaged)?;
    Ok(plaintext)
}

/// What is encrypted.
#[derive(Clone, Copy)]
enum Part {
    Key,
    Package,
}

fn first_line(task_id: &str) -> Vec<u8> {
    format!("{SEALED_FORMAT} {task_id}\n").into_bytes()
}

fn associated(line: &[u8], part: Part) -> Vec<u8> {
    let word: &[u8] = match part {
        Part::Key => b"key",
        Part::Package => b"package",
    };
    [line, word].concat()
}

fn cipher(key: &Secret) -> XChaCha20Poly1305 {
    let key: &Key = key.bytes().into();
    XChaCha20Poly1305::new(key)
}

/// Appends a fresh nonce, the encrypted text and its tag.
fn encrypt_onto(
    bytes: &mut Vec<u8>,
    key: &Secret,
    associated: &[u8],
    text: &[u8],
    random: &mut Random<'_>,
) -> Result<(), SealError> {
    let mut nonce = [0; NONCE_BYTES];
    random(&mut nonce).map_err(|error| SealError::Randomness(error.kind()))?;
    let mut encrypted = Zeroizing::new(text.to_vec());
    let tag = cipher(key)
        .encrypt_in_place_detached(&XNonce::from(nonce), associated, &mut encrypted)
        // The cipher's own limit is 256 GiB.
        .map_err(|_| SealError::TooLong { found: text.len(), most: MAX_FILE_BYTES })?;
    bytes.extend_from_slice(&nonce);
    bytes.extend_from_slice(&encrypted);
    bytes.extend_from_slice(&tag);
    Ok(())
}

/// Where things stand in a sealed file; nothing of it is authenticated yet.
struct Parts<'b> {
    line: &'b [u8],
    key_nonce: &'b XNonce,
    key: &'b [u8],
    key_tag: &'b Tag,
    package_nonce: &'b XNonce,
    package: &'b [u8],
    package_tag: &'b Tag,
}

impl<'b> Parts<'b> {
    fn of(bytes: &'b [u8], task_id: &str) -> Result<Parts<'b>, SealError> {
        if bytes.len() as u64 > MAX_SEALED_BYTES {
            return Err(SealError::TooLong { found: bytes.len(), most: MAX_SEALED_BYTES });
        }
        let least = first_line(task_id).len() + LEAST_BODY;
        let truncated = || SealError::Truncated { found: bytes.len(), least };
        let Some(behind_magic) = bytes.strip_prefix(MAGIC.as_bytes()) else {
            let is_start = !bytes.is_empty() && MAGIC.as_bytes().starts_with(bytes);
            return Err(if is_start { truncated() } else { SealError::NotSealed });
        };
        let Some(end) = bytes.iter().take(MAX_LINE).position(|byte| *byte == b'\n') else {
            return Err(if behind_magic.is_ascii() && bytes.len() < MAX_LINE {
                truncated()
            } else {
                SealError::NotSealed
            });
        };
        let (line, body) = bytes.split_at(end + 1);
        check_line(&line[MAGIC.len()..end], task_id)?;
        let split = || {
            let (key_nonce, rest) = body.split_first_chunk::<NONCE_BYTES>()?;
            let (key, rest) = rest.split_first_chunk::<SECRET_BYTES>()?;
            let (key_tag, rest) = rest.split_first_chunk::<TAG_BYTES>()?;
            let (package_nonce, rest) = rest.split_first_chunk::<NONCE_BYTES>()?;
            let (package, package_tag) = rest.split_last_chunk::<TAG_BYTES>()?;
            Some(Parts {
                line,
                key_nonce: key_nonce.into(),
                key,
                key_tag: key_tag.into(),
                package_nonce: package_nonce.into(),
                package,
                package_tag: package_tag.into(),
            })
        };
        split().ok_or_else(truncated)
    }
}

/// Checks what stands behind the magic: version, space, task id.
fn check_line(text: &[u8], task_id: &str) -> Result<(), SealError> {
    let text = std::str::from_utf8(text).map_err(|_| SealError::NotSealed)?;
    let (version, found) = text.split_once(' ').ok_or(SealError::NotSealed)?;
    if version != VERSION {
        let is_version = (1..=MAX_VERSION).contains(&version.len())
            && version.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
        return Err(if is_version { SealError::Version { found: version.to_owned() } } else { SealError::NotSealed });
    }
    if !is_identifier(found) {
        return Err(SealError::NotSealed);
    }
    if found != task_id {
        return Err(SealError::OtherTask { found: found.to_owned(), expected: task_id.to_owned() });
    }
    Ok(())
}
