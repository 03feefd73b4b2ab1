//! Limits the requests in a second, and spreads them evenly.

use std::{cell::Cell, time::Duration};
use tokio::time::{Instant, sleep_until};

/// Gives out turns at a rate. Shared by the tasks of one thread.
#[derive(Debug)]
pub struct Pace {
    between: Duration,
    next: Cell<Instant>,
}

impl Pace {
    /// At most `rate` turns in a second; 0 means no limit.
    pub fn new(rate: u32) -> Self {
        let between = match rate {
            0 => Duration::ZERO,
            rate => Duration::from_secs(1) / rate,
        };
        let next = Cell::new(Instant::now());
        Self { between, next }
    }

    /// Waits for the next turn. Turns that nobody took are lost.
    pub async fn turn(&self) {
        if self.between.is_zero() {
            return;
        }
        let now = Instant::now();
        let turn = self.next.get().max(now);
        self.next.set(turn + self.between);
        if turn > now {
            sleep_until(turn).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn turns_are_even() {
        let began = Instant::now();
        let pace = Pace::new(10);
        for turn in 0..5 {
            pace.turn().await;
            assert_eq!(began.elapsed().as_millis() / 100, turn);
        }
        sleep_until(began + Duration::from_mins(1)).await;
        pace.turn().await;
        pace.turn().await;
        assert_eq!(began.elapsed().as_millis(), 60_100);
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_rate_nobody_waits() {
        let began = Instant::now();
        let pace = Pace::new(0);
        for _ in 0..1000 {
            pace.turn().await;
        }
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
