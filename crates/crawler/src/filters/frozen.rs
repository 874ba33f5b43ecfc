//! A crawl's filters as its settings store them, with the versions of their lists.
//!
//! Invariant: a crawl uses its filters as of its start, whatever happens to them since. Each
//! version of a list has its own object. Does not depend on where filters are stored.

use std::collections::BTreeMap;

use everytab_coordinator::{StoredFilter, StoredFilterList};
use everytab_filters::{FilterSettings, ListKind, check_filter_name};
use serde::{Deserialize, Serialize};

/// Maximum filters per crawl, because each one checks every link.
pub const MAX_FILTERS: usize = 8;

/// A version of an imported list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenList {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: i32,
    /// The store that has its object.
    pub store: String,
    /// URL of the store that has its object.
    pub object: String,
    /// Name of the object.
    pub sha256: String,
    /// Length of the object in bytes.
    pub bytes: u64,
}

impl From<&StoredFilterList> for FrozenList {
    fn from(list: &StoredFilterList) -> Self {
        Self {
            name: list.name.clone(),
            version: list.version,
            store: list.store.clone(),
            object: list.object.clone(),
            sha256: hex::encode(&list.sha256),
            bytes: u64::try_from(list.bytes).unwrap_or_default(),
        }
    }
}

/// A filter of a crawl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenFilter {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: i32,
    /// The settings of the filter.
    pub filter: FilterSettings,
    /// The lists that it names.
    pub lists: Vec<FrozenList>,
}

/// The reason why filters cannot be frozen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("filter {filter:?}: {reason}")]
pub struct FreezeError {
    /// The filter.
    pub filter: String,
    /// What is wrong.
    pub reason: String,
}

impl FrozenFilter {
    /// Freezes the filters `names` in this order. `filters` has the stored filters, and `lists` the
    /// versions of their lists.
    ///
    /// # Errors
    /// Returns an error for the first filter that is missing or malformed, or that names a list or
    /// category that is not imported or has the wrong kind.
    pub fn freeze(
        names: &[String],
        filters: &[StoredFilter],
        lists: &[StoredFilterList],
    ) -> Result<Vec<Self>, FreezeError> {
        let by_name: BTreeMap<&str, &StoredFilterList> =
            lists.iter().map(|list| (list.name.as_str(), list)).collect();
        let freeze = |name: &String| {
            let error = |reason: String| FreezeError { filter: name.clone(), reason };
            let stored = filters.iter().find(|filter| filter.name == *name);
            let stored = stored.ok_or_else(|| error("there is none of this name".to_owned()))?;
            let filter = FilterSettings::of_value(stored.body.clone())
                .map_err(|reason| error(reason.to_string()))?;
            let lists = frozen_lists(&filter, &by_name).map_err(error)?;
            Ok(Self { name: name.clone(), version: stored.version, filter, lists })
        };
        names.iter().map(freeze).collect()
    }

    /// Checks the filter.
    ///
    /// # Errors
    /// Returns an error if a setting is out of bounds, or if a list that it names is not frozen.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_filter_name(&self.name)?;
        self.filter.check().map_err(|error| error.to_string())?;
        let is_frozen = |name: &&str| self.lists.iter().any(|list| list.name == **name);
        match self.filter.list_names().iter().find(|name| !is_frozen(name)) {
            Some(name) => Err(format!("the list {name:?} has no version")),
            None => Ok(()),
        }
    }
}

/// Returns the names of the lists that filters need, each once.
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

fn frozen_lists(
    filter: &FilterSettings,
    lists: &BTreeMap<&str, &StoredFilterList>,
) -> Result<Vec<FrozenList>, String> {
    let find = |name: &str, kind: ListKind| {
        let list = lists.get(name).ok_or_else(|| {
            format!("it names the list {name:?}, which the operator has not imported")
        })?;
        if list.kind != kind.as_str() {
            let (is, wanted) = (&list.kind, kind.as_str());
            return Err(format!("the list {name:?} has {is} where {wanted} are wanted"));
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
    Ok(frozen.map(|list| FrozenList::from(*list)).collect())
}

#[cfg(test)]
mod tests {
    use chrono::Utc;
    use serde_json::{Value, json};
    use uuid::Uuid;

    use super::*;
    use crate::settings::CrawlSettings;

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
        let frozen = FrozenFilter::freeze(&["f".to_owned()], &filters, &lists);
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
        let error = FrozenFilter::freeze(&names, &[filter("f", json!({}))], &[]).unwrap_err();
        assert_eq!(error.to_string(), "filter \"g\": there is none of this name");
        for (body, said) in [
            (json!({ "colour": 1 }), "colour: unknown"),
            (
                json!({ "lists": [{ "name": "no", "mode": "keep" }] }),
                "\"no\", which the operator has not imported",
            ),
            (json!({ "lists": [{ "name": "rir", "mode": "keep" }] }), "has countries where names"),
            (json!({ "countries": { "keep": ["DE"], "addresses": "ut1" } }), "has names where"),
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
