//! The cryptography behind TLS, for both clients.

/// Installs the provider that rustls takes for the whole process; without one, the clients panic.
/// A process that has one already keeps it, which is as good.
pub(crate) fn install_provider() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
