//! Messages between an owner and its [supervisor](crate::supervisor): orders of two bytes, and reports as lines of
//! text.

/// Order from the owner to its supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupervisorOrder {
    /// End the program and all processes that it started, in steps.
    End,
    /// Kill the program and all processes that it started, immediately and without the steps of [`End`](Self::End).
    Kill,
    /// Send a signal to the program's process group.
    Signal(u8),
    /// Send a signal to the foreground process group of the program's terminal. Has no effect without a terminal.
    SignalForeground(u8),
}

impl SupervisorOrder {
    /// Encodes the order for the socket.
    pub fn encode(self) -> [u8; 2] {
        match self {
            Self::End => [b'E', 0],
            Self::Kill => [b'K', 0],
            Self::Signal(number) => [b'S', number],
            Self::SignalForeground(number) => [b'F', number],
        }
    }

    /// Decodes an order. Returns `None` for bytes that are not an order.
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

/// Report from the supervisor to its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SupervisorReport {
    /// The program has started, with this process id.
    Started(i32),
    /// The program could not be started. The value is the system error number (errno), or 0 if there is none.
    Failed(i32),
    /// A signal with this number has stopped the program.
    Stopped(i32),
    /// The stopped program was continued.
    Continued,
    /// The program exited with this code.
    Exited(i32),
    /// A signal with this number killed the program.
    Killed(i32),
}

impl SupervisorReport {
    /// Encodes the report as a line, with its line feed.
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

    /// Decodes a line without its line feed. Returns `None` for a line that is not a report.
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
    fn orders_and_reports_survive_encoding() {
        for order in [
            SupervisorOrder::End,
            SupervisorOrder::Kill,
            SupervisorOrder::Signal(15),
            SupervisorOrder::SignalForeground(2),
        ] {
            assert_eq!(SupervisorOrder::decode(order.encode()), Some(order));
        }
        for report in [
            SupervisorReport::Started(7),
            SupervisorReport::Failed(2),
            SupervisorReport::Stopped(20),
            SupervisorReport::Continued,
            SupervisorReport::Exited(3),
            SupervisorReport::Killed(9),
        ] {
            assert_eq!(SupervisorReport::decode(report.encode().trim_end()), Some(report));
        }
        assert_eq!((SupervisorOrder::decode([0, 0]), SupervisorReport::decode("nonsense")), (None, None));
    }
}
