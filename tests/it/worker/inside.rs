//! The worker within the test's own process, with short waits, a clock that jumps, an LLM and an
//! embedding model that fail: an hour of the default settings is 3.6 seconds here, and ten times
//! that with MEMFOLD_TEST_FULL.

use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use memfold::clock::{Clock, SystemClock};
use memfold::embed::{EmbedError, Embedder, Embedding};
use memfold::layout::{Options, kind};
use memfold::memory::Threshold;
use memfold::merge::{
    Conflicts, Distance, MergeOptions, Pipeline, RunBy, Stations, TtlRule, WriteVector,
};
use memfold::store::connect::{ConnectOptions, connect};
use memfold::store::events::Changed;
use memfold::store::index::index_facts;
use memfold::store::{Functions, StoreError};
use memfold::summarize::llm::{Llm, LlmSettings};
use memfold::worker::breaker::Breaker;
use memfold::worker::limits::MassGuard;
use memfold::worker::schedule::Rules;
use memfold::worker::{LlmLimits, Orders, Shared, Site, WorkerOptions, run};
use serde_json::json;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::quiet::pair;
use super::{Case, until};

/// What so many seconds of the default settings are here.
fn seconds(count: u64) -> Duration {
    let full = std::env::var_os("MEMFOLD_TEST_FULL").is_some();
    Duration::from_millis(if full { count * 10 } else { count })
}

const HOUR: u64 = 3600;

/// What the worker works with.
#[derive(Clone, Default)]
struct Means {
    llm: Option<Arc<Llm>>,
    embedder: Option<Arc<dyn Embedder>>,
    clock: Option<Arc<dyn Clock>>,
    lease_ttl: Option<Duration>,
}

fn merge_options(means: &Means) -> MergeOptions {
    MergeOptions {
        threshold: Threshold {
            value: 0.1,
            origin: "default".to_owned(),
        },
        distance: match means.embedder {
            Some(_) => Distance::Onnx,
            None => Distance::Stored,
        },
        write_vector: WriteVector::Centroid,
        max_members: 100,
        max_group_chars: 24_000,
        ttl: TtlRule::KeepApart,
        max_memory: None,
        pace: memfold::store::snapshot::Pace::Quick,
        threads: NonZero::<usize>::MIN,
        conflicts: Conflicts::Keep,
        max_retire: None,
        max_retire_day: None,
        undo_window: Duration::from_secs(3600),
        ledger_retention: Duration::from_secs(86_400),
        lease_ttl: means.lease_ttl.unwrap_or(Duration::from_secs(60)),
        check_after: false,
        llm_concurrency: 4,
        run_by: RunBy::Hand,
        ask_again: false,
        run_id: SystemClock.id(),
        stop: Arc::default(),
    }
}

async fn site(url: &str, means: &Means) -> Result<Site, StoreError> {
    let url = url.to_owned().into();
    let mut conn = connect(&url, &ConnectOptions::default()).await?;
    let index = index_facts(&mut conn, "agent_memories").await?;
    let open = kind("redisvl").unwrap().open;
    let pipeline = Pipeline {
        direct: None,
        functions: Functions::load(&mut conn).await?,
        layout: open(&Options::default(), &index, &[])?,
        index,
        conn,
        stations: Stations {
            embedder: means.embedder.clone(),
            nli: None,
            llm: means.llm.clone(),
            clock: means.clock.clone().unwrap_or(Arc::new(SystemClock)),
            options: merge_options(means),
        },
    };
    Ok(Site {
        pipeline,
        waiting: connect(&url, &ConnectOptions::default()).await?,
        events: (
            Changed::default(),
            connect(&url, &ConnectOptions::default()).await?,
        ),
    })
}

fn options(means: &Means) -> WorkerOptions {
    WorkerOptions {
        rules: Rules {
            period: seconds(600),
            full_every: seconds(24 * HOUR),
            after_new: None,
            backoff: seconds(60),
            backoff_most: seconds(HOUR),
        },
        probe_every: Duration::from_millis(100),
        after_failures: 3,
        off_peak: None,
        only: None,
        shared: BTreeSet::new(),
        concurrency: 2,
        llm: LlmLimits::default(),
        mass: MassGuard {
            percent: 50,
            least: 1000,
        },
        max_latency: Duration::from_secs(30),
        max_memory_percent: 95,
        lease_ttl: means.lease_ttl.unwrap_or(Duration::from_secs(60)),
        ledger_entries: 1000,
    }
}

