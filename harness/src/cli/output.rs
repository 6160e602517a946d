//! Standard output and how it may look.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use clap::ValueEnum;
use serde::Serialize;

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    /// Whether to colour a stream.
    #[must_use]
    pub fn colors(self, is_terminal: bool) -> bool {
        match self {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        }
    }

    pub(crate) fn for_help(self) -> clap::ColorChoice {
        match self {
            ColorChoice::Auto => clap::ColorChoice::Auto,
            ColorChoice::Always => clap::ColorChoice::Always,
            ColorChoice::Never => clap::ColorChoice::Never,
        }
    }
}

/// What a report looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ReportFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Buffered standard output. What is written is data; talk goes to standard error.
pub struct Output {
    writer: BufWriter<StdoutLock<'static>>,
    color: bool,
}

impl Output {
    /// Standard output.
    #[must_use]
    pub fn new(choice: ColorChoice) -> Output {
        let stdout = io::stdout();
        let color = choice.colors(stdout.is_terminal());
        Output { writer: BufWriter::new(stdout.lock()), color }
    }

    /// A title in bold, where colours are on, and a line end.
    ///
    /// # Errors
    /// Standard output fails.
    pub fn title(&mut self, text: &str) -> io::Result<()> {
        if self.color { writeln!(self.writer, "\u{1b}[1m{text}\u{1b}[0m") } else { writeln!(self.writer, "{text}") }
    }

    /// Indented JSON and a line end.
    ///
    /// # Errors
    /// Standard output fails.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.writer, value)?;
        writeln!(self.writer)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
