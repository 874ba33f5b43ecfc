//! The needs of a process with given roles. `doctor --role` checks only these, because the
//! process's keys and database role may allow nothing else.

use everytab_coordinator::JobKind;

/// The needs of a process with given roles.
#[derive(Debug, Clone, Default)]
pub struct RoleNeeds {
    /// The job kinds that the process performs.
    pub kinds: Vec<JobKind>,
    /// Whether the process leases slots in live crawls.
    pub is_crawler: bool,
    /// Whether the process is the HTTP service.
    pub is_api: bool,
}

impl RoleNeeds {
    pub(super) fn any_of(&self, kinds: &[JobKind]) -> bool {
        kinds.iter().any(|kind| self.kinds.contains(kind))
    }

    /// Returns true if the process fetches from the web, so that it needs a resolver and many
    /// sockets.
    pub fn fetches(&self) -> bool {
        self.is_crawler || self.any_of(&[JobKind::Icon])
    }

    /// Returns true if the process decodes icons in sandboxed processes.
    pub fn decodes(&self) -> bool {
        self.any_of(&[JobKind::Icon, JobKind::BundleShard, JobKind::Map])
    }

    /// Returns true if the process works on live crawls.
    pub fn crawls(&self) -> bool {
        self.is_crawler || self.any_of(&JobKind::OF_CRAWLS)
    }

    pub(super) fn reads_source(&self) -> bool {
        self.any_of(&[JobKind::Index, JobKind::Warc])
    }

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
