//! What the process gives up before it answers anything: every right but to read, write and compute (ISOLATION, certifier).

use parthack_certifier::protocol::ConfinementMessage;

/// Confines this process for the rest of its life, as far as the system allows. All files must be read by now.
#[cfg(unix)]
pub(crate) fn confine() -> ConfinementMessage {
    match parthack_sandbox::confine_self(&[]) {
        Ok(report) => ConfinementMessage {
            filter_instructions: Some(report.filter_instructions),
            landlock: report.landlock,
            missing: match report.landlock {
                Some(_) => Vec::new(),
                None => vec!["this kernel has no Landlock; the filter alone refuses to open files".to_owned()],
            },
        },
        Err(error) => unconfined(&error.to_string()),
    }
}

/// Confines this process, which is not possible here.
#[cfg(not(unix))]
pub(crate) fn confine() -> ConfinementMessage {
    unconfined("it needs Linux")
}

fn unconfined(why: &str) -> ConfinementMessage {
    let why = why.lines().next().unwrap_or_default();
    ConfinementMessage { missing: vec![format!("it is not confined: {why}")], ..ConfinementMessage::default() }
}

/// What the user must know of it, if anything is missing.
pub(crate) fn warning(confinement: &ConfinementMessage) -> Option<String> {
    (!confinement.missing.is_empty()).then(|| format!("warning: {}", confinement.missing.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(
            warning(&ConfinementMessage { filter_instructions: Some(60), landlock: Some(7), missing: Vec::new() }),
            None
        );
        let bare = unconfined("seccomp is missing\nhint: none");
        assert_eq!(warning(&bare).as_deref(), Some("warning: it is not confined: seccomp is missing"));
    }
}
