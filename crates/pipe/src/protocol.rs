//! Messages between an owner and its [supervisor](crate::supervisor): orders of two bytes one way, lines of text the other.

/// An order of the owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// End the program and everything that it started, in steps.
    End,
    /// Kill all of it now.
    Kill,
    /// Send a signal to the program's process group.
    Signal(u8),
    /// Send a signal to the foreground process group of its terminal, where it has one.
    SignalForeground(u8),
}

impl Order {
    /// As it goes over the line.
    pub fn encode(self) -> [u8; 2] {
        match self {
            Self::End => [b'E', 0],
            Self::Kill => [b'K', 0],
            Self::Signal(number) => [b'S', number],
            Self::SignalForeground(number) => [b'F', number],
        }
    }

    /// What the bytes say, if they say anything.
    pub fn decode(bytes: [u8; 2]) -> Option<Self> {
        match bytes {
            [b'E', _] => Some(Self::End),
            [b'K', _] => Some(Self::Kill),
            [b'S', number] => Some(Self::Signal(number)),
            [b'F', number] => Some(Self::SignalForeground(number)),
            _ => None,
        }
    }
}

/// A report of the supervisor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The program runs, with this process id.
    Started(i32),
    /// It could not be started, with the system's error number.
    Failed(i32),
    /// A signal has stopped it.
    Stopped(i32),
    /// It goes on.
    Continued,
    /// It ended with this code.
    Exited(i32),
    /// A signal ended it.
    Killed(i32),
}

impl Report {
    /// As it goes over the line, with its end.
    pub fn encode(&self) -> String {
        match self {
            Self::Started(pid) => format!("started {pid}\n"),
            Self::Failed(errno) => format!("failed {errno}\n"),
            Self::Stopped(signal) => format!("stopped {signal}\n"),
            Self::Continued => "continued 0\n".to_owned(),
            Self::Exited(code) => format!("exited {code}\n"),
            Self::Killed(signal) => format!("killed {signal}\n"),
        }
    }

    /// What a line without its end says, if it says anything.
    pub fn decode(line: &str) -> Option<Self> {
        let (word, number) = line.split_once(' ')?;
        let number = number.parse().ok()?;
        match word {
            "started" => Some(Self::Started(number)),
            "failed" => Some(Self::Failed(number)),
            "stopped" => Some(Self::Stopped(number)),
            "continued" => Some(Self::Continued),
            "exited" => Some(Self::Exited(number)),
            "killed" => Some(Self::Killed(number)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_says_the_other_understands() {
        for order in [Order::End, Order::Kill, Order::Signal(15), Order::SignalForeground(2)] {
            assert_eq!(Order::decode(order.encode()), Some(order));
        }
        for report in [
            Report::Started(7),
            Report::Failed(2),
            Report::Stopped(20),
            Report::Continued,
            Report::Exited(3),
            Report::Killed(9),
        ] {
            assert_eq!(Report::decode(report.encode().trim_end()), Some(report));
        }
        assert_eq!((Order::decode([0, 0]), Report::decode("nonsense")), (None, None));
    }
}
