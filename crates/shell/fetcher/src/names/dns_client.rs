//! A DNS client for one name server, which sends many queries over few UDP sockets, because opening
//! a socket costs more than a query.
//!
//! A response is matched to its query by socket, random ID, name and type.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    io,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use hickory_resolver::proto::{
    op::{Edns, Message, MessageType, Query},
    rr::{Name, RecordType},
};
use parking_lot::Mutex;
use tokio::{
    net::UdpSocket,
    sync::{OnceCell, oneshot},
};
use tokio_util::task::AbortOnDropHandle;

/// Number of sockets. Each has its own port, so that a forged response would have to guess it.
const SOCKETS: usize = 8;
/// UDP response size that queries advertise, in bytes (DNS flag day 2020).
const MAX_ANSWER_BYTES: u16 = 1_232;

type Pending = Arc<Mutex<HashMap<u16, (Query, oneshot::Sender<Message>)>>>;

struct Socket {
    socket: Arc<UdpSocket>,
    pending: Pending,
    _reading: AbortOnDropHandle<()>,
}

pub(crate) struct DnsClient {
    server: SocketAddr,
    sockets: [OnceCell<Socket>; SOCKETS],
    asked: AtomicUsize,
    random: RandomState,
}

struct PendingQuestion<'a> {
    pending: &'a Pending,
    id: u16,
}

impl Drop for PendingQuestion<'_> {
    fn drop(&mut self) {
        self.pending.lock().remove(&self.id);
    }
}

impl DnsClient {
    pub(crate) fn new(server: SocketAddr) -> Self {
        let sockets = std::array::from_fn(|_| OnceCell::new());
        Self { server, sockets, asked: AtomicUsize::new(0), random: RandomState::new() }
    }

    /// Sends a query once and waits for the response, without a deadline. If no process listens on
    /// the server's port, this waits as if the server were silent.
    pub(crate) async fn query(&self, name: &Name, record_type: RecordType) -> io::Result<Message> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        let socket = &self.sockets[number % SOCKETS];
        let Socket { socket, pending, .. } = socket.get_or_try_init(|| self.open()).await?;
        let random = self.random.hash_one(number);
        let query = Query::query(name.clone(), record_type);
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut pending = pending.lock();
            // An ID is always free, because there are fewer lookups in flight than IDs.
            let mut free = (0..=u16::MAX)
                .map(|step| (random as u16).wrapping_add(step))
                .filter(|id| !pending.contains_key(id));
            let id = free.next().ok_or(io::ErrorKind::WouldBlock)?;
            drop(free);
            pending.insert(id, (query.clone(), sender));
            id
        };
        let _question = PendingQuestion { pending, id };
        let mut message = Message::query();
        message.metadata.id = id;
        message.metadata.recursion_desired = true;
        message.add_query(query);
        let mut edns = Edns::new();
        edns.set_max_payload(MAX_ANSWER_BYTES);
        message.set_edns(edns);
        let bytes = message.to_vec().map_err(io::Error::other)?;
        match socket.send(&bytes).await {
            Err(error) if error.kind() != io::ErrorKind::ConnectionRefused => return Err(error),
            // This error is about an earlier query, and the new query was not sent. Send it again.
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
        let pending = Pending::default();
        let reading = tokio::spawn(read(Arc::clone(&socket), Arc::clone(&pending)));
        Ok(Socket { socket, pending, _reading: AbortOnDropHandle::new(reading) })
    }
}

async fn read(socket: Arc<UdpSocket>, pending: Pending) {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        // The error is about an earlier query, which ends at its caller's deadline.
        let Ok(length) = socket.recv(&mut buffer).await else {
            tokio::task::yield_now().await;
            continue;
        };
        let Ok(message) = Message::from_vec(&buffer[..length]) else { continue };
        let mut pending = pending.lock();
        let question = pending.get(&message.metadata.id);
        if question.is_some_and(|(query, _)| is_response_to(&message, query))
            && let Some((_, sender)) = pending.remove(&message.metadata.id)
        {
            let _ = sender.send(message);
        }
    }
}

fn is_response_to(message: &Message, query: &Query) -> bool {
    let [answered] = message.queries.as_slice() else { return false };
    answered.query_type() == query.query_type()
        && answered.name() == query.name()
        && message.metadata.message_type == MessageType::Response
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
    async fn queries_that_share_sockets_get_their_own_responses() {
        let (address, _serving) = server(|question| vec![question]).await;
        let client = DnsClient::new(address);
        let asked = (0..300).map(|number| {
            let client = &client;
            let name = name(&format!("h{number}.test."));
            async move {
                let answer = client.query(&name, RecordType::A).await.expect("an answer");
                assert_eq!(answer.queries[0].name(), &name);
            }
        });
        futures_util::future::join_all(asked).await;
        for socket in client.sockets.iter().filter_map(OnceCell::get) {
            assert!(socket.pending.lock().is_empty());
        }
    }

    #[tokio::test]
    async fn a_message_that_does_not_match_the_query_is_ignored() {
        let (address, _serving) = server(|question| {
            let mut other_id = question.clone();
            other_id.metadata.id = question.metadata.id.wrapping_add(1);
            let mut other_name = question.clone();
            other_name.queries = vec![Query::query(name("b.test."), RecordType::A)];
            let mut question_back = question.clone();
            question_back.metadata.message_type = MessageType::Query;
            let mut good = question;
            good.metadata.response_code = ResponseCode::NXDomain;
            vec![other_id, other_name, question_back, good]
        })
        .await;
        let client = DnsClient::new(address);
        let answer = client.query(&name("a.test."), RecordType::A).await.expect("an answer");
        assert_eq!(answer.metadata.response_code, ResponseCode::NXDomain);
    }

    #[tokio::test]
    async fn a_query_is_removed_when_its_caller_gives_up() {
        let (address, _serving) = server(|_| Vec::new()).await;
        let client = DnsClient::new(address);
        let name = name("a.test.");
        let asked = client.query(&name, RecordType::A);
        timeout(Duration::from_millis(50), asked).await.expect_err("silence");
        let socket = client.sockets[0].get().expect("opened");
        assert!(socket.pending.lock().is_empty());
    }
}
