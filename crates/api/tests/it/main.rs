//! The client against a server that is scripted byte by byte.

mod calls;
mod ended;
mod events;
mod server;
mod tls;
