//! The conversation's items in the order in which they began, found by id, with those that still grow at hand.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use super::item::{Item, Progress};
use super::name::ItemId;

/// Items that are kept in memory. Beyond that the oldest go.
pub const MOST_ITEMS: usize = 200_000;

/// The same in bytes, about.
pub const MOST_BYTES: usize = 256 * 1024 * 1024;

/// The items of a conversation.
#[derive(Debug, Clone, Default)]
pub struct Items {
    kept: VecDeque<Arc<Item>>,
    /// How many went: the number of the first that is kept.
    dropped: u64,
    numbers: HashMap<ItemId, u64>,
    growing: BTreeSet<u64>,
    /// What all of them weigh.
    bytes: usize,
}

impl Items {
    /// Puts an item in the place of the one of the same id, and gives that one back, if any. `None`: what is there is
    /// further already, and stays.
    pub fn put(&mut self, item: Arc<Item>) -> Option<Option<Arc<Item>>> {
        if let Some(number) = self.numbers.get(&item.id).copied() {
            let place = self.kept.get_mut(usize::try_from(number.checked_sub(self.dropped)?).ok()?)?;
            if place.progress > item.progress || (place.progress == item.progress && *place == item) {
                return None;
            }
            // What was retracted stays so; what is complete changes only by being taken back.
            if place.progress != Progress::Growing && item.progress != Progress::Retracted {
                return None;
            }
            if item.progress != Progress::Growing {
                self.growing.remove(&number);
            }
            self.bytes = (self.bytes + item.weight()).saturating_sub(place.weight());
            let before = std::mem::replace(place, item);
            self.make_room(0, self.kept.len());
            return Some(Some(before));
        }
        let weight = item.weight();
        self.make_room(weight, MOST_ITEMS - 1);
        self.bytes += weight;
        let number = self.dropped + self.kept.len() as u64;
        self.numbers.insert(item.id.clone(), number);
        if item.progress == Progress::Growing {
            self.growing.insert(number);
        }
        self.kept.push_back(item);
        Some(None)
    }

    /// Lets the oldest go until there is room for so many bytes more, and at most so many items are left. The newest
    /// stays in any case.
    fn make_room(&mut self, bytes: usize, most: usize) {
        while self.kept.len() > most || (self.bytes + bytes > MOST_BYTES && self.kept.len() > 1) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.kept.pop_front() {
            self.bytes = self.bytes.saturating_sub(oldest.weight());
            self.numbers.remove(&oldest.id);
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
        if self.numbers.len() == self.kept.len() { Ok(()) } else { Err("an id is left over".to_owned()) }
    }
}
