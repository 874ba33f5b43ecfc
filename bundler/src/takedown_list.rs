//! `blocklist.txt`: the operators' takedowns. Scans skip the hosts and pages that it lists, and
//! publishing removes them.
//!
//! Each line is a bare hostname, or a kind, a colon and a value, such as `suffix:example.com`,
//! `title:%casino%` or `sha256:<64 hex digits>`. A `#` starts a comment. In a line with a title it
//! must follow a space, because titles may contain a `#`.

/// The tab's property that a pattern matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatternKind {
    /// A whole hostname.
    Hostname,
    /// A domain with all its subdomains.
    Suffix,
    /// A title, as in [`crate::title_pattern::TitlePattern`].
    Title,
    /// The SHA-256 of an icon's bytes as its host served them.
    Sha256,
}

impl PatternKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Hostname, Self::Suffix, Self::Title, Self::Sha256];

    /// Returns the name in the database and in lists.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hostname => "hostname",
            Self::Suffix => "suffix",
            Self::Title => "title",
            Self::Sha256 => "sha256",
        }
    }
}

/// Iterates over a list's patterns. A line without a kind is a bare hostname, as in older lists.
pub fn listed_patterns(text: &str) -> impl Iterator<Item = (PatternKind, &str)> {
    text.lines().map(listed_pattern).filter(|(_, pattern)| !pattern.is_empty())
}

fn listed_pattern(line: &str) -> (PatternKind, &str) {
    let line = line.trim();
    let (kind, rest) = PatternKind::ALL
        .into_iter()
        .find_map(|kind| {
            let rest = line.strip_prefix(kind.name())?.strip_prefix(':')?;
            Some((kind, rest))
        })
        .unwrap_or((PatternKind::Hostname, line));
    let remark = if kind == PatternKind::Title { " #" } else { "#" };
    (kind, rest.split(remark).next().unwrap_or_default().trim())
}

/// Appends these patterns to the list, each with the reason as a comment.
#[must_use]
pub fn with_patterns(text: &str, patterns: &[(PatternKind, &str)], reason: Option<&str>) -> String {
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for (kind, pattern) in patterns {
        if *kind != PatternKind::Hostname {
            text.push_str(kind.name());
            text.push(':');
        }
        text.push_str(pattern);
        if let Some(reason) = reason {
            let one_line: String = reason.chars().filter(|c| !c.is_control()).collect();
            text.push_str(&format!(" # {one_line}"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_listed_and_remarks_are_not() {
        let added = [(PatternKind::Hostname, "b.example"), (PatternKind::Suffix, "c.example")];
        let list = with_patterns("# by hand\na.example # old", &added, Some("asked\nto"));
        assert_eq!(
            list,
            "# by hand\na.example # old\nb.example # askedto\nsuffix:c.example # askedto\n"
        );
        let listed: Vec<_> = listed_patterns(&list).collect();
        assert_eq!(listed[0], (PatternKind::Hostname, "a.example"));
        assert_eq!(listed[1..], added);
        assert_eq!(with_patterns("", &added[..1], None), "b.example\n");
    }

    #[test]
    fn a_line_names_its_kind_and_a_title_may_hold_a_number_sign() {
        for (line, expected) in [
            ("title:%no. #1% # spam", (PatternKind::Title, "%no.")),
            ("title:%c#%", (PatternKind::Title, "%c#%")),
            (" suffix:a.example#old", (PatternKind::Suffix, "a.example")),
            ("hostname:a.example", (PatternKind::Hostname, "a.example")),
            ("sha256:00ff", (PatternKind::Sha256, "00ff")),
            ("sha256.example", (PatternKind::Hostname, "sha256.example")),
        ] {
            assert_eq!(listed_patterns(line).collect::<Vec<_>>(), [expected], "{line}");
        }
        assert_eq!(listed_patterns("# suffix:a.example\n\ntitle: # x\n").count(), 0);
    }
}
