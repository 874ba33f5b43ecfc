//! Requests that wait for an event, such as a URL's result. The process polls Postgres once per
//! second for all requests.
//!
//! Invariants: a request frees its slot however it ends. While Postgres is unreachable, requests
//! continue to wait until their time is over.

use std::{collections::HashMap, sync::Arc, time::Duration};

use everytab_coordinator::{ApiCaller, ApiFetch, Coordinator, Error, FeedPosition, FetchId};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, oneshot, watch},
    time::{Instant, sleep_until, timeout},
};
use uuid::Uuid;

use crate::{
    fetch_document::is_settled,
    metrics,
    problem::{Problem, ProblemCode},
};

/// Maximum waiting requests per key.
pub(crate) const MAX_WAITERS_PER_KEY: usize = 32;
/// Seconds after which a client may retry if its key has too many waiting requests.
const RETRY_S: u64 = 5;
/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(crate) enum Question {
    /// Waits until the URL is no longer due.
    Url(FetchId),
    /// Waits until the crawl's state is no longer this one.
    Crawl(Uuid, String),
    /// Waits until the crawl has recorded something after a position, or has ended.
    Feed(Uuid, FeedPosition),
}

#[derive(Debug)]
pub(crate) enum News {
    Url(Box<ApiFetch>),
    /// The crawl or its feed has changed, or the key may no longer read it. The request then reads
    /// the new state or the error.
    Something,
}

#[derive(Debug)]
struct Waiter {
    caller: ApiCaller,
    question: Question,
    answer: oneshot::Sender<News>,
}

#[derive(Debug, Default)]
struct Table {
    last: u64,
    waiting: HashMap<u64, Waiter>,
    per_key: HashMap<String, usize>,
}

#[derive(Debug, Default)]
pub(crate) struct Waiters {
    table: Mutex<Table>,
    arrived: Notify,
}

/// Dropping this value frees the slot.
struct Seat<'a> {
    waiters: &'a Waiters,
    number: u64,
    key: &'a str,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        let mut table = self.waiters.table.lock();
        table.waiting.remove(&self.number);
        if let Some(count) = table.per_key.get_mut(self.key) {
            *count -= 1;
            if *count == 0 {
                table.per_key.remove(self.key);
            }
        }
        metrics::waiting(table.per_key.values().sum());
    }
}

impl Waiters {
    /// Waits for the event for at most `time`. `None` if it does not occur in this time, or if the
    /// process is stopping.
    ///
    /// # Errors
    /// Returns a problem if the key has too many waiting requests.
    pub(crate) async fn wait(
        &self,
        caller: &ApiCaller,
        question: Question,
        time: Duration,
        stop: &watch::Receiver<bool>,
    ) -> Result<Option<News>, Problem> {
        let (_seat, news) = self.sit(caller, question)?;
        let mut stop = stop.clone();
        tokio::select! {
            // The sender is dropped only with the slot.
            news = timeout(time, news) => Ok(news.ok().and_then(Result::ok)),
            _ = stop.wait_for(|stop| *stop) => Ok(None),
        }
    }

    fn sit<'a>(
        &'a self,
        caller: &'a ApiCaller,
        question: Question,
    ) -> Result<(Seat<'a>, oneshot::Receiver<News>), Problem> {
        let (answer, news) = oneshot::channel();
        let key = caller.key.as_str();
        let mut table = self.table.lock();
        let count = table.per_key.get(key).copied().unwrap_or_default();
        if count >= MAX_WAITERS_PER_KEY {
            let detail = format!("{MAX_WAITERS_PER_KEY} requests of this key are already waiting");
            let problem = Problem::with(ProblemCode::TooManyWaiters, detail);
            return Err(Problem { retry_after_s: Some(RETRY_S), ..problem });
        }
        table.per_key.insert(key.to_owned(), count + 1);
        table.last += 1;
        let number = table.last;
        table.waiting.insert(number, Waiter { caller: caller.clone(), question, answer });
        metrics::waiting(table.per_key.values().sum());
        drop(table);
        self.arrived.notify_one();
        Ok((Seat { waiters: self, number, key }, news))
    }

    pub(crate) async fn poll(
        self: Arc<Self>,
        coordinator: Coordinator,
        mut stop: watch::Receiver<bool>,
    ) {
        let mut next = Instant::now();
        loop {
            tokio::select! {
                () = self.next(next) => {}
                _ = stop.wait_for(|stop| *stop) => return,
            }
            next = Instant::now() + POLL_INTERVAL;
            match self.asked().ask(&coordinator).await {
                Ok(told) => self.answer(told),
                Err(error) => tracing::warn!(%error, "cannot poll for waiting requests; retrying"),
            }
        }
    }

    /// Waits until `at`, and until at least one request is waiting.
    async fn next(&self, at: Instant) {
        sleep_until(at).await;
        while self.table.lock().waiting.is_empty() {
            self.arrived.notified().await;
        }
    }

    fn asked(&self) -> Asked {
        let mut asked = Asked::default();
        for (number, Waiter { caller, question, .. }) in &self.table.lock().waiting {
            let number = *number;
            let caller = caller.clone();
            match question.clone() {
                Question::Url(id) => asked.urls.push((number, caller, id)),
                Question::Crawl(id, state) => asked.crawls.push((number, caller, id, state)),
                Question::Feed(id, after) => asked.feeds.push((number, caller, id, after)),
            }
        }
        asked
    }

    fn answer(&self, told: Vec<(u64, News)>) {
        let mut table = self.table.lock();
        for (number, news) in told {
            if let Some(waiter) = table.waiting.remove(&number) {
                waiter.answer.send(news).ok();
            }
        }
    }
}

