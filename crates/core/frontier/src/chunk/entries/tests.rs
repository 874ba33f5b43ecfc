//! Packed entries are read back, and any bytes yield entries or an error.

use proptest::prelude::*;

use super::*;

const START: &str = "ab/ü";

fn read(bytes: &[u8], most: usize) -> Result<Vec<Entry<String>>, ChunkError> {
    let mut found = Vec::new();
    let mut reader = ChunkReader::new(bytes);
    read_entries(&mut reader, (START, true), most, |entry| {
        let Entry { url, attributes, via, retries, not_before_s } = entry;
        found.push(Entry { url: url.to_owned(), attributes, via, retries, not_before_s });
        Ok(())
    })?;
    if reader.remaining() > 0 { Err(ChunkError::Field("rest")) } else { Ok(found) }
}

fn entry() -> impl Strategy<Value = Entry<String>> {
    let wait = prop_oneof![3 => Just(0), 1 => 1..u64::MAX];
    let via = prop::option::of("[a-c/üý]{0,2}".prop_map(|via| via.into()));
    let attributes = (0_u16..2_000, 0_u8..8, 0_u8..8, 0_u8..16);
    ("[a-c/üý]{0,12}", attributes, via, any::<u8>(), wait).prop_map(
        |(url, (depth, priority, hops, flags), via, retries, not_before_s)| {
            let flags = LinkFlags::of_bits(flags);
            let attributes = Attributes { depth, priority, hops, flags };
            Entry { url, attributes, via, retries, not_before_s }
        },
    )
}

proptest! {
    #[test]
    fn entries_round_trip_sorted(mut entries in prop::collection::vec(entry(), 0..40)) {
        let mut bytes = Vec::new();
        push_entries(&mut bytes, START, &mut entries);
        prop_assert_eq!(read(&bytes, 40), Ok(entries));
    }

    #[test]
    fn any_bytes_yield_entries_or_an_error(bytes: Vec<u8>, numbers: Vec<u8>, texts: Vec<u8>) {
        read(&bytes, 100).ok();
        // Store the section uncompressed, so that its fields are read.
        let mut section = Vec::new();
        push_number(&mut section, numbers.len() as u64);
        section.extend(numbers);
        section.extend(texts);
        let mut bytes = vec![5];
        push_number(&mut bytes, section.len() as u64);
        push_number(&mut bytes, section.len() as u64);
        bytes.extend(section);
        read(&bytes, 100).ok();
    }

    #[test]
    fn damaged_entries_yield_entries_or_an_error(
        mut entries in prop::collection::vec(entry(), 1..40), at: prop::sample::Index, byte: u8,
    ) {
        let mut bytes = Vec::new();
        push_entries(&mut bytes, START, &mut entries);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        read(&bytes, 40).ok();
    }
}

#[test]
fn an_impossible_length_is_rejected_before_memory_is_allocated() {
    let mut bytes = vec![1];
    push_number(&mut bytes, 100 << 20);
    push_number(&mut bytes, 10);
    bytes.extend([0; 10]);
    assert_eq!(read(&bytes, 1), Err(ChunkError::Field("length of the URLs")));
    let mut bytes = vec![1];
    push_number(&mut bytes, 1 << 40);
    push_number(&mut bytes, 0);
    assert_eq!(read(&bytes, 1), Err(ChunkError::TooLarge("length of the URLs")));
}

#[test]
fn too_many_entries_or_too_long_strings_are_rejected() {
    let none = Attributes::default();
    let entry =
        |url: String| Entry { url, attributes: none, via: None, retries: 0, not_before_s: 0 };
    let mut entries: Vec<_> = (0..3).map(|n| entry(format!("http://a.example/{n}"))).collect();
    let mut bytes = Vec::new();
    push_entries(&mut bytes, START, &mut entries);
    assert_eq!(read(&bytes, 2), Err(ChunkError::TooLarge("number of URLs")));
    // 70,000 entries with a long common prefix: the chunk is small, but takes 140 MB when unpacked.
    let long = "x".repeat(2_000);
    let mut entries: Vec<_> = (0..70_000).map(|_| entry(long.clone())).collect();
    let mut bytes = Vec::new();
    push_entries(&mut bytes, START, &mut entries);
    assert!(bytes.len() < 10_000);
    assert_eq!(read(&bytes, 100_000), Err(ChunkError::TooLarge("texts of URLs")));
}

#[test]
fn referrers_over_their_limit_are_dropped_but_not_their_urls() {
    let none = Attributes::default();
    let entry = |n: usize| {
        let via = format!("{n:05}{}", "x".repeat(2_000)).into();
        Entry {
            url: format!("{n:05}"),
            attributes: none,
            via: Some(via),
            retries: 0,
            not_before_s: 0,
        }
    };
    let mut entries: Vec<_> = (0..9_000).map(entry).collect();
    let mut bytes = Vec::new();
    push_entries(&mut bytes, START, &mut entries);
    let found = read(&bytes, 9_000).unwrap();
    let kept = MAX_REFERRER_BYTES / 2_005;
    assert_eq!((&found[..kept], found.len()), (&entries[..kept], 9_000));
    assert!(found[kept..].iter().all(|entry| entry.via.is_none()));
}
