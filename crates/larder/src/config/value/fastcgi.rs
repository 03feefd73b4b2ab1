//! Addresses of FastCGI servers, and names of scripts.

use super::{
    Word, Wrong,
    address::{socket, split_scheme},
    server::host_and_port,
    variable::{names_variable, no_variables},
};
use origin::config::Address;

/// Where php-fpm listens if not on a socket.
const TCP: &str = "tcp://127.0.0.1:9000";

/// One FastCGI server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FastCgiUrl(pub Address);

impl Word for FastCgiUrl {
    const WHAT: &'static str = "the address of a FastCGI server";
    const EXAMPLES: &'static [&'static str] = &["unix:/run/php/php-fpm.sock", TCP];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self(Address::Unix(socket(path, "php-fpm.sock")?)));
        }
        if text.starts_with('/') {
            return Err(
                Wrong::new("a socket is written with `unix:`").instead(format!("unix:{text}"))
            );
        }
        let (scheme, rest) = split_scheme(text).unwrap_or((String::new(), text));
        if !matches!(scheme.as_str(), "tcp" | "") {
            return Err(
                Wrong::new(format!("`{scheme}` is not FastCGI")).instead(format!("tcp://{rest}"))
            );
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if let Some((authority, _)) = authority.split_once('/') {
            return Err(Wrong::new("the folder of the scripts belongs in `root`")
                .instead(format!("tcp://{authority}")));
        }
        let (host, port) =
            host_and_port(authority, None).map_err(|wrong| Wrong::new(wrong.what).instead(TCP))?;
        Ok(Self(Address::Tcp { host, port }))
    }
}

/// The name that most sites use.
const INDEX: &str = "index.php";

/// A name within a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName(pub String);

impl Word for FileName {
    const WHAT: &'static str = "the name of a file";
    const EXAMPLES: &'static [&'static str] = &[INDEX, "index.html"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let last = text.trim_end_matches('/').rsplit('/').next();
        let last = last.filter(|last| !last.is_empty()).unwrap_or(INDEX);
        if text.is_empty() || text.contains('/') || text.contains('\0') {
            return Err(Wrong::new("write the name without a folder").instead(last));
        }
        if text.starts_with('.') {
            return Err(
                Wrong::new("files whose name begins with a dot are never used")
                    .as_in(Self::EXAMPLES),
            );
        }
        Ok(Self(text.to_owned()))
    }
}

/// The script that answers for paths that do not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front(pub Option<String>);

impl Word for Front {
    const WHAT: &'static str = "the name of a script, or `off`";
    const EXAMPLES: &'static [&'static str] = &["index.php", "app.php", "off"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        if text == "off" {
            return Ok(Self(None));
        }
        FileName::parse(text).map(|FileName(name)| Self(Some(name)))
    }
}

/// A parameter for scripts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// The value that scripts get.
    pub value: String,
}

impl Word for Param {
    const WHAT: &'static str = "a parameter";
    const EXAMPLES: &'static [&'static str] = &["WP_ENVIRONMENT_TYPE=production"];

    fn parse(text: &str) -> Result<Self, Wrong> {
        let Some((name, value)) = text.split_once('=') else {
            return Err(
                Wrong::new("a parameter is a name, `=` and a value").instead(format!("{text}="))
            );
        };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(
                Wrong::new(format!("`{name}` is not the name of a parameter"))
                    .as_in(Self::EXAMPLES),
            );
        }
        if name == "HTTP_PROXY" {
            return Err(Wrong::new(
                "`HTTP_PROXY` is never passed: libraries would use it as the proxy for their own requests",
            ));
        }
        if names_variable(value) {
            return Err(no_variables());
        }
        Ok(Self {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let tcp = |host: &str, port| Address::Tcp {
            host: host.to_owned(),
            port,
        };
        for (text, address) in [
            ("unix:/run/php.sock", Address::Unix("/run/php.sock".into())),
            ("tcp://127.0.0.1:9000", tcp("127.0.0.1", 9000)),
            ("php:9000", tcp("php", 9000)),
            ("tcp://[::1]:9000", tcp("::1", 9000)),
            ("TCP://php:9000", tcp("php", 9000)),
        ] {
            assert_eq!(FastCgiUrl::parse(text), Ok(FastCgiUrl(address)), "{text}");
        }
        for (text, instead) in [
            ("/run/php.sock", "\"unix:/run/php.sock\""),
            ("http://127.0.0.1:9000", "\"tcp://127.0.0.1:9000\""),
            ("tcp://127.0.0.1", "\"tcp://127.0.0.1:9000\""),
            ("tcp://php:9000/srv/site", "\"tcp://php:9000\""),
            ("unix:php.sock", "\"unix:/run/php.sock\""),
        ] {
            let wrong = FastCgiUrl::parse(text).unwrap_err();
            assert_eq!(wrong.instead.as_deref(), Some(instead), "{text}: {wrong}");
        }
    }

    #[test]
    fn names_and_parameters() {
        assert!(FileName::parse("index.php").is_ok());
        for text in ["", "/index.php", "a/index.php", ".htaccess", ".."] {
            assert!(FileName::parse(text).is_err(), "{text}");
        }
        assert_eq!(Front::parse("off"), Ok(Front(None)));
        let param = Param::parse("A_1=b=c").unwrap();
        assert_eq!((param.name.as_str(), param.value.as_str()), ("A_1", "b=c"));
        for text in ["A", "=b", "A-B=c", "HTTP_PROXY=http://evil"] {
            assert!(Param::parse(text).is_err(), "{text}");
        }
    }
}
