//! Finds a host's name in an object, and removes it.

use std::{collections::BTreeMap, io::Read as _};

use bytes::Bytes;
use everytab_bundler::{
    icon_list,
    map::{BACKGROUND, part::painted_over},
    search::{
        part::{HEADER_BYTES, write_part},
        read_lines,
    },
};
use everytab_commoncrawl::warc::{
    Limits, Record, RecordType, Records,
    write::{anonymous_member, blank_member, resource_member},
};
use everytab_icon::thumbnail::empty_thumbnail;
use everytab_jobs::request_table::{TABLE, host_of, requests};
use flate2::read::MultiGzDecoder;

/// Maximum number of decompressed bytes to read. A request file has 30 KB compressed.
const MAX_TEXT_BYTES: u64 = 256 << 20;

/// The host's own records, by offset. The value is true if another host has this icon, too.
pub(super) type OwnRecords = BTreeMap<u64, bool>;

pub(super) fn names(key: &str, bytes: &[u8], host: &str) -> bool {
    if key.ends_with(".bin") {
        let wanted = icon_list::hostname_prefix(host);
        let lines = icon_list::read(bytes).unwrap_or_default();
        return lines.iter().any(|line| line.hostname == wanted);
    }
    if key.ends_with(".warc.gz") {
        let records = Records::new(bytes, Limits::default());
        return records.flat_map(|(_, record)| record).any(|record| is_named_by(&record, host));
    }
    if key.ends_with(".gz") {
        let mut text = Vec::new();
        let mut limited = MultiGzDecoder::new(bytes).take(MAX_TEXT_BYTES);
        // A damaged file counts as containing the host.
        return limited.read_to_end(&mut text).is_err() || text_names(&text, host);
    }
    text_names(bytes, host)
}

/// The host must be a whole name, in a URL or as a field in a line.
fn text_names(text: &[u8], host: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._%".contains(byte);
    let name = host.as_bytes();
    let mut start = 0;
    while let Some(rest) = text.get(start..) {
        let Some(at) = rest.windows(name.len().max(1)).position(|window| window == name) else {
            return false;
        };
        let before = at.checked_sub(1).and_then(|at| rest.get(at));
        let after = rest.get(at + name.len());
        if !before.is_some_and(is_part) && !after.is_some_and(is_part) {
            return true;
        }
        start += at + 1;
    }
    false
}

fn is_table(record: &Record) -> bool {
    record.target_uri().as_deref() == Some(TABLE)
}

pub(super) fn table_names(table: &str, host: &str) -> bool {
    requests(table).any(|request| request.host == host)
}

/// The member has `length` bytes, and its table omits requests to the host.
fn table_member(record: &Record, host: &str, length: usize) -> Option<Vec<u8>> {
    let table = String::from_utf8_lossy(&record.block);
    let lines = table.split_inclusive('\n').enumerate();
    // The first line is a header.
    let keeps = |at: usize, line: &str| at == 0 || !table_names(&format!("\n{line}"), host);
    let rest: String = lines.filter(|(at, line)| keeps(*at, line)).map(|(_, line)| line).collect();
    let content_type = record.headers.text("content-type")?;
    resource_member(TABLE, &record.date()?, &content_type, rest.as_bytes(), length)
}

fn is_named_by(record: &Record, host: &str) -> bool {
    if is_table(record) {
        return table_names(&String::from_utf8_lossy(&record.block), host);
    }
    ["warc-target-uri", "warc-refers-to-target-uri"].into_iter().any(|field| {
        let uri = record.headers.text(field).unwrap_or_default();
        // Some writers put the URL in angle brackets.
        host_of(uri.trim_matches(['<', '>'])) == Some(host)
    })
}

