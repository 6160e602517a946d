//! Which user a confined program runs as: what the policy asks for, and what this process is able to give.

use std::sync::OnceLock;

use crate::policy::Identity;
use crate::raw::calls;
use crate::raw::child::Change;

/// Bits of the capabilities that a change of group and user needs.
const SET_GROUP: u64 = 1 << 6;
const SET_USER: u64 = 1 << 7;

/// The change that a child makes, if it makes one.
pub(crate) fn change(identity: Identity) -> Option<Change> {
    match identity {
        Identity::Automatic => automatic().is_ok().then_some(Change { uid: Identity::NOBODY, gid: Identity::NOBODY }),
        Identity::Keep => None,
        Identity::Of { uid, gid } => Some(Change { uid, gid }),
    }
}

/// Does [`Identity::Automatic`] change the user here? If not: why. Asked once; it is a fact about the process's start.
pub(crate) fn automatic() -> Result<(), &'static str> {
    static ANSWER: OnceLock<Result<(), &'static str>> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        if calls::identity().0 != 0 {
            return Err("only root can start programs as another user");
        }
        let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
        judge(&read("status"), &read("uid_map"), &read("gid_map"), &read("setgroups"))
    })
}

fn judge(status: &str, users: &str, groups: &str, setgroups: &str) -> Result<(), &'static str> {
    let capabilities = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    if capabilities & SET_USER == 0 || capabilities & SET_GROUP == 0 {
        return Err("this root lacks the capabilities to change the user");
    }
    if !maps(users, Identity::NOBODY) || !maps(groups, Identity::NOBODY) || setgroups.trim() == "deny" {
        return Err("this root is in a user namespace without another user");
    }
    Ok(())
}

/// Does the user namespace have this number?
fn maps(map: &str, number: u32) -> bool {
    map.lines().any(|line| {
        let words: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        matches!(words.as_slice(), [first, _, count] if (*first..first + count).contains(&u64::from(number)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_can_change() {
        let all = "Name:\tx\nCapEff:\t000001ffffffffff\n";
        let host = "         0          0 4294967295\n";
        assert_eq!(judge(all, host, host, "allow\n"), Ok(()));
        assert!(judge("CapEff:\t0000000000000000\n", host, host, "allow\n").is_err());
        assert!(judge("", host, host, "allow\n").is_err());
        let alone = "         0       1000          1\n";
        assert!(judge(all, alone, host, "allow\n").is_err());
        assert!(judge(all, host, alone, "allow\n").is_err());
        assert!(judge(all, host, host, "deny\n").is_err());
        let rootless = "0 1000 1\n1 100000 65536\n";
        assert_eq!(judge(all, rootless, rootless, "allow\n"), Ok(()));
    }
}
