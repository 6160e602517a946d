//! Programs that misbehave, at every tier that this host gives: how they end, and that the parent stays well.
#![cfg(target_os = "linux")]

use std::io::Read as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use parthack_sandbox::{
    Bounds, Confined, End, Finished, Identity, Limits, Network, Policy, Stopped, Tier, detect, spawn,
};

/// A shell script: the shell's own commands need no further process.
fn script(text: &str) -> Policy {
    Policy {
        limits: Limits { memory_bytes: 256 << 20, cpu_seconds: 1, ..Limits::default() },
        ..Policy::new("/bin/sh").arguments(["-c", text])
    }
}

fn tiers() -> Vec<Tier> {
    let highest = detect().highest.expect("a tier");
    assert!(highest >= Tier::Filtered, "{highest} alone");
    println!("tested: up to {highest}");
    Tier::ALL.into_iter().filter(|tier| *tier <= highest).collect()
}

fn run(policy: &Policy, tier: Tier, bounds: &Bounds) -> Finished {
    let started = spawn(policy, tier).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(started.tier(), tier);
    started.run(b"in\n", bounds).expect("run")
}

#[test]
fn a_good_program_gets_its_input_and_is_heard() {
    for tier in tiers() {
        let policy = script("read line; echo \"$line $VALUE $1\"; echo talk >&2; exit 3").arguments(["zero", "one"]);
        let finished = run(&policy.variable("VALUE", "v"), tier, &Bounds::default());
        assert_eq!(String::from_utf8_lossy(&finished.output), "in v one\n", "{tier}");
        assert_eq!(finished.errors, b"talk\n", "{tier}");
        assert_eq!((finished.exit.end, finished.stopped), (End::Code(3), None), "{tier}");
    }
}

#[test]
fn nothing_is_inherited_but_what_is_given() {
    for tier in tiers() {
        let finished = run(&script("export -p; umask"), tier, &Bounds::default());
        let text = String::from_utf8_lossy(&finished.output).into_owned();
        assert!(!text.contains("CARGO") && !text.contains("HOME"), "{tier}: {text}");
        assert!(text.ends_with("0022\n"), "{tier}: {text}");
    }
}

#[test]
fn further_processes_are_refused() {
    for tier in tiers().into_iter().filter(|tier| *tier >= Tier::Filtered) {
        let finished = run(&script("/bin/echo child; echo after"), tier, &Bounds::default());
        assert!(!String::from_utf8_lossy(&finished.output).contains("child"), "{tier}");
        let finished = run(&script("exec /bin/echo other"), tier, &Bounds::default());
        assert!(finished.output.is_empty() && !finished.exit.success(), "{tier}");
    }
}

#[test]
fn a_loop_ends_by_its_processor_time() {
    for tier in tiers() {
        let finished = run(&script("while :; do :; done"), tier, &Bounds::default());
        assert_eq!((finished.exit.end, finished.stopped), (End::CpuLimit, None), "{tier}");
        // The kernel's limit goes by ticks of its clock, which count more on a busy machine than the process used.
        assert!(finished.exit.cpu_time >= Duration::from_millis(500), "{tier}: {:?}", finished.exit.cpu_time);
        assert!(finished.exit.cpu_time < Duration::from_secs(3), "{tier}: {:?}", finished.exit.cpu_time);
    }
}

#[test]
fn memory_ends() {
    for tier in tiers() {
        let policy = script("x=xxxxxxxxxxxxxxxx; while :; do x=$x$x; done");
        let finished = run(&policy, tier, &Bounds::default());
        assert!(!finished.exit.success(), "{tier}");
        assert!(finished.exit.resident_kib < 300 << 10, "{tier}: {} KiB", finished.exit.resident_kib);
    }
}

#[test]
fn floods_are_cut_off() {
    let bounds = Bounds { output_bytes: 100_000, error_bytes: 50_000, ..Bounds::default() };
    for tier in tiers() {
        let finished = run(&script("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxx; done"), tier, &bounds);
        assert_eq!((finished.stopped, finished.output.len()), (Some(Stopped::Output), 100_000), "{tier}");
        assert_eq!(finished.exit.end, End::Signal(libc::SIGKILL), "{tier}");
        let finished = run(&script("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxx >&2; done"), tier, &bounds);
        assert_eq!((finished.stopped, finished.errors.len()), (Some(Stopped::Errors), 50_000), "{tier}");
    }
}

