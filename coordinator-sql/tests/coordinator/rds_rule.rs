//! Tests the rule of Amazon RDS that members of `rds_iam` can sign in only with a token.
//!
//! Several versions are tested, because from Postgres 16 on a role's creator becomes its member.

use std::path::PathBuf;

use everytab_coordinator::{ConnectSettings, Coordinator, JobKind};

use crate::{
    own_server::{ADMIN, OwnServer, on_each_version},
    session::Session,
    setup::Database,
};

const RULES: &str = "local all rdsadmin trust\nlocal all +rds_iam reject\nlocal all all trust\n";

async fn the_owner_stays_in(bin: PathBuf) {
    let server = OwnServer::start(&bin, RULES).await;
    let admin = "create role rds_iam; create role everytab_owner login createrole";
    server.run(ADMIN, "postgres", admin).await;
    server.run(ADMIN, "postgres", "create database everytab owner everytab_owner").await;
    let owner_url = server.url("everytab_owner", "everytab");
    let owner = Coordinator::connect(&owner_url, &ConnectSettings::default()).await.unwrap();
    owner.migrate().await.unwrap();
    let workers = "everytab_worker, everytab_worker_crawl, everytab_worker_icons, \
                   everytab_worker_site, everytab_api";
    server.run(ADMIN, "everytab", &format!("grant rds_iam to {workers}")).await;
    assert!(server.admits("everytab_owner").await, "{}: the owner is locked out", bin.display());
    for worker in workers.split(", ") {
        assert!(!server.admits(worker).await, "{worker} signs in without a token");
    }
    let session = Session::connect(&owner_url).await;
    session.run("update everytab.migrations set digest = 'another'").await;
    owner.migrate().await.unwrap();
    let change = "do $$ begin
        if to_regprocedure('everytab_roles.change(text)') is not null then
            perform everytab_roles.change('alter role everytab_worker connection limit 900');
        else
            alter role everytab_worker connection limit 900;
        end if;
    end $$";
    session.run(change).await;
    assert!(server.admits("everytab_owner").await);
    server.run(ADMIN, "everytab", &format!("revoke rds_iam from {workers}")).await;
    let worker_url = server.url("everytab_worker", "everytab");
    let fills_the_disk = Session::connect(&worker_url).await.0;
    let refused = fills_the_disk.batch_execute("create temporary table t (a integer)").await;
    assert_eq!(refused.unwrap_err().code().unwrap().code(), "42501");
    let database = Database::at(owner_url, worker_url, "everytab".into()).await;
    let scan = database.start(2).await;
    database.work_on(&[JobKind::Index]).await;
    database.work().await;
    assert_eq!(database.state_of_scan(scan).await, "finished", "{}", bin.display());
}

#[tokio::test]
async fn the_owner_is_not_locked_out_in_any_version_of_postgres() {
    on_each_version(the_owner_stays_in).await;
}