/// Overwrites the host's records in place, so that all offsets remain valid. If another host has
/// the same icon, only the URL is removed.
pub(super) fn blanked(archive: &Bytes, own: &OwnRecords, host: &str) -> Option<(Bytes, u64)> {
    let found: Vec<_> = Records::new(archive, Limits::default()).collect();
    let mut blanked = archive.to_vec();
    let mut changed = 0;
    for (index, (offset, record)) in found.iter().enumerate() {
        let Ok(record) = record else { continue };
        let shared = own.get(offset).copied();
        let is_empty = record.record_type == RecordType::Metadata;
        let keeps_content = shared == Some(true);
        let is_without_url = keeps_content && record.record_type == RecordType::Resource;
        let is_own = shared.is_some() || is_named_by(record, host);
        if !is_own || is_empty || is_without_url {
            continue;
        }
        let end = found.get(index + 1).map_or(archive.len() as u64, |(next, _)| *next);
        let range = usize::try_from(*offset).ok().zip(usize::try_from(end).ok());
        let Some(member) = range.and_then(|(start, end)| blanked.get_mut(start..end)) else {
            continue;
        };
        let rest = if is_table(record) {
            table_member(record, host, member.len())
        } else {
            keeps_content.then(|| anonymous_member(record, member.len())).flatten()
        };
        if let Some(replacement) = rest.or_else(|| blank_member(member.len())) {
            member.copy_from_slice(&replacement);
            changed += 1;
        }
    }
    (changed > 0).then(|| (blanked.into(), changed))
}

pub(super) fn part_without(part: &[u8], host: &str) -> Option<Bytes> {
    let mut lines = read_lines(part.get(HEADER_BYTES..)?).ok()?;
    let before = lines.len();
    lines.retain(|line| line.hostname != host);
    (lines.len() < before).then(|| write_part(lines).into())
}

/// The shard's search part gives the bundles and slots of the host's icons.
pub(super) fn map_part_without(
    part: &[u8],
    search: &[u8],
    host: &str,
    first_bundle: i32,
) -> Option<(Bytes, u64)> {
    let lines = read_lines(search.get(HEADER_BYTES..)?).ok()?;
    let mut part = part.to_vec();
    let mut icons = 0;
    for line in lines.iter().filter(|line| line.hostname == host) {
        let bundle = usize::try_from(line.bundle.checked_sub(first_bundle)?).ok()?;
        let slot = usize::try_from(line.slot).ok()?;
        part = painted_over(&part, bundle, slot, &empty_thumbnail(BACKGROUND))?;
        icons += 1;
    }
    (icons > 0).then(|| (part.into(), icons))
}

#[cfg(test)]
mod tests {
    use everytab_bundler::{
        map::part::{read_part, write_part as write_map_part},
        search::SearchEntry,
    };

    use super::*;

    #[test]
    fn a_host_is_named_by_its_whole_name_alone() {
        let host = "a.example";
        for (text, expected) in [
            (r#"{"url":"https://a.example","title"#, true),
            ("a.example\t3\t4\n", true),
            ("www.a.example\t3\t4\na.example.org\t1\t1\n", false),
            ("https://a.example:8443/x", true),
            ("ba.example a.examples", false),
            ("", false),
        ] {
            assert_eq!(names("scans/x/search/1/0.tsv", text.as_bytes(), host), expected, "{text}");
        }
        let entry = |hostname: &str, slot| SearchEntry::new(hostname.into(), 71, slot);
        let search = write_part(vec![entry("a.example", 1), entry("b.example", 0)]);
        let map = write_map_part([&[[1; 192]][..], &[[2; 192], [3; 192]]]);
        let (map, icons) = map_part_without(&map, search.as_bytes(), host, 70).unwrap();
        let shown = read_part(&map).unwrap();
        assert_eq!((icons, &shown[0], shown[1][0]), (1, &vec![[1; 192]], [2; 192]));
        assert_eq!(shown[1][1], empty_thumbnail(BACKGROUND));
        assert_eq!(map_part_without(&map, search.as_bytes(), "c.example", 70), None);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut gzip, b"x\thttps://a.example/\n").unwrap();
        let file = gzip.finish().unwrap();
        assert!(names("scans/x/requests/0.tsv.gz", &file, host));
        assert!(!names("scans/x/requests/0.tsv.gz", &file, "b.example"));
        let line = icon_list::IconLine { icon: [0; 8], hostname: icon_list::hostname_prefix(host) };
        let list = icon_list::write(vec![line]);
        assert!(names("scans/x/icons/0.bin", &list, host));
        assert!(!names("scans/x/icons/0.bin", &list, "b.example"));
    }
}
