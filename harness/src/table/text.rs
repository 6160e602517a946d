//! Tables as aligned text and as Markdown.

use crate::table::{Align, Table};

/// A table for a terminal: title, aligned columns two spaces apart, note.
pub(crate) fn text(table: &Table) -> String {
    let grid = grid(table);
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|place| grid.iter().map(|line| line[place].chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = format!("Table {}: {}\n\n", table.id, table.title);
    for (number, line) in grid.iter().enumerate() {
        let padded: Vec<String> = (line.iter().zip(&widths).zip(&table.columns))
            .map(|((cell, width), column)| match column.align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            })
            .collect();
        out.push_str(padded.join("  ").trim_end());
        out.push('\n');
        if number == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            out.push_str(&rules.join("  "));
            out.push('\n');
        }
    }
    if let Some(note) = &table.note {
        out.push_str(&format!("\n{note}\n"));
    }
    out
}

/// A Markdown pipe table below a bold title.
pub(crate) fn markdown(table: &Table) -> String {
    let mut out = format!("**Table {}: {}**\n\n", table.id, escape_markdown(&table.title));
    for (number, line) in grid(table).iter().enumerate() {
        let cells: Vec<String> = line.iter().map(|cell| escape_markdown(cell)).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
        if number == 0 {
            let rules: Vec<&str> = (table.columns.iter())
                .map(|column| match column.align {
                    Align::Left => ":---",
                    Align::Right => "---:",
                })
                .collect();
            out.push_str(&format!("| {} |\n", rules.join(" | ")));
        }
    }
    if let Some(note) = &table.note {
        out.push_str(&format!("\n{}\n", escape_markdown(note)));
    }
    out
}

/// Header and rows as shown, without line breaks.
fn grid(table: &Table) -> Vec<Vec<String>> {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let header = table.columns.iter().map(|column| one_line(&column.header)).collect();
    let row = |row| table.cells(row).map(|(_, cell)| one_line(&cell.shown())).collect();
    std::iter::once(header).chain(table.rows.iter().map(row)).collect()
}

fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '|' | '*' | '_' | '`' | '<' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}
