//! Faults that only affect directories: killed writers, links, permissions, and a full disk.

use std::{
    fs,
    io::Write,
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::CommandExt,
    },
    path::Path,
    process::Command,
};

use bytes::Bytes;
use everytab_storage::{Condition, PutIf, PutOptions, StorageErrorKind, StoreSettings, open};

use super::{child, directory};

fn unfinished(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join(".everytab-store")).expect("the staging folder");
    let names =
        entries.map(|entry| entry.expect("entry").file_name().into_string().expect("ASCII"));
    names.filter(|name| name.starts_with("new-")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_writer_leaves_no_object_and_its_file_is_removed() {
    let place = directory().await;
    place.store.put("k", Bytes::from_static(b"old"), PutOptions::default()).await.expect("put");
    let pipes = tempfile::TempDir::new().expect("the temporary directory can be written");
    let pipe = pipes.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("coreutils are here");
    assert!(made.success());
    let mut writer = child::writer(place.store.url(), &pipe, None).spawn().expect("spawn");
    let mut feed = fs::OpenOptions::new().write(true).open(&pipe).expect("the writer reads it");
    feed.write_all(&vec![b'n'; 3 << 20]).expect("the writer takes it");
    assert_eq!(unfinished(&place.folder).len(), 1, "the writer is in the middle");

    let reopened = open(place.store.url(), &StoreSettings::default()).await.expect("open");
    assert_eq!(unfinished(&place.folder).len(), 1, "a living writer's file is left alone");
    writer.kill().expect("it runs");
    writer.wait().expect("it ended");
    assert_eq!(reopened.get("k").await.expect("get"), Bytes::from_static(b"old"));
    assert_eq!(reopened.list_all("").await.expect("list").len(), 1);

    let reopened = open(place.store.url(), &StoreSettings::default()).await.expect("open");
    assert_eq!(unfinished(&place.folder), Vec::<String>::new(), "a dead writer's file is swept");
    let put = reopened.put_if("new", Bytes::new(), Condition::Absent, PutOptions::default()).await;
    assert!(matches!(put, Ok(PutIf::Stored { .. })), "{put:?}");
}

#[tokio::test]
async fn writes_leave_nothing_in_the_staging_folder_but_locks() {
    let place = directory().await;
    let options = PutOptions::default();
    place.store.put("a", Bytes::from_static(b"1"), options).await.expect("put");
    for _ in 0..2 {
        let put = place.store.put_if("b", Bytes::new(), Condition::Absent, options).await;
        assert!(put.is_ok(), "{put:?}");
    }
    let missing = Path::new("/nonexistent");
    place.store.put_file("c", missing, options).await.expect_err("there is no such file");
    place.store.put("a/b", Bytes::new(), options).await.expect_err("a is an object, not a folder");
    assert_eq!(unfinished(&place.folder), Vec::<String>::new());
}

#[tokio::test]
async fn a_check_reports_a_missing_directory() {
    let place = directory().await;
    let error = place.store.check("k").await.expect_err("nothing was put yet");
    assert_eq!(error.kind(), StorageErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("no such directory"), "{error}");
    place.store.put("other", "x".into(), PutOptions::default()).await.expect("put");
    place.store.check("k").await.expect("it is there, without the object");
}

#[tokio::test]
async fn no_link_leads_out_of_the_store() {
    let place = directory().await;
    let outside = tempfile::TempDir::new().expect("the temporary directory can be written");
    fs::write(outside.path().join("secret"), b"secret").expect("write");
    let options = PutOptions::default();
    place.store.put("a", Bytes::new(), options).await.expect("put");
    symlink(outside.path(), place.folder.join("out")).expect("link");
    symlink(outside.path().join("secret"), place.folder.join("file")).expect("link");
    for key in ["out/secret", "file"] {
        let error = place.store.get(key).await.expect_err("it lies outside");
        assert_eq!(error.kind(), StorageErrorKind::Denied, "{error}");
        let error = place.store.head(key).await.expect_err("it lies outside");
        assert_eq!(error.kind(), StorageErrorKind::Denied, "{error}");
    }
    for key in ["out/new", "out/deep/new"] {
        let error = place.store.put(key, Bytes::new(), options).await.expect_err("outside");
        assert_eq!(error.kind(), StorageErrorKind::Denied, "{error}");
    }
    let error = place.store.delete(&["out/secret".to_owned()]).await.expect_err("outside");
    assert_eq!(error.kind(), StorageErrorKind::Denied, "{error}");
    place.store.list_all("out/").await.expect_err("outside");
    let listed = place.store.list_all("").await.expect("list");
    assert_eq!(listed.iter().map(|info| info.key.as_str()).collect::<Vec<_>>(), ["a"]);
    place.store.put("file", Bytes::from_static(b"ours"), options).await.expect("put");
    let left = fs::read_dir(outside.path()).expect("read").count();
    assert_eq!(left, 1);
    assert_eq!(fs::read(outside.path().join("secret")).expect("read"), b"secret");
}

#[tokio::test]
async fn one_name_cannot_be_an_object_and_a_folder() {
    let place = directory().await;
    let options = PutOptions::default();
    place.store.put("a/b", Bytes::new(), options).await.expect("put");
    for key in ["a", "a/b/c"] {
        let error = place.store.put(key, Bytes::new(), options).await.expect_err("it is taken");
        assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("same name"), "{error}");
    }
    for key in ["a", "a/b/c", "a/x/y"] {
        place.store.delete(&[key.to_owned()]).await.expect("there is no such object");
    }
    assert_eq!(place.store.list_all("").await.expect("list").len(), 1);
    let long = "n".repeat(256);
    let error = place.store.put(&long, Bytes::new(), options).await.expect_err("too long");
    assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
}

