//! Names for what a decision depends on, by which it is known again.

use sha1::{Digest as _, Sha1};

/// The SHA-1 of parts, each with its length before it, so that none runs into the next.
#[derive(Default)]
pub(super) struct Fingerprint(Sha1);

impl Fingerprint {
    pub(super) fn add(&mut self, part: &str) {
        self.0.update(format!("{}:", part.len()));
        self.0.update(part);
    }

    /// In hex.
    pub(super) fn finish(self) -> String {
        format!("{:x}", self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_remembered_is_known_again() {
        let of = |parts: &[&str]| {
            let mut fingerprint = Fingerprint::default();
            parts.iter().for_each(|part| fingerprint.add(part));
            fingerprint.finish()
        };
        assert_eq!(
            of(&["m", "用户"]),
            "908da42050f98652963c485267129e373f534319"
        );
        assert_ne!(of(&["m", "用户"]), of(&["m用户"]));
    }
}
