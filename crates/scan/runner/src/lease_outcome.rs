//! The results of leases, as named in the log, the traces and the metric `everytab.jobs.ended`.

/// The result of a job's lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseOutcome {
    /// The job's rows and its completion are committed.
    Recorded,
    /// An earlier call has already committed them, but its reply was lost.
    AlreadyRecorded,
    /// The lease was lost, so nothing was written.
    Lost,
    /// The job failed, and will be retried.
    Retry,
    /// The job failed permanently.
    Discarded,
    /// The lease was released without counting an attempt.
    Released,
    /// The lease could not be renewed in time.
    Expired,
    /// The job made no progress, so its lease is no longer renewed.
    Stalled,
    /// Postgres did not respond, so this lease will expire.
    Unknown,
}

impl LeaseOutcome {
    /// All outcomes, in the order of docs/metrics.md.
    pub(crate) const ALL: [Self; 9] = [
        Self::Recorded,
        Self::AlreadyRecorded,
        Self::Lost,
        Self::Retry,
        Self::Discarded,
        Self::Released,
        Self::Expired,
        Self::Stalled,
        Self::Unknown,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::AlreadyRecorded => "already_recorded",
            Self::Lost => "lost",
            Self::Retry => "retry",
            Self::Discarded => "discarded",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Stalled => "stalled",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether a trace shows the job as failed.
    pub(crate) fn is_failure(self) -> bool {
        match self {
            Self::Recorded | Self::AlreadyRecorded | Self::Released => false,
            Self::Lost
            | Self::Retry
            | Self::Discarded
            | Self::Expired
            | Self::Stalled
            | Self::Unknown => true,
        }
    }
}
