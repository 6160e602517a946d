//! A small assembler for system call filters: an ordered list of rules in, a classic BPF program out.

use libc::{c_long, sock_filter};

/// What a filter answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Allow,
    /// The call fails with this error number.
    Refuse(i32),
    /// The process dies.
    Kill,
}

impl Action {
    const fn code(self) -> u32 {
        match self {
            Self::Allow => libc::SECCOMP_RET_ALLOW,
            Self::Refuse(errno) => libc::SECCOMP_RET_ERRNO | (errno as u32 & 0xffff),
            Self::Kill => libc::SECCOMP_RET_KILL_PROCESS,
        }
    }
}

/// A condition on one argument of a call, which are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The lower 32 bits under the mask are this. For arguments that the kernel reads as 32 bits.
    Low { argument: u8, mask: u32, value: u32 },
    /// All 64 bits are this.
    Whole { argument: u8, value: u64 },
    /// The lower 32 bits are the process's own number, which is patched in by the process.
    OwnProcess { argument: u8 },
}

/// For one call: the action when all conditions hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) call: c_long,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) action: Action,
}

/// A filter as the kernel takes it, and where the own process number belongs.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) instructions: Vec<sock_filter>,
    pub(crate) own_process: Vec<usize>,
}

/// The machine that calls must come from, as the kernel names it.
#[cfg(target_arch = "x86_64")]
pub(crate) const MACHINE: Option<u32> = Some(0xc000_003e);
/// The machine that calls must come from, as the kernel names it.
#[cfg(target_arch = "aarch64")]
pub(crate) const MACHINE: Option<u32> = Some(0xc000_00b7);
/// No filter is known for this machine.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(crate) const MACHINE: Option<u32> = None;

const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;
/// Calls of the x32 interface have this bit; there are none elsewhere.
const X32: u32 = 0x4000_0000;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const fn plain(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Assembles the rules of one machine. Rules for the same call are tried in order; where none applies, and for calls
/// without a rule, `otherwise` is the answer. Calls of another machine's interface kill.
pub(crate) fn assemble(machine: u32, rules: &[Rule], otherwise: Action) -> Program {
    let mut program = Program { instructions: Vec::new(), own_process: Vec::new() };
    let out = &mut program.instructions;
    out.push(plain(LOAD, ARCHITECTURE));
    out.push(sock_filter { code: EQUAL, jt: 1, jf: 0, k: machine });
    out.push(plain(RETURN, Action::Kill.code()));
    out.push(plain(LOAD, NUMBER));
    out.push(sock_filter { code: AT_LEAST, jt: 0, jf: 1, k: X32 });
    out.push(plain(RETURN, Action::Kill.code()));
    for rule in rules {
        let call = u32::try_from(rule.call).unwrap_or(u32::MAX);
        let start = out.len();
        out.push(plain(EQUAL, call));
        for condition in &rule.conditions {
            match *condition {
                Condition::Low { argument, mask, value } => {
                    out.push(plain(LOAD, low(argument)));
                    out.push(plain(AND, mask));
                    out.push(plain(EQUAL, value));
                }
                Condition::Whole { argument, value } => {
                    out.push(plain(LOAD, low(argument)));
                    out.push(plain(EQUAL, value as u32));
                    out.push(plain(LOAD, low(argument) + 4));
                    out.push(plain(EQUAL, (value >> 32) as u32));
                }
                Condition::OwnProcess { argument } => {
                    out.push(plain(LOAD, low(argument)));
                    program.own_process.push(out.len());
                    out.push(plain(EQUAL, 0));
                }
            }
        }
        out.push(plain(RETURN, rule.action.code()));
        // Each comparison that fails goes on behind this rule, where the number is loaded again if it was replaced.
        let next = out.len();
        for (at, instruction) in out.iter_mut().enumerate().skip(start).filter(|(_, it)| it.code == EQUAL) {
            instruction.jf = u8::try_from(next - at - 1).unwrap_or(u8::MAX);
        }
        if !rule.conditions.is_empty() {
            out.push(plain(LOAD, NUMBER));
        }
    }
    out.push(plain(RETURN, otherwise.code()));
    program
}

/// Where the lower half of an argument lies; both machines are little-endian.
const fn low(argument: u8) -> u32 {
    ARGUMENTS + 8 * argument as u32
}

#[cfg(test)]
pub(crate) mod interpreter {
    //! Runs a filter on one call, as the kernel would.
    use super::*;

    /// The answer of a program to a call.
    pub(crate) fn answer(program: &Program, machine: u32, call: c_long, arguments: [u64; 6]) -> u32 {
        let mut data = Vec::new();
        data.extend(u32::try_from(call).expect("a call").to_le_bytes());
        data.extend(machine.to_le_bytes());
        data.extend([0; 8]);
        arguments.iter().for_each(|argument| data.extend(argument.to_le_bytes()));
        let (mut at, mut value) = (0, 0_u32);
        loop {
            let instruction = program.instructions[at];
            at += 1;
            match instruction.code {
                LOAD => {
                    let from = instruction.k as usize;
                    value = u32::from_le_bytes(data[from..from + 4].try_into().expect("four bytes"));
                }
                AND => value &= instruction.k,
                EQUAL => at += usize::from(if value == instruction.k { instruction.jt } else { instruction.jf }),
                AT_LEAST => at += usize::from(if value >= instruction.k { instruction.jt } else { instruction.jf }),
                RETURN => return instruction.k,
                other => panic!("instruction {other}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::interpreter::answer;
    use super::*;

    #[test]
    fn rules_apply_in_order() {
        let rules = [
            Rule { call: 7, conditions: Vec::new(), action: Action::Allow },
            Rule {
                call: 9,
                conditions: vec![
                    Condition::Whole { argument: 3, value: 0x1234_5678_9abc_def0 },
                    Condition::Low { argument: 1, mask: 0xf0, value: 0x20 },
                ],
                action: Action::Allow,
            },
            Rule { call: 9, conditions: vec![Condition::OwnProcess { argument: 0 }], action: Action::Refuse(5) },
            Rule { call: 11, conditions: Vec::new(), action: Action::Refuse(38) },
        ];
        let mut program = assemble(1, &rules, Action::Kill);
        for at in program.own_process.clone() {
            program.instructions[at].k = 77;
        }
        let (allow, kill) = (Action::Allow.code(), Action::Kill.code());
        let check = |call, arguments, expected| assert_eq!(answer(&program, 1, call, arguments), expected, "{call}");
        check(7, [0; 6], allow);
        check(8, [0; 6], kill);
        check(9, [0, 0x2f, 0, 0x1234_5678_9abc_def0, 0, 0], allow);
        check(9, [0, 0xff_0000_002f, 0, 0x1234_5678_9abc_def0, 0, 0], allow);
        check(9, [0, 0x3f, 0, 0x1234_5678_9abc_def0, 0, 0], kill);
        check(9, [0, 0x2f, 0, 0x1234_5679_9abc_def0, 0, 0], kill);
        check(9, [77, 0, 0, 0, 0, 0], Action::Refuse(5).code());
        check(11, [0; 6], Action::Refuse(38).code());
        check(7 | 0x4000_0000, [0; 6], kill);
        assert_eq!(answer(&program, 2, 7, [0; 6]), kill, "another machine");
    }
}
