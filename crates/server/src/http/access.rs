//! Access checks of every request: Host header, origin and token. Web pages are refused, because a browser lets any
//! page send requests to loopback ports.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use super::ApiState;
use super::connections::TcpConnection;
use super::fault::Fault;

/// Token that callers must send. Its `Debug` output hides the value.
pub struct ApiToken(Vec<u8>);

impl ApiToken {
    /// Creates a token. `None` if the text is empty or cannot be sent in a header.
    pub fn new(text: &str) -> Option<Self> {
        let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| Self(text.as_bytes().to_vec()))
    }

    fn matches(&self, offered: &[u8]) -> bool {
        self.0.ct_eq(offered).into()
    }
}

impl std::fmt::Debug for ApiToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(…)")
    }
}

/// Access rules of a server: the required token and the accepted Host headers.
#[derive(Debug, Default)]
pub struct AccessRules {
    /// Required token, if any.
    pub token: Option<ApiToken>,
    /// True if the server accepts connections from other machines. The server then accepts every Host header and is
    /// protected only by the token.
    pub any_host: bool,
}

pub(super) async fn check(State(api): State<ApiState>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let response = guarded(&api.access, request, next).await;
    api.meters.request(&path, response.status().as_u16());
    if !matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        api.usage.answered();
    }
    response
}

/// Checks a request against the access rules, and forwards it to the router or refuses it.
pub(super) async fn guarded(access: &AccessRules, request: Request, next: Next) -> Response {
    let admitted = access.admit(request.headers()).and_then(|()| {
        // The connection is absent if another router has already checked the request.
        let connection = request.extensions().get::<TcpConnection>();
        connection.map_or(Ok(()), |connection| connection.admitted(access.token.is_some()).map_err(Fault::from))
    });
    let mut response = match admitted {
        Ok(()) => next.run(request).await,
        Err(fault) => fault.into_response(),
    };
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

impl AccessRules {
    fn admit(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let host = self.host(headers)?;
        same_origin(headers, host)?;
        self.token(headers)
    }

    /// Checks and returns the Host header. A name of another machine indicates DNS rebinding by a web page.
    fn host<'a>(&self, headers: &'a HeaderMap) -> Result<&'a str, Fault> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(Fault::Forbidden("send exactly one Host header".to_owned()));
        };
        let host = host
            .to_str()
            .map_err(|_| Fault::Forbidden("the Host header must contain only visible ASCII characters".to_owned()))?;
        if self.any_host || is_loopback(host) {
            Ok(host)
        } else {
            Err(Fault::Forbidden("the Host header must name this machine: localhost, 127.0.0.1 or [::1]".to_owned()))
        }
    }

    fn token(&self, headers: &HeaderMap) -> Result<(), Fault> {
        let Some(token) = &self.token else { return Ok(()) };
        let offered = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
        let offered = match offered.split_at_checked(7) {
            Some((scheme, offered)) if scheme.eq_ignore_ascii_case(b"bearer ") => offered,
            _ => return Err(Fault::NoToken),
        };
        if token.matches(offered) { Ok(()) } else { Err(Fault::NoToken) }
    }
}

/// Refuses requests from web pages of other origins.
fn same_origin(headers: &HeaderMap, host: &str) -> Result<(), Fault> {
    let own = format!("http://{host}");
    let foreign_origin =
        headers.get_all(header::ORIGIN).iter().any(|origin| !origin.as_bytes().eq_ignore_ascii_case(own.as_bytes()));
    let foreign_site =
        headers.get_all("sec-fetch-site").iter().any(|site| !matches!(site.as_bytes(), b"same-origin" | b"none"));
    if foreign_origin || foreign_site {
        return Err(Fault::Forbidden("web pages of other origins may not use this API".to_owned()));
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, "")) => address,
            Some((address, port)) if port.strip_prefix(':').is_some_and(is_port) => address,
            _ => return false,
        },
        None => match host.split_once(':') {
            Some((name, port)) if is_port(port) => name,
            Some(_) => return false,
            None => host,
        },
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(access: &AccessRules, headers: &[(&str, &str)]) -> Result<(), u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(header::HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        access.admit(&map).map_err(|fault| fault.into_response().status().as_u16())
    }

    #[test]
    fn loopback_hosts_are_admitted() {
        for host in ["localhost", "localhost:9090", "127.0.0.1:9090", "127.0.0.2", "[::1]:9090", "[::1]", "LOCALHOST:1"]
        {
            assert_eq!(admitted(&AccessRules::default(), &[("host", host)]), Ok(()), "{host}");
        }
    }

    #[test]
    fn other_hosts_are_refused() {
        for host in [
            "evil.test",
            "evil.test:9090",
            "10.0.0.1",
            "localhost.evil.test",
            "localhost:x",
            "[::1",
            "[::1]x",
            "127.0.0.1:80@evil",
            "",
        ] {
            assert_eq!(admitted(&AccessRules::default(), &[("host", host)]), Err(403), "{host}");
        }
        assert_eq!(admitted(&AccessRules::default(), &[]), Err(403));
        assert_eq!(admitted(&AccessRules::default(), &[("host", "localhost"), ("host", "evil.test")]), Err(403));
    }

    #[test]
    fn foreign_pages_are_refused() {
        let host = ("host", "localhost:9090");
        for origin in ["null", "https://evil.test", "http://localhost:3000", "http://127.0.0.1:9090", ""] {
            assert_eq!(admitted(&AccessRules::default(), &[host, ("origin", origin)]), Err(403), "{origin}");
        }
        for site in ["cross-site", "same-site", "nonsense"] {
            assert_eq!(admitted(&AccessRules::default(), &[host, ("sec-fetch-site", site)]), Err(403), "{site}");
        }
        assert_eq!(
            admitted(
                &AccessRules::default(),
                &[host, ("origin", "http://localhost:9090"), ("sec-fetch-site", "same-origin")]
            ),
            Ok(())
        );
    }

    #[test]
    fn a_token_must_be_known_where_one_is_set() {
        let access = AccessRules { token: ApiToken::new("s3cret"), any_host: false };
        let host = ("host", "localhost");
        assert_eq!(admitted(&access, &[host]), Err(401));
        for wrong in ["Bearer wrong", "Bearer ", "s3cret", "Basic s3cret", "Bearer s3cret "] {
            assert_eq!(admitted(&access, &[host, ("authorization", wrong)]), Err(401), "{wrong}");
        }
        assert_eq!(admitted(&access, &[host, ("authorization", "Bearer s3cret")]), Ok(()));
        assert_eq!(admitted(&access, &[host, ("authorization", "bearer s3cret")]), Ok(()));
    }

    #[test]
    fn the_token_is_never_shown() {
        assert!(!format!("{:?}", AccessRules { token: ApiToken::new("s3cret"), any_host: true }).contains("s3cret"));
        assert!(ApiToken::new("").is_none() && ApiToken::new("a b").is_none());
    }
}
