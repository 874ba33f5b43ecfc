//! Splits lists into pages. Postgres returns each list as a whole, because a key has few items.
//!
//! Invariant: if an item exists while a client follows the cursors, the client gets this item
//! exactly once, even if other items are added and removed.

use axum::http::Uri;
use everytab_coordinator::ApiCaller;

use crate::{
    parameters::Parameters,
    problem::Problem,
    tokens::{ListName, item_cursor, item_key},
};

/// Default and maximum items in a page: as many filters or schedules as a key may have.
pub(crate) const MAX_ITEMS: i32 = 100;

#[derive(Debug)]
pub(crate) struct ListPage<'a> {
    caller: &'a ApiCaller,
    list: &'static ListName,
    limit: usize,
    after: Option<String>,
}

impl<'a> ListPage<'a> {
    pub(crate) fn parse(
        uri: &Uri,
        caller: &'a ApiCaller,
        list: &'static ListName,
    ) -> Result<Self, Problem> {
        let parameters = Parameters::parse(uri, &["limit", "after"])?;
        let limit = parameters.limit("limit", MAX_ITEMS, MAX_ITEMS)?;
        let after = parameters.text("after");
        let after =
            after.map(|cursor| item_key(&caller.secret_sha256, list, cursor)).transpose()?;
        Ok(Self { caller, list, limit: usize::try_from(limit).unwrap_or_default(), after })
    }

    /// Selects the page from all items, by their unique keys. Also returns the cursor after the
    /// page, or `None` if it is the last one.
    pub(crate) fn of<T>(
        self,
        items: Vec<T>,
        key: impl Fn(&T) -> String,
    ) -> (Vec<T>, Option<String>) {
        let mut items: Vec<(String, T)> =
            items.into_iter().map(|item| (key(&item), item)).collect();
        items.sort_by(|(one, _), (other, _)| one.cmp(other));
        items.retain(|(key, _)| self.after.as_ref().is_none_or(|after| key > after));
        let has_more = items.len() > self.limit;
        items.truncate(self.limit);
        let last = items.last().filter(|_| has_more);
        let next = last.map(|(key, _)| item_cursor(&self.caller.secret_sha256, self.list, key));
        (items.into_iter().map(|(_, item)| item).collect(), next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: &ListName = b"numbers.........";

    #[test]
    fn each_item_is_returned_once_while_others_are_added_and_removed() {
        let caller = ApiCaller { key: "k".to_owned(), secret_sha256: [7; 32] };
        let mut items: Vec<u32> = (0..20).map(|number| 10 * number).collect();
        let mut seen = Vec::new();
        let mut after = None::<String>;
        loop {
            let query = after.map_or_else(String::new, |after| format!("&after={after}"));
            let uri = format!("/x?limit=3{query}").parse().unwrap();
            let page = ListPage::parse(&uri, &caller, NUMBERS).unwrap();
            let (found, next) = page.of(items.clone(), |item| format!("{item:05}"));
            seen.extend(found);
            let last = *seen.last().unwrap();
            items.retain(|item| *item != last);
            items.extend([last / 10 + 1, last + 5]);
            items.sort_unstable();
            items.dedup();
            after = next;
            if after.is_none() {
                break;
            }
        }
        let first: Vec<u32> = seen.iter().copied().filter(|item| item % 10 == 0).collect();
        assert_eq!(first, (0..20).map(|number| 10 * number).collect::<Vec<_>>());
        assert!(seen.is_sorted());
    }

    #[test]
    fn a_cursor_of_another_list_is_invalid() {
        let caller = ApiCaller { key: "k".to_owned(), secret_sha256: [7; 32] };
        let cursor = item_cursor(&caller.secret_sha256, b"others..........", "a");
        let uri = format!("/x?after={cursor}").parse().unwrap();
        assert!(ListPage::parse(&uri, &caller, NUMBERS).is_err());
    }
}