#[test]
fn a_hang_ends_by_the_clock() {
    let bounds = Bounds { wall: Duration::from_millis(150), ..Bounds::default() };
    // The input ends, so that reading doesn't wait; reading from a pipe of its own making isn't the shell's to do.
    for text in
        ["trap '' TERM INT HUP; read a; read b; while :; do read c; done", "kill -STOP $$; read x; while :; do :; done"]
    {
        for tier in tiers() {
            let started = Instant::now();
            let finished = run(&script(text), tier, &bounds);
            assert_eq!(finished.stopped, Some(Stopped::WallClock), "{tier}: {text}");
            assert!(started.elapsed() < Duration::from_secs(5), "{tier}: {:?}", started.elapsed());
        }
    }
    for tier in tiers() {
        let mut confined = spawn(&script("read forever"), tier).expect("started");
        assert_eq!(confined.wait(Some(Duration::from_millis(20))).expect("waited"), None, "{tier}");
        confined.kill().expect("killed");
        let exit = confined.wait(None).expect("waited").expect("an end");
        assert_eq!(exit.end, End::Signal(libc::SIGKILL), "{tier}");
        confined.kill().expect("no error after the end");
    }
}

#[test]
fn the_parent_is_out_of_reach() {
    for tier in tiers().into_iter().filter(|tier| *tier >= Tier::Filtered) {
        let number = std::process::id();
        let finished = run(&script(&format!("kill -CONT {number} && echo reached")), tier, &Bounds::default());
        assert!(finished.output.is_empty(), "{tier}");
    }
}

#[test]
fn nothing_is_written_outside() {
    let name = format!("/tmp/parthack-hostile-{}", std::process::id());
    for tier in tiers().into_iter().filter(|tier| *tier >= Tier::Filtered) {
        let finished = run(&script(&format!("echo x > {name} && echo written")), tier, &Bounds::default());
        assert!(finished.output.is_empty() && !std::path::Path::new(&name).exists(), "{tier}");
    }
}

#[test]
fn a_dropped_process_is_gone() {
    for tier in tiers() {
        let confined = spawn(&script("read forever"), tier).expect("started");
        let number = confined.number();
        assert!(PathBuf::from(format!("/proc/{number}")).exists(), "{tier}");
        drop(confined);
        assert!(!PathBuf::from(format!("/proc/{number}")).exists(), "{tier}");
    }
}

#[test]
fn the_program_dies_with_the_thread_that_started_it() {
    for tier in tiers() {
        let policy = script("read forever; echo survived");
        let mut confined = std::thread::spawn(move || spawn(&policy, tier).expect("started")).join().expect("joined");
        let exit = confined.wait(Some(Duration::from_secs(10))).expect("waited").expect("an end");
        assert_eq!(exit.end, End::Signal(libc::SIGKILL), "{tier}");
    }
}

#[test]
fn a_program_that_reads_nothing_does_not_stop_its_parent() {
    for tier in tiers() {
        let started = spawn(&script("exec <&-; echo done"), tier).expect("started");
        let finished = started.run(&vec![b'x'; 4 << 20], &Bounds::default()).expect("run");
        assert_eq!(finished.output, b"done\n", "{tier}");
    }
}

#[test]
fn many_threads_start_programs_while_others_allocate() {
    let highest = tiers().into_iter().max().expect("a tier");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut kept: Vec<Vec<u8>> = Vec::new();
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    kept.push(vec![1; 4096]);
                    if kept.len() > 64 {
                        kept.clear();
                    }
                }
            });
        }
        let starters: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let finished = run(&script("echo ok"), highest, &Bounds::default());
                        assert_eq!(finished.output, b"ok\n", "{:?} {:?}", finished.exit, finished.stopped);
                    }
                })
            })
            .collect();
        let outcomes: Vec<_> = starters.into_iter().map(|starter| starter.join()).collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(outcomes.iter().all(Result::is_ok));
    });
}

#[test]
fn a_program_that_can_not_start_is_an_error_and_not_a_verdict() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("scratch");
    let broken = folder.path().join("broken");
    std::fs::write(&broken, b"\x7fELF nothing behind it").expect("written");
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).expect("executable");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("passable");
    for tier in tiers() {
        let error = spawn(&Policy::new(&broken), tier).expect_err("refused").to_string();
        assert!(error.contains("executing the program failed: ENOEXEC"), "{error}");
        let policy = Policy { working_folder: "/no/such/folder".into(), ..script("true") };
        let error = spawn(&policy, tier).expect_err("refused").to_string();
        assert!(error.contains("entering the working folder failed: ENOENT"), "{error}");
    }
}

#[test]
fn a_file_of_the_own_user_is_not_written_to() {
    // Where root stays root, the mode of a file stops nothing: Landlock or the filter has to.
    let file = tempfile::NamedTempFile::new().expect("made");
    std::fs::write(file.path(), "untouched").expect("written");
    for tier in tiers().into_iter().filter(|tier| *tier >= Tier::Filtered) {
        for identity in [Identity::Automatic, Identity::Keep] {
            let text = format!("echo gone > {0}; echo more >> {0}; rm -f {0}", file.path().display());
            run(&Policy { identity, ..script(&text) }, tier, &Bounds::default());
            assert_eq!(std::fs::read(file.path()).expect("read"), b"untouched", "{tier} {identity:?}");
        }
    }
}

