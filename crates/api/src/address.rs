//! Addresses of runs, daemons and their sessions.

use std::net::IpAddr;

use hyper::Uri;

use crate::error::Error;

/// Address of a run, of a daemon, or of one session of a daemon.
///
/// ```
/// use wh_api::Address;
///
/// # fn main() -> Result<(), wh_api::Error> {
/// let daemon = Address::parse("http://127.0.0.1:9090")?;
/// let session = daemon.session("build");
/// assert_eq!(session.url(), "http://127.0.0.1:9090");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Host name or IP address; an IPv6 address is stored without brackets.
    host: String,
    port: u16,
    tls: bool,
    /// Prefix of every path: empty, or `/sessions/{name}`.
    prefix: String,
}

impl Address {
    /// Returns the address of a port on this machine (127.0.0.1).
    pub fn local(port: u16) -> Self {
        Self { host: "127.0.0.1".to_owned(), port, tls: false, prefix: String::new() }
    }

    /// Parses `http://HOST:PORT`, or `https://HOST:PORT`, which requires the feature `tls`. The unspecified addresses
    /// `0.0.0.0` and `[::]` are replaced by loopback addresses.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Address`] if the URL has another scheme, a path, a query, credentials or an invalid port.
    pub fn parse(url: &str) -> Result<Self, Error> {
        Self::read(url.trim()).ok_or_else(|| Error::Address { url: url.to_owned() })
    }

    fn read(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
        let bare = matches!(uri.path(), "" | "/") && uri.query().is_none();
        let tls = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return None,
        };
        // `authority.port()` cannot be used: for a port that is too large it returns `None`, as if there were no port.
        let port = match authority.as_str().strip_prefix(authority.host())? {
            "" if tls => 443,
            "" => 80,
            port => port.strip_prefix(':')?.parse().ok()?,
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        if !bare || host.is_empty() {
            return None;
        }
        let host = match host.parse() {
            Ok(IpAddr::V4(address)) if address.is_unspecified() => "127.0.0.1".to_owned(),
            Ok(IpAddr::V6(address)) if address.is_unspecified() => "::1".to_owned(),
            _ => host.to_owned(),
        };
        Some(Self { host, port, tls, prefix: String::new() })
    }

    /// Returns the address of a session of this daemon, given the name or id of the session.
    #[must_use]
    pub fn session(&self, session: &str) -> Self {
        Self { prefix: format!("/sessions/{}", percent_encoded(session)), ..self.clone() }
    }

    /// Returns the host; an IPv6 address is returned without brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port number.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns true for `https`.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// Returns true for loopback addresses and `localhost`.
    pub fn is_local(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }

    /// Returns the port if the address belongs to a run on this machine. Returns `None` for a session of a daemon and
    /// for remote addresses.
    pub fn local_run(&self) -> Option<u16> {
        (self.is_local() && self.prefix.is_empty()).then_some(self.port)
    }

    /// Returns the value of the `Host` header.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Returns the URL of the run or daemon, without a session path.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.authority())
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }
}

/// Percent-encodes text for use in a path segment or a query value.
pub fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_only_a_host_and_a_port() {
        for (url, authority, local) in [
            ("http://127.0.0.1:9090", "127.0.0.1:9090", true),
            ("http://localhost:9090/", "localhost:9090", true),
            ("http://[::1]:9090", "[::1]:9090", true),
            ("http://0.0.0.0:9090", "127.0.0.1:9090", true),
            ("http://[::]:9090", "[::1]:9090", true),
            ("http://build.test", "build.test:80", false),
            ("https://build.test", "build.test:443", false),
            ("http://localhost.evil.test:1", "localhost.evil.test:1", false),
        ] {
            let address = Address::parse(url).unwrap();
            assert_eq!((address.authority().as_str(), address.is_local()), (authority, local), "{url}");
        }
        for wrong in [
            "",
            "9090",
            "127.0.0.1:9090",
            "ftp://127.0.0.1:9090",
            "http://",
            "http://:9090",
            "http://user@127.0.0.1:9090",
            "http://127.0.0.1:9090/control",
            "http://127.0.0.1:9090/?x",
            "http://127.0.0.1:99999",
        ] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_a_local_run_can_have_a_record() {
        assert_eq!(Address::local(1).local_run(), Some(1));
        assert_eq!(Address::local(1).session("a b").local_run(), None);
        assert_eq!(Address::local(1).session("a b").prefix(), "/sessions/a%20b");
        assert_eq!(Address::parse("http://build.test").unwrap().local_run(), None);
    }

    #[test]
    fn percent_encoding_preserves_every_character() {
        assert_eq!(percent_encoded("mcp/request é&x=1 +"), "mcp%2Frequest%20%C3%A9%26x%3D1%20%2B");
    }
}
