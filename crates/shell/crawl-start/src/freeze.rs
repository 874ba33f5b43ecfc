//! Freezes filters: when a crawl starts, each filter and the versions of its lists are copied into
//! its settings.

use std::collections::BTreeMap;

use everytab_coordinator::{StoredFilter, StoredFilterList};
use everytab_crawl_settings::{FrozenFilter, FrozenList};
use everytab_filters::{FilterSettings, ListKind};

/// The reason why filters cannot be frozen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("filter {filter:?}: {reason}")]
pub struct FreezeError {
    /// The filter's name.
    pub filter: String,
    /// The error message.
    pub reason: String,
}

/// Freezes the filters in `names`, in this order.
///
/// # Errors
/// Returns an error for the first filter that is missing or malformed, or names a list or category
/// that is not imported or has the wrong kind.
pub fn freeze_filters(
    names: &[String],
    filters: &[StoredFilter],
    lists: &[StoredFilterList],
) -> Result<Vec<FrozenFilter>, FreezeError> {
    let by_name: BTreeMap<&str, &StoredFilterList> =
        lists.iter().map(|list| (list.name.as_str(), list)).collect();
    let freeze = |name: &String| {
        let error = |reason: String| FreezeError { filter: name.clone(), reason };
        let stored = filters.iter().find(|filter| filter.name == *name);
        let stored = stored.ok_or_else(|| error("no such filter".to_owned()))?;
        let filter = FilterSettings::of_value(stored.body.clone())
            .map_err(|reason| error(reason.to_string()))?;
        let lists = frozen_lists(&filter, &by_name).map_err(error)?;
        Ok(FrozenFilter { name: name.clone(), version: stored.version, filter, lists })
    };
    names.iter().map(freeze).collect()
}

/// Returns the names of the lists that filters need, without duplicates.
pub fn list_names_of(filters: &[StoredFilter]) -> Vec<String> {
    let mut names: Vec<String> = filters
        .iter()
        .filter_map(|stored| FilterSettings::of_value(stored.body.clone()).ok())
        .flat_map(|filter| filter.list_names().into_iter().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the frozen form of a list's current version.
pub fn frozen_list(list: &StoredFilterList) -> FrozenList {
    FrozenList {
        name: list.name.clone(),
        version: list.version,
        store: list.store.clone(),
        object: list.object.clone(),
        sha256: hex::encode(&list.sha256),
        bytes: u64::try_from(list.bytes).unwrap_or_default(),
    }
}

fn frozen_lists(
    filter: &FilterSettings,
    lists: &BTreeMap<&str, &StoredFilterList>,
) -> Result<Vec<FrozenList>, String> {
    let find = |name: &str, kind: ListKind| {
        let list = lists
            .get(name)
            .ok_or_else(|| format!("unknown list {name:?}; the operator must import it first"))?;
        if list.kind != kind.as_str() {
            let (is, wanted) = (&list.kind, kind.as_str());
            return Err(format!("the list {name:?} contains {is} instead of {wanted}"));
        }
        Ok(*list)
    };
    for used in &filter.lists {
        let list = find(&used.name, ListKind::Names)?;
        let is_missing = |category: &&String| list.categories.get(category.as_str()).is_none();
        if let Some(category) = used.categories.iter().find(is_missing) {
            return Err(format!("the list {:?} has no category {category:?}", used.name));
        }
    }
    if let Some(name) = filter.countries.as_ref().and_then(|set| set.addresses.as_deref()) {
        find(name, ListKind::Countries)?;
    }
    let frozen = filter.list_names().into_iter().filter_map(|name| lists.get(name));
    Ok(frozen.map(|list| frozen_list(list)).collect())
}

#[cfg(test)]
mod tests {
    use chrono::Utc;
    use everytab_crawl_settings::{CrawlSettings, MAX_FILTERS};
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;

    fn filter(name: &str, body: Value) -> StoredFilter {
        StoredFilter {
            id: Uuid::nil(),
            owner: "operator".to_owned(),
            name: name.to_owned(),
            version: 4,
            body,
            changed_at: Utc::now(),
        }
    }

    fn list(name: &str, kind: &str) -> StoredFilterList {
        StoredFilterList {
            name: name.to_owned(),
            version: 7,
            kind: kind.to_owned(),
            store: "file:///lists".to_owned(),
            object: format!("lists/{name}/x.list"),
            sha256: vec![0xab; 32],
            entries: 1,
            bytes: 8,
            categories: json!({ "adult": 1 }),
            source: "test".to_owned(),
            imported_at: Utc::now(),
        }
    }

    fn freeze(body: Value) -> Result<Vec<FrozenFilter>, String> {
        let lists = [list("ut1", "names"), list("rir", "countries")];
        let filters = [filter("f", body)];
        let frozen = freeze_filters(&["f".to_owned()], &filters, &lists);
        frozen.map_err(|error| error.to_string())
    }

    #[test]
    fn a_filter_is_frozen_with_the_versions_of_its_lists_and_settings_read_it_back() {
        let body = json!({
            "lists": [{ "name": "ut1", "mode": "drop", "categories": ["adult"] }],
            "countries": { "drop": ["FR"], "addresses": "rir" },
        });
        assert_eq!(list_names_of(&[filter("f", body.clone())]), ["rir", "ut1"]);
        let frozen = freeze(body).unwrap();
        assert_eq!((frozen[0].version, frozen[0].lists.len()), (4, 2));
        assert_eq!(frozen[0].lists[1].sha256, "ab".repeat(32));
        let mut settings = CrawlSettings { filters: frozen, ..CrawlSettings::default() };
        assert_eq!(settings.check(), Ok(()));
        let json = serde_json::to_value(&settings).unwrap();
        assert_eq!(serde_json::from_value::<CrawlSettings>(json).unwrap(), settings);
        settings.filters[0].lists.pop();
        let error = settings.check().unwrap_err().to_string();
        assert_eq!(error, "--filter: f: the list \"ut1\" has no version");
        settings.filters = vec![settings.filters.remove(0); MAX_FILTERS + 1];
        assert!(settings.check().unwrap_err().to_string().contains("at most 8"));
    }

    #[test]
    fn a_filter_that_cannot_be_frozen_says_why() {
        let names = ["g".to_owned()];
        let error = freeze_filters(&names, &[filter("f", json!({}))], &[]).unwrap_err();
        assert_eq!(error.to_string(), "filter \"g\": no such filter");
        for (body, said) in [
            (json!({ "colour": 1 }), "colour: unknown"),
            (
                json!({ "lists": [{ "name": "no", "mode": "keep" }] }),
                "unknown list \"no\"; the operator must import it",
            ),
            (
                json!({ "lists": [{ "name": "rir", "mode": "keep" }] }),
                "contains countries instead of names",
            ),
            (
                json!({ "countries": { "keep": ["DE"], "addresses": "ut1" } }),
                "contains names instead of",
            ),
            (
                json!({ "lists": [{ "name": "ut1", "mode": "keep", "categories": ["x"] }] }),
                "no category \"x\"",
            ),
        ] {
            let error = freeze(body).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }
}
