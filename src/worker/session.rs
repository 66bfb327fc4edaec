//! One connection's time: take requests, work on them, sweep, tell the others; until it ends.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use super::shared::lock;
use super::work::Worked;
use super::{End, GRACE, Orders, Shared, Site, WorkerOptions};
use crate::store::requests::{Queue, Taken, load_request_function};
use crate::store::{StoreError, store_name};

/// How long one call waits for a request.
const BLOCK: Duration = Duration::from_secs(5);
/// How often a worker looks for requests of others that went silent.
const LOOK: Duration = Duration::from_secs(10);
/// How often a worker that may not take work looks again.
const WAIT: Duration = Duration::from_millis(500);

/// One connection's time.
pub(super) struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) orders: Orders,
    pub(super) site: Site,
    pub(super) options: WorkerOptions,
    /// Stops the runs in hand; they have it as their own.
    pub(super) stop: Arc<AtomicBool>,
    /// Why no work is taken; the beat finds out.
    pub(super) gate: std::sync::Mutex<Option<String>>,
    /// Requests that were taken and wait for the store to be well again.
    pub(super) again: std::sync::Mutex<VecDeque<Taken>>,
    /// One for each user that may be worked on at once.
    pub(super) hands: Arc<Semaphore>,
}

/// A request, and the hand that works on it. A request is only taken with a free hand: else another
/// worker may have it.
pub(super) struct InHand {
    pub(super) taken: Taken,
    pub(super) hand: OwnedSemaphorePermit,
}

impl Session {
    pub(super) fn new(
        shared: &Arc<Shared>,
        orders: &Orders,
        mut site: Site,
        options: WorkerOptions,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let hands = Arc::new(Semaphore::new(options.concurrency.max(1)));
        site.pipeline.stations.options.stop = Arc::clone(&stop);
        Self {
            shared: Arc::clone(shared),
            orders: orders.clone(),
            site,
            options,
            stop,
            gate: std::sync::Mutex::default(),
            again: std::sync::Mutex::default(),
            hands,
        }
    }

    /// The name of the store.
    pub(super) fn store(&self) -> String {
        let pipeline = &self.site.pipeline;
        store_name(pipeline.layout.name(), &pipeline.index.name)
    }

    pub(super) async fn run(self) -> End {
        match self.try_run().await {
            Ok(end) => end,
            Err(error) => End::Failed(error.into()),
        }
    }

    async fn try_run(&self) -> Result<End, StoreError> {
        let mut conn = self.site.pipeline.conn.clone();
        load_request_function(&mut conn).await?;
        let (store, worker) = (self.store(), self.shared.worker());
        let queue = Queue::open(self.site.waiting.clone(), &store, &worker).await?;
        // The same requests over the connection that never waits.
        let ours = Mutex::new(Queue::open(conn.clone(), &store, &worker).await?);
        let llm = self.site.pipeline.stations.llm.is_some();
        self.shared.tell(|beat| {
            beat.store.clone_from(&store);
            beat.breaker = llm.then(|| "closed".to_owned());
        });
        self.beat_once(&ours).await?;
        self.shared.ready(true);
        tracing::info!(worker, store, "at work");

        let (send, receive) = unbounded_channel();
        let end = {
            let fetch = pin!(self.fetch(queue, send));
            let beat = pin!(self.beat(&ours));
            let sweep = pin!(self.sweep(&ours));
            let follow = pin!(self.follow());
            let work = pin!(self.work_on(&ours, receive));
            tokio::select! {
                end = fetch => Err(end),
                end = beat => Err(end),
                end = sweep => Err(end),
                end = follow => Err(end),
                end = work => end,
            }
        };
        self.shared.ready(false);
        let end = match end {
            Ok(end) => end,
            Err(error) => return Err(error),
        };
        let mut ours = ours.into_inner();
        ours.hand_back().await?;
        ours.leave().await?;
        crate::store::fleet::say_goodbye(&mut conn, &worker).await?;
        Ok(end)
    }

