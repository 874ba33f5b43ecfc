//! Tests imported lists: a pattern remains blocked while any list contains it.

use crate::setup::Database;

async fn import(database: &Database, list: &str, names: &[&str]) -> i64 {
    let kinds = vec!["hostname"; names.len()];
    database.owner.import_list(list, "test", &kinds, names).await.unwrap()
}

async fn blocked(database: &Database) -> Vec<String> {
    let sql = "select pattern from everytab.blocklist where $1 = 0 order by pattern";
    database.rows::<(String,)>(sql, 0).await.into_iter().map(|(pattern,)| pattern).collect()
}

async fn counts(database: &Database) -> Vec<(String, i64)> {
    let lists = database.owner.imported_lists().await.unwrap();
    lists.into_iter().map(|found| (found.list, found.patterns)).collect()
}

#[tokio::test]
async fn a_pattern_stays_while_any_list_names_it() {
    let database = Database::new().await;
    assert_eq!(import(&database, "a", &["dup.example", "only-a.example"]).await, 2);
    assert_eq!(import(&database, "b", &["dup.example", "only-b.example"]).await, 1);
    assert_eq!(import(&database, "c", &["dup.example"]).await, 0);
    assert!(database.owner.remove_list("a").await.unwrap());
    assert!(!database.owner.remove_list("a").await.unwrap());
    assert_eq!(blocked(&database).await, ["dup.example", "only-b.example"]);
    assert_eq!(counts(&database).await, [("b".to_owned(), 2), ("c".to_owned(), 0)]);
    assert_eq!(import(&database, "b", &["only-b.example"]).await, 1);
    assert_eq!(blocked(&database).await, ["dup.example", "only-b.example"]);
    assert_eq!(counts(&database).await, [("b".to_owned(), 1), ("c".to_owned(), 1)]);
    assert_eq!(import(&database, "b", &["dup.example", "only-b.example"]).await, 1);
    assert_eq!(import(&database, "b", &["dup.example", "only-b.example"]).await, 1);
    assert!(database.owner.remove_list("c").await.unwrap());
    assert_eq!(blocked(&database).await, ["dup.example", "only-b.example"]);
    assert!(database.owner.remove_list("b").await.unwrap());
    assert_eq!(blocked(&database).await, [""; 0]);
}

#[tokio::test]
async fn removing_lists_keeps_an_operators_pattern_but_no_notes_of_other_patterns() {
    let database = Database::new().await;
    database.owner.block("hostname", "own.example", None).await.unwrap();
    assert_eq!(import(&database, "a", &["dup.example", "own.example"]).await, 1);
    assert_eq!(import(&database, "b", &["dup.example", "own.example"]).await, 0);
    assert_eq!(import(&database, "b", &["own.example"]).await, 0);
    assert!(database.owner.remove_list("a").await.unwrap());
    assert!(database.owner.remove_list("b").await.unwrap());
    assert_eq!(blocked(&database).await, ["own.example"]);
    let noted: i64 =
        database.value("select count(*) from everytab.also_listed where $1 = 0", 0).await;
    assert_eq!(noted, 0);
}
