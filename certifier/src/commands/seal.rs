//! Sealing and unsealing a folder of packages. A package's old file goes when its new one lies on disk and was read back,
//! so that an end at any point loses nothing and the same command finishes the work.

use std::path::{Path, PathBuf};

use parthack_certifier::sealing::folder::{
    FolderError, KEY_FILE, KEY_FILE_VARIABLE, KEY_VARIABLE, KeyPlace, Packages, find_key, plain_path, read_private,
    sealed_path,
};
use parthack_certifier::sealing::{MAX_SEALED_BYTES, SealError, SuiteKey, canonical_package, open, seal};
use serde::Serialize;
use zeroize::Zeroizing;

use super::files::{Readers, random, remove, sync_folder_of, write_new};
use super::{EXIT_ENVIRONMENT, EXIT_INPUT, Failure, Rest, shown, variable};

/// What sealing did.
#[derive(Debug, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SealReport {
    /// The folder.
    folder: String,
    /// Packages that were sealed now.
    sealed: usize,
    /// Packages that were sealed before, and open with the key.
    sealed_before: usize,
    /// Where the key is.
    key: String,
    /// Whether the key was made now.
    new_key: bool,
    /// Whether the key lies beside the packages.
    key_beside: bool,
}

/// What unsealing did.
#[derive(Debug, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UnsealReport {
    /// Where the plain packages are.
    folder: String,
    /// Packages that were opened.
    opened: usize,
    /// Whether the sealed files were removed.
    in_place: bool,
}

/// Seals every plain package of a folder.
pub(super) fn seal_folder(mut rest: Rest) -> Result<SealReport, Failure> {
    let new_key = rest.path("--new-key")?;
    let folder = rest.folder()?;
    let packages = Packages::read_unfinished(&folder)?;
    if packages.plain.is_empty() && packages.sealed.is_empty() {
        let message = format!("{} holds no package", folder.display());
        return Err(Failure::input(message, "packages are ID.json, as `parthack task new` writes them"));
    }
    // Everything is read before anything is written.
    let mut plaintexts = Vec::with_capacity(packages.plain.len());
    for (id, bytes) in &packages.plain {
        let path = plain_path(&folder, id);
        let plaintext = canonical_package(bytes, id).map_err(|error| {
            let hint = "`parthack task lint` says what is wrong; a file that is no package belongs elsewhere";
            Failure::caused(EXIT_INPUT, &error.in_file(&path), hint)
        })?;
        plaintexts.push((id, plaintext));
    }
    let is_new = new_key.is_some();
    let (key, place) = choose_key(&folder, new_key, &packages)?;
    let key_place = place.to_string();
    for (id, bytes) in &packages.sealed {
        let path = sealed_path(&folder, id);
        let before = open(bytes, id, &key).map_err(|error| FolderError::Seal {
            path: path.clone(),
            place: place.clone(),
            error,
        })?;
        let plain = plaintexts.iter().find(|(plain, _)| *plain == id);
        if plain.is_some_and(|(_, plain)| *plain != before) {
            let plain = plain_path(&folder, id);
            let message = format!("{} and {} hold different packages", plain.display(), path.display());
            return Err(Failure::input(message, "remove the one that is outdated"));
        }
    }
    let mut sealed = 0;
    for (id, plaintext) in &plaintexts {
        if !packages.sealed.contains_key(*id) {
            seal_one(&folder, id, plaintext, &key)?;
            sealed += 1;
        }
    }
    for (id, _) in &plaintexts {
        remove(&plain_path(&folder, id))?;
    }
    sync_folder_of(&folder.join(KEY_FILE)).map_err(|error| Failure::written(&folder, &error))?;
    Ok(SealReport {
        folder: shown(&folder),
        sealed,
        sealed_before: packages.sealed.len(),
        key: key_place,
        new_key: is_new,
        key_beside: is_beside(&folder, &place),
    })
}

/// The key that is there, or a new one, which lies on disk before anything is sealed with it.
fn choose_key(folder: &Path, new_key: Option<PathBuf>, packages: &Packages) -> Result<(SuiteKey, KeyPlace), Failure> {
    let Some(path) = new_key else {
        return find_key(folder, &variable)?.ok_or_else(|| {
            let message = format!(
                "there is no key for {}: found neither {KEY_VARIABLE}, nor {KEY_FILE_VARIABLE}, nor a file {KEY_FILE} in it",
                folder.display()
            );
            Failure::environment(message, "--new-key FILE makes one; keep FILE out of what you publish")
        });
    };
    if let Some(id) = packages.sealed.keys().next() {
        let message = format!("{} is sealed already, with another key", sealed_path(folder, id).display());
        return Err(Failure::usage(
            message,
            format!("leave --new-key out and name that key's file by {KEY_FILE_VARIABLE}"),
        ));
    }
    let key = SuiteKey::generate(&mut random).map_err(no_randomness)?;
    let line = Zeroizing::new(format!("{}\n", key.hex().as_str()));
    write_new(&path, line.as_bytes(), Readers::Owner)?;
    Ok((key, KeyPlace::NamedFile(path)))
}

