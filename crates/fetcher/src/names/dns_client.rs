//! Questions to one name server, many over few sockets.
//!
//! A socket a question, as resolvers have it, costs more than the question. Here each of a few
//! connected sockets carries many: answers find their question by socket, random number, name and
//! type; what matches none is no answer. What is cut short is the caller's to ask elsewhere.
//! Must not know: caches, deadlines, what an answer means.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use hickory_resolver::proto::{
    op::{Edns, Message, MessageType, Query},
    rr::{Name, RecordType},
};
use tokio::{
    net::UdpSocket,
    sync::{OnceCell, oneshot},
};
use tokio_util::task::AbortOnDropHandle;

/// Sockets; each has a port of its own.
const SOCKETS: usize = 8;
/// Fits the answers of names with many addresses into one packet (DNS flag day 2020).
const ANSWER_BYTES: u16 = 1_232;

type Waiting = Arc<Mutex<HashMap<u16, (Query, oneshot::Sender<Message>)>>>;

struct Socket {
    socket: Arc<UdpSocket>,
    waiting: Waiting,
    _reading: AbortOnDropHandle<()>,
}

/// The sockets to one name server.
pub(crate) struct Questions {
    server: SocketAddr,
    sockets: [OnceCell<Socket>; SOCKETS],
    turn: AtomicUsize,
    random: RandomState,
}

/// Takes a question back when nobody waits for its answer any more.
struct Asked<'a> {
    waiting: &'a Waiting,
    number: u16,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        lock(self.waiting).remove(&self.number);
    }
}

impl Questions {
    pub(crate) fn new(server: SocketAddr) -> Questions {
        let sockets = std::array::from_fn(|_| OnceCell::new());
        Questions { server, sockets, turn: AtomicUsize::new(0), random: RandomState::new() }
    }

    /// Asks once and waits for the answer, for ever if there is none. Errors: of the socket, but
    /// not that nobody listens there, for that is silence too.
    pub(crate) async fn ask(&self, name: &Name, record_type: RecordType) -> io::Result<Message> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let socket = &self.sockets[turn % SOCKETS];
        let Socket { socket, waiting, .. } = socket.get_or_try_init(|| self.open()).await?;
        let random = self.random.hash_one(turn);
        let query = Query::query(name.clone(), record_type);
        let (sender, answer) = oneshot::channel();
        let number = {
            let mut waiting = lock(waiting);
            // There are fewer look-ups in flight than numbers.
            let free = (0..=u16::MAX).map(|step| (random as u16).wrapping_add(step));
            let mut free = free.filter(|number| !waiting.contains_key(number));
            let number = free.next().ok_or(io::ErrorKind::WouldBlock)?;
            waiting.insert(number, (query.clone(), sender));
            number
        };
        let _asked = Asked { waiting, number };
        let mut message = Message::query();
        message.metadata.id = number;
        message.metadata.recursion_desired = true;
        message.add_query(query);
        let mut edns = Edns::new();
        edns.set_max_payload(ANSWER_BYTES);
        message.set_edns(edns);
        let bytes = message.to_vec().map_err(io::Error::other)?;
        match socket.send(&bytes).await {
            Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => return Err(error),
            // A refusal is about an earlier question; this one was not sent.
            Err(_) => drop(socket.send(&bytes).await),
            Ok(_) => {}
        }
        answer.await.map_err(|_closed| io::ErrorKind::NotConnected.into())
    }

    async fn open(&self) -> io::Result<Socket> {
        let any: SocketAddr = match self.server {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = Arc::new(UdpSocket::bind(any).await?);
        socket.connect(self.server).await?;
        let waiting = Waiting::default();
        let reading = tokio::spawn(read(Arc::clone(&socket), Arc::clone(&waiting)));
        Ok(Socket { socket, waiting, _reading: AbortOnDropHandle::new(reading) })
    }
}

