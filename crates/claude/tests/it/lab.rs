//! The real Claude Code, offline.
