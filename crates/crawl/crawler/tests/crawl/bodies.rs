//! Tests bodies that end early, and bodies with a different coding than declared. The received part
//! is stored and marked, and is parsed if it can be decoded.

use std::{collections::BTreeMap, path::Path};

use everytab_commoncrawl::warc::{Limits, Record, RecordType, read_record, read_recorded};
use everytab_testbed::{BodyLeft, BrokenBody, GraphSettings, Trap};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::world::{World, settings};

struct Recorded {
    outcome: String,
    ending: String,
    truncated: String,
    title: String,
    sha256: Vec<u8>,
    member: Vec<u8>,
}

impl Recorded {
    fn record(&self) -> Record {
        read_record(&self.member, Limits::default()).unwrap()
    }
}

fn recorded(world: &World, id: Uuid, store: &Path) -> BTreeMap<String, Recorded> {
    let rows = world.sql(&format!(
        "select f.url, f.outcome, coordinator.ending_of(f.outcome, f.bytes), f.truncated, f.title,
                encode(f.sha256, 'hex'), f.record_offset, f.record_length, a.object
           from everytab.fetches f
           join everytab.crawls c using (crawl)
           join everytab.crawl_archives a using (crawl, archive)
          where c.id = '{id}'"
    ));
    let recorded = rows.lines().map(|row| {
        let columns: Vec<&str> = row.split('|').collect();
        let [url, outcome, ending, truncated, title, sha256, offset, length, object] = columns[..]
        else {
            panic!("{row}")
        };
        let (offset, length): (usize, usize) = (offset.parse().unwrap(), length.parse().unwrap());
        let member = std::fs::read(store.join(object)).unwrap()[offset..offset + length].to_vec();
        let target = url.splitn(4, '/').nth(3).unwrap();
        let recorded = Recorded {
            outcome: outcome.to_owned(),
            ending: ending.to_owned(),
            truncated: truncated.to_owned(),
            title: title.to_owned(),
            sha256: hex::decode(sha256).unwrap(),
            member,
        };
        (format!("/{target}"), recorded)
    });
    recorded.collect()
}

fn stored(record: &Record) -> (String, &[u8]) {
    let end = record.block.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let (head, body) = record.block.split_at(end);
    (String::from_utf8(head.to_vec()).unwrap(), body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partial_body_is_stored_marked_and_parsed() {
    let graph = GraphSettings {
        traps: vec![Trap::BrokenBodies],
        trap_hosts: 1_000,
        // These faults do not exist in HTTP/2.
        https: 0,
        ..GraphSettings::plain(1, 1, 2)
    };
    let world = World::new(52, graph).await;
    let id = world.start(&settings("host"), None, &[world.graph().home(0)]).await;
    let worker = world.worker("worker-1", |_| {});
    let status = world.ended(id).await;
    worker.finish().await;
    let recorded = recorded(&world, id, &world.directory("store"));
    let (mut captured, mut failed) = (0, 0);
    for body in BrokenBody::ALL {
        for size in BrokenBody::SIZES {
            let target = body.target(size);
            let name = format!("{} {size}", body.as_str());
            let found = recorded.get(&target).unwrap_or_else(|| panic!("{target}"));
            let record = found.record();
            let (head, kept) = stored(&record);
            let page = body.page(size);
            match body.left() {
                BodyLeft::Whole => assert!(kept == page, "{name}: {} bytes", kept.len()),
                BodyLeft::Start => {
                    assert!(page.starts_with(kept) && kept.len() > size / 4, "{name}");
                }
                BodyLeft::Coded => assert!(kept == body.wire(size), "{name}: {}", kept.len()),
            }
            let digest = format!("sha256:{}", hex::encode(Sha256::digest(kept)));
            assert_eq!(record.headers.text("warc-payload-digest"), Some(digest), "{name}");
            let digest = format!("sha256:{}", hex::encode(Sha256::digest(&record.block)));
            assert_eq!(record.headers.text("warc-block-digest"), Some(digest), "{name}");
            read_recorded(&found.member, Limits::default(), |_| true, &found.sha256).unwrap();
            let is_coded = body.left() == BodyLeft::Coded;
            let mark = if body.ends_early() { "disconnect" } else { "" };
            assert_eq!(found.truncated, mark, "{name}");
            let marked = record.headers.text("warc-truncated").unwrap_or_default();
            assert_eq!(marked, mark, "{name}");
            let coding = format!("\r\ncontent-encoding: {}\r\n", body.coding());
            assert_eq!(head.contains(&coding), is_coded, "{name}: {head}");
            let outcome = match body {
                _ if body.is_cut_off() => "body_truncated",
                _ if is_coded => "content_decode",
                _ => "ok",
            };
            assert_eq!(found.outcome, outcome, "{name}");
            let ending = if outcome == "content_decode" { "failed" } else { "captured" };
            assert_eq!(found.ending, ending, "{name}");
            failed += i64::from(ending == "failed");
            assert_eq!(found.title, if is_coded { "" } else { &name });
            let behind = recorded.get(&body.target_behind(size));
            assert_eq!(behind.is_some(), !is_coded, "{name}");
            captured += i64::from(ending == "captured") + i64::from(!is_coded);
        }
    }
    for (target, found) in &recorded {
        let record = found.record();
        assert_eq!(record.record_type, RecordType::Response, "{target}");
        assert!(!stored(&record).1.is_empty(), "{target}");
    }
    let others = recorded.keys().filter(|target| !target.starts_with("/broken/")).count();
    let others = i64::try_from(others).unwrap() + 1;
    assert_eq!((status.captured, status.failed), (captured + others, failed), "{status:?}");
}