async fn read(socket: Arc<UdpSocket>, waiting: Waiting) {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        // An error is about something that was sent; who asked waits no longer than it would.
        let Ok(length) = socket.recv(&mut buffer).await else {
            tokio::task::yield_now().await;
            continue;
        };
        let Ok(message) = Message::from_vec(&buffer[..length]) else { continue };
        let mut waiting = lock(&waiting);
        let asked = waiting.get(&message.metadata.id);
        if asked.is_some_and(|(query, _)| is_about(&message, query))
            && let Some((_, sender)) = waiting.remove(&message.metadata.id)
        {
            // Nobody there: too late.
            let _ = sender.send(message);
        }
    }
}

/// Whether a message answers just this question, to the letter.
fn is_about(message: &Message, query: &Query) -> bool {
    let [answered] = message.queries.as_slice() else { return false };
    answered.query_type() == query.query_type()
        && answered.name() == query.name()
        && message.metadata.message_type == MessageType::Response
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is one call on the map, so a panic elsewhere cannot leave it half changed.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hickory_resolver::proto::op::ResponseCode;
    use tokio::time::timeout;

    use super::*;

    fn name(text: &str) -> Name {
        Name::from_ascii(text).expect("a name")
    }

    /// A server that gives to each question the answers that `forge` makes of it.
    async fn server(
        forge: impl Fn(Message) -> Vec<Message> + Send + 'static,
    ) -> (SocketAddr, AbortOnDropHandle<()>) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let address = socket.local_addr().expect("an address");
        let serving = tokio::spawn(async move {
            let mut buffer = [0; 1_500];
            while let Ok((length, peer)) = socket.recv_from(&mut buffer).await {
                let mut question = Message::from_vec(&buffer[..length]).expect("a question");
                question.metadata.message_type = MessageType::Response;
                for answer in forge(question) {
                    let bytes = answer.to_vec().expect("encodes");
                    socket.send_to(&bytes, peer).await.expect("sent");
                }
            }
        });
        (address, AbortOnDropHandle::new(serving))
    }

    #[tokio::test]
    async fn many_questions_over_few_sockets_each_get_their_own_answer() {
        let (address, _serving) = server(|question| vec![question]).await;
        let questions = Questions::new(address);
        let asked = (0..300).map(|number| {
            let (questions, name) = (&questions, name(&format!("h{number}.test.")));
            async move {
                let answer = questions.ask(&name, RecordType::A).await.expect("an answer");
                assert_eq!(answer.queries[0].name(), &name);
            }
        });
        futures_util::future::join_all(asked).await;
        for socket in questions.sockets.iter().filter_map(OnceCell::get) {
            assert!(lock(&socket.waiting).is_empty());
        }
    }

    #[tokio::test]
    async fn what_does_not_match_the_question_is_no_answer() {
        let (address, _serving) = server(|question| {
            let mut number = question.clone();
            number.metadata.id = question.metadata.id.wrapping_add(1);
            let mut other = question.clone();
            other.queries = vec![Query::query(name("b.test."), RecordType::A)];
            let mut question_back = question.clone();
            question_back.metadata.message_type = MessageType::Query;
            let mut good = question;
            good.metadata.response_code = ResponseCode::NXDomain;
            vec![number, other, question_back, good]
        })
        .await;
        let questions = Questions::new(address);
        let answer = questions.ask(&name("a.test."), RecordType::A).await.expect("an answer");
        assert_eq!(answer.metadata.response_code, ResponseCode::NXDomain);
    }

    #[tokio::test]
    async fn a_question_that_nobody_waits_for_is_taken_back() {
        let (address, _serving) = server(|_| Vec::new()).await;
        let questions = Questions::new(address);
        let name = name("a.test.");
        let asked = questions.ask(&name, RecordType::A);
        timeout(Duration::from_millis(50), asked).await.expect_err("silence");
        let socket = questions.sockets[0].get().expect("opened");
        assert!(lock(&socket.waiting).is_empty());
    }
}
