//! A real server.

use std::{
    path::PathBuf,
    process::Stdio,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// A server on a socket of its own, in a directory of its own. Killed when dropped.
pub struct Redis {
    directory: PathBuf,
    options: Vec<&'static str>,
    process: Option<Child>,
}

impl Redis {
    /// Without persistence.
    pub async fn start() -> Self {
        Self::with(&["--save", "", "--appendonly", "no"]).await
    }

    pub async fn with(options: &[&'static str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Relaxed);
        let directory = std::env::temp_dir().join(format!("larder-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let mut redis = Self {
            directory,
            options: options.to_vec(),
            process: None,
        };
        redis.rise().await;
        redis
    }

    pub fn socket(&self) -> PathBuf {
        self.directory.join("socket")
    }

    pub fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Starts it (again). Once this returns, it takes connections.
    pub async fn rise(&mut self) {
        let mut process = Command::new("redis-server")
            .args(["--port", "0", "--unixsocket"])
            .arg(self.socket())
            .arg("--dir")
            .arg(&self.directory)
            .args(&self.options)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("redis-server is installed");
        let output = process.stdout.take().expect("piped");
        let mut lines = BufReader::new(output).lines();
        let ready = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if line.contains("eady to accept connections") {
                    return true;
                }
            }
            false
        };
        assert_eq!(
            timeout(super::BROKEN, ready).await,
            Ok(true),
            "redis-server starts"
        );
        // It must be able to go on writing.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        self.process = Some(process);
    }

    /// Kills it without a chance to save anything.
    pub async fn fall(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().await.expect("it was alive");
        }
    }

    /// Asks as an operator would.
    pub async fn ask(&self, command: &[&str]) -> String {
        let output = Command::new("redis-cli")
            .arg("-s")
            .arg(self.socket())
            .args(command)
            .output()
            .await
            .expect("redis-cli is installed");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
