//! Writes 10,000 generated logs of 100 kB into a folder and imports them; prints the count, the time, the rate and the peak
//! of resident memory.
//!
//! `cargo run --release -p parthack-logs --example import_many -- FOLDER [COUNT] [KILOBYTES]`

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use parthack_logs::{Kind, import};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("expected a folder to write to")?;
    let count: usize = arguments.next().map_or(Ok(10_000), |word| word.parse())?;
    let bytes: usize = arguments.next().map_or(Ok(100), |word| word.parse::<usize>())? * 1000;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let mut written = 0;
    for number in 0..count {
        let text = trajectory(number, bytes);
        written += text.len();
        std::fs::write(folder.join(format!("{number:06}.json")), text)?;
    }
    println!("written  {count} files, {:.1} MB, peak so far {}", written as f64 / 1e6, peak());
    let start = Instant::now();
    let mut run = import(Kind::Atif, folder);
    let mut logs = 0;
    for found in run.by_ref() {
        found?;
        logs += 1;
        if logs * 10 % count.max(10) == 0 {
            println!("{logs:>8} logs, peak {}", peak());
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let summary = run.summary();
    println!("logs     {} ({} steps, {} duplicates)", summary.logs, summary.steps, summary.duplicates);
    println!("seconds  {seconds:.2}");
    println!("MB/s     {:.1}", written as f64 / 1e6 / seconds);
    println!("peak     {}", peak());
    Ok(())
}

/// A trajectory of about so many bytes.
fn trajectory(number: usize, bytes: usize) -> String {
    let mut text = format!(
        "{{\"schema_version\":\"ATIF-v1.6\",\"session_id\":\"run-{number}\",\
         \"agent\":{{\"name\":\"generated\",\"version\":\"1\",\"model_name\":\"none\"}},\"steps\":[\
         {{\"step_id\":1,\"source\":\"user\",\"message\":\"List the files of folder {number}.\"}}"
    );
    let mut step = 2;
    while text.len() < bytes {
        let _ = write!(
            text,
            ",{{\"step_id\":{step},\"source\":\"agent\",\"message\":\"Step {step} of run {number}.\",\
             \"tool_calls\":[{{\"tool_call_id\":\"c{step}\",\"function_name\":\"shell\",\"arguments\":{{\"command\":\"ls {step}\"}}}}],\
             \"observation\":{{\"results\":[{{\"source_call_id\":\"c{step}\",\"content\":\""
        );
        for line in 0..20 {
            let _ = write!(text, "-rw-r--r-- 1 user user {:>8} file-{step}-{line}.txt\\n", step * 7919 + line * number);
        }
        text.push_str("\"}]}}");
        step += 1;
    }
    text.push_str("]}");
    text
}

/// The peak of resident memory as the kernel tells it.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    line.map_or("unknown", |line| line["VmHWM:".len()..].trim()).to_owned()
}
