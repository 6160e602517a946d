//! Public files and packages by task id, in memory: opened once, bound on first use.
//!
//! The store takes bytes, packages plain or sealed; [`load`](crate::sealing::folder::load) reads them from two folders, and a
//! sandboxed binary can get them by descriptor and close everything before the first request.

use std::collections::BTreeMap;
use std::rc::Rc;

use zeroize::Zeroizing;

use crate::binding::{OpenError, PrivateTask};
use crate::certify::{Certificate, CertifyError, TaskCertifier};
use crate::forward::ModelFault;
use crate::sealing::{SealError, SuiteKey, open};

/// A task that is ready to be certified.
pub struct Ready {
    /// Public task and package.
    pub private: PrivateTask,
    /// Both certifiers.
    pub certifier: TaskCertifier,
    /// The honest trajectory's certificate.
    pub honest: Certificate,
}

/// Why a task is not ready.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// No public file.
    #[error("there is no task {0:?}")]
    NoTask(String),
    /// No package.
    #[error("there is no package for the task {0:?}")]
    NoPackage(String),
    /// They do not open.
    #[error("the task {task:?} does not open")]
    Open {
        /// Task id.
        task: String,
        /// Why.
        #[source]
        error: OpenError,
    },
    /// The second certifier cannot read the task.
    #[error("the task {task:?} has no model")]
    Model {
        /// Task id.
        task: String,
        /// Why.
        #[source]
        error: ModelFault,
    },
    /// The honest trajectory has no certificate.
    #[error("the honest trajectory of the task {task:?} has no certificate")]
    Honest {
        /// Task id.
        task: String,
        /// Why.
        #[source]
        error: CertifyError,
    },
}

#[derive(Default)]
struct Entry {
    public: Option<Vec<u8>>,
    private: Option<Zeroizing<Vec<u8>>>,
    ready: Option<Result<Rc<Ready>, StoreError>>,
}

/// All tasks of a certifier process.
#[derive(Default)]
pub struct Store {
    entries: BTreeMap<String, Entry>,
}

impl Store {
    /// Adds a public file under its task id.
    pub fn add_public(&mut self, task: &str, bytes: Vec<u8>) {
        self.entries.entry(task.to_owned()).or_default().public = Some(bytes);
    }

    /// Adds a plain package under its task id.
    pub fn add_private(&mut self, task: &str, bytes: impl Into<Zeroizing<Vec<u8>>>) {
        self.entries.entry(task.to_owned()).or_default().private = Some(bytes.into());
    }

    /// Opens a sealed package and adds it under its task id.
    ///
    /// # Errors
    /// [`SealError`]: it is no sealed package of this task, or does not open with the key. Nothing was added.
    pub fn add_sealed(&mut self, task: &str, sealed: &[u8], key: &SuiteKey) -> Result<(), SealError> {
        self.add_private(task, open(sealed, task, key)?);
        Ok(())
    }

    /// Ids of the tasks that have a package, sorted.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        let full = |entry: &Entry| entry.public.is_some() && entry.private.is_some();
        self.entries.iter().filter(|(_, entry)| full(entry)).map(|(id, _)| id.clone()).collect()
    }

    /// Both files of a task.
    ///
    /// # Errors
    /// One of them is missing.
    pub fn files(&self, task: &str) -> Result<(&[u8], &[u8]), StoreError> {
        let entry = self.entries.get(task);
        let public = entry.and_then(|entry| entry.public.as_deref());
        let private = entry.and_then(|entry| entry.private.as_ref());
        let public = public.ok_or_else(|| StoreError::NoTask(task.to_owned()))?;
        Ok((public, private.ok_or_else(|| StoreError::NoPackage(task.to_owned()))?.as_slice()))
    }

    /// A task, opened, bound and with its honest trajectory certified; the work is done once.
    ///
    /// # Errors
    /// [`StoreError`]; the same one every time.
    pub fn ready(&mut self, task: &str) -> Result<Rc<Ready>, StoreError> {
        if let Some(ready) = self.entries.get(task).and_then(|entry| entry.ready.as_ref()) {
            return ready.clone();
        }
        let (public, private) = self.files(task)?;
        let ready = prepare(task, public, private).map(Rc::new);
        if let Some(entry) = self.entries.get_mut(task) {
            entry.ready = Some(ready.clone());
        }
        ready
    }
}

fn prepare(task: &str, public: &[u8], private: &[u8]) -> Result<Ready, StoreError> {
    let task = || task.to_owned();
    let private = PrivateTask::open(public, private).map_err(|error| StoreError::Open { task: task(), error })?;
    let certifier = TaskCertifier::private(&private).map_err(|error| StoreError::Model { task: task(), error })?;
    let honest = certifier.honest().map_err(|error| StoreError::Honest { task: task(), error })?;
    Ok(Ready { private, certifier, honest })
}
