//! The one connection of a process; many records are read over a further one ([`super::direct`]).

mod sentinel;

use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{
    Client, ClientTlsConfig, ConnectionAddr, ConnectionInfo, ErrorKind, IntoConnectionInfo,
    ProtocolVersion, RedisError, TlsCertificates, Value,
};
use secrecy::{ExposeSecret, SecretString};

use self::sentinel::Sentinels;
use crate::store::direct::Direct;
use crate::store::events::Changed;
use crate::store::{StoreError, reply};
use crate::tls;

/// How to connect, apart from the URL.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// For an answer to a command. The client's own default, 0.5 s, is too short for a listing.
    pub response_timeout: Duration,
    /// For the connection.
    pub connect_timeout: Duration,
    /// A file with the password, in place of one in the URL.
    pub password_file: Option<PathBuf>,
    /// Files for `rediss://`.
    pub tls: TlsFiles,
    /// Where changed keys are noted, if the connection is to follow the server's events.
    pub changed: Option<Changed>,
}

/// PEM files for TLS; what is not given is the system's, or none.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// Certificates of the authorities that the server's certificate is checked by.
    pub ca: Option<PathBuf>,
    /// The client's certificate; goes with `key`.
    pub cert: Option<PathBuf>,
    /// Its key.
    pub key: Option<PathBuf>,
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            response_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(3),
            password_file: None,
            tls: TlsFiles::default(),
            changed: None,
        }
    }
}

/// The one connection, without the further one of [`open`].
///
/// # Errors
/// As [`open`].
pub async fn connect(
    url: &SecretString,
    options: &ConnectOptions,
) -> Result<ConnectionManager, StoreError> {
    Ok(open(url, options).await?.0)
}

/// Connects over RESP3 and checks that the server is one that memfold can serve. Says as well where
/// a direct connection leads to: none over TLS and where Sentinels name the server, for which the
/// one connection does well.
///
/// A lost connection is opened again by the next command; a command is never sent twice.
///
/// # Errors
/// [`StoreError::BadUrl`], [`StoreError::Database`], [`StoreError::Unreachable`],
/// [`StoreError::NotRedis`], [`StoreError::Auth`],
/// [`StoreError::Cluster`], [`StoreError::NoSearch`]. None of them shows the password.
pub async fn open(
    url: &SecretString,
    options: &ConnectOptions,
) -> Result<(ConnectionManager, Option<Direct>), StoreError> {
    tls::install_provider();
    let sentinels = Sentinels::of(url.expose_secret())?;
    let info = match &sentinels {
        Some(sentinels) => {
            let open = |url: &str| client(connection_info(url)?, &options.tls);
            let primary = sentinels.primary(options.connect_timeout, open).await?;
            info(&primary, options)?
        }
        None => info(url.expose_secret(), options)?,
    };
    let direct = match sentinels {
        Some(_) => None,
        None => Direct::to(info.clone(), options),
    };
    // The search module answers from any database, but cannot open the documents from there, and
    // then takes them for gone until they are written again: for every client.
    if info.redis_settings().db() != 0 {
        return Err(StoreError::Database(info.redis_settings().db()));
    }
    let address = info.addr().to_string();
    let mut config = ConnectionManagerConfig::new()
        .set_response_timeout(Some(options.response_timeout))
        .set_connection_timeout(Some(options.connect_timeout))
        .set_number_of_retries(0);
    if let Some(changed) = options.changed.clone() {
        config = config
            .set_push_sender(move |push| changed.take(&push))
            .set_automatic_resubscription();
    }
    let mut conn = client(info, &options.tls)?
        .get_connection_manager_with_config(config)
        .await
        .map_err(|error| connect_error(error, &address))?;
    check_server(&mut conn).await?;
    Ok((conn, direct))
}

