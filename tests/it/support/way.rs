//! A way to a server that can be bad: slow, cut in the middle of an answer, or silent.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Passes all bytes on, unless it is told otherwise.
pub(crate) struct Way {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Each part of an answer is held back for so long.
    slow: Duration,
    /// Bytes of answers that still pass; then all connections end.
    cut_after: Option<usize>,
    cuts: usize,
    open: Vec<TcpStream>,
}

impl Way {
    /// The way to the server at `port`.
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else {
                    continue;
                };
                let copy = |stream: &TcpStream| stream.try_clone().unwrap();
                let (up, down) = (copy(&server), copy(&client));
                shared
                    .lock()
                    .unwrap()
                    .open
                    .extend([copy(&server), copy(&client)]);
                let shared = Arc::clone(&shared);
                thread::spawn(move || carry(client, up, |bytes| bytes.len()));
                thread::spawn(move || carry(server, down, |bytes| answer(&shared, bytes)));
            }
        });
        Self { port: own, state }
    }

    /// Where memfold is to connect.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Holds back each part of an answer for so long, from now on.
    pub(crate) fn slow(&self, by: Duration) {
        self.state.lock().unwrap().slow = by;
    }

    /// Ends all connections after so many more bytes of answers.
    pub(crate) fn cut_after(&self, bytes: usize) {
        self.state.lock().unwrap().cut_after = Some(bytes);
    }

    /// How often connections were cut.
    pub(crate) fn cuts(&self) -> usize {
        self.state.lock().unwrap().cuts
    }
}

/// How many bytes of an answer pass.
fn answer(state: &Mutex<State>, bytes: &[u8]) -> usize {
    let slow = state.lock().unwrap().slow;
    thread::sleep(slow);
    let mut state = state.lock().unwrap();
    let Some(left) = state.cut_after else {
        return bytes.len();
    };
    if bytes.len() < left {
        state.cut_after = Some(left - bytes.len());
        return bytes.len();
    }
    state.cut_after = None;
    state.cuts += 1;
    for stream in state.open.drain(..) {
        // What has passed still arrives.
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(2));
            let _ = stream.shutdown(Shutdown::Both);
        });
    }
    left
}

fn carry(mut from: TcpStream, mut to: TcpStream, passes: impl Fn(&[u8]) -> usize) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        let n = passes(&buffer[..n]);
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