#[derive(Debug, Default)]
struct Asked {
    urls: Vec<(u64, ApiCaller, FetchId)>,
    crawls: Vec<(u64, ApiCaller, Uuid, String)>,
    feeds: Vec<(u64, ApiCaller, Uuid, FeedPosition)>,
}

impl Asked {
    async fn ask(&self, coordinator: &Coordinator) -> Result<Vec<(u64, News)>, Error> {
        let mut told = Vec::new();
        if !self.urls.is_empty() {
            let asked: Vec<_> = self.urls.iter().map(|(_, caller, id)| (caller, *id)).collect();
            let states = coordinator.api_fetch_states(&asked).await?;
            for ((number, _, _), state) in self.urls.iter().zip(states) {
                match state {
                    Some(state) if is_settled(&state) => {
                        told.push((*number, News::Url(Box::new(state))));
                    }
                    Some(_) => {}
                    None => told.push((*number, News::Something)),
                }
            }
        }
        if !self.crawls.is_empty() {
            let asked = self.crawls.iter().map(|(_, caller, id, _)| (caller, *id));
            let states = coordinator.api_crawl_states(&asked.collect::<Vec<_>>()).await?;
            for ((number, _, _, before), found) in self.crawls.iter().zip(states) {
                if found.is_none_or(|found| found.state != *before) {
                    told.push((*number, News::Something));
                }
            }
        }
        if !self.feeds.is_empty() {
            let asked = self.feeds.iter().map(|(_, caller, id, after)| (caller, *id, after));
            let news = coordinator.api_feed_news(&asked.collect::<Vec<_>>()).await?;
            // A feed that the key may no longer read has no news, and its crawl has no state.
            let asked = self.feeds.iter().map(|(_, caller, id, _)| (caller, *id));
            let states = coordinator.api_crawl_states(&asked.collect::<Vec<_>>()).await?;
            for (((number, ..), has_news), state) in self.feeds.iter().zip(news).zip(states) {
                if has_news || state.is_none() {
                    told.push((*number, News::Something));
                }
            }
        }
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(key: &str) -> ApiCaller {
        ApiCaller { key: key.to_owned(), secret_sha256: [0; 32] }
    }

    fn question() -> Question {
        Question::Crawl(Uuid::nil(), "running".to_owned())
    }

    #[test]
    fn a_key_has_a_maximum_of_waiters_and_each_is_freed() {
        let waiters = Waiters::default();
        let (one, other) = (caller("one"), caller("other"));
        let seats: Vec<_> =
            (0..MAX_WAITERS_PER_KEY).map(|_| waiters.sit(&one, question()).unwrap()).collect();
        assert_eq!(waiters.asked().crawls.len(), MAX_WAITERS_PER_KEY);
        let refused = waiters.sit(&one, question()).err().unwrap();
        assert_eq!(refused.code, ProblemCode::TooManyWaiters);
        assert!(waiters.sit(&other, question()).is_ok());
        drop(seats);
        assert!(waiters.sit(&one, question()).is_ok());
        let table = waiters.table.lock();
        assert!(table.waiting.is_empty() && table.per_key.is_empty());
    }

    #[test]
    fn events_reach_only_their_own_waiters() {
        let waiters = Waiters::default();
        let one = caller("one");
        let (_first, mut first) = waiters.sit(&one, question()).unwrap();
        let (second, mut news) = waiters.sit(&one, question()).unwrap();
        waiters.answer(vec![(second.number, News::Something), (999, News::Something)]);
        assert!(first.try_recv().is_err());
        assert!(news.try_recv().is_ok());
    }

    #[tokio::test]
    async fn a_stopping_process_responds_to_waiting_requests() {
        let waiters = Waiters::default();
        let (stop, stopped) = watch::channel(false);
        let one = caller("one");
        let waiting = waiters.wait(&one, question(), Duration::from_secs(3_600), &stopped);
        stop.send(true).unwrap();
        assert!(waiting.await.unwrap().is_none());
        assert!(waiters.table.lock().per_key.is_empty());
    }
}
