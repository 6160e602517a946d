//! What the tests of audits share: one clean run, copies of it with something planted, and the secrets of its tasks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use parthack::audit::access::Probing;
use parthack::audit::{Audit, AuditJob, AuditReport, AuditVerdict, Finding, audit_run};
use parthack::ledger::{Ledger, PrivateRecord, Record};
use parthack::run::certifier_process::CertifierProcess;
use parthack::run::certifying::Certify;
use parthack::run::error::RunError;
use parthack::run::folder::RunFolder;
use parthack::run::manifest::Manifest;
use parthack::run::suite::Suite;
use parthack::run::{read_ledger, read_manifest};
use parthack::tables::{build_tables, files};
use parthack_certifier::sealing::folder::{find_key, load};
use parthack_env::canonical::Hash;
use parthack_env::value::Literal;
use serde_json::Value;

use crate::cli_support::{PARTHACK, certifier, command, finish, workspace};

/// A development task whose judgements are recorded in part, and a held-out one.
const TASKS: &str = "PH-D01,PH-H05";

fn suite_folder() -> PathBuf {
    workspace().join("tasks/pb-cste-1")
}

fn sealed_folder() -> PathBuf {
    workspace().join("sealed/pb-cste-1")
}

/// The run that all copies are made of: rules, search, and judges out of the recordings.
pub(crate) fn clean_run() -> &'static Path {
    static RUN: OnceLock<tempfile::TempDir> = OnceLock::new();
    let scratch = RUN.get_or_init(|| {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let mut command = command();
        command.args(["run", "--tasks", TASKS, "--resamples", "100", "--model-mode", "replay", "--certifier"]);
        command.arg(certifier()).arg("--out").arg(scratch.path().join("run"));
        let ended = finish(command);
        assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
        scratch
    });
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| scratch.path().join("run"))
}

/// An audit to be run on a folder.
pub(crate) struct Audited {
    folder: PathBuf,
    /// A copy of the suite whose bytes are public instead.
    pub(crate) suite_bytes: Option<PathBuf>,
    /// Recordings that are public too.
    pub(crate) recordings: Vec<PathBuf>,
    /// The tier that is probed.
    pub(crate) tier: Option<u8>,
    /// The program that probes.
    pub(crate) program: PathBuf,
}

impl Audited {
    pub(crate) fn new(folder: &Path) -> Audited {
        Audited {
            folder: folder.to_path_buf(),
            suite_bytes: None,
            recordings: Vec::new(),
            tier: None,
            program: PARTHACK.into(),
        }
    }

    pub(crate) fn run(&self, chosen: &[Audit]) -> AuditReport {
        let start = || -> Result<Box<dyn Certify>, RunError> {
            Ok(Box::new(CertifierProcess::start(certifier(), &suite_folder(), &sealed_folder())?))
        };
        let mut suite = Suite::load(&suite_folder()).expect("a suite");
        if let Some(folder) = &self.suite_bytes {
            suite.folder.clone_from(folder);
        }
        let job = AuditJob {
            folder: self.folder.clone(),
            suite,
            certifier: &start,
            suite_key: find_key(&sealed_folder(), &|_| None).expect("a key").map(|(key, _)| key),
            evaluator_program: PARTHACK.into(),
            recordings: self.recordings.clone(),
            probing: Probing { program: self.program.clone(), tier: self.tier },
            threads: 2,
        };
        audit_run(&job, chosen, &mut |_, _| {}).expect("the audit itself works")
    }

    /// What one audit finds; it must find something.
    pub(crate) fn findings(&self, audit: Audit) -> Vec<Finding> {
        let result = self.run(&[audit]).results.remove(0);
        assert_eq!(result.verdict, AuditVerdict::Fail, "{:#?}", result.outcome);
        result.outcome.findings
    }
}

/// A copy of the clean run.
pub(crate) struct Planted {
    _scratch: tempfile::TempDir,
    pub(crate) folder: PathBuf,
}

