//! Checks that every SQL statement in the client fits the schema: the functions that it calls must
//! exist with these parameters.

use std::{fs, path::Path};

use crate::setup::Database;

const STARTS: [&str; 4] = ["select ", "insert ", "update ", "delete "];
/// If the test finds fewer statements, its search is broken.
const LEAST: usize = 150;

fn statements(code: &str) -> Vec<String> {
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let lines: Vec<&str> = code.lines().filter(|line| !is_comment(line)).collect();
    let code = lines.join("\n");
    let mut found = Vec::new();
    let mut characters = code.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' if characters.peek() == Some(&'"') => {
                characters.next();
            }
            '"' => found.push(literal(&mut characters)),
            _ => {}
        }
    }
    let starts = |text: &String| STARTS.iter().any(|start| text.trim_start().starts_with(start));
    found.into_iter().filter(|text| starts(text) && !text.contains('{')).collect()
}

fn literal(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(character) = characters.next() {
        match character {
            '"' => break,
            '\\' => match characters.next() {
                Some('\n') => while characters.next_if(|next| next.is_whitespace()).is_some() {},
                escaped => text.extend(escaped),
            },
            other => text.push(other),
        }
    }
    text
}

fn of_folder(folder: &Path, all: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            of_folder(&path, all);
        } else {
            all.extend(statements(&fs::read_to_string(path).unwrap()));
        }
    }
}

#[tokio::test]
async fn every_statement_of_the_client_can_be_prepared() {
    let database = Database::new().await;
    let session = database.session().await;
    let mut all = Vec::new();
    of_folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut all);
    assert!(all.len() >= LEAST, "{} statements", all.len());
    let mut wrong = Vec::new();
    for sql in all {
        if let Err(error) = session.0.prepare(&sql).await {
            wrong.push(format!("{sql}: {error:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