/// What a URL says, with the password of the file.
fn info(url: &str, options: &ConnectOptions) -> Result<ConnectionInfo, StoreError> {
    let info = connection_info(url)?;
    let Some(path) = &options.password_file else {
        return Ok(info);
    };
    let password = String::from_utf8_lossy(&read(path)?).trim_end().to_owned();
    let settings = info.redis_settings().clone().set_password(password);
    Ok(info.set_redis_settings(settings))
}

fn client(info: ConnectionInfo, files: &TlsFiles) -> Result<Client, StoreError> {
    let bad = |error: RedisError| StoreError::BadUrl(error.to_string());
    let TlsFiles { ca, cert, key } = files;
    let is_tls = matches!(info.addr(), ConnectionAddr::TcpTls { .. });
    if !is_tls || (ca.is_none() && cert.is_none() && key.is_none()) {
        return Client::open(info).map_err(bad);
    }
    let client_tls = match (cert, key) {
        (Some(cert), Some(key)) => Some(ClientTlsConfig {
            client_cert: read(cert)?,
            client_key: read(key)?,
        }),
        (None, None) => None,
        _ => {
            let what = "a client certificate and its key go together";
            return Err(StoreError::File(what.to_owned()));
        }
    };
    let root_cert = ca.as_deref().map(read).transpose()?;
    let certificates = TlsCertificates {
        client_tls,
        root_cert,
    };
    // What is in the files is not told, whatever is wrong with it.
    Client::build_with_tls(info, certificates)
        .map_err(|_| StoreError::File("the TLS certificates or the key are no PEM".to_owned()))
}

fn read(path: impl AsRef<Path>) -> Result<Vec<u8>, StoreError> {
    let path = path.as_ref();
    std::fs::read(path).map_err(|error| StoreError::File(format!("{}: {error}", path.display())))
}

fn connection_info(url: &str) -> Result<ConnectionInfo, StoreError> {
    // The client's words for a bad URL may quote parts of it, so only their fixed part is shown.
    let info = url.into_connection_info().map_err(|error| {
        let words = error.to_string();
        let fixed = words.split(" - ").next().unwrap_or_default();
        StoreError::BadUrl(if url.contains(fixed) {
            String::new()
        } else {
            fixed.to_owned()
        })
    })?;
    let settings = info
        .redis_settings()
        .clone()
        .set_protocol(ProtocolVersion::RESP3)
        .set_lib_name("memfold", env!("CARGO_PKG_VERSION"));
    Ok(info.set_redis_settings(settings))
}

fn connect_error(error: RedisError, address: &str) -> StoreError {
    if error.is_io_error() {
        let detail = error.to_string();
        return StoreError::Unreachable {
            address: address.to_owned(),
            detail,
        };
    }
    if error.kind() == ErrorKind::Parse {
        return StoreError::NotRedis(address.to_owned());
    }
    error.into()
}

async fn check_server(conn: &mut ConnectionManager) -> Result<(), StoreError> {
    let hello: Value = redis::cmd("HELLO").query_async(conn).await?;
    if reply::get(&hello, "mode").and_then(reply::bytes) == Some(b"cluster") {
        return Err(StoreError::Cluster);
    }
    match redis::cmd("FT._LIST")
        .query_async::<Value>(conn)
        .await
        .map_err(StoreError::from)
    {
        // An account may be good for its one index and not for the list of all.
        Ok(_) | Err(StoreError::Permission(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_url_is_told_without_its_password() {
        for url in [
            "nonsense",
            "http://u:s3cret@host",
            "redis://u:s3cret@host:port/x",
            "redis://",
        ] {
            match connection_info(url) {
                Err(error) => assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}"),
                Ok(_) => assert_eq!(url, "redis://", "{url} was accepted"),
            }
        }
    }

    #[test]
    fn debug_shows_no_password() {
        let info = connection_info("redis://u:s3cret@host:6379").unwrap();
        assert!(!format!("{info:?}").contains("s3cret"));
        assert!(!info.addr().to_string().contains("s3cret"));
    }
}