fn no_randomness(error: SealError) -> Failure {
    Failure::caused(EXIT_ENVIRONMENT, &error, "random bytes come from /dev/urandom")
}

fn is_beside(folder: &Path, place: &KeyPlace) -> bool {
    let key = match place {
        KeyPlace::Variable => return false,
        KeyPlace::NamedFile(path) | KeyPlace::Folder(path) => path,
    };
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    real(key).zip(real(folder)).is_some_and(|(key, folder)| key.parent() == Some(&folder))
}

fn seal_one(folder: &Path, id: &str, plaintext: &[u8], key: &SuiteKey) -> Result<(), Failure> {
    let path = sealed_path(folder, id);
    let failed = |error: SealError| {
        let code = if matches!(error, SealError::Randomness(_)) { EXIT_ENVIRONMENT } else { EXIT_INPUT };
        Failure::caused(code, &error, format!("the package is {}", plain_path(folder, id).display()))
    };
    let file = seal(plaintext, id, key, &mut random).map_err(failed)?;
    write_new(&path, file.bytes(), Readers::Everyone)?;
    let read = read_private(&path, MAX_SEALED_BYTES)?;
    if open(&read, id, key).map_err(failed)?.as_slice() != plaintext {
        return Err(Failure::environment(format!("{} reads back differently", path.display()), "check the disk"));
    }
    Ok(())
}

/// Opens every sealed package of a folder, in place or into another one.
pub(super) fn unseal_folder(mut rest: Rest) -> Result<UnsealReport, Failure> {
    let out = rest.path("--out")?;
    let folder = rest.folder()?;
    let packages = Packages::read_unfinished(&folder)?;
    let Some(first) = packages.sealed.keys().next() else {
        let message = format!("{} holds no sealed package", folder.display());
        return Err(Failure::input(message, "sealed packages are ID.sealed"));
    };
    let (key, place) =
        find_key(&folder, &variable)?.ok_or_else(|| FolderError::NoKey { sealed: sealed_path(&folder, first) })?;
    let mut plaintexts = Vec::with_capacity(packages.sealed.len());
    for (id, bytes) in &packages.sealed {
        let path = sealed_path(&folder, id);
        let plaintext = open(bytes, id, &key).map_err(|error| FolderError::Seal {
            path: path.clone(),
            place: place.clone(),
            error,
        })?;
        plaintexts.push((id, plaintext));
    }
    let target = out.as_deref().unwrap_or(&folder);
    if out.is_some() {
        create_private_folder(target)?;
        if let Some(taken) = packages.sealed.keys().map(|id| plain_path(target, id)).find(|path| path.exists()) {
            return Err(Failure::taken(&taken));
        }
    }
    for (id, plaintext) in &plaintexts {
        let path = plain_path(target, id);
        match packages.plain.get(*id).filter(|_| out.is_none()) {
            None => write_new(&path, &readable(plaintext), Readers::Owner)?,
            // A sealing or unsealing was interrupted between the two files.
            Some(plain) if canonical_package(plain, id).is_ok_and(|plain| plain == *plaintext) => {}
            Some(_) => {
                let sealed = sealed_path(&folder, id);
                let message = format!("{} and {} hold different packages", path.display(), sealed.display());
                return Err(Failure::input(message, "remove the one that is outdated"));
            }
        }
    }
    if out.is_none() {
        for id in packages.sealed.keys() {
            remove(&sealed_path(&folder, id))?;
        }
        sync_folder_of(&folder.join(KEY_FILE)).map_err(|error| Failure::written(&folder, &error))?;
    }
    Ok(UnsealReport { folder: shown(target), opened: plaintexts.len(), in_place: out.is_none() })
}

/// A package with indentation, if it is the same package then, for who edits it.
fn readable(plaintext: &Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
    let pretty = serde_json::from_slice::<serde_json::Value>(plaintext)
        .and_then(|value| serde_json::to_vec_pretty(&value))
        .map(|mut bytes| {
            bytes.push(b'\n');
            Zeroizing::new(bytes)
        });
    let same = |pretty: &Zeroizing<Vec<u8>>| {
        let json = parthack_env::json::Json::parse(pretty);
        json.is_ok_and(|json| parthack_env::canonical::canonical_bytes(&json) == plaintext.as_slice())
    };
    pretty.ok().filter(same).unwrap_or_else(|| plaintext.clone())
}

fn create_private_folder(folder: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder).map_err(|error| Failure::written(folder, &error))
}
