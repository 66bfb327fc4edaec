//! Vectors of texts that were embedded before, in files.
//!
//! Not in Redis: its memory is the scarce one, the agent's answers come from it, and a cache that is
//! lost costs time only. The files hold no text, but vectors tell much of what a text is about:
//! they are readable for their owner alone.
//!
//! A model has two files, the newer and the older generation. New vectors are appended to the newer;
//! once it is half as large as the cache may be, it replaces the older one. What is found in the older
//! is appended to the newer, so that what is in use survives. Several processes may share the files:
//! each appends whole records, and one that holds a replaced file reads on in it.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use tracing::warn;

use super::pool::distance;
use super::{EmbedError, Embedder, Embedding};

const MAGIC: &[u8; 20] = b"memfold embeddings 1";
const KEY: usize = 32;
const CHECK: usize = 8;
/// Texts embedded before their vectors are kept: what an interruption loses.
const CHUNK: usize = 256;

type Key = [u8; KEY];

/// An embedder that does not embed the same text twice.
///
/// Whatever goes wrong with the files is warned of and costs time only: they are ignored then, or
/// begun anew.
pub struct Cached {
    inner: Arc<dyn Embedder>,
    files: Mutex<Option<Files>>,
}

impl Cached {
    /// Puts a cache of at most `max_bytes` in `dir` before `inner`.
    pub fn new(inner: Arc<dyn Embedder>, dir: &Path, max_bytes: u64) -> Self {
        let files = match Files::open(dir, &inner.identity(), inner.dims(), max_bytes / 2) {
            Ok(files) => Some(files),
            Err(error) => {
                ignored(dir, &error);
                None
            }
        };
        let cached = Self {
            inner,
            files: Mutex::new(files),
        };
        cached.check_probe();
        cached
    }

    /// Begins anew where the same name and address give other vectors than before.
    fn check_probe(&self) {
        let Some((text, vector)) = self.inner.probe() else {
            return;
        };
        self.with_files(|files| {
            let same = |known: &Embedding| {
                distance(&known.vector, vector) <= self.inner.match_tolerance() / 2.0
            };
            match files.get(&key(text))? {
                Some(known) if same(&known) => return Ok(()),
                Some(_) => {
                    let model = self.inner.model();
                    warn!(
                        model,
                        "the model makes other vectors than before; the cache begins anew"
                    );
                    files.clear()?;
                }
                None => {}
            }
            let (vector, unknown) = (vector.to_vec(), 0.0);
            files.put(&[(key(text), &Embedding { vector, unknown })])
        });
    }

    /// Does something with the files, and nothing more with them after an error.
    fn with_files<T: Default>(&self, work: impl FnOnce(&mut Files) -> io::Result<T>) -> T {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        match files.as_mut().map(work) {
            None => T::default(),
            Some(Ok(done)) => done,
            Some(Err(error)) => {
                if let Some(files) = files.take() {
                    ignored(&files.newer.path, &error);
                }
                T::default()
            }
        }
    }
}

impl Embedder for Cached {
    fn model(&self) -> &str {
        self.inner.model()
    }

    fn dims(&self) -> usize {
        self.inner.dims()
    }

    fn threshold(&self) -> Option<f64> {
        self.inner.threshold()
    }

    fn origin(&self) -> String {
        self.inner.origin()
    }

    fn identity(&self) -> String {
        self.inner.identity()
    }

    fn probe(&self) -> Option<(&str, &[f32])> {
        self.inner.probe()
    }

    fn unknown_limit(&self) -> f32 {
        self.inner.unknown_limit()
    }

