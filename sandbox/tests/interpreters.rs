//! Programs of the kinds that evaluators are written in run at tiers 2 and 3.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use parthack_sandbox::{Bounds, Identity, Policy, Scratch, Tier, detect, spawn};

fn tiers() -> Vec<Tier> {
    let highest = detect().highest.expect("a tier");
    assert!(highest >= Tier::Filtered, "{highest} alone");
    println!("tested: up to {highest}");
    Tier::ALL.into_iter().filter(|tier| *tier <= highest && *tier >= Tier::Filtered).collect()
}

/// The first program of this name on the tests' own path that is no script, and that a user without rights can reach.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| {
        std::fs::read(candidate).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")) && !candidate.starts_with("/root")
    });
    if found.is_none() {
        println!("{name} isn't installed here: not tested");
    }
    found
}

fn folder_with(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("scratch");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("passable");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    (folder, path)
}

fn output(policy: &Policy, tier: Tier, input: &str) -> String {
    let started = spawn(policy, tier).unwrap_or_else(|error| panic!("{error}"));
    let finished = started.run(input.as_bytes(), &Bounds::default()).expect("run");
    let errors = String::from_utf8_lossy(&finished.errors);
    assert!(finished.exit.success(), "{tier}: {:?} {:?}: {errors}", finished.exit.end, finished.stopped);
    String::from_utf8(finished.output).expect("text")
}

#[test]
fn scripts_with_an_interpreter_line() {
    for line in ["#!/bin/sh", "#!/usr/bin/env sh"] {
        let (_folder, path) = folder_with("judge", &format!("{line}\nread a; echo \"$a:$1\"\n"));
        for tier in tiers() {
            assert_eq!(output(&Policy::new(&path).arguments(["x"]), tier, "y\n"), "y:x\n", "{tier} {line}");
        }
    }
}

#[test]
fn python() {
    let Some(python) = find("python3") else { return };
    let text = "import json, sys, asyncio, hashlib, threading, ssl, neighbour\n\
        async def one():\n    return neighbour.VALUE\n\
        thread = threading.Thread(target=lambda: None)\nthread.start()\nthread.join()\n\
        for line in sys.stdin:\n    print(json.dumps({'score': json.loads(line)['a'] * asyncio.run(one())}))\n";
    let (folder, path) = folder_with("judge.py", text);
    std::fs::write(folder.path().join("neighbour.py"), "VALUE = 2\n").expect("written");
    for tier in tiers() {
        let policy = Policy::new(&python).arguments([path.as_os_str()]).readable_arguments(Path::new("/"));
        let policy = Policy { working_folder: folder.path().to_path_buf(), ..policy };
        assert_eq!(output(&policy, tier, "{\"a\": 2}\n"), "{\"score\": 4}\n", "{tier}");
    }
}

/// Python looks for modules in the folder of the file that a link leads to, and lists it.
#[test]
fn python_finds_modules_behind_a_link_and_beside_private_folders() {
    let Some(python) = find("python3") else { return };
    let text = "import neighbour\nfor line in open(neighbour.PLACE + '/data.txt'):\n    print(line.strip())\n";
    let (folder, path) = folder_with("judge.py", text);
    let place = format!("PLACE = {:?}\n", folder.path());
    std::fs::write(folder.path().join("neighbour.py"), place).expect("written");
    std::fs::write(folder.path().join("data.txt"), "data\n").expect("written");
    std::fs::create_dir(folder.path().join("sealed")).expect("made");
    let linked = tempfile::tempdir().expect("scratch");
    std::fs::set_permissions(linked.path(), std::fs::Permissions::from_mode(0o755)).expect("passable");
    let link = linked.path().join("link.py");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    for tier in tiers() {
        for (script, private) in [(&link, Vec::new()), (&path, vec![folder.path().join("sealed")])] {
            let private = if tier < Tier::Landlocked { Vec::new() } else { private };
            let policy = Policy { private, ..Policy::new(&python) };
            let policy = policy.arguments([script.as_os_str()]).readable_arguments(Path::new("/"));
            let policy = Policy { working_folder: linked.path().to_path_buf(), ..policy }.readable(linked.path());
            assert_eq!(output(&policy, tier, ""), "data\n", "{tier} {}", script.display());
        }
    }
}

