//! Options of the HTTP API of a run: its port, its address and its token.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use tokio::net::TcpListener;
use wh_server::http::{AccessRules, ApiToken, bind};

use crate::failure::{CliFailure, code};
use crate::open_file;

/// Environment variable with the API token. Removed from the environment of programs that wh starts.
pub const TOKEN_VARIABLE: &str = "WH_CONTROL_TOKEN";

/// Options of the HTTP API.
#[derive(Debug, Args)]
pub struct HttpApiOptions {
    /// Serve the HTTP API on this port; 0 picks a free port and prints it to standard error
    #[arg(long, value_name = "PORT", help_heading = "HTTP API")]
    pub control_port: Option<u16>,

    /// Listen on this address; any address except loopback requires a token
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1",
        requires = "control_port",
        help_heading = "HTTP API"
    )]
    control_bind: IpAddr,

    /// Require the token in FILE from clients, as `Authorization: Bearer TOKEN`. FILE must be readable only by you
    /// (mode 0600). The environment variable WH_CONTROL_TOKEN does the same
    #[arg(long, value_name = "FILE", requires = "control_port", help_heading = "HTTP API")]
    control_token_file: Option<PathBuf>,
}

/// Listener of the HTTP API, bound but not yet served.
#[derive(Debug)]
pub struct ApiListener {
    pub listener: TcpListener,
    pub address: SocketAddr,
    pub access: AccessRules,
}

impl ApiListener {
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl HttpApiOptions {
    /// Binds the port. `None` without --control-port.
    pub async fn open(&self) -> Result<Option<ApiListener>, CliFailure> {
        let Some(port) = self.control_port else { return Ok(None) };
        let token = self.token()?;
        let local = self.control_bind.is_loopback();
        if !local && token.is_none() {
            return Err(CliFailure::new(code::USAGE, format!("listening on {} requires a token", self.control_bind))
                .hint(format!(
                    "set a token with --control-token-file FILE or {TOKEN_VARIABLE}, or listen on 127.0.0.1"
                )));
        }
        let wanted = SocketAddr::new(self.control_bind, port);
        let listener = bind(wanted).map_err(|error| cannot_bind(wanted, &error))?;
        let address = listener.local_addr().map_err(|error| cannot_bind(wanted, &error))?;
        Ok(Some(ApiListener { listener, address, access: AccessRules { token, any_host: !local } }))
    }

    fn token(&self) -> Result<Option<ApiToken>, CliFailure> {
        Ok(token(self.control_token_file.as_deref())?.map(|(_, token)| token))
    }
}

/// Reads the token from `file`, else from the environment variable; `None` if neither is set. Returns the token as text
/// for clients, and as an [`ApiToken`] for servers.
pub fn token(file: Option<&Path>) -> Result<Option<(String, ApiToken)>, CliFailure> {
    let (text, source) = match (file, std::env::var(TOKEN_VARIABLE)) {
        (Some(path), _) => (read_token(path)?, format!("{}", path.display())),
        (None, Ok(text)) => {
            // Protects the token: Linux exposes the initial environment of a dumpable process to other processes of the
            // user, including the program that wh runs.
            let _ = nix::sys::prctl::set_dumpable(false);
            (text, TOKEN_VARIABLE.to_owned())
        }
        (None, Err(std::env::VarError::NotPresent)) => return Ok(None),
        (None, Err(error)) => return Err(CliFailure::new(code::USAGE, format!("{TOKEN_VARIABLE}: {error}"))),
    };
    match ApiToken::new(text.trim()) {
        Some(token) => Ok(Some((text.trim().to_owned(), token))),
        None => Err(CliFailure::new(
            code::USAGE,
            format!("the token in {source} is empty or has characters that an HTTP header cannot contain"),
        )
        .hint("create a token with: head -c 24 /dev/urandom | base64")),
    }
}

fn cannot_bind(address: SocketAddr, error: &io::Error) -> CliFailure {
    match error.kind() {
        io::ErrorKind::AddrInUse => CliFailure::new(code::FAILED, format!("port {} is in use", address.port()))
            .hint("choose another with --control-port, or let wh choose with --control-port 0"),
        io::ErrorKind::PermissionDenied => {
            CliFailure::new(code::FAILED, format!("permission denied for port {}: {error}", address.port()))
                .hint("choose a port above 1023 with --control-port")
        }
        _ => CliFailure::new(code::FAILED, format!("cannot listen on {address}: {error}")),
    }
}

fn read_token(path: &Path) -> Result<String, CliFailure> {
    let refuse = |reason: String| CliFailure::new(code::USAGE, format!("token file {}: {reason}", path.display()));
    let metadata = fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(
            refuse("other users can access the file".to_owned()).hint(format!("run: chmod 600 {}", path.display()))
        );
    }
    if metadata.uid() != nix::unistd::geteuid().as_raw() {
        return Err(refuse("the file belongs to another user".to_owned()));
    }
    let file = open_file::open(path).map_err(|error| refuse(error.to_string()))?;
    io::read_to_string(file).map_err(|error| refuse(error.to_string()))
}
