//! The worker processes of `local`, and watching the scan that they work on.
//!
//! Invariants: a worker never outlives this process, however it ends (the kernel sends SIGKILL);
//! a worker that crashes is started again; a terminal's Ctrl-C reaches this process alone, which
//! asks the workers to drain.

mod death;

use std::{
    io::IsTerminal as _,
    path::Path,
    process::ExitStatus,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use everytab_coordinator::Coordinator;
use serde_json::Value;
use tokio::{
    process::{Child, Command},
    sync::watch,
};

use crate::{cli_error::CliError, limits, options::FetchArgs, progress, scan_start::Places};

/// Crashes of workers after which there is something wrong that starting again cannot mend.
const MAX_CRASHES: u32 = 20;

/// What is scanned, and where to.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The crawl.
    pub crawl: String,
    /// The places.
    pub places: Places,
}

/// The worker processes.
#[derive(Debug, Clone, Default)]
pub struct Children {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    recipe: Option<Recipe>,
    running: Vec<Child>,
    crashes: u32,
}

#[derive(Debug, Clone)]
struct Recipe {
    program: std::path::PathBuf,
    arguments: Vec<String>,
    database_url: String,
    /// Whether there is more than one worker.
    has_company: bool,
}

impl Children {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics between changes, so a poisoned state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts `workers` processes. Must be called on the thread that lives as long as they do.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub async fn start(
        &self,
        workers: u16,
        database_url: &str,
        temporary: &Path,
        fetch: &FetchArgs,
        stop: watch::Receiver<bool>,
    ) -> Result<(), CliError> {
        let mut arguments = vec![
            "run".to_owned(),
            "--exit-when-done".to_owned(),
            "--temporary".to_owned(),
            temporary.display().to_string(),
            // This process is asked to stop, and asks its workers.
            "--instance-metadata".to_owned(),
            "off".to_owned(),
        ];
        arguments.extend(fetch.arguments());
        let recipe = Recipe {
            program: std::env::current_exe()?,
            arguments,
            database_url: database_url.to_owned(),
            has_company: workers > 1,
        };
        if *stop.borrow() {
            return Ok(());
        }
        let mut state = self.state();
        for _ in 0..workers {
            state.running.push(recipe.start()?);
        }
        state.recipe = Some(recipe);
        Ok(())
    }

    /// Starts workers again that crashed. True: all have left by themselves.
    fn mend(&self) -> Result<bool, CliError> {
        let mut state = self.state();
        let mut crashed: Vec<ExitStatus> = Vec::new();
        let mut alive = Vec::new();
        for mut child in std::mem::take(&mut state.running) {
            match child.try_wait()? {
                None => alive.push(child),
                // 0 and 3: the scan has ended. 4: somebody asked this worker alone to leave.
                Some(status) if matches!(status.code(), Some(0 | 3 | 4)) => {}
                Some(status) => crashed.push(status),
            }
        }
        state.running = alive;
        for status in crashed {
            state.crashes += 1;
            tracing::warn!(%status, "a worker ended early; starting it again");
            if state.crashes > MAX_CRASHES {
                return Err(CliError::new(format!(
                    "workers keep ending early ({status}); their last lines above say why"
                )));
            }
            if let Some(recipe) = state.recipe.clone() {
                state.running.push(recipe.start()?);
            }
        }
        Ok(state.running.is_empty())
    }

    /// Asks all to drain, and waits for them.
    pub async fn stop(&self, patience: Duration) {
        for child in &self.state().running {
            death::terminate(child);
        }
        let give_up = Instant::now() + patience;
        loop {
            let all_left = {
                let mut state = self.state();
                state.running.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
                state.running.is_empty()
            };
            if all_left || Instant::now() > give_up {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.kill();
    }

    /// Ends all at once.
    pub fn kill(&self) {
        for child in &mut self.state().running {
            if let Err(error) = child.start_kill() {
                tracing::debug!(%error, "a worker had ended already");
            }
        }
    }
}

impl Recipe {
    fn start(&self) -> Result<Child, CliError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("DATABASE_URL", &self.database_url)
            .stdin(std::process::Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        if self.has_company {
            // An address can be listened on once.
            command.env_remove("EVERYTAB_METRICS");
        }
        // People watch the bars of `local`; a worker says only what they should know.
        if std::env::var_os("EVERYTAB_LOG").is_none() {
            command.env("EVERYTAB_LOG", "error");
        }
        death::with_parent(&mut command);
        command.spawn().map_err(|error| {
            CliError::new(format!("the worker {} did not start: {error}", self.program.display()))
        })
    }
}

/// Watches until the scan has ended or `stop` turns true; answers the last status.
///
/// # Errors
/// When workers keep crashing, or the database is gone.
pub async fn watch_scan(
    coordinator: &Coordinator,
    number: i32,
    children: &Children,
    stop: &mut watch::Receiver<bool>,
) -> Result<Value, CliError> {
    let on_terminal = std::io::stderr().is_terminal();
    let mut painted = 0_usize;
    let mut said = String::new();
    loop {
        let asked_at = Instant::now();
        let status = coordinator.scan_status(number).await?;
        let pause = (limits::STATUS_EVERY / 4).max(asked_at.elapsed() * limits::STATUS_SHARE);
        if on_terminal {
            painted = repaint(&status, painted);
        } else {
            let line = progress::line(&status);
            if line != said {
                eprintln!("{line}");
                said = line;
            }
        }
        let is_running = matches!(status["state"].as_str(), Some("running" | "paused"));
        if !is_running || *stop.borrow() {
            return Ok(status);
        }
        if children.mend()? {
            // They may have finished it since the status was read.
            let status = coordinator.scan_status(number).await?;
            if matches!(status["state"].as_str(), Some("running" | "paused")) {
                return Err(CliError::new("all workers have left, and the scan is not finished"));
            }
            return Ok(status);
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = stop.changed() => {}
        }
    }
}

/// Paints over the last picture; answers how many lines this one has.
fn repaint(status: &Value, painted: usize) -> usize {
    let lines = progress::picture(status, progress::terminal_width());
    let up = if painted > 0 { format!("\x1b[{painted}A") } else { String::new() };
    eprint!("{up}{}\x1b[K\n\x1b[J", lines.join("\x1b[K\n"));
    lines.len()
}
