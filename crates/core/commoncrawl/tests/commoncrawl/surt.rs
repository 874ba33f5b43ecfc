//! Keys equal those in recorded index files and those of `surt` (PyPI), if `python3` (or
//! `EVERYTAB_PYTHON`) has it.

use std::{
    collections::BTreeSet,
    fs::File,
    io::Write,
    process::{Command, Stdio},
};

use everytab_commoncrawl::surt;
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::RowAccessor,
    schema::parser::parse_message_type,
};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

use crate::support::{corpus, files_below};

fn pairs(corpus: &std::path::Path) -> BTreeSet<(String, String)> {
    let wanted = parse_message_type(
        "message spark_schema { required binary url_surtkey (UTF8); required binary url (UTF8); }",
    )
    .unwrap();
    let mut pairs = BTreeSet::new();
    for path in files_below(&corpus.join("index")) {
        if path.extension().is_none_or(|extension| extension != "parquet") {
            continue;
        }
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        for row in reader.get_row_iter(Some(wanted.clone())).unwrap() {
            let row = row.unwrap();
            let text = |column| row.get_string(column).unwrap().clone();
            pairs.insert((text(1), text(0)));
        }
    }
    pairs
}

#[test]
fn every_key_in_the_corpus_is_computed() {
    let Some(corpus) = corpus() else { return };
    let pairs = pairs(&corpus);
    let wrong: Vec<_> = pairs.iter().filter(|(url, key)| surt(url).as_ref() != Ok(key)).collect();
    println!("{} of {} keys agree", pairs.len() - wrong.len(), pairs.len());
    assert!(pairs.len() > 10_000 && wrong.is_empty(), "{wrong:#?}");
}

/// Strings to which the rules apply: escapes, dots, slashes, separators and session ids.
const PIECES: &str = r#"a B 7 é % %25 %2 41 %C3%A9 %2F %3f %26 %3D %23 %20 + ~ - _ . .. / // ; , :
@ ! $ ' ( ) * = & a= &b sid= phpsessid= jsessionid= 0123456789abcdefABCDEF0123456789 cfid= cftoken=
aspsessionidABCDEFGH= ABCDEFGHIJKLMNOPQRSTUVWX .aspx /( )/ (4hqa0555fwsecu455xqckv45)
(a(4hqa0555fwsecu455xqckv45)) www | ^ { [ \ " < ` %0A %7f %E9"#;

fn generated_urls(count: usize) -> Vec<String> {
    let piece = prop::sample::select(PIECES.split_whitespace().collect::<Vec<_>>());
    let pieces = |most| prop::collection::vec(piece.clone(), 0..most).prop_map(|all| all.concat());
    // The URL Standard rewrites names that end in a number.
    let name = r"(www[0-9]{0,2}\.)?([a-zA-Z0-9_-]{1,8}\.){0,3}[a-z]{1,6}\.?";
    let host = prop_oneof![8 => name, 1 => r"\[2001:db8::[1-9]\]", 1 => r"9\.8\.7\.6"];
    let port = "|:80|:443|:8080|:";
    let url = ("https?", host, port, pieces(12), prop::option::of(pieces(14))).prop_map(
        |(scheme, host, port, path, query)| {
            let query = query.map(|query| format!("?{query}")).unwrap_or_default();
            format!("{scheme}://{host}{port}/{path}{query}")
        },
    );
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..count).map(|_| url.new_tree(&mut runner).unwrap().current()).collect()
}

const KEYS: &str = r"
import sys
from surt import surt
for line in sys.stdin.buffer:
    print(surt(line.decode('utf-8').rstrip('\n')))
";

#[test]
fn generated_urls_have_the_same_keys_as_in_surt() {
    let python = std::env::var("EVERYTAB_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let probe = Command::new(&python).args(["-c", "import surt"]).output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no surt");
        return;
    }
    let urls = generated_urls(20_000);
    let mut asked = Command::new(&python)
        .args(["-c", KEYS])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = asked.stdin.take().unwrap();
    let text: String = urls.iter().map(|url| format!("{url}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = asked.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), urls.len());
    let wrong: Vec<_> = urls
        .iter()
        .zip(&answers)
        .filter(|(url, answer)| surt(url).as_deref() != Ok(**answer))
        .map(|(url, answer)| (url, answer, surt(url)))
        .collect();
    println!("{} of {} generated keys agree", urls.len() - wrong.len(), urls.len());
    assert!(wrong.is_empty(), "{:#?}", &wrong[..wrong.len().min(10)]);
}