/// Runs a worker while `test` lasts.
async fn beside(case: &mut Case, means: &Means, test: impl AsyncFnOnce(&mut Case, &Shared)) {
    let breaker = Breaker::new(seconds(30), seconds(600));
    let shared = Arc::new(Shared::new("inside").with_breaker(breaker));
    let orders = Orders::default();
    let url = case.server.url();
    let worker = run(&shared, &orders, async || {
        Ok((site(&url, means).await?, options(means)))
    });
    let test = async {
        test(case, &shared).await;
        orders.stop.store(true, Ordering::Relaxed);
    };
    tokio::join!(worker, test);
}

/// An LLM that says that all differs, while it can be used.
struct Model {
    server: MockServer,
    asked: Arc<AtomicUsize>,
    /// Which of ten questions get an answer.
    up: Arc<AtomicUsize>,
}

impl Model {
    async fn start(down: ResponseTemplate) -> Self {
        let server = MockServer::start().await;
        let (asked, up) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (count, of_ten) = (Arc::clone(&asked), Arc::clone(&up));
        let answer = move |_: &Request| {
            let number = count.fetch_add(1, Ordering::SeqCst);
            // Not in a row.
            if number * 3 % 10 >= of_ten.load(Ordering::SeqCst) {
                return down.clone();
            }
            let content = json!({ "verdict": "different", "text": "two", "used": [] }).to_string();
            let message = json!({ "role": "assistant", "content": content });
            let choice = json!({ "index": 0, "finish_reason": "stop", "message": message });
            ResponseTemplate::new(200).set_body_json(json!({ "choices": [choice] }))
        };
        Mock::given(method("POST"))
            .respond_with(answer)
            .mount(&server)
            .await;
        Self { server, asked, up }
    }

