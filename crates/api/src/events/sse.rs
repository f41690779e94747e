//! Decoder for server-sent events, limited to ids and data. Specified in the HTML standard, section 9.2.

/// Incremental decoder from bytes to events.
#[derive(Debug, Default)]
pub(super) struct SseDecoder {
    /// Received bytes, including bytes that were decoded since the last call of `feed`.
    buffer: Vec<u8>,
    /// Offset in the buffer at which the search for the next line feed begins.
    searched: usize,
    /// Number of decoded bytes at the start of the buffer.
    read: usize,
    id: Option<String>,
    data: Vec<u8>,
}

impl SseDecoder {
    /// Appends received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.read);
        self.searched -= self.read;
        self.read = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the number of received bytes that were not yet returned as part of an event.
    pub fn len(&self) -> usize {
        self.buffer.len() - self.read + self.data.len()
    }

    /// Returns the id and data of the next complete event. Events without data, such as comments, are skipped.
    pub fn next(&mut self) -> Option<(Option<String>, Vec<u8>)> {
        while let Some(end) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            let line = self.read..self.searched + end;
            self.searched += end + 1;
            self.read = self.searched;
            let line = &self.buffer[line];
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                let id = self.id.take();
                if !self.data.is_empty() {
                    // A line feed was added after each data line. The last line feed is not part of the data.
                    self.data.pop();
                    return Some((id, std::mem::take(&mut self.data)));
                }
            } else if let Some(data) = field(line, b"data") {
                self.data.extend_from_slice(data);
                self.data.push(b'\n');
            } else if let Some(id) = field(line, b"id") {
                self.id = Some(String::from_utf8_lossy(id).into_owned());
            }
        }
        self.searched = self.buffer.len();
        None
    }
}

/// Returns the value of the named field, or `None` if the line contains another field.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = line.strip_prefix(name)?.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": comment\r\n\r\nevent: snapshot\r\nid: e.1\r\ndata: {\"a\":\r\ndata:1}\r\n\r\nevent: frame\ndata: 2\n\ndata: cut";

    #[test]
    fn events_do_not_depend_on_chunk_boundaries() {
        for size in 1..STREAM.len() {
            let (mut decoder, mut events) = (SseDecoder::default(), Vec::new());
            for bytes in STREAM.as_bytes().chunks(size) {
                decoder.feed(bytes);
                events.extend(std::iter::from_fn(|| decoder.next()));
            }
            let expected = [(Some("e.1".to_owned()), b"{\"a\":\n1}".to_vec()), (None, b"2".to_vec())];
            assert_eq!(events, expected, "in pieces of {size}");
            assert!(decoder.len() > 0);
        }
    }
}
