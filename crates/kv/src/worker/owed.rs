//! An answer that a server owes, and what becomes of its connection if it does not come.

use super::{Connection, PerWorker};
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{runtime::Handle, time::timeout};

/// An answer that is to come over a connection. Whoever waits for it may leave at any time by dropping it. It is then
/// waited for a while longer, because a server that is slow must be told from a connection that is dead, and from an
/// answer without end: such a connection is closed, and the worker's next question makes a new one.
pub struct Owed<C, A>
where
    C: Clone + Send + Sync + 'static,
    A: Future + Send + Unpin + 'static,
{
    /// `None` once it has come.
    answer: Option<A>,
    connection: Connection<C>,
    connections: PerWorker<C>,
    patience: Duration,
}

impl<C: Clone + Send + Sync + 'static> PerWorker<C> {
    /// Returns the `answer` that is to come over `connection`, which is closed if nobody waits for the answer any more
    /// and it does not come within `patience` after that.
    pub fn owed<A: Future + Send + Unpin + 'static>(
        &self,
        connection: &Connection<C>,
        answer: A,
        patience: Duration,
    ) -> Owed<C, A> {
        let all = Arc::clone(&self.all);
        Owed {
            answer: Some(answer),
            connection: connection.clone(),
            connections: Self { all },
            patience,
        }
    }
}

impl<C, A> Future for Owed<C, A>
where
    C: Clone + Send + Sync + Unpin + 'static,
    A: Future + Send + Unpin + 'static,
{
    type Output = A::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<A::Output> {
        let Some(answer) = &mut self.answer else {
            return Poll::Pending;
        };
        let answer = ready!(Pin::new(answer).poll(context));
        self.answer = None;
        Poll::Ready(answer)
    }
}

impl<C, A> Drop for Owed<C, A>
where
    C: Clone + Send + Sync + 'static,
    A: Future + Send + Unpin + 'static,
{
    fn drop(&mut self) {
        let (Some(answer), Ok(worker)) = (self.answer.take(), Handle::try_current()) else {
            return;
        };
        let all = Arc::clone(&self.connections.all);
        let (connections, connection) = (PerWorker { all }, self.connection.clone());
        let patience = self.patience;
        worker.spawn(async move {
            if timeout(patience, answer).await.is_err() {
                connections.close(&connection);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{sync::oneshot, time::sleep};

    const PATIENCE: Duration = Duration::from_millis(50);

    /// This worker's connection, made if there is none.
    async fn open(connections: &PerWorker<()>) -> Connection<()> {
        let made = connections.get(|| async { Ok(()) }).await;
        made.expect("a connection")
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_answer_never_comes_is_closed_and_no_other() {
        let connections = PerWorker::default();
        let dead = open(&connections).await;
        let [first, second] = [(); 2].map(|()| {
            let never = std::future::pending::<()>();
            connections.owed(&dead, never, PATIENCE)
        });
        assert!(timeout(PATIENCE, first).await.is_err());
        assert_eq!(open(&connections).await.number, dead.number, "not yet");
        sleep(PATIENCE / 2).await;
        drop(second);
        sleep(PATIENCE * 3 / 4).await;
        let other = open(&connections).await;
        assert_ne!(other.number, dead.number);
        sleep(PATIENCE).await;
        assert_eq!(open(&connections).await.number, other.number);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_whose_answer_comes_late_stays() {
        let connections = PerWorker::default();
        let slow = open(&connections).await;
        let (send, answer) = oneshot::channel();
        let owed = connections.owed(&slow, answer, PATIENCE);
        assert!(timeout(PATIENCE, owed).await.is_err());
        send.send(7).expect("it is still waited for");
        sleep(PATIENCE * 2).await;
        assert_eq!(open(&connections).await.number, slow.number);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_comes_in_time_is_waited_for_no_longer() {
        let connections = PerWorker::default();
        let connection = open(&connections).await;
        let answer = std::future::ready(7);
        assert_eq!(connections.owed(&connection, answer, PATIENCE).await, 7);
        sleep(PATIENCE * 2).await;
        assert_eq!(open(&connections).await.number, connection.number);
    }
}
