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
    use parthack_sandbox::{Bounds, Policy, Tier, detect, spawn_down_to};

    const USAGE: &str = "usage: parthack-probe detect | fall | audit [TIER] [--quick] | control [--quick]\n\
        `fall` starts this program at the highest tier that can be set up for it, and tells which\n\
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
            Some("fall") => fall(),
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

    fn fall() -> ExitCode {
        let program = match host() {
            Ok(host) => host.program,
            Err(error) => return fail(&error.to_string()),
        };
        let policy = Policy::new(program).arguments(["say-open"]);
        let (confined, fallen) = match spawn_down_to(&policy, Tier::Full, Tier::Limited) {
            Ok(started) => started,
            Err(error) => return fail(&error.to_string()),
        };
        println!("{}", confined.tier());
        fallen.iter().for_each(|fallen| println!("instead of {}: {}", fallen.tier, fallen.reason));
        match confined.run(b"", &Bounds::default()) {
            Ok(finished) if finished.exit.success() => ExitCode::SUCCESS,
            Ok(finished) => fail(&format!("it ended with {:?}", finished.exit.end)),
            Err(error) => fail(&error.to_string()),
        }
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
