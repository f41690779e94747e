//! Changes of growing items and streams, which are not in the event journal. Keeps only the newest version of each
//! growing item, and the newest stream frames. Watchers request all changes after the last revision that they know.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use wh_core::space::ItemId;
use wh_core::space::event::{SpaceEvent, StreamFrame};
use wh_core::space::item::Item;
use wh_core::space::machine::TransientChange;
use wh_core::space::state::MAX_STREAM_FRAMES;

#[derive(Debug, Default)]
pub(super) struct GrowingItems {
    revision: u64,
    items: HashMap<ItemId, (u64, Arc<Item>)>,
    frames: VecDeque<(u64, StreamFrame)>,
}

impl GrowingItems {
    pub fn signal(&mut self, signal: TransientChange) {
        self.revision += 1;
        match signal {
            TransientChange::Item(item) => {
                self.items.insert(item.id.clone(), (self.revision, item));
            }
            TransientChange::Frame(frame) => {
                if self.frames.len() == MAX_STREAM_FRAMES {
                    self.frames.pop_front();
                }
                self.frames.push_back((self.revision, frame));
            }
        }
    }

    /// Drops the growing items that an event completes.
    pub fn settle(&mut self, event: &SpaceEvent) {
        match event {
            SpaceEvent::Item(item) => drop(self.items.remove(&item.id)),
            SpaceEvent::TurnEnded(turn, ..) => self.items.retain(|_, (_, item)| item.turn.as_ref() != Some(turn)),
            _ => {}
        }
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    pub fn items_after(&self, revision: u64) -> Vec<Arc<Item>> {
        let mut newer: Vec<&(u64, Arc<Item>)> = self.items.values().filter(|(at, _)| *at > revision).collect();
        newer.sort_by_key(|(at, _)| *at);
        newer.into_iter().map(|(_, item)| Arc::clone(item)).collect()
    }

    pub fn frames_after(&self, revision: u64) -> Vec<StreamFrame> {
        self.frames.iter().filter(|(at, _)| *at > revision).map(|(_, frame)| frame.clone()).collect()
    }
}
