//! Tests that workers' roles get passwords as docs/scan.md describes, with several versions of
//! Postgres.

use std::path::PathBuf;

use everytab_coordinator::{ConnectSettings, Coordinator};

use crate::{
    own_server::{ADMIN, OwnServer, on_each_version},
    session::Session,
};

/// The owner, who is not a superuser, does not need a password.
const RULES: &str = "local all rdsadmin trust\nlocal all everytab_owner trust\n\
                     local all all scram-sha-256\n";
/// From this version on, the owner changes the workers' roles through `everytab_roles.change`.
const CREATOR_BECOMES_MEMBER: i32 = 160_000;

async fn connect(url: &str) -> Result<Coordinator, String> {
    let connected = Coordinator::connect(url, &ConnectSettings::default()).await;
    connected.map_err(|error| error.to_string())
}

async fn workers_sign_in_by_password(bin: PathBuf) {
    let server = OwnServer::start(&bin, RULES).await;
    server.run(ADMIN, "postgres", "create role everytab_owner login createrole").await;
    server.run(ADMIN, "postgres", "create database everytab owner everytab_owner").await;
    let owner_url = server.url("everytab_owner", "everytab");
    let owner = connect(&owner_url).await.unwrap();
    owner.migrate().await.unwrap();
    let session = Session::connect(&owner_url).await;
    let is_later = owner.server_version().await.unwrap() >= CREATOR_BECOMES_MEMBER;
    for role in [
        "everytab_worker",
        "everytab_worker_crawl",
        "everytab_worker_icons",
        "everytab_worker_site",
        "everytab_api",
    ] {
        let url = server.url(role, "everytab");
        let with = |password: &str| format!("{url}&password={password}");
        let refused = connect(&with("pass-1")).await.unwrap_err();
        let named = format!("rejected the password of user {role}");
        assert!(refused.contains(&named), "{}: {refused}", bin.display());
        let plain = format!("alter role {role} password 'pass-1'");
        if is_later {
            let refused = session.0.batch_execute(&plain).await.unwrap_err();
            assert_eq!(refused.code().unwrap().code(), "42501", "{}", bin.display());
            let change = format!("select everytab_roles.change($$ {plain} $$)");
            session.run(&change).await;
        } else {
            session.run(&plain).await;
        }
        let worker = connect(&with("pass-1")).await.unwrap();
        worker.check_schema().await.unwrap();
        let wrong = connect(&with("pass-2")).await.unwrap_err();
        assert!(wrong.contains("which is from the database URL"), "{wrong}");
        assert!(!wrong.contains("pass-2"), "{wrong}");
    }
    session.run("update everytab.migrations set digest = 'another'").await;
    owner.migrate().await.unwrap();
    let url = server.url("everytab_worker_icons", "everytab");
    connect(&format!("{url}&password=pass-1")).await.unwrap();
}

#[tokio::test]
async fn each_role_signs_in_with_its_password_in_each_version_of_postgres() {
    on_each_version(workers_sign_in_by_password).await;
}
