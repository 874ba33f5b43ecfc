//! The results of leases, as named in logs, traces and the metric `everytab.jobs.ended`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseOutcome {
    Recorded,
    /// An earlier call has already recorded the results, but its reply was lost.
    AlreadyRecorded,
    Lost,
    Retry,
    Discarded,
    Released,
    Expired,
    Stalled,
    Unknown,
}

impl LeaseOutcome {
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
