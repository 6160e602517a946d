//! Probes of limits: memory, processor, descriptors, threads, files, time, output.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

use super::inside::Context;
use super::{Attempt, Failure, Probe};
use crate::Tier;
use crate::raw::attempts;

/// Well above the limit that the audit sets.
const MUCH_MEMORY: usize = 4 << 30;
const MANY_DESCRIPTORS: usize = 512;
/// More than the slack that is left below tier 3, where other threads of the user count too.
const MANY_THREADS: usize = 2_048;
const MANY_FILES: usize = 300;
const BIG_FILE: usize = 8 << 20;
const FLOOD: usize = 2 << 20;
const LONG_CPU_MILLISECONDS: u64 = 3_000;
/// How long the hanging probe stays; the audit waits for it much less.
const LONG_WAIT_MILLISECONDS: i32 = 1_500;

pub(super) static PROBES: &[Probe] = &[
    Probe::new("memory-private", "use 4 GiB of memory", Tier::Limited, |_| {
        Ok(attempts::map_memory(MUCH_MEMORY, false).map(|()| Vec::new())?)
    })
    .possible_where("the host gives 4 GiB to one process"),
    Probe::new("memory-shared", "use 4 GiB of shared memory", Tier::Limited, |_| {
        Ok(attempts::map_memory(MUCH_MEMORY, true).map(|()| Vec::new())?)
    })
    .possible_where("the host gives 4 GiB to one process"),
    Probe::new("descriptor-flood", "open 512 descriptors", Tier::Limited, |_| {
        let one = File::from(crate::raw::calls::pipe()?.0);
        let copies: Result<Vec<File>, _> = (0..MANY_DESCRIPTORS).map(|_| one.try_clone()).collect();
        Ok(copies.map(|_| Vec::new())?)
    })
    .possible_where("the user may open 512 files"),
    Probe::new("thread-bomb", "start 2048 threads", Tier::Filtered, |_| threads())
        .slow()
        .possible_where("the user may have 2048 more threads"),
    Probe::new("big-file", "write a file of 8 MiB", Tier::Limited, |context| {
        let path = writable(context).join("big");
        let outcome = File::create(&path).and_then(|mut file| file.write_all(&vec![0; BIG_FILE]));
        let _ = std::fs::remove_file(&path);
        Ok(outcome.map(|()| Vec::new())?)
    }),
    Probe::new("many-files", "make 300 files", Tier::Filtered, |context| {
        let names: Vec<PathBuf> = (0..MANY_FILES).map(|index| writable(context).join(format!("n{index}"))).collect();
        let outcome: std::io::Result<Vec<()>> = names.iter().map(|name| File::create(name).map(drop)).collect();
        names.iter().for_each(|name| drop(std::fs::remove_file(name)));
        Ok(outcome.map(|_| Vec::new())?)
    }),
    Probe::new("cpu-loop", "use 3 s of processor time", Tier::Limited, |_| {
        let mut turns = 0_u64;
        while attempts::cpu_milliseconds() < LONG_CPU_MILLISECONDS {
            turns = (0..1_000_000).fold(turns, |sum, turn| std::hint::black_box(sum.wrapping_add(turn)));
        }
        Ok(Vec::new())
    })
    .slow(),
    Probe::new("hang", "do nothing for longer than allowed", Tier::Limited, |_| {
        attempts::pause(LONG_WAIT_MILLISECONDS);
        Ok(Vec::new())
    }),
    Probe::new("stdout-flood", "write 2 MiB to standard output", Tier::Limited, |_| {
        flood(&mut File::from(attempts::standard(1)?))
    }),
    Probe::new("stderr-flood", "write 2 MiB to standard error", Tier::Limited, |_| {
        flood(&mut File::from(attempts::standard(2)?))
    }),
];

fn writable(context: &Context) -> PathBuf {
    context.scratch().unwrap_or_else(|| context.public())
}

fn flood(file: &mut File) -> Attempt {
    let line = [b'x'; 1023];
    for _ in 0..FLOOD / 1024 {
        file.write_all(&line)?;
        file.write_all(b"\n")?;
    }
    Ok(Vec::new())
}

fn threads() -> Attempt {
    let gate = Arc::new((Mutex::new(false), Condvar::new()));
    let mut running = Vec::new();
    let mut outcome = Ok(Vec::new());
    for _ in 0..MANY_THREADS {
        let gate = Arc::clone(&gate);
        let thread = std::thread::Builder::new().stack_size(16 << 10).spawn(move || {
            let (open, bell) = &*gate;
            let mut open = open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            while !*open {
                open = bell.wait(open).unwrap_or_else(std::sync::PoisonError::into_inner);
            }
        });
        match thread {
            Ok(thread) => running.push(thread),
            Err(error) => {
                outcome = Err(Failure::from(error));
                break;
            }
        }
    }
    let (open, bell) = &*gate;
    *open.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
    bell.notify_all();
    for thread in running {
        let _ = thread.join();
    }
    outcome
}
