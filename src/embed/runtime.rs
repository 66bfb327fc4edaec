//! ONNX Runtime, loaded once per process from a path that was looked at before.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ort::environment::Environment;
use ort::logging::LogLevel;

use super::EmbedError;

/// The library in use and its environment; a process can only ever have one.
static LOADED: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);

/// The process's ONNX Runtime environment, from the library at `path`. Telemetry is off.
///
/// # Errors
/// [`EmbedError::RuntimeMissing`], [`EmbedError::RuntimeUnusable`], and
/// [`EmbedError::RuntimeTaken`] if another library was loaded before.
pub(crate) fn environment(path: &Path) -> Result<Environment, EmbedError> {
    let path = path
        .canonicalize()
        .map_err(|_| EmbedError::RuntimeMissing {
            path: path.to_owned(),
        })?;
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((first, environment)) = loaded.as_ref() {
        if *first != path {
            return Err(EmbedError::RuntimeTaken {
                loaded: first.clone(),
                asked: path,
            });
        }
        return Ok(environment.clone());
    }
    let unusable = |detail: String| EmbedError::RuntimeUnusable {
        path: path.clone(),
        detail,
    };
    check_library(&path).map_err(unusable)?;
    let environment = ort::init_from(&path)
        .map_err(|error| unusable(error.to_string()))?
        .with_name("memfold")
        .with_telemetry(false)
        .build()
        .map_err(|error| unusable(error.to_string()))?;
    environment.set_log_level(LogLevel::Warning);
    *loaded = Some((path, environment.clone()));
    Ok(environment)
}

/// Whether the file is a whole shared library for this machine, told by its header.
///
/// Looked at before loading: a library that cannot be loaded has made the loader hang without a
/// word, and one that is cut off kills the process by a bus error.
fn check_library(path: &Path) -> Result<(), String> {
    let mut head = Vec::with_capacity(64);
    let mut read = || -> io::Result<u64> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        file.take(64).read_to_end(&mut head)?;
        Ok(size)
    };
    let size = read().map_err(|error| error.to_string())?;
    library_fault(&head, size, std::env::consts::OS, std::env::consts::ARCH).map_or(Ok(()), Err)
}

/// What is wrong with a library of `size` bytes that begins with `head`, for a system and machine.
fn library_fault(head: &[u8], size: u64, os: &str, arch: &str) -> Option<String> {
    match os {
        "macos" => {
            let magics: [&[u8]; 2] = [&[0xcf, 0xfa, 0xed, 0xfe], &[0xca, 0xfe, 0xba, 0xbe]];
            let known = magics.iter().any(|magic| head.starts_with(magic));
            (!known).then(|| "it is no Mach-O library".to_owned())
        }
        "windows" => (!head.starts_with(b"MZ")).then(|| "it is no DLL".to_owned()),
        _ => elf_fault(head, size, arch),
    }
}

/// What is wrong with a 64-bit little-endian ELF library, by its header.
fn elf_fault(head: &[u8], size: u64, arch: &str) -> Option<String> {
    if head.len() < 64 || !head.starts_with(b"\x7fELF\x02\x01") {
        return Some("it is no 64-bit ELF library".to_owned());
    }
    let short = |at: usize| u64::from(u16::from_le_bytes([head[at], head[at + 1]]));
    let (kind, machine) = (short(16), short(18));
    let known = match arch {
        "x86_64" => 62,
        "aarch64" => 183,
        _ => machine,
    };
    // The section headers, by custom the last thing in the file.
    let start = (40..48)
        .rev()
        .fold(0u64, |number, at| number << 8 | u64::from(head[at]));
    let end = start.saturating_add(short(58) * short(60));
    if kind != 3 {
        Some("it is an ELF file, but no shared library".to_owned())
    } else if machine != known {
        Some(format!("it is built for another machine than {arch}"))
    } else if end > size {
        Some(format!(
            "it is cut off: {size} of at least {end} bytes are there"
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of an ELF file of 2,000 bytes that ends with 10 section headers.
    fn elf(kind: u8, machine: u8) -> Vec<u8> {
        let mut head = vec![0; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (head[16], head[18]) = (kind, machine);
        head[40..42].copy_from_slice(&1360u16.to_le_bytes());
        (head[58], head[60]) = (64, 10);
        head
    }

    #[test]
    fn shared_libraries_for_the_machine_pass() {
        assert_eq!(library_fault(&elf(3, 62), 2000, "linux", "x86_64"), None);
        assert_eq!(library_fault(&elf(3, 183), 2000, "linux", "aarch64"), None);
        assert_eq!(library_fault(&elf(3, 243), 2000, "linux", "riscv64"), None);
        assert_eq!(
            library_fault(&[0xcf, 0xfa, 0xed, 0xfe], 4, "macos", "aarch64"),
            None
        );
        assert_eq!(library_fault(b"MZ..", 4, "windows", "x86_64"), None);
    }

    #[test]
    fn everything_else_is_named() {
        let fault = |head: &[u8], os| library_fault(head, 2000, os, "x86_64").unwrap();
        assert!(fault(b"", "linux").contains("no 64-bit ELF"));
        assert!(fault(b"\x7fELF\x02\x01", "linux").contains("no 64-bit ELF"));
        assert!(fault(&[b'v'; 64], "linux").contains("no 64-bit ELF"));
        assert!(fault(&elf(2, 62), "linux").contains("no shared library"));
        assert!(fault(&elf(3, 183), "linux").contains("another machine"));
        assert!(fault(&elf(3, 62), "macos").contains("Mach-O"));
        assert!(fault(&elf(3, 62), "windows").contains("DLL"));
        let cut = library_fault(&elf(3, 62), 1999, "linux", "x86_64").unwrap();
        assert!(cut.contains("cut off"), "{cut}");
    }

    #[test]
    fn a_missing_library_is_told_before_anything_is_loaded() {
        let error = environment(Path::new("/nowhere/libonnxruntime.so")).unwrap_err();
        assert!(
            matches!(error, EmbedError::RuntimeMissing { .. }),
            "{error}"
        );
    }
}