    /// Takes requests, one for each free hand; returns only on an error.
    async fn fetch(&self, mut queue: Queue, send: UnboundedSender<InHand>) -> StoreError {
        match queue.own().await {
            Ok(own) => self.again().extend(own),
            Err(error) => return error,
        }
        let mut look_at = Instant::now();
        loop {
            // Never closed.
            let Ok(hand) = Arc::clone(&self.hands).acquire_owned().await else {
                return StoreError::Protocol("the worker has no hands".to_owned());
            };
            if self.closed() {
                drop(hand);
                tokio::time::sleep(WAIT).await;
                continue;
            }
            let waiting = self.again().pop_front();
            let taken = match waiting {
                Some(taken) => Ok(Some(taken)),
                None => self.next(&mut queue, &mut look_at).await,
            };
            match taken {
                // The gate was closed while it was waited for.
                Ok(Some(taken)) if self.closed() => self.again().push_front(taken),
                // Where nobody works any more, the request stays pending.
                Ok(Some(taken)) => drop(send.send(InHand { taken, hand })),
                Ok(None) => {}
                Err(error) => {
                    drop(hand);
                    if let Err(error) = self.weather(error).await {
                        return error;
                    }
                }
            }
        }
    }

    pub(super) fn again(&self) -> MutexGuard<'_, VecDeque<Taken>> {
        lock(&self.again)
    }

    /// Waits where that is enough; gives back an error that ends the session.
    pub(super) async fn weather(&self, error: StoreError) -> Result<(), StoreError> {
        let wait = self.hold(error)?;
        self.shared.pause(&self.orders, wait).await;
        Ok(())
    }

    /// Takes no work for a while, how long is given; gives back an error that ends the session.
    pub(super) fn hold(&self, error: StoreError) -> Result<Duration, StoreError> {
        match error.trouble() {
            Some(trouble) if trouble.passes() => Ok(self.shared.troubled(&error.into())),
            _ => Err(error),
        }
    }

    /// The next request: one of a worker that went silent, else a new one. The silent are looked for
    /// from `look_at` on.
    async fn next(
        &self,
        queue: &mut Queue,
        look_at: &mut Instant,
    ) -> Result<Option<Taken>, StoreError> {
        if Instant::now() >= *look_at {
            let reclaimed = queue.reclaim(self.options.lease_ttl * 2).await?;
            if reclaimed.is_some() {
                return Ok(reclaimed);
            }
            *look_at = Instant::now() + LOOK;
        }
        queue.next(BLOCK).await
    }

    /// Whether no work is to be taken.
    pub(super) fn closed(&self) -> bool {
        let gate = lock(&self.gate).is_some();
        gate || self.shared.is_held() || self.shared.is_halted() || self.orders.pending()
    }

    /// Works on requests, several users at once, until the session is to end.
    async fn work_on(
        &self,
        ours: &Mutex<Queue>,
        mut requests: UnboundedReceiver<InHand>,
    ) -> Result<End, StoreError> {
        let mut running = FuturesUnordered::new();
        let mut over = pin!(self.orders.given().fuse());
        let failed = loop {
            tokio::select! {
                biased;
                () = &mut over => break None,
                Some(worked) = running.next(), if !running.is_empty() => {
                    if let Worked::StoreFailed(taken, error) = worked {
                        self.again().push_back(*taken);
                        if let Err(error) = self.hold(error) {
                            break Some(error);
                        }
                    }
                }
                Some(in_hand) = requests.recv() => running.push(self.work(ours, in_hand)),
            }
        };
        // Each run ends with the group in hand; what takes longer is abandoned, which changes
        // nothing: a commit is one step on the server.
        self.stop.store(true, Ordering::Relaxed);
        let rest = async { while running.next().await.is_some() {} };
        if tokio::time::timeout(GRACE, rest).await.is_err() {
            tracing::warn!("runs were abandoned: they did not end in time");
        }
        match failed {
            Some(error) => Ok(End::Failed(error.into())),
            None if self.orders.stop.load(Ordering::Relaxed) => Ok(End::Stopped),
            None => Ok(End::Reload),
        }
    }
}
