//! How a program is spoken to over pipes; so far, who descends from it, and how they are ended.

pub mod protocol;
pub mod signals;
pub mod tree;

#[cfg(not(target_os = "linux"))]
compile_error!(
    "wh-pipe needs Linux: what keeps programs from outliving their owner rests on child subreapers and /proc"
);
