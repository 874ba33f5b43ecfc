//! A track's name server: one thread, one socket.

use std::{
    io,
    net::{Ipv4Addr, UdpSocket},
    sync::Arc,
    thread,
};

use super::{
    plan::{HostKind, TrackPlan, host_number},
    tally::Tally,
};
use crate::internet::KNOWN_NAMES;

const HEADER_BYTES: usize = 12;
const TYPE_A: u16 = 1;
const NXDOMAIN: u8 = 3;

pub(crate) fn serve(plan: &Arc<TrackPlan>, tally: &Arc<Tally>) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 53))?;
    socket2::SockRef::from(&socket).set_recv_buffer_size(8 << 20)?;
    let (plan, tally) = (Arc::clone(plan), Arc::clone(tally));
    thread::Builder::new().name("names".to_owned()).spawn(move || {
        let mut question = [0; 1_500];
        loop {
            let Ok((length, asker)) = socket.recv_from(&mut question) else { continue };
            Tally::count(&tally.questions);
            if let Some(answer) = answer(&plan, &question[..length]) {
                let _ = socket.send_to(&answer, asker);
            }
        }
    })?;
    Ok(())
}

fn answer(plan: &TrackPlan, message: &[u8]) -> Option<Vec<u8>> {
    let mut name = String::new();
    let mut at = HEADER_BYTES;
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        if !name.is_empty() {
            name.push('.');
        }
        name.push_str(&String::from_utf8_lossy(message.get(at..at + length)?));
        at += length;
    }
    let kind = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
    let end = at + 4;
    let name = name.to_ascii_lowercase();
    let host = host_number(&name);
    let is_known = KNOWN_NAMES.contains(&name.as_str());
    let exists = is_known
        || host.and_then(|host| plan.kind(host)).is_some_and(|kind| kind != HostKind::NoSuchName);
    let address = match host {
        None if is_known => Some(Ipv4Addr::LOCALHOST),
        host => host.and_then(|host| plan.address(host)),
    };
    let address = address.filter(|_| exists && kind == TYPE_A);
    let mut answer = message.get(..end)?.to_vec();
    answer[2] = 0x81;
    answer[3] = 0x80 | if exists { 0 } else { NXDOMAIN };
    answer[4..HEADER_BYTES].copy_from_slice(&[0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0]);
    if let Some(address) = address {
        answer.extend_from_slice(&[0xC0, HEADER_BYTES as u8, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4]);
        answer.extend_from_slice(&address.octets());
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use hickory_proto::{
        op::{Message, Query, ResponseCode},
        rr::{Name, RData, RecordType},
    };

    use super::*;
    use crate::track::{Scenario, TrackSize};

    fn ask(name: &str, kind: RecordType) -> Message {
        let size = TrackSize { hosts: 10, urls: 25, addresses: 4 };
        let plan = TrackPlan::new(Scenario::Plain, size);
        let mut question = Message::query();
        let name = Name::from_ascii(name).expect("a name");
        question.add_query(Query::query(name, kind));
        let bytes = answer(&plan, &question.to_vec().expect("encodes")).expect("an answer");
        Message::from_vec(&bytes).expect("a message")
    }

    #[test]
    fn a_host_has_its_address_and_others_do_not_exist() {
        let found = ask("h3.icons.test.", RecordType::A);
        assert!(matches!(&found.answers[0].data, RData::A(a) if a.0.is_loopback()));
        let empty = ask("h3.icons.test.", RecordType::AAAA);
        assert_eq!((empty.answers.len(), empty.metadata.response_code), (0, ResponseCode::NoError));
        let known = ask("example.com.", RecordType::A);
        assert_eq!(known.answers.len(), 1);
        let missing = ask("h10.icons.test.", RecordType::A);
        assert_eq!(missing.metadata.response_code, ResponseCode::NXDomain);
    }
}
