//! The command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    parthack::cli::main()
}
