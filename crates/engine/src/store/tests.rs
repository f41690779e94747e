//! What must hold of the store.
