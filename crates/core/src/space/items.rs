//! The conversation's items in the order in which they began, found by id, with those that still grow at hand; and their
//! envelopes in the order in which they were added to the list of messages.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::envelope;
use super::item::{Item, Progress};
use super::name::ItemId;

/// Items that are kept in memory. Beyond that the oldest go.
pub const MOST_ITEMS: usize = 200_000;

/// The same in bytes, about.
pub const MOST_BYTES: usize = 256 * 1024 * 1024;

/// Resolution of the times at which envelopes are listed: that of the times that the HTTP API writes.
const LISTING_STEP: Duration = Duration::from_millis(1);

/// The items of a conversation. Serialised as a list; the indexes are made again.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct Items {
    kept: VecDeque<Arc<Item>>,
    /// How many went: the number of the first that is kept.
    dropped: u64,
    numbers: HashMap<ItemId, u64>,
    growing: BTreeSet<u64>,
    /// What all of them weigh.
    bytes: usize,
    /// Envelopes by the time at which they were listed: time, number of the item, place within the item.
    envelopes: BTreeSet<(SystemTime, u64, usize)>,
    /// When the newest envelope was listed.
    newest: SystemTime,
}

impl Default for Items {
    fn default() -> Self {
        Self {
            kept: VecDeque::new(),
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
    /// Puts an item in the place of the one of the same id, and gives that one back, if any. `None`: what is there is
    /// further already, and stays. At least `least` envelopes of it, and all that are [due](envelope::due), are listed at
    /// this time, or later than the newest that is listed.
    pub fn put(&mut self, mut item: Arc<Item>, at: SystemTime, least: usize) -> Option<Option<Arc<Item>>> {
        if let Some(number) = self.numbers.get(&item.id).copied() {
            let place = self.kept.get_mut(usize::try_from(number.checked_sub(self.dropped)?).ok()?)?;
            let lists = item.listed.len() < least.min(envelope::most(&item));
            if place.progress > item.progress || (place.progress == item.progress && *place == item && !lists) {
                return None;
            }
            // What was retracted stays so; what is complete changes only by being taken back.
            if place.progress >= Progress::Done && item.progress != Progress::Retracted {
                return None;
            }
            if item.progress != Progress::Growing {
                self.growing.remove(&number);
            }
            self.bytes = (self.bytes + item.weight()).saturating_sub(place.weight());
            let before = Arc::clone(place);
            list(&mut item, &mut self.newest, at, least);
            let count = envelope::count(&item);
            if before.listed != item.listed || envelope::count(&before) != count {
                self.unindex(&before, number);
                self.index(&item, number);
            }
            if let Some(place) = usize::try_from(number - self.dropped).ok().and_then(|place| self.kept.get_mut(place))
            {
                *place = item;
            }
            self.make_room(0, self.kept.len());
            return Some(Some(before));
        }
        let weight = item.weight();
        self.make_room(weight, MOST_ITEMS - 1);
        self.bytes += weight;
        let number = self.dropped + self.kept.len() as u64;
        list(&mut item, &mut self.newest, at, least);
        self.index(&item, number);
        self.numbers.insert(item.id.clone(), number);
        if item.progress == Progress::Growing {
            self.growing.insert(number);
        }
        self.kept.push_back(item);
        Some(None)
    }

    fn index(&mut self, item: &Item, number: u64) {
        let times = item.listed.iter().take(envelope::count(item)).enumerate();
        self.envelopes.extend(times.map(|(place, at)| (*at, number, place)));
    }

    fn unindex(&mut self, item: &Item, number: u64) {
        for (place, at) in item.listed.iter().enumerate() {
            self.envelopes.remove(&(*at, number, place));
        }
    }

    /// Envelopes in the order in which they were listed, each as its item and its place within it: those that were listed
    /// after this time, or all.
    pub fn envelopes(
        &self,
        after: Option<SystemTime>,
    ) -> impl DoubleEndedIterator<Item = (&Arc<Item>, usize)> + use<'_> {
        let begin = after.map_or(Bound::Unbounded, |after| Bound::Excluded((after, u64::MAX, usize::MAX)));
        self.envelopes.range((begin, Bound::Unbounded)).filter_map(|(_, number, place)| {
            let item = self.kept.get(usize::try_from(number.checked_sub(self.dropped)?).ok()?)?;
            Some((item, *place))
        })
    }

    /// Lists what comes from now on after this time.
    pub(super) fn list_after(&mut self, newest: SystemTime) {
        self.newest = self.newest.max(newest);
    }

    /// How many envelopes are listed.
    pub fn envelope_count(&self) -> usize {
        self.envelopes.len()
    }

    /// Lets the oldest go until there is room for so many bytes more, and at most so many items are left. The newest
    /// stays in any case.
    fn make_room(&mut self, bytes: usize, most: usize) {
        while self.kept.len() > most || (self.bytes + bytes > MOST_BYTES && self.kept.len() > 1) {
            self.drop_oldest();
        }
    }

    pub(super) fn drop_oldest(&mut self) {
        if let Some(oldest) = self.kept.pop_front() {
            self.bytes = self.bytes.saturating_sub(oldest.weight());
            self.numbers.remove(&oldest.id);
            self.unindex(&oldest, self.dropped);
            self.growing.remove(&self.dropped);
            self.dropped += 1;
        }
    }

    /// The item of this id.
    pub fn get(&self, id: &ItemId) -> Option<&Arc<Item>> {
        let number = self.numbers.get(id)?;
        self.kept.get(usize::try_from(number.checked_sub(self.dropped)?).ok()?)
    }

    /// The item at this place, from 0.
    pub fn at(&self, place: usize) -> Option<&Arc<Item>> {
        self.kept.get(place)
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Item>> + ExactSizeIterator {
        self.kept.iter()
    }

    /// Those that still grow, oldest first.
    pub fn growing(&self) -> impl DoubleEndedIterator<Item = &Arc<Item>> {
        self.growing.iter().filter_map(|number| self.kept.get(usize::try_from(number - self.dropped).ok()?))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// How many went because there were too many.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn check(&self) -> Result<(), String> {
        for (place, item) in self.kept.iter().enumerate() {
            let number = self.dropped + place as u64;
            if self.numbers.get(&item.id) != Some(&number) {
                return Err(format!("item {} is not found by its id", item.id));
            }
            if self.growing.contains(&number) != (item.progress == Progress::Growing) {
                return Err(format!("item {} is counted as growing, or is not", item.id));
            }
        }
        if self.bytes != self.kept.iter().map(|item| item.weight()).sum::<usize>() {
            return Err("what they weigh was counted wrongly".to_owned());
        }
        if self.envelopes.len() != self.kept.iter().map(|item| envelope::count(item)).sum::<usize>() {
            return Err("an envelope is not listed, or is left over".to_owned());
        }
        if self.numbers.len() == self.kept.len() { Ok(()) } else { Err("an id is left over".to_owned()) }
    }
}

/// The serialised form of [`Items`].
#[derive(Serialize, Deserialize)]
struct Listed {
    dropped: u64,
    newest: SystemTime,
    items: Vec<Arc<Item>>,
}

impl From<Items> for Listed {
    fn from(items: Items) -> Self {
        Self { dropped: items.dropped, newest: items.newest, items: items.kept.into() }
    }
}

impl From<Listed> for Items {
    fn from(listed: Listed) -> Self {
        let mut items = Self { dropped: listed.dropped, newest: listed.newest, ..Self::default() };
        for item in listed.items {
            let at = item.at;
            items.put(item, at, 0);
        }
        items
    }
}

/// Gives the item's envelopes that are due their times: strictly increasing after the `newest`, whatever the clock does.
pub(super) fn list(item: &mut Arc<Item>, newest: &mut SystemTime, at: SystemTime, least: usize) {
    *newest = item.listed.iter().copied().fold(*newest, SystemTime::max);
    let due = envelope::due(item).max(least.min(envelope::most(item)));
    for _ in item.listed.len()..due {
        let next = newest.checked_add(LISTING_STEP).unwrap_or(*newest);
        *newest = whole_steps(at).max(next);
        Arc::make_mut(item).listed.push(*newest);
    }
}

/// The time without what is below [`LISTING_STEP`], so that the time that is written is the time that is compared.
fn whole_steps(at: SystemTime) -> SystemTime {
    let Ok(since) = at.duration_since(UNIX_EPOCH) else { return UNIX_EPOCH };
    let rest = since.as_nanos() % LISTING_STEP.as_nanos();
    at - Duration::from_nanos(u64::try_from(rest).unwrap_or(0))
}
