//! How leases end, as the log, the traces and the metric `everytab.jobs.ended` name it.

/// How the lease of a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseOutcome {
    /// The job's rows and its completion are committed.
    Recorded,
    /// They were committed before: the answer of an earlier call was lost.
    AlreadyRecorded,
    /// The lease was lost, so nothing was written.
    Lost,
    /// The job failed, and will be performed again.
    Retry,
    /// The job failed for good.
    Discarded,
    /// The lease was given back without counting an attempt.
    Released,
    /// The lease could not be renewed in time.
    Expired,
    /// The job made no progress, so its lease is no longer renewed.
    Stalled,
    /// Postgres did not answer, so the lease runs out by itself.
    Unknown,
}

impl LeaseOutcome {
    /// Every outcome, in the order of docs/metrics.md.
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

    /// The stable name.
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

    /// Whether a trace shows the job as failed.
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