    fn match_tolerance(&self) -> f64 {
        self.inner.match_tolerance()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Embedding>, EmbedError> {
        let keys: Vec<Key> = texts.iter().map(|text| key(text)).collect();
        let mut known: HashMap<Key, Embedding> = self.with_files(|files| files.get_all(&keys));
        let mut seen: HashSet<Key> = known.keys().copied().collect();
        let new = |(_, key): &(usize, Key)| seen.insert(*key);
        let missing: Vec<(usize, Key)> = keys.iter().copied().enumerate().filter(new).collect();
        for chunk in missing.chunks(CHUNK) {
            let texts: Vec<&str> = chunk.iter().map(|(at, _)| texts[*at]).collect();
            let made = self.inner.embed(&texts).map_err(|error| match error {
                EmbedError::EmptyText { index } => EmbedError::EmptyText {
                    index: chunk.get(index).map_or(index, |(at, _)| *at),
                },
                error => error,
            })?;
            let new: Vec<(Key, &Embedding)> =
                chunk.iter().map(|(_, key)| *key).zip(&made).collect();
            self.with_files(|files| files.put(&new));
            known.extend(chunk.iter().map(|(_, key)| *key).zip(made));
        }
        let found = keys.iter().map(|key| known.get(key).cloned());
        found.collect::<Option<_>>().ok_or_else(|| {
            EmbedError::Inference("the model returned fewer vectors than texts".to_owned())
        })
    }

    fn unknown(&self, text: &str) -> Result<f32, EmbedError> {
        self.inner.unknown(text)
    }
}

fn key(text: &str) -> Key {
    Sha256::digest(text).into()
}

fn ignored(path: &Path, error: &io::Error) {
    warn!(path = %path.display(), %error, "the cache of embeddings is ignored");
}

/// Both generations of a model's vectors.
struct Files {
    newer: Generation,
    older: Generation,
    /// From this size on the newer file becomes the older.
    max_bytes: u64,
}

impl Files {
    fn open(dir: &Path, identity: &str, dims: usize, max_bytes: u64) -> io::Result<Self> {
        make_dir(dir)?;
        let identity: Key = Sha256::digest(format!("{identity}\n{dims}")).into();
        let name: String = identity[..8].iter().map(|b| format!("{b:02x}")).collect();
        let generation = |which: &str| {
            let path = dir.join(format!("{name}.{which}"));
            Generation::open(path, identity, dims)
        };
        Ok(Self {
            newer: generation("newer")?,
            older: generation("older")?,
            max_bytes,
        })
    }

    fn get(&mut self, key: &Key) -> io::Result<Option<Embedding>> {
        match self.newer.get(key)? {
            Some(found) => Ok(Some(found)),
            None => self.older.get(key),
        }
    }

    fn get_all(&mut self, keys: &[Key]) -> io::Result<HashMap<Key, Embedding>> {
        let mut found = HashMap::new();
        let mut old = Vec::new();
        for key in keys {
            if found.contains_key(key) {
                continue;
            }
            if let Some(embedding) = self.get(key)? {
                found.insert(*key, embedding);
                if !self.newer.at.contains_key(key) {
                    old.push(*key);
                }
            }
        }
        let old: Vec<_> = old
            .iter()
            .filter_map(|key| Some((*key, found.get(key)?)))
            .collect();
        self.put(&old)?;
        Ok(found)
    }

    fn put(&mut self, embeddings: &[(Key, &Embedding)]) -> io::Result<()> {
        for (key, embedding) in embeddings {
            if self.newer.end + self.newer.record_len() as u64 > self.max_bytes {
                fs::rename(&self.newer.path, &self.older.path)?;
                let next = self.newer.fresh()?;
                let path = self.older.path.clone();
                self.older = std::mem::replace(&mut self.newer, next);
                self.older.path = path;
            }
            self.newer.put(key, embedding)?;
        }
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.newer = self.newer.fresh()?;
        self.older = self.older.fresh()?;
        Ok(())
    }
}

/// One file: a header, then records of one length: key, share of unknown tokens, numbers, checksum.
struct Generation {
    path: PathBuf,
    header: Vec<u8>,
    dims: usize,
    file: File,
    /// Where the record of a key begins.
    at: HashMap<Key, u64>,
    /// Length of the file as far as this process knows.
    end: u64,
}

impl Generation {
    fn open(path: PathBuf, identity: Key, dims: usize) -> io::Result<Self> {
        let file = open_file(&path, false)?;
        let mut header = MAGIC.to_vec();
        header.extend(identity);
        let mut generation = Self {
            path,
            header,
            dims,
            file,
            at: HashMap::new(),
            end: 0,
        };
        match generation.index() {
            Ok(()) => Ok(generation),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let path = generation.path.display();
                warn!(%path, %error, "the cache of embeddings is damaged and begins anew");
                generation.fresh()
            }
            Err(error) => Err(error),
        }
    }

