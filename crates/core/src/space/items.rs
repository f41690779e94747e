//! Items of a conversation in the order of their creation. Indexes find items by id, the growing items, and the
//! envelopes in the order in which they were listed.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::envelope;
use super::item::{Item, ItemProgress};
use super::name::ItemId;

/// Maximum number of items in memory. Above this number, the oldest items are dropped.
pub const MAX_ITEMS: usize = 200_000;

/// Approximate maximum size of the items in memory, in bytes. Above this size, the oldest items are dropped.
pub const MAX_ITEM_BYTES: usize = 256 * 1024 * 1024;

/// Minimum difference between two listing times. Equal to the precision of times in the HTTP API.
const LISTING_TIME_INTERVAL: Duration = Duration::from_millis(1);

/// Items of a conversation. Only the items are serialised; the indexes are rebuilt from the items.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "SerializedItems", into = "SerializedItems")]
pub struct Items {
    stored: VecDeque<Arc<Item>>,
    /// Number of dropped items. Items are numbered from 0, so this is also the number of the first stored item.
    dropped: u64,
    numbers: HashMap<ItemId, u64>,
    growing: BTreeSet<u64>,
    /// Approximate size of the stored items in bytes.
    bytes: usize,
    /// Listed envelopes: listing time, item number, and index of the envelope in the item.
    envelopes: BTreeSet<(SystemTime, u64, usize)>,
    /// Listing time of the newest envelope.
    newest: SystemTime,
}

impl Default for Items {
    fn default() -> Self {
        Self {
            stored: VecDeque::new(),
            dropped: 0,
            numbers: HashMap::new(),
            growing: BTreeSet::new(),
            bytes: 0,
            envelopes: BTreeSet::new(),
            newest: UNIX_EPOCH,
        }
    }
}

impl Items {
    /// Stores an item. Returns `Some(Some(old))` if the item replaced `old`, and `Some(None)` for a new item. Returns
    /// `None` if nothing was stored because the stored item is equal or has progressed further. Lists the
    /// [due](envelope::due_count) envelopes of the item, but at least its first `least` envelopes. Their time of
    /// listing is `at`, or just after the newest listed envelope if `at` is earlier.
    pub fn put(&mut self, mut item: Arc<Item>, at: SystemTime, least: usize) -> Option<Option<Arc<Item>>> {
        if let Some(number) = self.numbers.get(&item.id).copied() {
            let place = self.stored.get_mut(usize::try_from(number.checked_sub(self.dropped)?).ok()?)?;
            let lists = item.listed.len() < least.min(envelope::max_count(&item));
            if place.progress > item.progress || (place.progress == item.progress && *place == item && !lists) {
                return None;
            }
            // A retracted item does not change. A complete item can only be retracted.
            if place.progress >= ItemProgress::Done && item.progress != ItemProgress::Retracted {
                return None;
            }
            if item.progress != ItemProgress::Growing {
                self.growing.remove(&number);
            }
            self.bytes = (self.bytes + item.weight()).saturating_sub(place.weight());
            let before = Arc::clone(place);
            assign_listing_times(&mut item, &mut self.newest, at, least);
            let count = envelope::listed_count(&item);
            if before.listed != item.listed || envelope::listed_count(&before) != count {
                self.unindex(&before, number);
                self.index(&item, number);
            }
            if let Some(place) =
                usize::try_from(number - self.dropped).ok().and_then(|place| self.stored.get_mut(place))
            {
                *place = item;
            }
            self.make_room(0, self.stored.len());
            return Some(Some(before));
        }
        let weight = item.weight();
        self.make_room(weight, MAX_ITEMS - 1);
        self.bytes += weight;
        let number = self.dropped + self.stored.len() as u64;
        assign_listing_times(&mut item, &mut self.newest, at, least);
        self.index(&item, number);
        self.numbers.insert(item.id.clone(), number);
        if item.progress == ItemProgress::Growing {
            self.growing.insert(number);
        }
        self.stored.push_back(item);
        Some(None)
    }

    fn index(&mut self, item: &Item, number: u64) {
        let times = item.listed.iter().take(envelope::listed_count(item)).enumerate();
        self.envelopes.extend(times.map(|(place, at)| (*at, number, place)));
    }

    fn unindex(&mut self, item: &Item, number: u64) {
        for (place, at) in item.listed.iter().enumerate() {
            self.envelopes.remove(&(*at, number, place));
        }
    }

