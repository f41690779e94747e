//! Deterministic pseudo-random numbers for the choice of wording. They depend only on the seed and the turn.

/// Pseudo-random number generator (SplitMix64).
#[derive(Debug, Clone)]
pub(super) struct DemoRng(u64);

impl DemoRng {
    /// Creates the generator for a turn. The numbers do not depend on earlier turns.
    pub fn new(seed: u64, turn: u64) -> Self {
        let mut chance = Self(seed ^ turn.wrapping_mul(0xd134_2543_de82_ef95));
        chance.next();
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let drawn = self.next() % (bound.max(1) as u64);
        usize::try_from(drawn).unwrap_or_default()
    }

    /// Returns one of the texts; an empty text if there are none.
    pub fn pick(&mut self, from: &[&'static str]) -> &'static str {
        let place = self.below(from.len());
        from.get(place).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_turn_draw_the_same() {
        let draw = |seed, turn| {
            let mut chance = DemoRng::new(seed, turn);
            std::array::from_fn::<usize, 8, _>(|_| chance.below(100))
        };
        assert_eq!(draw(7, 1), draw(7, 1));
        assert_ne!(draw(7, 1), draw(8, 1));
        assert_ne!(draw(7, 1), draw(7, 2));
    }

    #[test]
    fn nothing_is_picked_from_nothing() {
        assert_eq!(DemoRng::new(0, 0).pick(&[]), "");
    }
}
