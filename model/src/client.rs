//! The client: asks a model a question, from a recording where there is one.
//!
//! [`Client::ask`] blocks and may be called from many threads at once. A question has at most two tries: the second
//! follows a failure of the transport (no connection, a cut, a time-out, status 408, 409, 425, 429 or 5xx) or of the form
//! (not JSON, not of the schema, or refused by the caller's check). A refusal, a cut at the token limit, an empty answer
//! or a body that is no chat completion is final.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use crate::accounting::{Accounting, Estimate};
use crate::answer::{Answer, NoAnswer};
use crate::cassette::{Cassette, CassetteError, EXCHANGE_FORMAT, RecordedExchange, Wanted};
use crate::completion::Response;
use crate::environment::Environment;
use crate::error::{ClientError, Miss};
use crate::identity;
use crate::lane::{Bounds, Lane, wait};
use crate::limits::{Budget, NotAfforded, Stopped, UnderWay};
use crate::price::{Cost, PriceTable, Usage};
use crate::prompt::Prompt;
use crate::provider::Provider;
use crate::request::{Request, token_cap};
use crate::role::RoleConfig;
use crate::schema;

/// Where answers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelMode {
    /// From models; cassettes are neither read nor written.
    Live,
    /// From cassettes, else from models, and then they are stored.
    Record,
    /// From cassettes alone; no socket is opened and no key is looked for.
    Replay,
}

/// Everything that a client is given.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Where answers come from.
    pub mode: ModelMode,
    /// The cassette folder that is read first, and written in mode `record`.
    pub cassettes: Option<PathBuf>,
    /// Cassette folders that are only read, in their order.
    pub read_cassettes: Vec<PathBuf>,
    /// Requests at once, for each provider; at least 1.
    pub concurrency: usize,
    /// Requests a minute, for each provider.
    pub requests_per_minute: Option<u32>,
    /// Tokens a minute, for each provider: a prompt counts a token for every four bytes, an answer its cap.
    pub tokens_per_minute: Option<u32>,
    /// The most that may be spent, `spent_before` included. With it, a model without a known price is an error.
    pub max_cost: Option<Cost>,
    /// Whether a replay's miss is compared with the recordings to name the nearest; that reads many of them.
    pub explain_misses: bool,
    /// What a run that is resumed has spent already.
    pub spent_before: Cost,
    /// What tokens cost.
    pub prices: PriceTable,
    /// Where keys and base URLs are looked up.
    pub environment: Environment,
    /// When set, no further request is sent; those on their way are waited for.
    pub stop: Arc<AtomicBool>,
    /// Hears once how many requests a stop waits for; [`tell_waiting`] unless something else is given.
    pub waiting: fn(usize),
    /// The time-out of every try, in place of the roles' own.
    pub timeout: Option<Duration>,
    /// The wait before a retry, where the server asks for none.
    pub retry_wait: Duration,
}

impl ClientOptions {
    /// The defaults: 8 requests at once, no rates, no cap, the embedded prices, the process's environment.
    #[must_use]
    pub fn new(mode: ModelMode) -> ClientOptions {
        ClientOptions {
            mode,
            cassettes: None,
            read_cassettes: Vec::new(),
            concurrency: 8,
            requests_per_minute: None,
            tokens_per_minute: None,
            max_cost: None,
            explain_misses: true,
            spent_before: Cost::ZERO,
            prices: PriceTable::embedded(),
            environment: Environment::Process,
            stop: Arc::default(),
            waiting: tell_waiting,
            timeout: None,
            retry_wait: Duration::from_secs(1),
        }
    }
}

/// Says on standard error how many requests a stop waits for. On a terminal it takes the place of a line of progress.
pub fn tell_waiting(requests: usize) {
    let mut stderr = io::stderr().lock();
    let start = if stderr.is_terminal() { "\r\x1b[K" } else { "" };
    let calls = if requests == 1 { "1 model call".to_owned() } else { format!("{requests} model calls") };
    // Talk that can't be heard changes nothing.
    let _ =
        writeln!(stderr, "{start}stopping: {calls} on the way will be kept when answered; Ctrl-C again ends at once");
}

/// A question.
#[derive(Debug, Clone, Copy)]
pub struct Call<'c> {
    /// The cell that asks, for messages and recordings; not part of the key.
    pub cell: &'c str,
    /// The role: `judge`, `attacker`, `checklist`; not part of the key.
    pub role: &'c str,
    /// How the role is played.
    pub config: &'c RoleConfig,
    /// What is asked.
    pub prompt: &'c Prompt,
    /// Which repeat of the question this is, from 0.
    pub repeat: u32,
}

