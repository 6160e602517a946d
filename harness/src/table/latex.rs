//! Tables as LaTeX with `booktabs`.

use crate::table::{Align, Table};

/// A `table` environment with caption, label, rules and note.
pub(crate) fn latex(table: &Table) -> String {
    let alignment: String = (table.columns.iter())
        .map(|column| match column.align {
            Align::Left => 'l',
            Align::Right => 'r',
        })
        .collect();
    let line = |cells: Vec<String>| format!("{} \\\\\n", cells.join(" & "));
    let header = table.columns.iter().map(|column| escape(&column.header)).collect();
    let mut out = format!(
        "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n\\begin{{tabular}}{{{alignment}}}\n\\toprule\n{}\\midrule\n",
        escape(&table.title),
        label(&table.id),
        line(header),
    );
    for row in &table.rows {
        // A row that starts with a bracket would be read as an option of the row end before it.
        let cells = table.cells(row).map(|(_, cell)| escape(&cell.shown()));
        let cells: Vec<String> = cells
            .enumerate()
            .map(|(place, cell)| if place == 0 && cell.starts_with('[') { format!("{{}}{cell}") } else { cell })
            .collect();
        out.push_str(&line(cells));
    }
    out.push_str("\\bottomrule\n\\end{tabular}\n");
    if let Some(note) = &table.note {
        out.push_str(&format!("\\par\\smallskip\\footnotesize {}\n", escape(note)));
    }
    out.push_str("\\end{table}\n");
    out
}

/// An id as a label: other characters than letters, digits, `.` and `-` become `-`.
fn label(id: &str) -> String {
    let keep = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '-');
    id.chars().map(|character| if keep(character) { character } else { '-' }).collect()
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(character);
            }
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("$<$"),
            '>' => out.push_str("$>$"),
            '\n' | '\r' => out.push(' '),
            'Δ' => out.push_str("$\\Delta$"),
            '≤' => out.push_str("$\\leq$"),
            '≥' => out.push_str("$\\geq$"),
            '×' => out.push_str("$\\times$"),
            '±' => out.push_str("$\\pm$"),
            '→' => out.push_str("$\\rightarrow$"),
            '−' => out.push_str("$-$"),
            '–' => out.push_str("--"),
            '—' => out.push_str("---"),
            '§' => out.push_str("\\S{}"),
            other => out.push(other),
        }
    }
    out
}
