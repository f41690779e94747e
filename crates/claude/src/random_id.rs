//! Random ids of messages and requests.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Returns a random number for unique ids. Not suitable for secrets.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// Creates a random UUID as the id of a message.
pub fn uuid() -> String {
    let (high, low) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_uuid_has_its_form_and_is_not_met_twice() {
        let (one, two) = (super::uuid(), super::uuid());
        assert_ne!(one, two);
        let parts: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12]);
        assert_eq!(one.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&one.as_bytes()[19]), "{one}");
    }
}