#[test]
fn python_of_a_virtual_environment() {
    let Some(python) = find("python3") else { return };
    let folder = tempfile::tempdir().expect("scratch");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("passable");
    let environment = folder.path().join("venv");
    let made = std::process::Command::new(python).args(["-m", "venv", "--without-pip"]).arg(&environment).output();
    if !made.is_ok_and(|made| made.status.success()) {
        println!("virtual environments can't be made here: not tested");
        return;
    }
    let packages =
        std::fs::read_dir(environment.join("lib")).expect("listed").next().expect("one").expect("entry").path();
    std::fs::write(packages.join("site-packages/only_here.py"), "VALUE = 7\n").expect("written");
    for tier in tiers() {
        let policy =
            Policy::new(environment.join("bin/python3")).arguments(["-c", "import only_here; print(only_here.VALUE)"]);
        assert_eq!(output(&policy, tier, ""), "7\n", "{tier}");
    }
}

#[test]
fn node_without_code_generation() {
    let Some(node) = find("node") else { return };
    let (_folder, path) = folder_with(
        "judge.js",
        "const lines = require('readline').createInterface({input: process.stdin});\n\
         lines.on('line', line => console.log(JSON.stringify({score: JSON.parse(line).a / 2})));\n",
    );
    for tier in tiers() {
        let policy =
            Policy::new(&node).arguments(["--jitless".as_ref(), path.as_os_str()]).readable_arguments(Path::new("/"));
        assert_eq!(output(&policy, tier, "{\"a\": 1}\n"), "{\"score\":0.5}\n", "{tier}");
    }
}

#[test]
fn a_scratch_folder_is_bounded_and_gone() {
    if !tiers().contains(&Tier::Full) {
        println!("no namespaces here: not tested");
        return;
    }
    let scratch = Scratch { path: "/work/space".into(), bytes: 65_536, files: 4 };
    let text = "cd /work/space && echo kept > file && read x < file && echo $x; for i in 1 2 3 4 5 6; do : > f$i; done; \
        echo x > /work/outside || echo refused; echo *";
    let policy = Policy { scratch: Some(scratch.clone()), ..Policy::new("/bin/bash").arguments(["-c", text]) };
    if !Path::new("/bin/bash").exists() {
        println!("bash isn't installed here: not tested");
        return;
    }
    assert_eq!(output(&policy, Tier::Full, ""), "kept\nrefused\nf1 f2 f3 file\n");
    assert!(!Path::new("/work/space").exists());
    let lower = Policy { scratch: Some(scratch), ..Policy::new("/bin/sh") };
    assert!(spawn(&lower, Tier::Landlocked).is_err());
}

#[test]
fn only_what_is_readable_is_there() {
    let (folder, path) = folder_with("shown", "shown\n");
    let other = tempfile::tempdir().expect("scratch");
    std::fs::set_permissions(other.path(), std::fs::Permissions::from_mode(0o755)).expect("passable");
    let hidden = other.path().join("hidden");
    std::fs::write(&hidden, "hidden\n").expect("written");
    let text = "read a < \"$1\"; echo \"$a\"; read b < \"$2\"; echo \"$b\"";
    for tier in tiers().into_iter().filter(|tier| *tier >= Tier::Landlocked) {
        for identity in [Identity::Automatic, Identity::Keep] {
            let policy = Policy::new("/bin/sh").arguments([
                "-c".as_ref(),
                text.as_ref(),
                "zero".as_ref(),
                path.as_os_str(),
                hidden.as_os_str(),
            ]);
            let policy = Policy { identity, ..policy.readable(folder.path()) };
            let started = spawn(&policy, tier).expect("started");
            let finished = started.run(b"", &Bounds::default()).expect("run");
            assert_eq!(
                finished.output,
                b"shown\n\n",
                "{tier} {identity:?}: {}",
                String::from_utf8_lossy(&finished.errors)
            );
        }
    }
}
