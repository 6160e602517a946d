//! One table of every kind of cell, in every format, line by line.

use crate::exact::Ratio;
use crate::statistics::{Interval, Proportion, Score};
use crate::table::{Cell, Column, Format, Label, Missing, Table, TableError, layout, render, render_table};

fn estimate() -> Cell {
    let score = |text: &str| Score::exact(text.parse::<Ratio>().unwrap());
    let interval = Interval { low: score("3/20"), high: score("7/20") };
    Cell::Estimate { mean: score("1/4"), interval: Some(interval) }
}

fn sample() -> Table {
    let columns = vec![
        Column::words("evaluator", "Evaluator"),
        Column::numbers("honest_mae", "Honest MAE"),
        Column::estimates("mean_inflation", "Mean [95% CI]", "ci95"),
        Column::numbers("rollback", "Rollback"),
        Column::words("remark", "Remark"),
    ];
    let mut table = Table::new("B.2", "Core results", columns).with_note("One & all.");
    table
        .push([
            ("evaluator", Cell::named("csps", "CSPS")),
            ("honest_mae", Cell::Number(Score::exact(Ratio::fraction(1, 3)))),
            ("mean_inflation", estimate()),
            ("rollback", Cell::from(Proportion::new(14, 14))),
            ("remark", Cell::text("a, \"b\" | c_d")),
        ])
        .unwrap();
    let judge = Score::measured(0.036).unwrap();
    table
        .push([
            ("evaluator", Cell::named("llm-judge", "Judge")),
            ("honest_mae", Cell::Number(judge).labelled(Label::PrintedOnly)),
            ("mean_inflation", Cell::Missing(Missing::NotRecorded)),
            ("rollback", Cell::Missing(Missing::Excluded)),
            ("remark", Cell::Flag(true)),
        ])
        .unwrap();
    table
}

#[test]
fn text() {
    let expected = "\
Table B.2: Core results

Evaluator  Honest MAE      Mean [95% CI]  Rollback  Remark
---------  ----------  -----------------  --------  ------------
CSPS             .333  .250 [.150, .350]     14/14  a, \"b\" | c_d
Judge           .036*       not recorded  excluded  yes

One & all.
";
    assert_eq!(render(&[sample()], Format::Text), expected);
}

#[test]
fn markdown() {
    let expected = "\
**Table B.2: Core results**

| Evaluator | Honest MAE | Mean [95% CI] | Rollback | Remark |
| :--- | ---: | ---: | ---: | :--- |
| CSPS | .333 | .250 [.150, .350] | 14/14 | a, \"b\" \\| c\\_d |
| Judge | .036\\* | not recorded | excluded | yes |

One & all.
";
    assert_eq!(render(&[sample()], Format::Markdown), expected);
}

#[test]
fn csv() {
    let lines = [
        "evaluator,evaluator_name,honest_mae,honest_mae_exact,honest_mae_label,\
         mean_inflation,mean_inflation_exact,ci95_low,ci95_high,mean_inflation_missing,\
         rollback_k,rollback_n,rollback_missing,remark",
        "csps,CSPS,0.3333333333333333,1/3,,0.25,1/4,0.15,0.35,,14,14,,\"a, \"\"b\"\" | c_d\"",
        "llm-judge,Judge,0.036,,printed only,,,,,not recorded,,,excluded,true",
    ];
    let expected = lines.map(|line| format!("{line}\r\n")).concat();
    assert_eq!(render_table(&sample(), Format::Csv), expected);
    let set = render(&[sample(), sample()], Format::Csv);
    let titled = format!("B.2,Core results\r\n{expected}");
    assert_eq!(set, format!("{titled}\r\n{titled}"));
}

#[test]
fn json() {
    let expected = r#"{
  "tables": [
    {
      "id": "B.2",
      "title": "Core results",
      "note": "One & all.",
      "columns": [
        {
          "key": "evaluator",
          "header": "Evaluator",
          "align": "left"
        },
        {
          "key": "honest_mae",
          "header": "Honest MAE",
          "align": "right"
        },
        {
          "key": "mean_inflation",
          "header": "Mean [95% CI]",
          "align": "right",
          "interval_key": "ci95"
        },
        {
          "key": "rollback",
          "header": "Rollback",
          "align": "right"
        },
        {
          "key": "remark",
          "header": "Remark",
          "align": "left"
        }
      ],
      "rows": [
        {
          "evaluator": "csps",
          "evaluator_name": "CSPS",
          "honest_mae": 0.3333333333333333,
          "honest_mae_exact": "1/3",
          "mean_inflation": 0.25,
          "mean_inflation_exact": "1/4",
          "ci95": [
            0.15,
            0.35
          ],
          "ci95_exact": [
            "3/20",
            "7/20"
          ],
          "rollback": {
            "k": 14,
            "n": 14
          },
          "remark": "a, \"b\" | c_d"
        },
        {
          "evaluator": "llm-judge",
          "evaluator_name": "Judge",
          "honest_mae": 0.036,
          "honest_mae_label": "printed only",
          "mean_inflation": null,
          "mean_inflation_missing": "not recorded",
          "ci95": null,
          "rollback": null,
          "rollback_missing": "excluded",
          "remark": true
        }
      ]
    }
  ]
}
"#;
    assert_eq!(render(&[sample()], Format::Json), expected);
    assert_eq!(render_table(&sample(), Format::Json), expected);
}

#[test]
fn latex() {
    let expected = r#"\begin{table}
\centering
\caption{Core results}
\label{tab:B.2}
\begin{tabular}{lrrrl}
\toprule
Evaluator & Honest MAE & Mean [95\% CI] & Rollback & Remark \\
\midrule
CSPS & .333 & .250 [.150, .350] & 14/14 & a, "b" | c\_d \\
Judge & .036* & not recorded & excluded & yes \\
\bottomrule
\end{tabular}
\par\smallskip\footnotesize One \& all.
\end{table}
"#;
    assert_eq!(render(&[sample()], Format::Latex), expected);
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let mut table = Table::new("T", "t", vec![Column::words("a", "A")]);
    let unknown = table.push([("a", Cell::text("x")), ("b", Cell::text("y"))]);
    assert!(matches!(unknown, Err(TableError::UnknownColumn { key, .. }) if key == "b"));
    let absent = table.push::<&str>([]);
    assert!(matches!(absent, Err(TableError::AbsentCell { key, .. }) if key == "a"));
    let estimate = table.push([("a", estimate().labelled(Label::Recomputed))]);
    assert!(matches!(estimate, Err(TableError::NoIntervalKey { key, .. }) if key == "a"));
    assert!(table.rows.is_empty());
}

#[test]
fn layouts_have_distinct_keys_and_take_further_columns() {
    let headings = [("historical", "Historical"), ("idj", "IDJ")];
    let tables = [
        layout::table_1(),
        layout::table_2(),
        layout::table_3(),
        layout::table_6_1(),
        layout::table_a1(),
        layout::table_a2(),
        layout::table_a3(),
        layout::table_a4(),
        layout::table_a5(),
        layout::table_b1(&headings),
        layout::table_b2(),
        layout::table_b3(),
        layout::table_b4(&headings),
        layout::table_b5(),
        layout::table_b6(),
        layout::table_c1(),
    ];
    for table in tables {
        let wider = table.with_column_after("mean_inflation", Column::numbers("no_verdict", "No verdict"));
        assert!(wider.columns.iter().any(|column| column.key == "no_verdict"), "{}", wider.id);
    }
}