    fn client(&self) -> Arc<Llm> {
        let settings = LlmSettings {
            max_attempts: 2,
            backoff: Duration::from_millis(1),
            timeout: Duration::from_millis(200),
            ..LlmSettings::new(self.server.uri(), "m")
        };
        Arc::new(Llm::new(settings).unwrap())
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn answers(&self, of_ten: usize) {
        self.up.store(of_ten, Ordering::SeqCst);
    }
}

/// Users, each with a pair that an LLM has to decide about.
async fn users(case: &mut Case, count: usize) -> Vec<String> {
    let users: Vec<String> = (0..count).map(|i| format!("user-{i}")).collect();
    for user in &users {
        pair(case, user).await;
    }
    users
}

async fn all_settled(case: &mut Case, users: &[String]) {
    for user in users {
        case.settled(user).await;
    }
}

/// An hour without the LLM, of each kind; then it is back.
async fn outage(down: ResponseTemplate, most: usize) {
    let model = Model::start(down).await;
    let means = Means {
        llm: Some(model.client()),
        ..Means::default()
    };
    let mut case = Case::new().await;
    let users = users(&mut case, 20).await;
    beside(&mut case, &means, async |case, shared| {
        tokio::time::sleep(seconds(HOUR / 3)).await;
        // What needs no LLM goes on.
        let eve = case.twins("eve", "tea").await;
        until("eve is merged", async || case.count(&eve).await == 1).await;
        tokio::time::sleep(seconds(HOUR * 2 / 3)).await;
        let asked = model.asked();
        assert!(asked <= most, "{asked} questions");
        assert_ne!(shared.heartbeat().breaker.unwrap(), "closed");
        for user in &users {
            let state = case.state(user).await;
            let failures = state["failures"].as_u64().unwrap();
            assert!((2..=12).contains(&failures), "{user}: {state}");
        }
        model.answers(10);
        all_settled(case, &users).await;
        until("the breaker is closed", async || {
            shared.heartbeat().breaker.unwrap() == "closed"
        })
        .await;
        // One question each, and those that it was tried by.
        let after = model.asked() - asked;
        assert!((20..=40).contains(&after), "{after} questions");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_hour_without_the_llm_is_waited_for_and_no_flood_of_questions() {
    outage(ResponseTemplate::new(503), 40).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_llm_that_says_nothing_for_an_hour_is_left_in_peace() {
    let silent = ResponseTemplate::new(200).set_delay(Duration::from_secs(60));
    outage(silent, 30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_brown_out_of_the_llm_delays_and_stops_nothing() {
    let model = Model::start(ResponseTemplate::new(500)).await;
    model.answers(7);
    let means = Means {
        llm: Some(model.client()),
        ..Means::default()
    };
    let mut case = Case::new().await;
    let users = users(&mut case, 40).await;
    beside(&mut case, &means, async |case, _| {
        all_settled(case, &users).await;
        let asked = model.asked();
        assert!(asked <= 120, "{asked} questions");
    })
    .await;
}

/// A model that fails when it is told to.
struct Failing(Arc<AtomicBool>, Arc<AtomicUsize>);

impl Embedder for Failing {
    fn model(&self) -> &str {
        "failing"
    }

    fn dims(&self) -> usize {
        4
    }

    fn threshold(&self) -> Option<f64> {
        None
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        if self.0.load(Ordering::SeqCst) {
            return Err(EmbedError::Inference("out of memory".to_owned()));
        }
        let vector = vec![1.0, 0.0, 0.0, 0.0];
        let embedding = Embedding {
            vector,
            unknown: 0.0,
        };
        Ok(vec![embedding; texts.len()])
    }

    fn unknown(&self, _: &str) -> Result<f32, EmbedError> {
        Ok(0.0)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedding_model_that_fails_is_tried_again_later() {
    let (down, asked) = (
        Arc::new(AtomicBool::new(true)),
        Arc::new(AtomicUsize::new(0)),
    );
    let means = Means {
        embedder: Some(Arc::new(Failing(Arc::clone(&down), Arc::clone(&asked)))),
        ..Means::default()
    };
    let mut case = Case::new().await;
    let mut keys = Vec::new();
    for user in ["alice", "bob", "carol"] {
        keys.extend(case.twins(user, "tea").await);
    }
    beside(&mut case, &means, async |case, shared| {
        until("each has failed twice", async || {
            let mut failures = Vec::new();
            for user in ["alice", "bob", "carol"] {
                failures.push(case.state(user).await["failures"].as_u64().unwrap_or(0));
            }
            failures.iter().all(|failures| *failures >= 2)
        })
        .await;
        assert!(shared.is_ready());
        assert_eq!(case.count(&keys).await, 6);
        let error = shared.heartbeat().last_error.unwrap();
        assert!(error.contains("out of memory"), "{error}");
        // Each waits longer each time.
        assert!(asked.load(Ordering::SeqCst) <= 30);
        down.store(false, Ordering::SeqCst);
        until("all are merged", async || case.count(&keys).await == 3).await;
    })
    .await;
}

/// A clock that is off by so many seconds.
struct Jumping(Arc<AtomicI64>);

impl Clock for Jumping {
    fn now(&self) -> Timestamp {
        let off = jiff::SignedDuration::from_secs(self.0.load(Ordering::SeqCst));
        Timestamp::now() + off
    }

    fn id(&self) -> String {
        SystemClock.id()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_costs_no_lease_and_no_user() {
    let off = Arc::new(AtomicI64::new(0));
    // It thinks for longer than a lease holds without renewal.
    let slow = ResponseTemplate::new(200).set_delay(Duration::from_millis(1500));
    let server = MockServer::start().await;
    let content = json!({ "verdict": "different", "text": "two", "used": [] }).to_string();
    let choice = json!({ "index": 0, "finish_reason": "stop",
                         "message": { "role": "assistant", "content": content } });
    Mock::given(method("POST"))
        .respond_with(slow.set_body_json(json!({ "choices": [choice] })))
        .mount(&server)
        .await;
    let means = Means {
        llm: Some(Arc::new(
            Llm::new(LlmSettings::new(server.uri(), "m")).unwrap(),
        )),
        clock: Some(Arc::new(Jumping(Arc::clone(&off)))),
        lease_ttl: Some(Duration::from_millis(500)),
        ..Means::default()
    };
    let year = 365 * 86_400;
    let mut case = Case::new().await;
    beside(&mut case, &means, async |case, _| {
        for (round, jump) in [year, -year, 0].into_iter().enumerate() {
            let user = format!("user-{round}");
            let twins = case.twins(&user, "coffee").await;
            pair(case, &user).await;
            until("the LLM is asked", async || {
                server.received_requests().await.unwrap().len() > round
            })
            .await;
            off.store(jump, Ordering::SeqCst);
            case.settled(&user).await;
            assert_eq!(case.count(&twins).await, 1);
        }
        until("all runs are told", async || case.runs().await.len() >= 3).await;
        let runs = case.runs().await;
        assert!(runs.iter().all(|run| run.error.is_none()), "{runs:#?}");
        assert_eq!(server.received_requests().await.unwrap().len(), 3);
    })
    .await;
}