impl Planted {
    pub(crate) fn new() -> Planted {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let folder = scratch.path().join("run");
        copy(clean_run(), &folder);
        Planted { _scratch: scratch, folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The first file of a folder.
    pub(crate) fn first_of(&self, folder: &str) -> PathBuf {
        self.path(&self.first_below(folder))
    }

    /// The name of the first file below a folder.
    pub(crate) fn first_below(&self, folder: &str) -> String {
        let names = bytes_below(&self.folder).into_keys();
        names.into_iter().find(|name| name.starts_with(&format!("{folder}/"))).expect(folder)
    }

    pub(crate) fn edit_text(&self, name: &str, edit: impl FnOnce(String) -> String) {
        let text = fs::read_to_string(self.path(name)).expect(name);
        let edited = edit(text.clone());
        assert_ne!(edited, text, "{name} was not changed");
        fs::write(self.path(name), edited).expect("written");
    }

    pub(crate) fn edit_json(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_slice(&fs::read(self.path(name)).expect(name)).expect("JSON");
        edit(&mut value);
        fs::write(self.path(name), value.to_string()).expect("written");
    }

    pub(crate) fn edit_manifest(&self, edit: impl FnOnce(&mut Manifest)) {
        let mut manifest = read_manifest(&RunFolder::at(&self.folder)).expect("a manifest");
        edit(&mut manifest);
        let mut bytes = manifest.bytes();
        bytes.push(b'\n');
        fs::write(self.path("manifest.json"), bytes).expect("written");
    }

    /// Changes records, and makes chain, tables and `complete.json` fit.
    pub(crate) fn forge(&self, edit: impl FnOnce(&mut Vec<Record>)) {
        let certifications = fs::read(self.path("private/certifications.jsonl")).expect("private records");
        self.finish(edit, &certifications);
    }

    /// Changes the first private record that `edit` wants, and makes the ledger fit.
    pub(crate) fn forge_private(&self, edit: impl Fn(&mut PrivateRecord) -> bool) {
        let text = fs::read_to_string(self.path("private/certifications.jsonl")).expect("private records");
        let mut edited = false;
        let lines = text.lines().map(|line| {
            let mut value: Value = serde_json::from_str(line).expect("JSON");
            let record = value.get("record").map(|record| serde_json::from_value::<PrivateRecord>(record.clone()));
            if let (false, Some(Ok(mut record))) = (edited, record) {
                edited = edit(&mut record);
                value["record"] = serde_json::to_value(record).expect("JSON");
            }
            // Keys come out sorted, as in canonical bytes.
            format!("{value}\n")
        });
        let certifications: String = lines.collect();
        assert!(edited, "no private record was changed");
        self.finish(|_| {}, certifications.as_bytes());
    }

    fn finish(&self, edit: impl FnOnce(&mut Vec<Record>), certifications: &[u8]) {
        let folder = RunFolder::at(&self.folder);
        let manifest = read_manifest(&folder).expect("a manifest");
        let mut records: Vec<Record> = read_ledger(&folder, &manifest).expect("a ledger").records().cloned().collect();
        edit(&mut records);
        let forged = Ledger::build(manifest.hash(), records, Hash::of("private", certifications));
        let tables = files(&build_tables(&manifest, &forged).expect("tables"));
        folder.finish(certifications, &forged.bytes(), &tables).expect("written");
    }

    /// A copy of the suite.
    pub(crate) fn copy_suite(&self) -> PathBuf {
        let copied = self.path("private/suite");
        copy(&suite_folder(), &copied);
        copied
    }

    pub(crate) fn findings(&self, audit: Audit) -> Vec<Finding> {
        Audited::new(&self.folder).findings(audit)
    }

    /// Runs the chosen audits: one alone must fail, with a finding whose place and whose words hold these.
    pub(crate) fn catch(&self, chosen: &[Audit], expected: Audit, place: &str, found: &str) {
        let report = Audited::new(&self.folder).run(chosen);
        for result in &report.results {
            let failed = result.verdict == AuditVerdict::Fail;
            assert_eq!(failed, result.audit == expected, "{}: {:#?}", result.audit.id(), result.outcome.findings);
            if failed {
                let named = |finding: &Finding| finding.place.contains(place) && finding.found.contains(found);
                assert!(result.outcome.findings.iter().any(named), "{place} {found}: {:#?}", result.outcome.findings);
            }
        }
        assert!(!report.passed());
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let copied = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &copied);
        } else {
            fs::copy(&path, copied).expect("copied");
        }
    }
}

/// Every file below a folder, by its name within it.
pub(crate) fn bytes_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = crate::cli_support::listing(folder).into_iter().filter(|path| path.is_file());
    files
        .map(|path| {
            let name = path.strip_prefix(folder).expect("below").to_string_lossy().into_owned();
            let bytes = fs::read(&path).expect("readable");
            (name, bytes)
        })
        .collect()
}

/// Secrets of the suite's packages.
pub(crate) struct Secrets {
    /// Canaries of all tasks.
    pub(crate) canaries: Vec<String>,
    /// How the audit calls each: `canary 3 of PH-D01`.
    pub(crate) names: Vec<String>,
    /// Some entity's private id.
    pub(crate) private_id: String,
    /// Some task's key.
    pub(crate) redaction_key: String,
    /// Some sealed free text.
    pub(crate) sealed_text: String,
}

/// Opens the packages in process, as no program of the project does.
pub(crate) fn secrets() -> Secrets {
    let mut store = load(&suite_folder(), &sealed_folder(), &|_| None).expect("packages");
    let mut secrets = Secrets {
        canaries: Vec::new(),
        names: Vec::new(),
        private_id: String::new(),
        redaction_key: String::new(),
        sealed_text: String::new(),
    };
    for task in store.ids() {
        let ready = store.ready(&task).expect("a package");
        let package = &ready.private.package;
        for (index, canary) in package.canaries.iter().enumerate() {
            secrets.canaries.push(canary.clone());
            secrets.names.push(format!("canary {index} of {task}"));
        }
        secrets.private_id = package.private_ids.values().next().expect("an id").clone();
        secrets.redaction_key = Hash(package.redaction_key).hex();
        for sealed in &package.sealed_values {
            if let Literal::Text(text) = &sealed.value {
                secrets.sealed_text = text.to_string();
            }
        }
    }
    secrets
}

/// The suite's key, as its file has it.
pub(crate) fn suite_key() -> String {
    let text = fs::read_to_string(sealed_folder().join("suite.key")).expect("a key");
    text.trim().to_owned()
}

/// Base64 by the standard alphabet.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let padded = [chunk[0], chunk.get(1).copied().unwrap_or(0), chunk.get(2).copied().unwrap_or(0)];
        let bits = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
        for at in 0..4 {
            let index = bits >> (18 - 6 * at) & 63;
            out.push(if at > chunk.len() { '=' } else { char::from(ALPHABET[index as usize]) });
        }
    }
    out
}