    /// An empty file in this one's place.
    fn fresh(&self) -> io::Result<Self> {
        // Not truncated: another process may be reading it.
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut fresh = Self {
            path: self.path.clone(),
            header: self.header.clone(),
            dims: self.dims,
            file: open_file(&self.path, true)?,
            at: HashMap::new(),
            end: 0,
        };
        fresh.index()?;
        Ok(fresh)
    }

    /// Reads which keys the file has; writes the header of a new one.
    fn index(&mut self) -> io::Result<()> {
        let damaged = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        self.end = self.file.seek(SeekFrom::End(0))?;
        if self.end == 0 {
            self.file.write_all(&self.header)?;
            self.end = self.header.len() as u64;
            return Ok(());
        }
        let mut header = vec![0; self.header.len()];
        self.file.rewind()?;
        if self.file.read_exact(&mut header).is_err() || header != self.header {
            return damaged("another header");
        }
        let first = self.header.len() as u64;
        let record = self.record_len() as u64;
        if !(self.end - first).is_multiple_of(record) {
            return damaged("the last record is not whole");
        }
        let mut key = [0; KEY];
        for at in (first..self.end).step_by(self.record_len()) {
            self.file.seek(SeekFrom::Start(at))?;
            self.file.read_exact(&mut key)?;
            self.at.insert(key, at);
        }
        Ok(())
    }

    fn record_len(&self) -> usize {
        KEY + 4 * (1 + self.dims) + CHECK
    }

    fn get(&mut self, key: &Key) -> io::Result<Option<Embedding>> {
        let Some(at) = self.at.get(key) else {
            return Ok(None);
        };
        let mut record = vec![0; self.record_len()];
        self.file.seek(SeekFrom::Start(*at))?;
        self.file.read_exact(&mut record)?;
        let (body, check) = record.split_at(record.len() - CHECK);
        if body[..KEY] != key[..] || checksum(body) != check {
            let path = self.path.display();
            warn!(%path, "a record of the cache of embeddings is damaged and ignored");
            self.at.remove(key);
            return Ok(None);
        }
        let mut numbers = body[KEY..]
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        let unknown = numbers.next().unwrap_or_default();
        let vector = numbers.collect();
        Ok(Some(Embedding { vector, unknown }))
    }

    fn put(&mut self, key: &Key, embedding: &Embedding) -> io::Result<()> {
        if embedding.vector.len() != self.dims {
            return Ok(());
        }
        let mut record = key.to_vec();
        record.extend(embedding.unknown.to_le_bytes());
        record.extend(embedding.vector.iter().flat_map(|x| x.to_le_bytes()));
        let check = checksum(&record);
        record.extend(check);
        // Opened for appending: one call, so that records of several processes do not mix.
        self.file.write_all(&record)?;
        self.end = self.file.stream_position()?;
        self.at.insert(*key, self.end - record.len() as u64);
        Ok(())
    }
}

fn checksum(body: &[u8]) -> Vec<u8> {
    Sha256::digest(body)[..CHECK].to_vec()
}

fn open_file(path: &Path, new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    if new {
        options.create_new(true);
    } else {
        options.create(true);
    }
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

#[cfg(test)]
mod tests;
