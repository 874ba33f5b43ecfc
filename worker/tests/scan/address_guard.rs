//! Tests the address guard (protection against SSRF): the program never connects to an address that
//! is not public. In a network namespace in which every address responds, it fetches icons from
//! such addresses in every spelling, by name, and by redirect. It also fetches from public
//! addresses, which shows that the network responds.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read as _, Write as _},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    sync::{Arc, Mutex},
    thread,
};

use everytab_fetcher::KNOWN_NAMES;
use hickory_proto::{
    op::{Message, MessageType, ResponseCode},
    rr::{
        RData, Record, RecordType,
        rdata::{A, AAAA},
    },
};
use ipnet::IpNet;

use crate::{
    netns::{in_own_namespaces, shell},
    setup::{run, worker},
};

/// Ranges that are not public: rows of the IANA special-purpose registries, multicast, and cloud
/// providers' metadata addresses.
const SPECIAL: [&str; 47] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "169.254.169.254/32",
    "169.254.170.2/32",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.8/32",
    "192.0.0.170/32",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "100.100.100.200/32",
    "::/128",
    "::1/128",
    "::ffff:10.0.0.0/104",
    "::ffff:127.0.0.0/104",
    "::ffff:169.254.169.254/128",
    "::10.0.0.1/128",
    "64:ff9b::a00:1/128",
    "64:ff9b::a9fe:a9fe/128",
    "64:ff9b:1::/48",
    "100::/64",
    "2001::/32",
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:db8::/32",
    "2002::/16",
    "2002:a00:1::/48",
    "2002:a9fe:a9fe::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fd00:ec2::254/128",
    "fd20:ce::254/128",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
];

pub(crate) const PUBLIC: [&str; 4] =
    ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "2a00:1450::8"];

/// The first and the last address in each row.
pub(crate) fn special_addresses() -> BTreeSet<IpAddr> {
    let rows = SPECIAL.iter().map(|row| row.parse::<IpNet>().unwrap());
    rows.flat_map(|row| [row.network(), row.broadcast()]).collect()
}

/// An address's spellings in URLs: dotted, as one number, in octal and hexadecimal, and with fewer
/// parts.
pub(crate) fn spellings(address: IpAddr) -> Vec<String> {
    let IpAddr::V4(address) = address else { return vec![format!("[{address}]")] };
    let [a, b, c, d] = address.octets();
    let number = u32::from(address);
    vec![
        address.to_string(),
        number.to_string(),
        format!("{number:#x}"),
        format!("0{number:o}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("{a}.{}", number & 0x00ff_ffff),
        format!("{a}.{b}.{}", number & 0xffff),
        format!("{a}.{b}.{c}.{d}."),
        format!("[::ffff:{address}]"),
        format!("[{}]", address.to_ipv6_mapped()),
    ]
}

pub(crate) type Dialled = Arc<Mutex<BTreeSet<IpAddr>>>;

/// Routes all addresses to this host, and serves ports 80 and 443.
pub(crate) fn serve_all_addresses() -> Dialled {
    serve_all_addresses_with(BTreeMap::new())
}

/// Like [`serve_all_addresses`], with bodies for these paths.
pub(crate) fn serve_all_addresses_with(files: BTreeMap<String, String>) -> Dialled {
    let files = Arc::new(files);
    shell("ip route add local 0.0.0.0/0 dev lo; ip -6 route add local ::/0 dev lo").unwrap();
    let dialled = Dialled::default();
    for port in [80, 443] {
        for address in [SocketAddr::from(([0_u16; 8], port)), SocketAddr::from(([0; 4], port))] {
            // The first listener may take IPv4, too, so that this one cannot and need not be bound.
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let (dialled, files) = (Arc::clone(&dialled), Arc::clone(&files));
            thread::spawn(move || {
                for stream in listener.incoming() {
                    answer(stream.unwrap(), &dialled, &files);
                }
            });
        }
    }
    dialled
}

/// Responds with four bytes, or with the file for the host and path or for the path. `/to?URL`, and
/// a file that consists of a URL, redirect to this URL.
fn answer(mut stream: TcpStream, dialled: &Dialled, files: &BTreeMap<String, String>) {
    dialled.lock().unwrap().insert(stream.local_addr().unwrap().ip().to_canonical());
    let mut head = [0; 4_096];
    let Ok(length) = stream.read(&mut head) else { return };
    let head = String::from_utf8_lossy(&head[..length]);
    let path = head.split(' ').nth(1).unwrap_or_default();
    let is_host = |line: &&str| line.to_ascii_lowercase().starts_with("host: ");
    let host = head.lines().find(is_host).map_or("", |line| &line["host: ".len()..]);
    let file = files.get(&format!("{host}{path}")).or_else(|| files.get(path));
    let body = file.map_or("icon", String::as_str);
    let is_url = body.starts_with("http://");
    let answer = match path.strip_prefix("/to?").or(is_url.then_some(body)) {
        Some(location) => {
            format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
        }
        None => format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()),
    };
    let _ = stream.write_all(answer.as_bytes());
}

/// Serves these DNS records, and those of the names that must exist.
pub(crate) fn resolve(mut names: BTreeMap<String, Vec<IpAddr>>) -> SocketAddr {
    let public: IpAddr = PUBLIC[0].parse().unwrap();
    names.extend(KNOWN_NAMES.map(|name| (name.to_owned(), vec![public])));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 1_500];
        while let Ok((length, peer)) = socket.recv_from(&mut buffer) {
            let Ok(mut answer) = Message::from_vec(&buffer[..length]) else { continue };
            answer.metadata.message_type = MessageType::Response;
            let query = answer.queries[0].clone();
            let name = query.name().to_ascii().trim_end_matches('.').to_owned();
            if !names.contains_key(&name) {
                answer.metadata.response_code = ResponseCode::NXDomain;
            }
            for address in names.get(&name).into_iter().flatten() {
                let data = match (address, query.query_type()) {
                    (IpAddr::V4(address), RecordType::A) => RData::A(A(*address)),
                    (IpAddr::V6(address), RecordType::AAAA) => RData::AAAA(AAAA(*address)),
                    _ => continue,
                };
                answer.add_answer(Record::from_rdata(query.name().clone(), 60, data));
            }
            let _ = socket.send_to(&answer.to_vec().unwrap(), peer);
        }
    });
    address
}

