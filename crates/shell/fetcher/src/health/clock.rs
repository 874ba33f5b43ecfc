//! The time limit of a fetch: a deadline that moves while the fetch waits for permits.

use std::{future::Future, time::Duration};

use futures_util::FutureExt;
use tokio::time::{Instant, timeout_at};

use crate::outcome::Outcome;

pub(crate) struct Clock {
    deadline: Instant,
}

impl Clock {
    pub(crate) fn start(total: Duration) -> Self {
        Self { deadline: Instant::now() + total }
    }

    pub(crate) fn at_most(&self, most: Duration) -> Self {
        Self { deadline: self.deadline.min(Instant::now() + most) }
    }

    /// Awaits something that does not depend on the peer, such as a permit. The deadline moves by
    /// the time that this takes.
    pub(crate) fn wait<T>(&mut self, waiting: impl Future<Output = T>) -> impl Future<Output = T> {
        let began = Instant::now();
        // An `async` block would store the inner future twice at each layer.
        waiting.map(move |done| {
            self.deadline += began.elapsed();
            done
        })
    }

    /// Returns `late` if the step exceeds its time limit, or `TotalTimeout` if the whole fetch
    /// exceeds its time first.
    pub(crate) fn within<T>(
        &self,
        step: Duration,
        late: Outcome,
        running: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T, Outcome>> {
        let step_deadline = Instant::now() + step;
        let (deadline, late) = if self.deadline < step_deadline {
            (self.deadline, Outcome::TotalTimeout)
        } else {
            (step_deadline, late)
        };
        timeout_at(deadline, running).map(move |done| done.map_err(|_elapsed| late))
    }

    pub(crate) fn until_deadline<T>(
        &self,
        running: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T, Outcome>> {
        timeout_at(self.deadline, running).map(|done| done.map_err(|_| Outcome::TotalTimeout))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_for_permits_does_not_count_and_running_does() {
        let mut clock = Clock::start(Duration::from_secs(10));
        clock.wait(tokio::time::sleep(Duration::from_secs(60))).await;
        let nine = tokio::time::sleep(Duration::from_secs(9));
        assert_eq!(clock.until_deadline(nine).await, Ok(()));
        let late = clock
            .within(Duration::from_secs(5), Outcome::FirstByteTimeout, std::future::pending::<()>())
            .await;
        assert_eq!(late, Err(Outcome::TotalTimeout));
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_that_times_out_before_the_deadline_has_its_outcome() {
        let clock = Clock::start(Duration::from_secs(10));
        let late = clock
            .within(Duration::from_secs(5), Outcome::FirstByteTimeout, std::future::pending::<()>())
            .await;
        assert_eq!(late, Err(Outcome::FirstByteTimeout));
    }
}
