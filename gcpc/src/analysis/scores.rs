//! Every log's scores: what all other tables are made of.

use super::study::{Labelled, NO_VERDICT, NOTHING, Score, Study, exact};
use super::table::{Table, Value, number, words};
use crate::ratio::Ratio;

pub(crate) fn table(study: &Study<'_>) -> Table {
    let columns = vec![
        words("task", "Task"),
        words("log", "Log"),
        words("run", "Run"),
        words("harness", "Harness"),
        words("model", "Model"),
        words("condition", "Condition"),
        words("outcome", "Outcome"),
        number("gcpc", "GCPC"),
        number("gcpc_outcome", "With outcome"),
        words("perfect", "Perfect"),
        number("evidence_coverage", "Evidence"),
        number("decided_coverage", "Decided"),
        words("zero_evidence", "Zero evidence"),
        number("holistic", "Holistic"),
        number("tick", "TICK"),
        number("tick_trajectory", "TICK traj."),
        number("generic_checklist", "Generic"),
        number("no_verdict", "No verdict"),
    ];
    let row = |log: &super::study::Log<'_>| {
        let identity = log.identity;
        let score = |score| log.score(score).map_or_else(Value::Missing, Value::Exact);
        let of_labels = |make: &dyn Fn(&Labelled) -> Value| log.gcpc.get().map_or_else(Value::Missing, make);
        let ratio = |of: fn(&Labelled) -> Option<Ratio>| {
            of_labels(&|labelled| Value::exact(of(labelled).and_then(exact), NOTHING))
        };
        let without = Score::from_logs().filter(|score| log.score(*score) == Err(NO_VERDICT)).count();
        let mut row = vec![
            Value::text(&identity.task),
            Value::text(&identity.log),
            Value::known(identity.run.as_deref()),
            Value::known(identity.harness.as_deref()),
            Value::known(identity.model.as_deref()),
            Value::text(&identity.condition),
            identity.outcome.map_or(Value::Missing("no outcome"), |outcome| Value::text(outcome.word())),
            score(Score::Gcpc),
            score(Score::GcpcOutcome),
            of_labels(&|labelled| labelled.scores.perfect.map_or(Value::Missing(NOTHING), Value::Flag)),
            ratio(|labelled| labelled.scores.evidence_coverage),
            ratio(|labelled| labelled.scores.decided_coverage),
            of_labels(&|labelled| Value::Flag(labelled.scores.zero_evidence)),
        ];
        row.extend(Score::ALL.into_iter().filter(|score| matches!(score, Score::Baseline(_))).map(score));
        row.push(Value::count(without));
        row
    };
    let mut notes = study.notes_of(&study.logs);
    notes.push(study.zero_evidence_note());
    notes.push(
        "GCPC and evidence coverage are of the log alone; with outcome, Perfect and decided coverage come after the outcome step. No verdict counts methods."
            .to_owned(),
    );
    Table { id: "scores", title: "Scores of each log", columns, rows: study.logs.iter().map(row).collect(), notes }
}
