//! Opening the HTTP door: the address, the token, and the one line that says where it is.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use tokio::net::TcpListener;
use wh_doors::http::{Access, Token, bind};

use crate::failure::{Failure, code};
use crate::files;

/// The variable that holds the token. The program never sees it.
pub const TOKEN_VARIABLE: &str = "WH_CONTROL_TOKEN";

/// How the door is opened.
#[derive(Debug, Args)]
pub struct ControlArguments {
    /// Open the control plane on this port; 0 picks a free one and says which on standard error
    #[arg(long, value_name = "PORT", help_heading = "Control plane")]
    pub control_port: Option<u16>,

    /// Listen on this address; anything but loopback needs a token
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1",
        requires = "control_port",
        help_heading = "Control plane"
    )]
    control_bind: IpAddr,

    /// Callers must send the token in this file as `Authorization: Bearer TOKEN`; only you may be able to read it.
    /// The variable WH_CONTROL_TOKEN does the same
    #[arg(long, value_name = "FILE", requires = "control_port", help_heading = "Control plane")]
    control_token_file: Option<PathBuf>,
}

/// A door that is bound but not served yet.
#[derive(Debug)]
pub struct Control {
    pub listener: TcpListener,
    pub address: SocketAddr,
    pub access: Access,
}

impl Control {
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl ControlArguments {
    /// Binds the port, if one is wanted.
    pub async fn open(&self) -> Result<Option<Control>, Failure> {
        let Some(port) = self.control_port else { return Ok(None) };
        let token = self.token()?;
        let local = self.control_bind.is_loopback();
        if !local && token.is_none() {
            return Err(Failure::new(code::USAGE, format!("listening on {} needs a token", self.control_bind))
                .hint(format!("give one with --control-token-file FILE or {TOKEN_VARIABLE}, or stay on 127.0.0.1")));
        }
        let wanted = SocketAddr::new(self.control_bind, port);
        let listener = bind(wanted).map_err(|error| cannot_bind(wanted, &error))?;
        let address = listener.local_addr().map_err(|error| cannot_bind(wanted, &error))?;
        Ok(Some(Control { listener, address, access: Access { token, any_host: !local } }))
    }

    fn token(&self) -> Result<Option<Token>, Failure> {
        Ok(token(self.control_token_file.as_deref())?.map(|(_, token)| token))
    }
}

/// The token in `file`, or else in the variable: as the text that a caller sends, and as the token that a door asks for.
pub fn token(file: Option<&Path>) -> Result<Option<(String, Token)>, Failure> {
    let (text, source) = match (file, std::env::var(TOKEN_VARIABLE)) {
        (Some(path), _) => (read_token(path)?, format!("{}", path.display())),
        (None, Ok(text)) => {
            // The system shows a process's first environment to its user's other processes, the program among them.
            let _ = nix::sys::prctl::set_dumpable(false);
            (text, TOKEN_VARIABLE.to_owned())
        }
        (None, Err(std::env::VarError::NotPresent)) => return Ok(None),
        (None, Err(error)) => return Err(Failure::new(code::USAGE, format!("{TOKEN_VARIABLE}: {error}"))),
    };
    match Token::new(text.trim()) {
        Some(token) => Ok(Some((text.trim().to_owned(), token))),
        None => Err(Failure::new(
            code::USAGE,
            format!("the token in {source} is empty or has characters that cannot be sent"),
        )
        .hint("make one with: head -c 24 /dev/urandom | base64")),
    }
}

fn cannot_bind(address: SocketAddr, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            Failure::new(code::FAILED, format!("port {} is in use by another process", address.port()))
                .hint("choose another with --control-port, or let wh choose with --control-port 0")
        }
        io::ErrorKind::PermissionDenied => {
            Failure::new(code::FAILED, format!("port {} is not yours to use: {error}", address.port()))
                .hint("choose one above 1023 with --control-port")
        }
        _ => Failure::new(code::FAILED, format!("cannot listen on {address}: {error}")),
    }
}

fn read_token(path: &Path) -> Result<String, Failure> {
    let refuse = |reason: String| Failure::new(code::USAGE, format!("token file {}: {reason}", path.display()));
    let metadata = fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(refuse("others can read it".to_owned()).hint(format!("chmod 600 {}", path.display())));
    }
    if metadata.uid() != nix::unistd::geteuid().as_raw() {
        return Err(refuse("it belongs to another user".to_owned()));
    }
    let file = files::open(path).map_err(|error| refuse(error.to_string()))?;
    io::read_to_string(file).map_err(|error| refuse(error.to_string()))
}
