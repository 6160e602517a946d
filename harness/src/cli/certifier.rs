//! Starting the certifier for one command.

use std::fs::File;
use std::io::Read;

use parthack_certifier::client::{Certifier, CertifierError};

use crate::failure::{Exit, Failure};
use crate::locate::Places;

/// Starts the certifier over the suite and its packages.
///
/// # Errors
/// Something is not there, or the process does not start or speak the protocol.
pub(super) fn start(places: &Places, operator_key: Option<&str>) -> Result<Certifier, Failure> {
    let (program, tasks, sealed) = (places.certifier()?, places.suite()?, places.sealed()?);
    Ok(Certifier::start(&program, &tasks, &sealed, operator_key)?)
}

/// A key for evidence sessions of a certifier that this process starts itself: 32 random bytes in hexadecimal.
///
/// # Errors
/// The system has no source of random bytes.
pub(super) fn fresh_key() -> Result<String, Failure> {
    let mut bytes = [0; 32];
    random_bytes(&mut bytes)?;
    Ok(hex(&bytes))
}

/// Bytes in lower-case hexadecimal.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Fills a buffer from the system's source of random bytes.
///
/// # Errors
/// There is none.
pub(super) fn random_bytes(bytes: &mut [u8]) -> Result<(), Failure> {
    File::open("/dev/urandom").and_then(|mut source| source.read_exact(bytes)).map_err(|error| {
        Failure::environment("cannot read random bytes from /dev/urandom", error, "keys and canaries need them")
    })
}

impl From<CertifierError> for Failure {
    fn from(error: CertifierError) -> Failure {
        let (exit, hint) = match error.code() {
            Some("wrong_key") => (Exit::Usage, "evidence needs the operator's key of at least 16 characters"),
            Some("unknown_task") => (Exit::Usage, "`parthack doctor` says which packages were found"),
            Some("package_fault") => (Exit::Input, "`parthack task lint ID` says what is wrong with the package"),
            Some("certifier_disagreement" | "log_fault") => (Exit::Failed, "nothing is eligible; please report it"),
            Some("illegal_action") => (Exit::Input, "`parthack replay` shows which step is refused, and why"),
            Some(_) => (Exit::Bug, "this should not happen; please report it"),
            None => {
                (Exit::Environment, "`parthack doctor` says which certifier was found; name another by --certifier")
            }
        };
        let message = format!("{error}\nhint: {hint}");
        Failure::Other { exit, message, source: Some(Box::new(error)) }
    }
}