/// How a question ended. But for `pause`, `requests` and `cost` it is the same in a replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The keys of the tries, one or two. A try whose transport failed has no recording.
    pub keys: Vec<String>,
    /// The answer, valid in form and accepted by the check, or why there is none.
    pub result: Result<Answer, NoAnswer>,
    /// Whether there was a second try.
    pub retried: bool,
    /// Tokens of the tries that have a recording, or would.
    pub usage: Usage,
    /// The wait before a second try that was sent now; none where there was none.
    pub pause: Option<Duration>,
    /// Requests that were sent for it now; 0 where all came from a cassette.
    pub requests: u32,
    /// What they cost; `None` where a price isn't known.
    pub cost: Option<Cost>,
}

/// A caller's further check of an answer; an error is a failure of the form.
pub type Check<'c> = &'c (dyn Fn(&Answer) -> Result<(), String> + Sync);

/// The client.
#[derive(Debug)]
pub struct Client {
    options: ClientOptions,
    cassette: Cassette,
    /// None in replay: nothing there can open a socket.
    runtime: Option<Runtime>,
    lanes: Mutex<BTreeMap<&'static str, Arc<Lane>>>,
    budget: Budget,
    under_way: UnderWay,
    accounting: Mutex<Accounting>,
    running: Running,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// A client. Nothing is connected to and no key looked for before the first request.
    ///
    /// # Errors
    /// [`ClientError::Usage`] where the options don't fit together, or the system gives no threads.
    pub fn new(options: ClientOptions) -> Result<Client, ClientError> {
        let write = match options.mode {
            ModelMode::Live => None,
            ModelMode::Record | ModelMode::Replay => options.cassettes.clone(),
        };
        if options.mode == ModelMode::Record && write.is_none() {
            return Err(ClientError::usage("record: no folder to record into", "name one with --cassettes"));
        }
        let read = if options.mode == ModelMode::Live { Vec::new() } else { options.read_cassettes.clone() };
        let runtime = match options.mode {
            ModelMode::Replay => None,
            ModelMode::Live | ModelMode::Record => {
                let built = Builder::new_multi_thread().worker_threads(2).thread_name("model-io").enable_all().build();
                let hint = "the system gives no threads or no files; close other programs";
                Some(built.map_err(|error| ClientError::usage(format!("cannot start the network: {error}"), hint))?)
            }
        };
        Ok(Client {
            cassette: Cassette::new(write, read),
            runtime,
            lanes: Mutex::default(),
            budget: Budget::new(options.max_cost, options.spent_before),
            under_way: UnderWay::new(options.waiting),
            accounting: Mutex::default(),
            running: Running::default(),
            options,
        })
    }

    /// The recordings.
    #[must_use]
    pub fn cassette(&self) -> &Cassette {
        &self.cassette
    }

    /// Asks a question; blocks until it has ended. It must not be called from within an asynchronous runtime.
    ///
    /// # Errors
    /// [`ClientError`]: whatever a user can mend. A failure of model or server is an `Ok` whose result is an error.
    pub fn ask(&self, call: &Call<'_>, check: Check<'_>) -> Result<Exchange, ClientError> {
        schema::check(&call.prompt.form.schema)
            .map_err(|error| ClientError::usage(format!("{}: {error}", call.cell), "mend the prompt's answer form"))?;
        let requests = [self.request(call, 0)?, self.request(call, 1)?];
        let exchange = match self.options.mode {
            ModelMode::Live => self.tries(call, &requests, check, false)?,
            ModelMode::Replay => self.tries(call, &requests, check, true)?,
            ModelMode::Record => {
                // Whoever asks the same at the same time waits, and then finds the recording.
                let _claim = self.running.claim(&requests[0].key);
                self.tries(call, &requests, check, true)?
            }
        };
        let mut accounting = lock(&self.accounting);
        let account = accounting.account(call.role);
        account.calls += 1;
        account.retries += u64::from(exchange.retried);
        if let Err(reason) = &exchange.result {
            account.without_answer(call.cell, reason);
        }
        Ok(exchange)
    }

    /// What was asked, paid and read so far.
    #[must_use]
    pub fn spent(&self) -> Accounting {
        lock(&self.accounting).clone()
    }

