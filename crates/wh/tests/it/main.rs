//! The whole of wh, run as its users run it: real programs, real terminals, a real socket.
