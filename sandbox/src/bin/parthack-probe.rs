//! Runs the probes of the sandbox: `detect`, `audit [TIER]`, `control`, and the parts that these start.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("the probes try ways out of a Linux sandbox; on this system there is tier 0 alone");
    ExitCode::from(4)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::process::ExitCode;

    use parthack_sandbox::probes::{Host, ProbeResult, Selection, audit, control, probe_main};
    use parthack_sandbox::{Tier, detect};

    const USAGE: &str = "usage: parthack-probe detect | audit [TIER] [--quick] | control [--quick]\n\
        `audit` exits with 1 when a probe that is claimed to be blocked isn't";

    pub(super) fn main() -> ExitCode {
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
        let selection = if words.contains(&"--quick") { Selection::Quick } else { Selection::All };
        match words.first().copied() {
            Some("detect") => {
                print!("{}", detect());
                ExitCode::SUCCESS
            }
            Some("audit") => run(words.get(1).and_then(|word| word.parse().ok()), selection),
            Some("control") => match host().and_then(|host| control(&host, selection)) {
                Ok(results) => {
                    results.iter().for_each(print);
                    ExitCode::SUCCESS
                }
                Err(error) => fail(&error.to_string()),
            },
            Some("--help" | "-h" | "help") => {
                println!("{USAGE}");
                ExitCode::SUCCESS
            }
            None => {
                eprintln!("{USAGE}");
                ExitCode::from(2)
            }
            Some(_) => ExitCode::from(probe_main(&arguments)),
        }
    }

    fn host() -> std::io::Result<Host> {
        Ok(Host { program: std::env::current_exe()?, arguments: Vec::new() })
    }

    fn run(number: Option<u8>, selection: Selection) -> ExitCode {
        let tier = match number {
            Some(number) => Tier::from_number(number),
            None => detect().highest,
        };
        let Some(tier) = tier else { return fail("no tier of this number, or none at all on this host") };
        match host().and_then(|host| audit(&host, tier, selection)) {
            Ok(results) => {
                println!("{tier}");
                results.iter().for_each(print);
                ExitCode::from(u8::from(results.iter().any(ProbeResult::falls_short)))
            }
            Err(error) => fail(&error.to_string()),
        }
    }

    fn print(result: &ProbeResult) {
        let mark = match (result.falls_short(), result.claimed) {
            (true, _) => "FAILS",
            (false, true) => "holds",
            (false, false) => "-",
        };
        println!("{}\t{mark}\t{}", result.probe.id, result.verdict);
    }

    fn fail(message: &str) -> ExitCode {
        eprintln!("error: {message}");
        ExitCode::from(4)
    }
}
