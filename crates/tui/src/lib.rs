//! What a person sees of a space in the terminal. Each part here is pure: state and a size in, styled lines or cells out.

pub mod composer;
pub mod diff;
pub mod markdown;
pub mod theme;
pub mod visible;
pub mod wrap;