/// Returns URLs that lead to special addresses: by spelling, by name, by a name with a second,
/// public address, and by redirect.
fn urls(names: &mut BTreeMap<String, Vec<IpAddr>>) -> Vec<String> {
    let [public, _, public6, _] = PUBLIC.map(|text| text.parse::<IpAddr>().unwrap());
    let mut urls = Vec::new();
    for (number, address) in special_addresses().into_iter().enumerate() {
        for spelling in spellings(address) {
            urls.push(format!("http://{spelling}/favicon.ico"));
            urls.push(format!("https://{spelling}/favicon.ico"));
            urls.push(format!("http://{public}/to?http://{spelling}/favicon.ico"));
        }
        // Of the same family, because the resolver needs only one family.
        let beside = if address.is_ipv4() { public } else { public6 };
        for (label, addresses) in [
            ("alone", vec![address]),
            ("first", vec![address, beside]),
            ("last", vec![beside, address]),
        ] {
            let name = format!("{label}-{number}.test");
            urls.push(format!("http://{name}/favicon.ico"));
            urls.push(format!("http://{public}/to?http://{name}/favicon.ico"));
            names.insert(name, addresses);
        }
    }
    urls
}

/// An invalid URL has an empty outcome.
pub(crate) fn outcomes(options: &[&str], urls: &[String]) -> Vec<String> {
    let options = ["inspect", "url", "--robots", "off"].iter().chain(options).chain(&["--"]);
    let arguments = options.copied().chain(urls.iter().map(String::as_str));
    let ended = run(worker(arguments));
    let lines = ended.stdout.lines();
    let lines = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let outcomes: Vec<String> =
        lines.map(|line| line["outcome"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(outcomes.len(), urls.len(), "{}\n{}", ended.stdout, ended.stderr);
    outcomes
}

#[test]
fn no_connection_leaves_for_an_address_that_is_not_public() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let dialled = serve_all_addresses();
        let mut names = BTreeMap::new();
        let urls = urls(&mut names);
        let resolver = resolve(names).to_string();
        let options = ["--dns", resolver.as_str()];

        let public: BTreeSet<IpAddr> = PUBLIC.iter().map(|text| text.parse().unwrap()).collect();
        let public_urls: Vec<String> = public
            .iter()
            .map(|address| format!("http://{}/favicon.ico", spellings(*address)[0]))
            .collect();
        let found = outcomes(&options, &public_urls);
        assert_eq!(found, vec!["not_image_other"; PUBLIC.len()], "the network must respond");
        assert_eq!(*dialled.lock().unwrap(), public);

        for urls in urls.chunks(200) {
            for (url, outcome) in urls.iter().zip(outcomes(&options, urls)) {
                let expected = ["ip_blocked", "redirect_blocked", "redirect_bad_scheme", ""];
                assert!(expected.contains(&outcome.as_str()), "{url}: {outcome}");
            }
        }
        let not_public: Vec<IpAddr> =
            dialled.lock().unwrap().difference(&public).copied().collect();
        assert_eq!(not_public, Vec::<IpAddr>::new(), "dialled");
    });
}

#[test]
fn an_allowed_range_opens_only_this_range() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let dialled = serve_all_addresses();
        let urls = ["10.1.2.3", "10.2.0.1", "[::ffff:10.2.0.1]", "169.254.169.254", "127.0.0.1"];
        let urls = urls.map(|host| format!("http://{host}/favicon.ico"));
        let found = outcomes(&["--allow-range", "10.1.0.0/16"], &urls);
        assert_eq!(found[0], "not_image_other");
        assert!(found[1..].iter().all(|outcome| outcome == "ip_blocked"), "{found:?}");
        let inside: Vec<IpAddr> = dialled.lock().unwrap().iter().copied().collect();
        assert_eq!(inside, ["10.1.2.3".parse::<IpAddr>().unwrap()]);
    });
}

#[test]
fn public_addresses_of_this_host_and_its_network_are_not_contacted() {
    in_own_namespaces(|has_network| {
        if !has_network {
            return;
        }
        let dialled = serve_all_addresses();
        shell(
            "ip link add own0 type veth peer name own1
             ip addr add 198.41.0.4/24 dev own0; ip addr add 2001:ba8::4/64 dev own0 nodad
             ip link set own0 up; ip link set own1 up",
        )
        .unwrap();
        let own = ["198.41.0.4", "198.41.0.9", "[::ffff:198.41.0.4]", "[2001:ba8::4]"];
        let clouds = ["168.63.129.16", "161.26.0.7", "166.11.255.255"];
        let refused = own.iter().chain(&clouds);
        let refused: Vec<String> = refused.map(|host| format!("http://{host}/icon")).collect();
        let found = outcomes(&[], &refused);
        assert!(found.iter().all(|outcome| outcome == "ip_blocked"), "{found:?}");
        assert!(dialled.lock().unwrap().is_empty(), "{dialled:?}");

        let urls = ["http://198.97.190.53/icon", "http://198.41.0.4/icon"].map(str::to_owned);
        let found = outcomes(&["--allow-range", "198.41.0.4/32"], &urls);
        assert_eq!(found, ["not_image_other"; 2]);
    });
}