    /// Returns the envelopes in the order of listing, as an item and the index of the envelope in the item. With
    /// `after`, returns only envelopes listed later.
    pub fn envelopes(
        &self,
        after: Option<SystemTime>,
    ) -> impl DoubleEndedIterator<Item = (&Arc<Item>, usize)> + use<'_> {
        let begin = after.map_or(Bound::Unbounded, |after| Bound::Excluded((after, u64::MAX, usize::MAX)));
        self.envelopes.range((begin, Bound::Unbounded)).filter_map(|(_, number, place)| {
            let item = self.stored.get(usize::try_from(number.checked_sub(self.dropped)?).ok()?)?;
            Some((item, *place))
        })
    }

    /// Ensures that the listing times of all further envelopes are after `newest`.
    pub(super) fn list_after(&mut self, newest: SystemTime) {
        self.newest = self.newest.max(newest);
    }

    /// Returns the number of listed envelopes.
    pub fn envelope_count(&self) -> usize {
        self.envelopes.len()
    }

    /// Drops the oldest items until `bytes` more bytes fit and at most `most` items are left. Always retains the newest
    /// item.
    fn make_room(&mut self, bytes: usize, most: usize) {
        while self.stored.len() > most || (self.bytes + bytes > MAX_ITEM_BYTES && self.stored.len() > 1) {
            self.drop_oldest();
        }
    }

    pub(super) fn drop_oldest(&mut self) {
        if let Some(oldest) = self.stored.pop_front() {
            self.bytes = self.bytes.saturating_sub(oldest.weight());
            self.numbers.remove(&oldest.id);
            self.unindex(&oldest, self.dropped);
            self.growing.remove(&self.dropped);
            self.dropped += 1;
        }
    }

    pub fn get(&self, id: &ItemId) -> Option<&Arc<Item>> {
        let number = self.numbers.get(id)?;
        self.stored.get(usize::try_from(number.checked_sub(self.dropped)?).ok()?)
    }

    /// Returns the item at this index in the list of stored items.
    pub fn at(&self, place: usize) -> Option<&Arc<Item>> {
        self.stored.get(place)
    }

    /// Returns all items, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Item>> + ExactSizeIterator {
        self.stored.iter()
    }

    /// Returns the growing items, oldest first.
    pub fn growing(&self) -> impl DoubleEndedIterator<Item = &Arc<Item>> {
        self.growing.iter().filter_map(|number| self.stored.get(usize::try_from(number - self.dropped).ok()?))
    }

    pub fn len(&self) -> usize {
        self.stored.len()
    }

    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// Returns the number of items that were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn check(&self) -> Result<(), String> {
        for (place, item) in self.stored.iter().enumerate() {
            let number = self.dropped + place as u64;
            if self.numbers.get(&item.id) != Some(&number) {
                return Err(format!("the id index does not find item {}", item.id));
            }
            if self.growing.contains(&number) != (item.progress == ItemProgress::Growing) {
                return Err(format!("the index of growing items is wrong about item {}", item.id));
            }
        }
        if self.bytes != self.stored.iter().map(|item| item.weight()).sum::<usize>() {
            return Err("the total size of the items is wrong".to_owned());
        }
        if self.envelopes.len() != self.stored.iter().map(|item| envelope::listed_count(item)).sum::<usize>() {
            return Err("the envelope index does not match the items".to_owned());
        }
        if self.numbers.len() == self.stored.len() {
            Ok(())
        } else {
            Err("the id index contains a dropped item".to_owned())
        }
    }
}

/// Serialised form of [`Items`], without the indexes.
#[derive(Serialize, Deserialize)]
struct SerializedItems {
    dropped: u64,
    newest: SystemTime,
    items: Vec<Arc<Item>>,
}

impl From<Items> for SerializedItems {
    fn from(items: Items) -> Self {
        Self { dropped: items.dropped, newest: items.newest, items: items.stored.into() }
    }
}

impl From<SerializedItems> for Items {
    fn from(listed: SerializedItems) -> Self {
        let mut items = Self { dropped: listed.dropped, newest: listed.newest, ..Self::default() };
        for item in listed.items {
            let at = item.at;
            items.put(item, at, 0);
        }
        items
    }
}

/// Assigns listing times to the due envelopes of an item, but to at least its first `least` envelopes. Each time is
/// later than `newest`, even if the clock has been set back.
pub(super) fn assign_listing_times(item: &mut Arc<Item>, newest: &mut SystemTime, at: SystemTime, least: usize) {
    *newest = item.listed.iter().copied().fold(*newest, SystemTime::max);
    let due = envelope::due_count(item).max(least.min(envelope::max_count(item)));
    for _ in item.listed.len()..due {
        let next = newest.checked_add(LISTING_TIME_INTERVAL).unwrap_or(*newest);
        *newest = whole_steps(at).max(next);
        Arc::make_mut(item).listed.push(*newest);
    }
}

/// Truncates the time to the precision that [`LISTING_TIME_INTERVAL`] defines. A listing time in the API then equals
/// the stored time.
fn whole_steps(at: SystemTime) -> SystemTime {
    let Ok(since) = at.duration_since(UNIX_EPOCH) else { return UNIX_EPOCH };
    let rest = since.as_nanos() % LISTING_TIME_INTERVAL.as_nanos();
    at - Duration::from_nanos(u64::try_from(rest).unwrap_or(0))
}