/// What is private below the program's own folder: a folder, one in a folder, a file, and what a link leads to.
#[test]
fn private_paths_below_a_readable_folder_are_closed_and_the_rest_is_open() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("scratch");
    let base = folder.path();
    for (name, text) in [
        ("sealed/package", "secret"),
        ("runs/first/private/vectors", "secret"),
        ("runs/first/ledger", "open"),
        ("key", "secret"),
        ("data/deep/beside", "open"),
        ("beside", "open"),
    ] {
        let path = base.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, format!("{text}\n")).expect("written");
    }
    std::os::unix::fs::symlink("sealed/package", base.join("link")).expect("linked");
    std::fs::set_permissions(base, std::fs::Permissions::from_mode(0o755)).expect("passable");
    let try_all = "for file in sealed/package runs/first/private/vectors key link runs/first/ledger data/deep/beside \
        beside; do if read line < $file; then echo $file $line; fi; done; echo *";
    for tier in tiers().into_iter().filter(|tier| *tier >= Tier::Landlocked) {
        for identity in [Identity::Automatic, Identity::Keep] {
            let policy = Policy {
                private: vec![base.join("sealed")],
                hidden: vec![base.join("runs/first/private"), base.join("key"), base.join("absent")],
                working_folder: base.to_path_buf(),
                identity,
                ..script(try_all).readable(base)
            };
            let finished = run(&policy, tier, &Bounds::default());
            assert_eq!(
                String::from_utf8_lossy(&finished.output),
                "runs/first/ledger open\ndata/deep/beside open\nbeside open\nbeside data key link runs sealed\n",
                "{tier} {identity:?}: {}",
                String::from_utf8_lossy(&finished.errors)
            );
            let unguarded = Policy { private: Vec::new(), hidden: Vec::new(), ..policy };
            let told = String::from_utf8_lossy(&run(&unguarded, tier, &Bounds::default()).output).into_owned();
            assert_eq!(told.matches("secret").count(), 4, "{tier}: what is closed is open otherwise: {told}");
        }
    }
}

#[test]
fn root_runs_nothing_as_root() {
    let root = detect().uid == 0;
    if !root {
        println!("not root: nothing to give up");
    }
    for tier in tiers() {
        let finished = run(&script("test -w /etc/hostname && echo writable"), tier, &Bounds::default());
        assert!(finished.output.is_empty(), "{tier}");
    }
}

#[test]
fn pipes_can_be_used_line_by_line() {
    use std::io::Write as _;
    for tier in tiers() {
        let mut confined: Confined =
            spawn(&script("while read line; do echo \"<$line>\"; done"), tier).expect("started");
        let (mut stdin, mut stdout) = (confined.stdin.take().expect("in"), confined.stdout.take().expect("out"));
        for word in ["one", "two"] {
            writeln!(stdin, "{word}").expect("written");
            let mut answer = vec![0; word.len() + 3];
            stdout.read_exact(&mut answer).expect("read");
            assert_eq!(answer, format!("<{word}>\n").into_bytes(), "{tier}");
        }
        drop(stdin);
        assert!(confined.wait(None).expect("waited").expect("an end").success(), "{tier}");
    }
}

/// Python connects to a port of this test: refused without network, and heard with it, at every tier that cuts it off.
#[test]
fn network_is_all_or_nothing() {
    use std::io::Write as _;
    if !PathBuf::from("/usr/bin/python3").exists() {
        assert!(std::env::var_os("CI").is_none(), "python3 must be there in CI");
        return println!("SKIPPED: no /usr/bin/python3");
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"heard\n");
        }
    });
    let text = format!("import socket; print(socket.create_connection(('127.0.0.1', {port})).recv(9).decode())");
    let policy = Policy::new("/usr/bin/python3").arguments(["-I", "-c", &text]);
    let all = Policy { network: Network::All, ..policy.clone() };
    for tier in tiers().into_iter().filter(|tier| *tier >= Tier::Filtered) {
        let refused = run(&policy, tier, &Bounds::default());
        assert!(!refused.exit.success() && refused.output.is_empty(), "{tier}");
        let heard = run(&all, tier, &Bounds::default());
        let said = String::from_utf8_lossy(&heard.errors).into_owned();
        assert_eq!(String::from_utf8_lossy(&heard.output).trim(), "heard", "{tier}: {said}");
    }
}
