//! Exchange with the listener over its Unix socket. Blocks; the caller sets the time limit.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::path::Path;

use nix::unistd::geteuid;
use wh_wire::hook::{HookAgent, HookExit, HookRequest, MAX_HOOK_PAYLOAD_BYTES, MAX_HOOK_RESPONSE_BYTES};

/// Reads a payload to its end. Fails if it is longer than [`MAX_HOOK_PAYLOAD_BYTES`].
pub fn read_payload(input: impl Read) -> Result<Vec<u8>, String> {
    let mut payload = Vec::new();
    let limit = u64::try_from(MAX_HOOK_PAYLOAD_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    input.take(limit).read_to_end(&mut payload).map_err(|error| format!("cannot read the payload: {error}"))?;
    if payload.len() > MAX_HOOK_PAYLOAD_BYTES {
        return Err(format!("the payload is longer than {MAX_HOOK_PAYLOAD_BYTES} bytes"));
    }
    Ok(payload)
}

/// Sends the payload to the listener and reads its reply. The connection stays open until then, so that the listener
/// notices if the agent ends this process.
pub fn exchange(socket: &Path, agent: HookAgent, payload: &[u8]) -> Result<HookExit, String> {
    check_owner(socket)?;
    let request = HookRequest::new(agent, Some(parent_id()), payload).and_then(|request| request.encode());
    let request = request.map_err(|error| error.to_string())?;
    let reply = send(socket, &request).map_err(|error| format!("{}: {error}", socket.display()))?;
    if reply.last() != Some(&b'\n') {
        return Err(format!("{}: closed without a reply", socket.display()));
    }
    HookExit::decode(&reply).map_err(|error| format!("{}: {error}", socket.display()))
}

/// Refuses a path that is not a socket of this user, because its owner would decide on permissions.
fn check_owner(socket: &Path) -> Result<(), String> {
    let metadata = fs::symlink_metadata(socket).map_err(|error| format!("{}: {error}", socket.display()))?;
    if !metadata.file_type().is_socket() {
        return Err(format!("{} is not a socket", socket.display()));
    }
    if metadata.uid() != geteuid().as_raw() {
        return Err(format!("{} belongs to another user", socket.display()));
    }
    Ok(())
}

fn send(socket: &Path, request: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(request)?;
    let limit = u64::try_from(MAX_HOOK_RESPONSE_BYTES).unwrap_or(u64::MAX);
    let mut reply = Vec::new();
    BufReader::new(stream.take(limit)).read_until(b'\n', &mut reply)?;
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    #[test]
    fn a_long_payload_is_refused_before_it_fills_the_memory() {
        assert_eq!(read_payload(&b"{}"[..]).unwrap(), b"{}");
        assert!(read_payload(io::repeat(b' ')).unwrap_err().contains("longer than"));
    }

    #[test]
    fn only_a_socket_of_this_user_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let problem = |name: &str| exchange(&folder.path().join(name), HookAgent::Claude, b"{}").unwrap_err();
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(problem("file").contains("is not a socket"));
        let _listener = UnixListener::bind(folder.path().join("real")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("real"), folder.path().join("link")).unwrap();
        assert!(problem("link").contains("is not a socket"));
        assert!(problem("missing").contains("missing"));
    }

    #[test]
    fn the_reply_of_the_listener_is_returned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let answered = HookExit { code: 0, stdout: "{\"a\":1}".to_owned(), stderr: String::new() };
        let reply = answered.encode().unwrap();
        let serving = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut line = Vec::new();
            BufReader::new(&stream).read_until(b'\n', &mut line).unwrap();
            (&stream).write_all(&reply).unwrap();
            HookRequest::decode(&line).unwrap()
        });
        let payload = b"{\n\"hook_event_name\":\"Stop\"}";
        assert_eq!(exchange(&path, HookAgent::Gemini, payload).unwrap(), answered);
        let request = serving.join().unwrap();
        assert_eq!((request.agent, request.parent), (HookAgent::Gemini, Some(parent_id())));
        assert_eq!(request.payload.get(), "{ \"hook_event_name\":\"Stop\"}");
    }
}
