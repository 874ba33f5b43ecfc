//! `blocklist.txt`: the hosts that operators took down, which the next scans leave out.
//!
//! One hostname a line; a `#` begins a remark.

/// The hostnames of a list, in its order.
pub fn listed_hosts(text: &str) -> impl Iterator<Item = &str> {
    let names = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty())
}

/// The list with these hosts added at its end, each with the reason as a remark.
#[must_use]
pub fn with_hosts(text: &str, hosts: &[&str], reason: Option<&str>) -> String {
    let mut text = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    for host in hosts {
        text.push_str(host);
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
    fn a_host_that_was_added_is_listed_and_remarks_are_not() {
        let list = with_hosts("# by hand\na.example # old", &["b.example"], Some("asked\nto"));
        assert_eq!(list, "# by hand\na.example # old\nb.example # askedto\n");
        assert_eq!(listed_hosts(&list).collect::<Vec<_>>(), ["a.example", "b.example"]);
        assert_eq!(with_hosts("", &["c.example"], None), "c.example\n");
    }
}
