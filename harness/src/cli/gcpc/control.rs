//! `parthack gcpc control`: checks of the instrument itself (G §4.5, §4.6).

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use parthack_gcpc::records::Variant;
use parthack_logs::Kind;

use super::analyze::{AnalysisArgs, print_tables};
use super::judge::{LogArgs, MatchArgs, SettingArgs, judge_logs};
use super::{existing, pipeline, say_spent};
use crate::cli::Output;
use crate::cli::models::ClientArgs;
use crate::failure::{Exit, Failure};
use crate::gcpc::controls::{audits, idle_works, primary_judgements, replacement_works, work_without_evidence};
use crate::gcpc::judging::{Bench, Method, Work};
use crate::gcpc::pipeline::Role;

/// A control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Control {
    /// The four variants of the official-outcome step; asks nobody
    OutcomeStep,
    /// Every Abstain recoded as No; with logs, also a judge that may not abstain
    ForcedVerdict,
    /// The evidence of each Yes replaced wherever it stands, and the item judged again
    EvidenceReplacement,
    /// Agents that do nothing of substance must earn nothing; with logs, nor may logs whose tool outputs are taken out
    IdleAgent,
    /// Coverage of stated requirements by the real, a reduced, an irrelevant and a name-permuted scheme
    Schema,
    /// Another judge on the same logs
    JudgeSubstitution,
    /// Three passes of the same judgement
    ThreePasses,
}

impl Control {
    /// The tables that show its result.
    fn tables(self) -> &'static [&'static str] {
        match self {
            Control::JudgeSubstitution => &["judges"],
            Control::ThreePasses => &["reliability"],
            Control::Schema => &["coverage", "3"],
            _ => &["3"],
        }
    }

    fn needs_logs(self) -> bool {
        matches!(self, Control::EvidenceReplacement | Control::JudgeSubstitution | Control::ThreePasses)
    }
}

/// Check the instrument itself
///
/// What models are asked is kept in the folder like every judgement; the tables that show the result are printed. Controls that judge logs need KIND
/// and PATH.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  parthack gcpc control outcome-step study")]
pub(super) struct Args {
    /// Which control
    #[arg(value_enum, value_name = "CONTROL")]
    control: Control,
    /// Folder of the pipeline
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A kind of log that `parthack import` knows
    #[arg(value_name = "KIND", requires = "path")]
    kind: Option<Kind>,
    /// A file or a folder of logs
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// Passes of three-passes
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=20))]
    passes: u32,
    #[command(flatten)]
    matching: MatchArgs,
    #[command(flatten)]
    setting: SettingArgs,
    #[command(flatten)]
    analysis: AnalysisArgs,
    #[command(flatten)]
    client: ClientArgs,
}

pub(super) fn run(args: &Args, out: &mut Output) -> Result<Exit, Failure> {
    let logs = args.kind.zip(args.path.clone()).map(|(kind, path)| LogArgs { kind, path });
    if args.control.needs_logs() && logs.is_none() {
        return Err(Failure::usage("this control judges logs", "give KIND and PATH after the folder"));
    }
    let folder = existing(&args.folder)?;
    let asks = match args.control {
        Control::OutcomeStep => false,
        Control::ForcedVerdict => logs.is_some(),
        _ => true,
    };
    let mut judged = None;
    if asks {
        let _lock = folder.open()?;
        let pipeline = pipeline(&args.client, &folder)?;
        let threads = args.client.concurrency as usize;
        let seed = args.analysis.seed;
        if args.control == Control::Schema {
            audits(&folder, &pipeline, seed)?;
        } else {
            let mut bench = Bench::open(&folder, &pipeline, args.setting.setting())?;
            let judge = pipeline.role(Role::Judge)?.name();
            let primary = primary_judgements(folder.read_judgements()?, &judge);
            let passes = args.passes;
            match (args.control, &logs) {
                (Control::IdleAgent, _) => {
                    let works = idle_works(&bench);
                    bench.judge(&works, threads)?;
                    if let Some(logs) = &logs {
                        let report = judge_logs(&mut bench, logs, &args.matching, threads, |_, identity, view| {
                            Ok(vec![work_without_evidence(identity, view)])
                        })?;
                        judged = Some(report);
                    }
                }
                (Control::EvidenceReplacement, Some(logs)) => {
                    let report = judge_logs(&mut bench, logs, &args.matching, threads, |bench, identity, view| {
                        replacement_works(&pipeline, bench, &primary, identity, view, seed)
                    })?;
                    judged = Some(report);
                }
                (control, Some(logs)) => {
                    let report = judge_logs(&mut bench, logs, &args.matching, threads, |_, identity, view| {
                        let work = |variant: Variant, pass: u32| Work {
                            identity: identity.clone(),
                            view: view.clone(),
                            method: Method::Gcpc,
                            variant,
                            pass,
                        };
                        Ok(match control {
                            Control::ForcedVerdict => vec![work(Variant::Forced {}, 1)],
                            Control::ThreePasses => (1..=passes).map(|pass| work(Variant::Primary {}, pass)).collect(),
                            _ => vec![work(Variant::Primary {}, 1)],
                        })
                    })?;
                    judged = Some(report);
                }
                _ => {}
            }
        }
        say_spent(&pipeline);
    }
    let wanted: Vec<String> = args.control.tables().iter().map(|id| (*id).to_owned()).collect();
    print_tables(&folder, &args.analysis, &wanted, out)?;
    out.flush()?;
    // The tables stand either way; that no log had a part in them is a failure.
    judged.map_or(Ok(()), |report| report.need_a_checklist())?;
    Ok(Exit::Done)
}
