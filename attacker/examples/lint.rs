//! Lints task files.
fn main() {
    for path in std::env::args().skip(1) {
        let task = parthack_env::task::Task::read(&std::fs::read(&path).unwrap()).unwrap();
        for note in parthack_attacker::lint::lint_public(&task).unwrap() {
            if note.finding == parthack_attacker::lint::Finding::Failed || note.code == "explored" {
                println!("{path} {:?} {} {}", note.finding, note.code, note.message);
            }
        }
    }
}
