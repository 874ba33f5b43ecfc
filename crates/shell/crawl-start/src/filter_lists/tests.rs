//! Tests that lists are copied once, and dropped when they are not needed.

use std::sync::atomic::{AtomicUsize, Ordering};

use everytab_filters::{ListFileKind, NameListBuilder};
use sha2::{Digest as _, Sha256};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::*;

struct CountedStore {
    base: String,
    asked: Arc<AtomicUsize>,
    is_open: watch::Sender<bool>,
    objects: Arc<Mutex<HashMap<String, Vec<u8>>>>,
}

impl CountedStore {
    async fn new(is_open: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let store = Self {
            base,
            asked: Arc::default(),
            is_open: watch::Sender::new(is_open),
            objects: Arc::default(),
        };
        let (asked, objects) = (Arc::clone(&store.asked), Arc::clone(&store.objects));
        let opened = store.is_open.subscribe();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                asked.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(answer(stream, Arc::clone(&objects), opened.clone()));
            }
        });
        store
    }

    fn put(&self, name: &str, version: i32, domain: &str) -> FrozenList {
        let mut builder = NameListBuilder::default();
        builder.add_line("all", ListFileKind::Domains, domain.as_bytes()).unwrap();
        let object = builder.build();
        let list = FrozenList {
            name: name.to_owned(),
            version,
            store: self.base.clone(),
            object: format!("{name}/{version}.list"),
            sha256: hex::encode(Sha256::digest(&object)),
            bytes: object.len() as u64,
        };
        self.objects.lock().insert(format!("/{}", list.object), object);
        list
    }

    fn requests(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

async fn answer(
    mut stream: TcpStream,
    objects: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    mut opened: watch::Receiver<bool>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    opened.wait_for(|is_open| *is_open).await.unwrap();
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1).unwrap();
    let object = objects.lock().get(path).cloned();
    let answer = match object {
        None => {
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec()
        }
        Some(object) => {
            let length = object.len();
            let last = object.len() - 1;
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Length: {length}\r\n\
                 Content-Range: bytes 0-{last}/{length}\r\nConnection: close\r\n\r\n"
            );
            [head.into_bytes(), object].concat()
        }
    };
    stream.write_all(&answer).await.unwrap();
}

async fn load(lists: &FilterLists, wanted: &[FrozenList], until: Option<Instant>) -> Vec<String> {
    let loaded = lists.load_all("test", wanted, &StoreSettings::default(), until).await;
    let mut names: Vec<String> = loaded.into_keys().map(str::to_owned).collect();
    names.sort_unstable();
    names
}

fn no_lists() -> FilterLists {
    FilterLists::new(std::env::temp_dir())
}

#[tokio::test]
async fn a_list_that_several_want_is_copied_once() {
    let store = CountedStore::new(false).await;
    let wanted = [store.put("a", 1, "a.test")];
    let lists = no_lists();
    let open = async {
        while store.requests() == 0 {
            tokio::task::yield_now().await;
        }
        store.is_open.send_replace(true);
    };
    let (one, other, ()) =
        tokio::join!(load(&lists, &wanted, None), load(&lists, &wanted, None), open);
    assert_eq!((one, other, store.requests()), (vec!["a".into()], vec!["a".into()], 1));
}

#[tokio::test]
async fn a_copy_goes_on_when_who_asked_for_it_waits_no_more() {
    let store = CountedStore::new(false).await;
    let wanted = [store.put("a", 1, "a.test"), store.put("b", 1, "b.test")];
    let lists = no_lists();
    assert_eq!(load(&lists, &wanted, Some(Instant::now())).await, Vec::<String>::new());
    store.is_open.send_replace(true);
    assert_eq!(load(&lists, &wanted, None).await, ["a", "b"]);
    assert_eq!(store.requests(), 2);
    assert_eq!(load(&lists, &wanted, Some(Instant::now())).await, ["a", "b"]);
}

#[tokio::test]
async fn a_list_that_nothing_uses_stays_until_a_newer_version_is_here() {
    let store = CountedStore::new(true).await;
    let old = [store.put("a", 1, "a.test")];
    let lists = no_lists();
    for _ in 0..3 {
        assert_eq!(load(&lists, &old, None).await, ["a"]);
    }
    let other = [store.put("b", 1, "b.test")];
    assert_eq!(load(&lists, &other, None).await, ["b"]);
    assert_eq!(load(&lists, &old, None).await, ["a"]);
    assert_eq!(store.requests(), 2);
    let used = lists.load_all("test", &old, &StoreSettings::default(), None).await;
    assert_eq!(load(&lists, &[store.put("a", 2, "new.test")], None).await, ["a"]);
    assert_eq!(load(&lists, &old, None).await, ["a"]);
    assert_eq!(store.requests(), 3);
    drop(used);
    assert_eq!(load(&lists, &[store.put("c", 1, "c.test")], None).await, ["c"]);
    assert_eq!(load(&lists, &old, None).await, ["a"]);
    assert_eq!(store.requests(), 5);
}

#[tokio::test]
async fn lists_that_nothing_uses_are_bounded_in_bytes() {
    let store = CountedStore::new(true).await;
    let wanted = ["a", "b", "c"].map(|name| store.put(name, 1, &format!("{name}.test")));
    let lists = FilterLists::with_limit(std::env::temp_dir(), wanted[0].bytes);
    let [a, b, c] = wanted.each_ref().map(std::slice::from_ref);
    for one in [a, b, a, c] {
        load(&lists, one, None).await;
    }
    assert_eq!(store.requests(), 3);
    load(&lists, a, None).await;
    assert_eq!(store.requests(), 3);
    load(&lists, b, None).await;
    assert_eq!(store.requests(), 4);
}

#[tokio::test]
async fn a_copy_that_failed_is_made_when_the_list_is_wanted_again() {
    let store = CountedStore::new(true).await;
    let list = store.put("a", 1, "a.test");
    let object = store.objects.lock().remove("/a/1.list").unwrap();
    let lists = no_lists();
    let wanted = [list];
    assert_eq!(load(&lists, &wanted, None).await, Vec::<String>::new());
    store.objects.lock().insert("/a/1.list".to_owned(), object);
    assert_eq!(load(&lists, &wanted, None).await, ["a"]);
}