    /// What questions would take. Nothing is sent.
    ///
    /// # Errors
    /// [`ClientError::Role`], [`ClientError::Cassette`].
    pub fn estimate<'c>(&self, calls: impl IntoIterator<Item = Call<'c>>) -> Result<Estimate, ClientError> {
        let mut estimate = Estimate::default();
        let mut seen = BTreeSet::new();
        for call in calls {
            estimate.calls += 1;
            let requests = [self.request(&call, 0)?, self.request(&call, 1)?];
            let recorded =
                requests.iter().map(|request| self.cassette.get(&request.key)).collect::<Result<Vec<_>, _>>()?;
            // The same question asked twice is recorded after the first time.
            let again = self.options.mode == ModelMode::Record && !seen.insert(requests[0].key.clone());
            let found = again || recorded.iter().any(Option::is_some);
            // Tries that may be sent: of one whose first failed in form before a stop, the retry alone.
            let mut tries = if found { &requests[2..] } else { &requests[..] };
            if let [Some(first), None] = &recorded[..]
                && first.response.checked(call.prompt, &|_| Ok(())).is_err_and(|reason| reason.is_retried())
            {
                tries = &requests[1..];
            }
            estimate.recorded += u64::from(found);
            let price = self.options.prices.price(call.config);
            for (number, request) in tries.iter().enumerate() {
                let most = most_usage(&call, request);
                let expected = Usage { prompt_tokens: most.prompt_tokens.div_ceil(4), ..most };
                estimate.completion_tokens_at_most += most.completion_tokens;
                estimate.cost_at_most = estimate.cost_at_most.plus(price.map_or(Cost::ZERO, |price| price.of(&most)));
                if number == 0 {
                    estimate.prompt_tokens += expected.prompt_tokens;
                    estimate.cost = estimate.cost.plus(price.map_or(Cost::ZERO, |price| price.of(&expected)));
                }
            }
            if price.is_none() && !tries.is_empty() {
                estimate.unpriced.insert(call.config.name());
            }
        }
        Ok(estimate)
    }

    /// The configuration with what its server tells of itself: model file and hash, build, context size. Only servers of
    /// one's own (`local/`, `vllm/`) are asked; what a server doesn't tell is left out, and what stands there already
    /// stays. In replay nobody is asked: where all recordings of the model have one identity, it is that.
    ///
    /// # Errors
    /// [`ClientError::Role`]; [`ClientError::Usage`] for a wrong base URL, or in replay for a model with recordings of
    /// several identities; [`ClientError::Cassette`].
    pub fn resolve_identity(&self, config: &RoleConfig) -> Result<RoleConfig, ClientError> {
        config.check()?;
        let mut config = config.clone();
        if provider(&config)?.bills {
            return Ok(config);
        }
        let Some(runtime) = &self.runtime else { return self.recorded_identity(config) };
        let lane = self.lane(&config)?;
        let [props, models, version] = ["/props", "/v1/models", "/version"].map(|path| lane.document(runtime, path));
        let mut told = identity::identity(props.as_ref(), models.as_ref(), version.as_ref());
        told.extend(self.options.environment.local_identity());
        told.append(&mut config.identity);
        config.identity = told.into_iter().map(|(name, text)| (lane.clean(name), lane.clean(text))).collect();
        Ok(config)
    }

    fn recorded_identity(&self, mut config: RoleConfig) -> Result<RoleConfig, ClientError> {
        if !config.identity.is_empty() {
            return Ok(config);
        }
        let recorded = self.cassette.roles()?.into_values().flatten().filter(|of| of.name() == config.name());
        let mut identities: Vec<_> = recorded.map(|of| of.identity).collect();
        identities.sort_unstable();
        identities.dedup();
        match identities.len() {
            0 => {}
            1 => config.identity = identities.remove(0),
            count => {
                return Err(ClientError::usage(
                    format!("{}: recordings of {count} identities: {identities:?}", config.name()),
                    "give the role's identity, or a cassette folder with one alone",
                ));
            }
        }
        Ok(config)
    }

    fn request(&self, call: &Call<'_>, attempt: u32) -> Result<Request, ClientError> {
        Ok(Request::new(call.prompt, call.config, call.repeat, attempt)?)
    }

    /// The tries of a question. With recordings, a retry that is recorded stands for a first try that isn't: that one
    /// failed in transport.
    fn tries(
        &self,
        call: &Call<'_>,
        requests: &[Request; 2],
        check: Check<'_>,
        recorded: bool,
    ) -> Result<Exchange, ClientError> {
        let mut exchange = Exchange {
            keys: vec![requests[0].key.clone()],
            result: Err(NoAnswer::Empty),
            retried: false,
            usage: Usage::default(),
            pause: None,
            requests: 0,
            cost: Some(Cost::ZERO),
        };
        let found = |request: &Request| if recorded { self.cassette.get(&request.key) } else { Ok(None) };
        let mut retry = None;
        let mut pause = self.options.retry_wait;
        match found(&requests[0])? {
            Some(first) => self.read_recorded(call, first, &requests[0], check, &mut exchange)?,
            None => {
                retry = found(&requests[1])?;
                if retry.is_none() {
                    let wait = self.send(call, &requests[0], 0, check, &mut exchange)?;
                    pause = wait.unwrap_or(pause);
                }
            }
        }
        let is_retried = exchange.result.as_ref().is_err_and(NoAnswer::is_retried);
        if retry.is_none() && !is_retried {
            return Ok(exchange);
        }
        exchange.retried = true;
        exchange.keys.push(requests[1].key.clone());
        let retry = match retry {
            Some(retry) => Some(retry),
            None => found(&requests[1])?,
        };
        match retry {
            Some(retry) => self.read_recorded(call, retry, &requests[1], check, &mut exchange)?,
            None => {
                let runtime = self.runtime.as_ref().filter(|_| exchange.requests > 0);
                if let Some(runtime) = runtime {
                    exchange.pause = Some(pause);
                    wait(runtime, pause, &|| self.is_stopped()).map_err(|Stopped| ClientError::Stopped)?;
                }
                self.send(call, &requests[1], 1, check, &mut exchange)?;
            }
        }
        Ok(exchange)
    }

    fn read_recorded(
        &self,
        call: &Call<'_>,
        recorded: RecordedExchange,
        request: &Request,
        check: Check<'_>,
        exchange: &mut Exchange,
    ) -> Result<(), ClientError> {
        let response = recorded.response_to(&request.body).map_err(|problem| {
            let path = PathBuf::from(format!("the exchange {}", request.key));
            ClientError::Cassette(CassetteError::Broken { path, problem })
        })?;
        let usage = response.usage.unwrap_or_default();
        exchange.usage = exchange.usage.plus(usage);
        exchange.result = response.checked(call.prompt, check);
        let mut accounting = lock(&self.accounting);
        let account = accounting.account(call.role);
        account.from_cassette += 1;
        account.cassette_usage = account.cassette_usage.plus(usage);
        Ok(())
    }

    /// Sends one try, stores what came back where it is to be kept, and returns the wait that the server asks for.
    fn send(
        &self,
        call: &Call<'_>,
        request: &Request,
        attempt: u32,
        check: Check<'_>,
        exchange: &mut Exchange,
    ) -> Result<Option<Duration>, ClientError> {
        let Some(runtime) = &self.runtime else { return Err(self.miss(call, request, attempt)?) };
        let stop = || self.is_stopped();
        if stop() {
            return Err(ClientError::Stopped);
        }
        let lane = self.lane(call.config)?;
        lane.ready(&request.body)?;
        // The identity goes into recordings, though not into the body.
        call.config.identity.values().try_for_each(|text| lane.ready(text))?;
        let price = self.options.prices.price(call.config);
        if price.is_none() && self.budget.cap().is_some() {
            return Err(ClientError::usage(
                format!("{}: no price of {} is known, so --max-cost can't hold", call.cell, call.config.name()),
                "give a price table with the model in it, or leave --max-cost out",
            ));
        }
        let most = most_usage(call, request);
        let most_cost = price.map_or(Cost::ZERO, |price| price.of(&most));
        let reservation = self.budget.reserve(most_cost, &stop).map_err(|reason| match reason {
            NotAfforded::Stopped => ClientError::Stopped,
            NotAfforded::Cap { spent, cap } => {
                ClientError::CostCap { cell: call.cell.to_owned(), spent, next: most_cost, cap }
            }
        })?;
        let timeout = self.options.timeout.unwrap_or(Duration::from_secs(call.config.timeout_seconds.into()));
        let tokens = most.prompt_tokens.div_ceil(4) + most.completion_tokens;
        let sent = match lane.chat(runtime, &request.body, tokens, timeout, &stop, &self.under_way) {
            Ok(sent) => sent,
            Err(Stopped) => {
                reservation.settle(Cost::ZERO);
                return Err(ClientError::Stopped);
            }
        };
        let usage = sent.result.as_ref().ok().and_then(|response| response.usage);
        let cost = match (usage, sent.sent) {
            (Some(usage), _) => price.map(|price| price.of(&usage)),
            // It may have been billed, and nobody says how much.
            (None, true) => price.map(|_| most_cost),
            (None, false) => Some(Cost::ZERO),
        };
        reservation.settle(cost.unwrap_or_default());
        self.account(call.role, usage.unwrap_or_default(), cost);
        exchange.requests += 1;
        exchange.usage = exchange.usage.plus(usage.unwrap_or_default());
        exchange.cost = exchange.cost.zip(cost).map(|(before, cost)| before.plus(cost));
        exchange.result = match sent.result {
            Ok(response) => self.store(call, request, attempt, response)?.checked(call.prompt, check),
            Err(reason) => Err(reason),
        };
        Ok(sent.retry_after)
    }

    fn account(&self, role: &str, usage: Usage, cost: Option<Cost>) {
        let mut accounting = lock(&self.accounting);
        let account = accounting.account(role);
        account.requests += 1;
        account.usage = account.usage.plus(usage);
        account.cost = account.cost.plus(cost.unwrap_or_default());
        account.unpriced += u64::from(cost.is_none());
    }

    /// Stores a response in mode `record`; the one that is stored counts, should another process have been faster.
    fn store(
        &self,
        call: &Call<'_>,
        request: &Request,
        attempt: u32,
        response: Response,
    ) -> Result<Response, ClientError> {
        if self.options.mode != ModelMode::Record || !response.is_kept() {
            return Ok(response);
        }
        let exchange = RecordedExchange {
            format: EXCHANGE_FORMAT.to_owned(),
            cell: call.cell.to_owned(),
            role: call.role.to_owned(),
            config: call.config.clone(),
            repeat: call.repeat,
            attempt,
            request: parsed(&request.body),
            response,
            key: String::new(),
            hash: String::new(),
        };
        Ok(self.cassette.put(exchange)?.response)
    }

    fn miss(&self, call: &Call<'_>, request: &Request, attempt: u32) -> Result<ClientError, ClientError> {
        let wanted = Wanted {
            cell: call.cell,
            role: call.role,
            config: call.config,
            repeat: call.repeat,
            attempt,
            request: parsed(&request.body),
        };
        Ok(ClientError::NotRecorded(Box::new(Miss {
            cell: call.cell.to_owned(),
            role: call.role.to_owned(),
            model: call.config.name(),
            repeat: call.repeat,
            attempt,
            key: request.key.clone(),
            folders: self.cassette.folders().map(|folder| folder.display().to_string()).collect(),
            nearest: if self.options.explain_misses { self.cassette.nearest(&wanted)? } else { None },
        })))
    }

    fn lane(&self, config: &RoleConfig) -> Result<Arc<Lane>, ClientError> {
        let provider = provider(config)?;
        let mut lanes = lock(&self.lanes);
        if let Some(lane) = lanes.get(provider.name) {
            return Ok(Arc::clone(lane));
        }
        let bounds = Bounds {
            connections: self.options.concurrency.max(1),
            requests_per_minute: self.options.requests_per_minute,
            tokens_per_minute: self.options.tokens_per_minute,
        };
        let lane = Arc::new(Lane::new(provider, &self.options.environment, bounds)?);
        lanes.insert(provider.name, Arc::clone(&lane));
        Ok(lane)
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::SeqCst)
    }
}