#[tokio::test]
async fn a_full_disk_and_a_read_only_one_are_named() {
    let folder = tempfile::TempDir::new().expect("the temporary directory can be written");
    let mount = folder.path().join("mount");
    fs::create_dir(&mount).expect("mkdir");
    let file = folder.path().join("file");
    fs::write(&file, vec![7_u8; 3 << 20]).expect("write");
    let wrapper = ["unshare", "--mount", "--map-root-user"];
    let mounts = |options: &str| {
        let path = mount.display();
        format!("mount -t tmpfs -o {options} tmpfs '{path}' && exec \"$@\"")
    };
    let probe = Command::new(wrapper[0])
        .args(&wrapper[1..])
        .args(["sh", "-c", &mounts("size=1m"), "sh", "true"])
        .output();
    if !probe.is_ok_and(|output| output.status.success()) {
        println!("skipped: this machine does not allow a mount namespace of one's own");
        return;
    }
    let url = mount.display().to_string();
    let run =
        |options| child::result_of(child::writer_in_shell(&wrapper, &mounts(options), &url, &file));
    let full = run("size=1m");
    assert!(full.starts_with("no_space: cannot write "), "{full}");
    assert!(full.contains(&url) && full.contains("free some space"), "{full}");
    let read_only = run("ro");
    assert!(read_only.starts_with("denied: cannot write "), "{read_only}");
    assert_eq!(run("size=9m"), "done", "with room the same write succeeds");
}

#[tokio::test]
async fn a_directory_of_another_user_is_named() {
    let folder = tempfile::TempDir::new().expect("the temporary directory can be written");
    let file = folder.path().join("file");
    fs::write(&file, b"bytes").expect("write");
    let theirs = folder.path().join("theirs");
    fs::create_dir(&theirs).expect("mkdir");
    let mut writer = child::writer(&theirs.display().to_string(), &file, None);
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    mode(folder.path(), 0o755).expect("chmod");
    mode(&theirs, 0o555).expect("chmod");
    let probe = Command::new("id").arg("-u").output().expect("coreutils are here");
    if probe.stdout.starts_with(b"0\n") {
        writer.uid(65_534).gid(65_534).current_dir("/");
        let mut reads = Command::new("test");
        reads.arg("-x").arg(std::env::current_exe().expect("this program is a file"));
        if !reads.uid(65_534).status().is_ok_and(|status| status.success()) {
            println!("skipped: another user cannot run this test program");
            return;
        }
    }
    let result = child::result_of(writer);
    assert!(result.starts_with("denied: cannot write "), "{result}");
    assert!(result.contains("theirs") && result.contains("let this user"), "{result}");
}

#[tokio::test]
async fn urls_that_do_not_name_a_directory_are_rejected() {
    let file = std::env::current_exe().expect("this program is a file");
    let open = async |url: &str| open(url, &StoreSettings::default()).await;
    for url in [file.to_str().expect("UTF-8"), "", "file://host/x", "ftp://x/y", "file:///a?b=c"] {
        let error = open(url).await.expect_err("it cannot be opened");
        assert_eq!(error.kind(), StorageErrorKind::Invalid, "{error}");
    }
    let error = open("s3://key:secret@bucket/x").await.expect_err("a secret in a URL");
    assert!(!error.to_string().contains("secret@"), "{error}");
    let missing = open("/nonexistent/everytab").await.expect("nothing is touched yet");
    let error = missing.get("manifest.json").await.expect_err("it is missing");
    assert!(error.to_string().contains("directory /nonexistent/everytab does not exist"));
}
