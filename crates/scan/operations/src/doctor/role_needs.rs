//! The needs of a process with given roles, so that `doctor --role` checks nothing else. Its keys
//! and its database role may allow only what its jobs do.

use everytab_coordinator::JobKind;

/// The needs of a process with given roles.
#[derive(Debug, Clone, Default)]
pub struct RoleNeeds {
    /// The kinds of jobs that it performs.
    pub kinds: Vec<JobKind>,
    /// Whether it holds slots of live crawls.
    pub is_crawler: bool,
    /// Whether it is the HTTP service.
    pub is_api: bool,
}

impl RoleNeeds {
    /// Returns whether it performs jobs of one of these kinds.
    pub(super) fn any_of(&self, kinds: &[JobKind]) -> bool {
        kinds.iter().any(|kind| self.kinds.contains(kind))
    }

    /// Returns whether it fetches from the web, and so needs a resolver and many sockets.
    pub fn fetches(&self) -> bool {
        self.is_crawler || self.any_of(&[JobKind::Icon])
    }

    /// Returns whether it decodes icons in sandboxed processes.
    pub fn decodes(&self) -> bool {
        self.any_of(&[JobKind::Icon, JobKind::BundleShard, JobKind::Map])
    }

    /// Returns whether it works on live crawls.
    pub fn crawls(&self) -> bool {
        self.is_crawler || self.any_of(&JobKind::OF_CRAWLS)
    }

    /// Returns whether it reads the crawl's bucket.
    pub(super) fn reads_source(&self) -> bool {
        self.any_of(&[JobKind::Index, JobKind::Warc])
    }

    /// Returns the database role that may do all of this and the least else.
    pub(super) fn database_role(&self) -> &'static str {
        let is_within = |kinds: &[JobKind]| self.kinds.iter().all(|kind| kinds.contains(kind));
        match () {
            () if self.is_api => "everytab_api",
            () if self.crawls() => "everytab_worker",
            () if is_within(&[JobKind::Icon]) => "everytab_worker_icons",
            () if is_within(&[JobKind::Index, JobKind::Warc]) => "everytab_worker_crawl",
            () if !self.any_of(&[JobKind::Index, JobKind::Warc, JobKind::Icon]) => {
                "everytab_worker_site"
            }
            () => "everytab_worker",
        }
    }
}
