//! Which server is the primary, asked of Sentinels.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisResult};
use secrecy::{ExposeSecret, SecretString};

use crate::store::StoreError;

/// A URL that names Sentinels: `redis+sentinel://[user:password@]host:port[,host:port…]/PRIMARY`.
pub(super) struct Sentinels {
    /// `redis` or `rediss`, for the primary and for the Sentinels.
    scheme: String,
    /// `user:password@`, for the primary.
    credentials: SecretString,
    hosts: Vec<String>,
    primary: String,
}

impl Sentinels {
    /// Reads the URL; `None` = it names a server itself.
    pub(super) fn of(url: &str) -> Result<Option<Self>, StoreError> {
        let Some((scheme, rest)) = url.split_once("+sentinel://") else {
            return Ok(None);
        };
        let bad = |what: &str| Err(StoreError::BadUrl(what.to_owned()));
        let (credentials, rest) = match rest.rsplit_once('@') {
            Some((credentials, rest)) => (format!("{credentials}@"), rest),
            None => (String::new(), rest),
        };
        let Some((hosts, primary)) = rest.split_once('/') else {
            return bad("it names no primary, as in redis+sentinel://host:26379/mymaster");
        };
        let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
        if primary.is_empty() || hosts.iter().any(String::is_empty) {
            return bad(
                "it names no primary or no Sentinel, as in redis+sentinel://host:26379/mymaster",
            );
        }
        if !["redis", "rediss"].contains(&scheme) {
            return bad("Sentinels are asked by redis+sentinel:// or rediss+sentinel://");
        }
        Ok(Some(Self {
            scheme: scheme.to_owned(),
            credentials: credentials.into(),
            hosts,
            primary: primary.to_owned(),
        }))
    }

    /// The URL of the server that the first Sentinel to answer calls the primary. Whether it still
    /// is one, the server itself must say.
    pub(super) async fn primary(
        &self,
        timeout: Duration,
        open: impl Fn(&str) -> Result<Client, StoreError>,
    ) -> Result<String, StoreError> {
        let mut failures = Vec::new();
        for host in &self.hosts {
            let asked = match open(&format!("{}://{host}", self.scheme)) {
                Ok(client) => self.ask(&client, timeout).await,
                Err(error) => return Err(error),
            };
            match asked {
                Ok(Some((ip, port))) => {
                    let credentials = self.credentials.expose_secret();
                    let ip = if ip.contains(':') {
                        format!("[{ip}]")
                    } else {
                        ip
                    };
                    return Ok(format!("{}://{credentials}{ip}:{port}", self.scheme));
                }
                Ok(None) => failures.push(format!("{host} knows no `{}`", self.primary)),
                Err(error) => failures.push(format!("{host}: {error}")),
            }
        }
        Err(StoreError::Unreachable {
            address: format!("{} (Sentinel)", self.hosts.join(", ")),
            detail: failures.join("; "),
        })
    }

    async fn ask(&self, client: &Client, timeout: Duration) -> RedisResult<Option<(String, u16)>> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(timeout))
            .set_response_timeout(Some(timeout));
        let mut conn: MultiplexedConnection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await?;
        let mut cmd = redis::cmd("SENTINEL");
        cmd.arg("GET-MASTER-ADDR-BY-NAME").arg(&self.primary);
        cmd.query_async(&mut conn).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_sentinels_and_a_primary() {
        assert!(Sentinels::of("redis://h:1").unwrap().is_none());
        let url = "rediss+sentinel://ann:p@ss@a:1,b:2/main";
        let found = Sentinels::of(url).unwrap().unwrap();
        assert_eq!(found.hosts, ["a:1", "b:2"]);
        assert_eq!(
            (found.scheme.as_str(), found.primary.as_str()),
            ("rediss", "main")
        );
        assert_eq!(found.credentials.expose_secret(), "ann:p@ss@");
        for url in [
            "redis+sentinel://a:1",
            "redis+sentinel://a:1/",
            "redis+sentinel:///main",
            "http+sentinel://s3cret@a:1/main",
        ] {
            let error = Sentinels::of(url).err().unwrap();
            assert!(!error.to_string().contains("s3cret"), "{error}");
        }
    }
}