fn provider(config: &RoleConfig) -> Result<&'static Provider, ClientError> {
    let unknown =
        || ClientError::usage(format!("there is no provider {:?}", config.provider), Provider::names().join(", "));
    Provider::find(&config.provider).ok_or_else(unknown)
}

/// A body that was made here, as a value.
fn parsed(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or(Value::Null)
}

/// The most tokens that a request can use: one for each byte of its body, and the answer's cap.
fn most_usage(call: &Call<'_>, request: &Request) -> Usage {
    Usage {
        prompt_tokens: request.body.len() as u64,
        cached_prompt_tokens: 0,
        completion_tokens: token_cap(call.prompt, call.config).into(),
        reasoning_tokens: 0,
    }
}

/// Keys of questions that are being asked.
#[derive(Debug, Default)]
struct Running {
    keys: Mutex<BTreeSet<String>>,
    ended: Condvar,
}

/// A key that nobody else asks for while this lives.
#[derive(Debug)]
struct Claim<'r> {
    running: &'r Running,
    key: &'r str,
}

impl Running {
    fn claim<'r>(&'r self, key: &'r str) -> Claim<'r> {
        let mut keys = lock(&self.keys);
        while keys.contains(key) {
            keys = self.ended.wait(keys).unwrap_or_else(PoisonError::into_inner);
        }
        keys.insert(key.to_owned());
        Claim { running: self, key }
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        lock(&self.running.keys).remove(self.key);
        self.running.ended.notify_all();
    }
}
